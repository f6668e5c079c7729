//! Who may become master where that is decided outside the fabric too, as by a key in etcd.
//!
//! The one that holds the mandate goes before all other managers that ask for it, and of these none becomes master beside
//! it. A master stays one without the mandate until a better one takes over in the fabric: where nobody can be asked, the
//! datagrams decide, and no standby is preferred to the master that there is.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use weft_fabric::{Guid, Tick};
use weft_state::State;
use weft_wire::enums::SmState;

use super::{Act, Election, QUICK, View};
use crate::sm::settings::ElectionSettings;

/// Priority of the one that holds the mandate: the highest of SMInfo.
const HELD: u8 = 15;
/// Priority of a master that does not hold it: above every other manager's usual one, below who holds it.
const LEADS: u8 = 14;

/// What is known of the mandate to be master.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, State)]
pub enum Mandate {
    /// There is none: datagrams alone decide.
    #[default]
    Unneeded,
    /// This manager holds it, in this term.
    Held(u64),
    /// This manager does not hold it: the manager on this port does, or nobody yet.
    Withheld(Option<Guid>),
    /// Nobody can be asked.
    Unknown,
}

impl Mandate {
    /// Whether this manager must not become master.
    fn forbids(self) -> bool {
        matches!(self, Self::Withheld(_))
    }

    /// The priority of a manager that asks for the mandate; none where there is none.
    fn priority(self, is_master: bool) -> Option<u8> {
        match (self, is_master) {
            (Self::Unneeded, _) => None,
            (Self::Held(_), _) => Some(HELD),
            (_, true) => Some(LEADS),
            (_, false) => Some(0),
        }
    }
}

impl Election {
    /// The priority by the mandate.
    pub(super) fn mandated_priority(&self) -> Option<u8> {
        self.mandate.priority(self.is_master())
    }

    /// Something new is known of the mandate.
    pub(super) fn mandated(&mut self, now: Tick, view: &View, mandate: Mandate) {
        if std::mem::replace(&mut self.mandate, mandate) == mandate {
            return;
        }
        match (self.role, mandate) {
            (SmState::STANDBY, Mandate::Held(_)) => {
                let why = "this manager holds the mandate now";
                self.look_after_master(now, view, why, false);
            }
            (SmState::STANDBY, Mandate::Withheld(Some(holder)))
                if self.watch.master != Some(holder) =>
            {
                let why = "another manager holds the mandate now";
                self.look_after_master(now, view, why, false);
            }
            (SmState::DISCOVERING | SmState::MASTER, _) => self.sweep(),
            _ => {}
        }
        self.acts.push(Act::Publish);
    }

    /// This manager did nothing for so long that another may hold the mandate: it is told anew.
    pub(super) fn doubt_mandate(&mut self) {
        if let Mandate::Held(_) = self.mandate {
            self.mandate = Mandate::Withheld(None);
        }
    }

    /// From one poll of the master to the next: short where this manager is to be master soon.
    pub(super) fn poll_interval(&self, settings: &ElectionSettings) -> Duration {
        match self.mandate {
            Mandate::Held(_) => settings.ping_interval.min(QUICK),
            _ => settings.ping_interval,
        }
    }

    /// Whether this manager must leave the fabric to the one that holds the mandate, which it has not met: it looks again
    /// soon.
    pub(super) fn waits_for_mandate(&mut self, now: Tick) -> bool {
        if self.mandate.forbids() {
            self.watch.poll_at = Some(now + QUICK);
        }
        self.mandate.forbids()
    }

    /// Whether the elevated priority counts at present.
    pub(in crate::sm) fn is_elevated(&self, settings: &ElectionSettings) -> bool {
        self.mandate == Mandate::Unneeded && self.priority(settings) > settings.priority
    }
}
