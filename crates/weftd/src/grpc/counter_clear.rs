//! `ClearPortCounters`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;
use tokio::{task, time};
use tonic::Status;
use weft_api::{counters_named, v1};
use weft_fabric::{Guid, PortNum};
use weft_manager::pm::{ClearOutcome, clear_selection};
use weft_manager::port_totals::PortTotals;

use super::counters::{chosen, focus, none_yet};
use super::perf::is_off;
use super::refusal::{check_words, wrong_field};
use super::{Services, stopping};
use crate::clears::ClearRequest;

/// How long the totals of a reading may take after it.
const PATIENCE: Duration = Duration::from_secs(10);

impl Services {
    /// Has counters set to zero and waits for it.
    pub(super) async fn clear_counters(
        &self,
        request: v1::ClearPortCountersRequest,
    ) -> Result<v1::ClearPortCountersResponse, Status> {
        let counters = counters_named(request.counters.as_ref());
        let counters = counters.map_err(|why| wrong_field("counters", &why))?;
        check_words(&request.reason, &request.author)?;
        self.must_be_attached()?;
        let totals = self.totals()?;
        // At many ports that takes milliseconds.
        let ports = task::spawn_blocking(move || ports(&totals, &request.point, request.neighbors));
        let ports = ports
            .await
            .map_err(|error| Status::internal(error.to_string()))??;
        let (done, told) = oneshot::channel();
        let request = ClearRequest {
            ports,
            select: clear_selection(counters),
            done,
        };
        self.clears.try_send(request).map_err(|error| match error {
            TrySendError::Full(_) => Status::resource_exhausted(
                "others have counters set to zero just now: ask again in a moment",
            ),
            TrySendError::Closed(_) => stopping(),
        })?;
        let outcome = told.await.map_err(|_| is_off())?;
        self.wait_for_totals(outcome.image).await;
        Ok(answer(&outcome))
    }

    /// Waits until readers see what a reading has brought, or for so long as they may have to wait anyway.
    async fn wait_for_totals(&self, number: u64) {
        let mut totals = self.port_counters.subscribe();
        let is_there = |totals: &Arc<PortTotals>| {
            let image = totals.image();
            image.is_some_and(|image| image.number >= number)
        };
        let _ = time::timeout(PATIENCE, totals.wait_for(is_there)).await;
    }
}

/// The ports that a point names, and if wanted those at the other ends of their links.
fn ports(
    totals: &PortTotals,
    point: &str,
    neighbors: bool,
) -> Result<Vec<(Guid, PortNum)>, Status> {
    let image = totals.image().ok_or_else(none_yet)?;
    let roster = &image.roster;
    let options = focus(&roster.snapshot, point)?;
    let mut places = BTreeSet::new();
    for (_, place) in chosen(roster, &options) {
        places.insert(place);
        let other = roster.ports[place].neighbor.filter(|_| neighbors);
        places.extend(other.map(|place| place as usize));
    }
    let ports = places.into_iter().map(|place| &roster.ports[place]);
    Ok(ports
        .map(|port| (roster.member_of(port).guid, port.number))
        .collect())
}

fn answer(outcome: &ClearOutcome) -> v1::ClearPortCountersResponse {
    let nodes = |ports: &[(Guid, PortNum)]| {
        let nodes: BTreeSet<Guid> = ports.iter().map(|(node, _)| *node).collect();
        nodes.len() as u32
    };
    v1::ClearPortCountersResponse {
        image_number: outcome.image,
        cleared_ports: outcome.cleared.len() as u32,
        cleared_nodes: nodes(&outcome.cleared),
        failed_ports: outcome.failed.len() as u32,
        failed_nodes: nodes(&outcome.failed),
        skipped_ports: outcome.skipped.len() as u32,
    }
}
