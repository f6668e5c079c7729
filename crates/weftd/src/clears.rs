//! Requests to have counters of devices set to zero, on their way to the performance manager and back.

use std::collections::BTreeMap;

use tokio::sync::{mpsc, oneshot};
use weft_fabric::{Guid, PortNum};
use weft_manager::pm::{ClearOrder, ClearOutcome};

/// Requests that wait for the queries thread.
const CLEARS_MAX: usize = 8;

/// Counters of ports to be set to zero.
#[derive(Debug)]
pub(crate) struct ClearRequest {
    pub(crate) ports: Vec<(Guid, PortNum)>,
    /// As `clear_selection` makes them.
    pub(crate) select: u32,
    /// Gets what came of it; dropped where no performance manager runs any more.
    pub(crate) done: oneshot::Sender<ClearOutcome>,
}

/// The two ends between clients and the queries thread.
pub(crate) fn clears() -> (mpsc::Sender<ClearRequest>, mpsc::Receiver<ClearRequest>) {
    mpsc::channel(CLEARS_MAX)
}

/// Those who wait for the performance manager, by the numbers of their orders.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    last: u64,
    waiting: BTreeMap<u64, oneshot::Sender<ClearOutcome>>,
}

impl Waiting {
    /// The order of a request.
    pub(crate) fn order(&mut self, request: ClearRequest) -> ClearOrder {
        let ClearRequest {
            ports,
            select,
            done,
        } = request;
        self.last += 1;
        self.waiting.insert(self.last, done);
        ClearOrder {
            id: self.last,
            ports,
            select,
        }
    }

    /// Tells an outcome to who waits for it, if he still does.
    pub(crate) fn end(&mut self, outcome: ClearOutcome) {
        if let Some(done) = self.waiting.remove(&outcome.id) {
            let _ = done.send(outcome);
        }
    }

    /// Lets all go: their performance manager is gone.
    pub(crate) fn let_go(&mut self) {
        self.waiting.clear();
    }
}
