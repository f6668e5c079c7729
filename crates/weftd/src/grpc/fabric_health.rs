//! FabricHealthService.

use tokio::sync::oneshot;
use tonic::{Request, Response, Status};
use weft_api::snapshot::health_of_piece;
use weft_api::time::timestamp_s;
use weft_api::v1;
use weft_api::v1::fabric_health_service_server::FabricHealthService;
use weft_health::{Color, End, Figure, Finding, Forgotten, Page, PointError};

use super::details::detailed;
use super::facts::Facts;
use super::past::NOT_KEPT;
use super::{Services, attachment, stopping};
use crate::event_hub::EventHub;
use crate::health::Order;

#[tonic::async_trait]
impl FabricHealthService for Services {
    async fn get_health(
        &self,
        request: Request<v1::GetHealthRequest>,
    ) -> Result<Response<v1::GetHealthResponse>, Status> {
        if let Some(at) = request.into_inner().at {
            return self.health_then(at).await.map(Response::new);
        }
        let page = self.health.page();
        if page.unix_time == 0 {
            return Err(Status::unavailable(
                "there is no page yet; ask again in a second",
            ));
        }
        Ok(Response::new(health_page(&page, &self.hub)))
    }

    async fn forget_gone(
        &self,
        request: Request<v1::ForgetGoneRequest>,
    ) -> Result<Response<v1::ForgetGoneResponse>, Status> {
        let v1::ForgetGoneRequest {
            point,
            validate_only,
        } = request.into_inner();
        self.must_be_master()?;
        let (done, answer) = oneshot::channel();
        let order = Order::Forget {
            point,
            validate_only,
            done,
        };
        let busy = || Status::resource_exhausted("too many orders wait; try again");
        self.health.order(order).ok_or_else(busy)?;
        let forgotten = answer.await.map_err(|_| stopping())?;
        let Forgotten { nodes, links } = forgotten.map_err(|error| match error {
            PointError::Form(_) => Status::invalid_argument(format!("point: {error}")),
            PointError::Unknown(_) => Status::not_found(format!("point: {error}")),
        })?;
        Ok(Response::new(v1::ForgetGoneResponse { nodes, links }))
    }
}

impl Services {
    /// The page of a moment of the past.
    async fn health_then(&self, at: v1::Moment) -> Result<v1::GetHealthResponse, Status> {
        let past = self.past_of("at", at).await?;
        let time = past.shown.time.map(|time| time.to_string());
        let lacking = || {
            let why = format!(
                "the state of {} has no page of what was wrong: that version of weftd did not keep it, or there was none yet",
                time.unwrap_or_default()
            );
            detailed(&Status::failed_precondition(why), NOT_KEPT, Facts::none())
        };
        let page = past.state.health.as_ref().ok_or_else(lacking)?;
        let page = health_of_piece(page);
        let page = page.map_err(|error| Status::internal(error.to_string()))?;
        Ok(v1::GetHealthResponse {
            moment: Some(past.shown),
            ..page
        })
    }
}

/// A page as a message.
pub(crate) fn health_page(page: &Page, hub: &EventHub) -> v1::GetHealthResponse {
    let status = hub.status();
    let counts = page.counts.iter();
    let counts = counts.map(|(kind, count)| v1::HealthCount {
        kind: kind.name().to_owned(),
        count: *count,
    });
    v1::GetHealthResponse {
        time: Some(timestamp_s(page.unix_time)),
        generation: page.generation,
        color: color(page.color).into(),
        figures: page.figures.iter().map(figure).collect(),
        findings: page.findings.iter().map(finding).collect(),
        counts: counts.collect(),
        attachment: Some(attachment(hub.attachment())),
        role: status.role.to_string(),
        master: status.master.map_or(0, |master| master.0),
        moment: None,
    }
}

/// A colour as a message.
pub(crate) fn color(of: Color) -> v1::HealthColor {
    match of {
        Color::Green => v1::HealthColor::Green,
        Color::Yellow => v1::HealthColor::Yellow,
        Color::Red => v1::HealthColor::Red,
    }
}

fn figure(of: &Figure) -> v1::HealthFigure {
    v1::HealthFigure {
        name: of.name.name().to_owned(),
        color: color(of.color).into(),
        value: of.value.clone(),
        rule: of.rule.to_owned(),
    }
}

fn finding(of: &Finding) -> v1::HealthFinding {
    v1::HealthFinding {
        kind: of.kind.name().to_owned(),
        color: color(of.color).into(),
        what: of.what.clone(),
        a: Some(place(&of.a)),
        b: of.b.as_ref().map(place),
        since_time: of.since.map(timestamp_s),
        times: of.times,
        hosts: of.hosts,
        host_names: of.host_names.clone(),
        advice: of.advice.clone(),
        next: of.next.clone(),
    }
}

fn place(of: &End) -> v1::HealthPlace {
    v1::HealthPlace {
        node_guid: of.node.0,
        node_name: of.name.clone(),
        port: of.port.map_or(0, |port| port.0.into()),
        cable_serial: of.serial.clone(),
    }
}
