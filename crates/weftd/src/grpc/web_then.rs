//! The columns of a moment of the past.

use std::time::Duration;

use tonic::{Code, Status};
use weft_api::snapshot::health_of_piece;
use weft_api::time::span;
use weft_api::v1;
use weft_fabric::{Guid, PortNum};
use weft_health::{End, Finding, Kind, Page};
use weft_web::{Columns, Layout, Shares};

use super::Services;
use super::history::millis;
use super::web::{column, layout_message};

impl Services {
    pub(super) async fn board_then(
        &self,
        request: v1::GetPastRequest,
    ) -> Result<v1::GetPastResponse, Status> {
        let at = request.at.unwrap_or_default();
        let past = self.past_of("at", at).await?;
        // Of then, counters may not be kept, or no page of what was wrong.
        let counted = match request.from {
            None => self.image_at(Some(&at)).await,
            Some(from) => match self.image_over(millis("from", &from)?, &at).await {
                Err(refused) if refused.code() == Code::InvalidArgument => return Err(refused),
                counted => counted.map(|(image, then)| (image, Some(then))),
            },
        };
        let (counted, uncounted_reason) = match counted {
            Ok(counted) => (Some(counted), String::new()),
            Err(refused) => (None, refused.message().to_owned()),
        };
        let making = move || {
            let page = past.state.health.as_deref().map(health_of_piece);
            let page = page.and_then(Result::ok);
            let page = page.map_or_else(Page::default, |page| page_of(&page));
            let topology = &past.state.snapshot.topology;
            let layout = Layout::of(topology, &Layout::default(), &page, true);
            let image = counted.as_ref().map(|(image, _)| image.as_ref());
            let columns = Columns::of(&layout, topology, Shares::of(&layout, image), &page);
            let columns = columns.since(None).into_iter().map(column);
            let counted_span = image.map(|image| span(Duration::from_nanos(image.span_ns)));
            let then = counted.and_then(|(_, then)| then);
            v1::GetPastResponse {
                layout: Some(layout_message(String::new(), &layout)),
                columns: columns.collect(),
                counted_time: then.as_ref().map(|then| then.time),
                // With what could not be read of the counters, where there are some.
                moment: Some(then.map_or(past.shown, |then| then.shown)),
                counted_span,
                uncounted_reason,
            }
        };
        // At many ports that takes a part of a second.
        self.workers.run(making).await
    }
}

/// What layout and marks need of a page: findings with their places.
fn page_of(message: &v1::GetHealthResponse) -> Page {
    let findings = message.findings.iter().filter_map(|finding| {
        let kind = Kind::ALL
            .into_iter()
            .find(|kind| kind.name() == finding.kind)?;
        Some(Finding {
            kind,
            color: kind.color(),
            what: String::new(),
            a: end(finding.a.as_ref()?)?,
            b: finding.b.as_ref().and_then(end),
            since: None,
            times: finding.times,
            hosts: finding.hosts,
            host_names: Vec::new(),
            advice: String::new(),
            next: String::new(),
        })
    });
    Page {
        generation: message.generation,
        findings: findings.collect(),
        ..Page::default()
    }
}

fn end(place: &v1::HealthPlace) -> Option<End> {
    let port = u8::try_from(place.port).ok()?;
    Some(End {
        node: Guid(place.node_guid),
        name: place.node_name.clone(),
        port: (port > 0).then_some(PortNum(port)),
        serial: place.cable_serial.clone(),
    })
}
