//! Handover to a better manager. Nothing is written meanwhile, because the other may
//! be master already.

use std::collections::BTreeSet;
use std::time::Duration;

use weft_fabric::{Guid, Tick};
use weft_state::State;
use weft_wire::sm::SmInfoControl;

use super::{Election, Peer, Question, View};

/// Timeout of the other manager's acknowledgement. Longer than all attempts of one
/// request.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(3);
/// Time for which a manager stays master after a handover without acknowledgement: the other one may wait
/// for something first, such as the master's records.
const PAUSE: Duration = Duration::from_secs(60);

/// Longest time for which a better standby that has no copy yet is waited for.
const COPIED_WITHIN: Duration = Duration::from_secs(60);

/// A handover that waits for its acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub(super) struct Handover {
    /// Port GUID of the manager that shall take over.
    to: Guid,
    /// Until when this manager waits for it.
    pub until: Tick,
}

/// A better standby that has no copy yet of what this manager has promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub(super) struct Wait {
    /// Port GUID of the standby.
    to: Guid,
    /// Until when it is waited for.
    until: Tick,
    /// That time is over, and a sweep asked for.
    over: bool,
}

/// Handovers to better managers.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Handovers {
    pub under_way: Option<Handover>,
    /// No further one before this: the last one was not acknowledged.
    not_before: Tick,
    pub wait: Option<Wait>,
    /// Ports of the standbys that have a copy; none where no copies are made.
    copied: Option<BTreeSet<Guid>>,
}

impl Handovers {
    /// When the time for a copy is over.
    pub(super) fn wait_ends(&self) -> Option<Tick> {
        self.wait.filter(|wait| !wait.over).map(|wait| wait.until)
    }
}

impl Election {
    pub(super) fn may_hand_over(&self, now: Tick) -> bool {
        now >= self.handovers.not_before
    }

    /// Waits for a better standby until it has a copy of what this manager has promised, or that takes too long. Returns
    /// whether it is not waited for any more.
    pub(super) fn wait_for_copy(&mut self, now: Tick, to: Guid) -> bool {
        let copied = self.handovers.copied.as_ref();
        if copied.is_none_or(|copied| copied.contains(&to)) {
            self.handovers.wait = None;
            return true;
        }
        let until = now + COPIED_WITHIN;
        let begun = self.handovers.wait.filter(|wait| wait.to == to);
        let over = false;
        let wait = begun.unwrap_or(Wait { to, until, over });
        self.handovers.wait = Some(wait);
        wait.until <= now
    }

    /// Waits for no standby but this one, if any: the others are not better any more, or gone.
    pub(super) fn wait_for_none_but(&mut self, to: Option<Guid>) {
        self.handovers.wait = self.handovers.wait.filter(|wait| Some(wait.to) == to);
    }

    /// These standbys have a copy.
    pub(super) fn copied(&mut self, to: Option<BTreeSet<Guid>>) {
        self.handovers.copied = to;
        let copied = self.handovers.copied.as_ref();
        let has = |wait: &Wait| copied.is_none_or(|copied| copied.contains(&wait.to));
        if self.handovers.wait.take_if(|wait| has(wait)).is_some() {
            self.sweep();
        }
    }

    /// Hands over even without a copy when the time for it is over.
    pub(super) fn end_wait(&mut self, now: Tick) {
        let wait = self.handovers.wait.as_mut();
        if let Some(wait) = wait.filter(|wait| !wait.over && wait.until <= now) {
            wait.over = true;
            self.sweep();
        }
    }

    /// Requests a better standby to take over.
    pub(super) fn hand_over(&mut self, now: Tick, view: &View, to: &Peer) {
        self.handovers.wait = None;
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
