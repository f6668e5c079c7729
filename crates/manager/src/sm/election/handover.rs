//! Handover to a better manager. Nothing is written meanwhile, because the other may
//! be master already.

use std::time::Duration;

use weft_fabric::{Guid, Tick};
use weft_wire::sm::SmInfoControl;

use super::{Election, Peer, Question, View};

/// Timeout of the other manager's acknowledgement. Longer than all attempts of one
/// request.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(3);
/// Time for which a manager stays master after a handover without acknowledgement: the other one may wait
/// for something first, such as the master's records.
const PAUSE: Duration = Duration::from_secs(60);

/// A handover that waits for its acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Handover {
    /// Port GUID of the manager that shall take over.
    to: Guid,
    /// Until when this manager waits for it.
    pub until: Tick,
}

/// Handovers to better managers.
#[derive(Debug, Default)]
pub(super) struct Handovers {
    pub under_way: Option<Handover>,
    /// No further one before this: the last one was not acknowledged.
    not_before: Tick,
}

impl Election {
    pub(super) fn may_hand_over(&self, now: Tick) -> bool {
        now >= self.handovers.not_before
    }

    /// Requests a better standby to take over.
    pub(super) fn hand_over(&mut self, now: Tick, view: &View, to: &Peer) {
        self.handovers.under_way = Some(Handover {
            to: to.info.port_guid,
            until: now + ACKNOWLEDGED_WITHIN,
        });
        let control = Some(SmInfoControl::Handover);
        self.send(view, to.path.clone(), control, Question::Handover);
    }

    /// Tells a better master that this one gives up. It need not answer: this manager stands by.
    pub(super) fn tell_handover(&mut self, view: &View, to: &Peer) {
        let control = Some(SmInfoControl::Handover);
        self.send(view, to.path.clone(), control, Question::Notice);
    }

    /// Whether a handover to a manager is in progress.
    pub(super) fn is_handing_over_to(&self, guid: Guid) -> bool {
        let handover = self.handovers.under_way;
        handover.is_some_and(|handover| handover.to == guid)
    }

    /// Stays master where the other one has not said in time that it is.
    pub(super) fn end_stale_handover(&mut self, now: Tick) {
        let handover = self.handovers.under_way;
        if handover.is_some_and(|handover| handover.until <= now) {
            self.end_handover(now);
        }
    }

    /// Continues as master. The next discovery reads the other manager's state before anything is
    /// written.
    pub(super) fn end_handover(&mut self, now: Tick) {
        if self.handovers.under_way.take().is_some() {
            self.handovers.not_before = now + PAUSE;
            self.sweep();
        }
    }
}
