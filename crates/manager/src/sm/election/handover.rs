//! Giving the fabric to a better manager. While that is under way nothing is written: the other may
//! be master already.

use std::time::Duration;

use weft_fabric::{Guid, Tick};
use weft_wire::sm::SmInfoControl;
use weft_wire::smp::SmpView;

use super::super::{Manager, Tag};
use super::{Handover, Peer};
use crate::io::SweepReason;

/// How long a manager waits for the other to say that it is master. Longer than all attempts of one
/// request take.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(3);
/// How long a manager stays master after a handover that was not acknowledged: the other one may wait
/// for something first, such as the master's records.
const PAUSE: Duration = Duration::from_secs(60);

impl Manager {
    pub(super) fn may_hand_over(&self, now: Tick) -> bool {
        now >= self.standing.no_handover_before
    }

    /// Asks a better manager that stands by to take over.
    pub(super) fn hand_over(&mut self, now: Tick, to: &Peer) {
        self.standing.handover = Some(Handover {
            to: to.info.port_guid,
            until: now + ACKNOWLEDGED_WITHIN,
        });
        self.send_sm_info(now, &to.path, Some(SmInfoControl::Handover), Tag::Handover);
    }

    /// Tells a better master that this one gives up. It need not answer: this manager stands by.
    pub(super) fn tell_handover(&mut self, now: Tick, to: &Peer) {
        self.send_sm_info(now, &to.path, Some(SmInfoControl::Handover), Tag::Notice);
    }

    /// Whether a manager was asked to take over.
    pub(super) fn is_handing_over_to(&self, guid: Guid) -> bool {
        let handover = self.standing.handover;
        handover.is_some_and(|handover| handover.to == guid)
    }

    /// The other manager has answered; it is master once it says so itself.
    pub(in super::super) fn handover_answered(&mut self, now: Tick, view: &SmpView<'_>) {
        if Self::answer_of(view).is_none() {
            self.end_handover(now);
        }
    }

    /// The other manager did not answer.
    pub(in super::super) fn handover_not_answered(&mut self, now: Tick) {
        self.end_handover(now);
    }

    /// Stays master where the other one has not said in time that it is.
    pub(super) fn end_stale_handover(&mut self, now: Tick) {
        let handover = self.standing.handover;
        if handover.is_some_and(|handover| handover.until <= now) {
            self.end_handover(now);
        }
    }

    /// Goes on as master. The next discovery asks the other one what it is, before anything is
    /// written.
    fn end_handover(&mut self, now: Tick) {
        if self.standing.handover.take().is_some() {
            self.standing.no_handover_before = now + PAUSE;
            self.request_sweep(now, SweepReason::Election);
        }
    }
}
