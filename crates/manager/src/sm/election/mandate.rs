//! Who may become master where that is decided outside the fabric too, as by a key in etcd.
//!
//! The one that holds the mandate goes before all other managers that ask for it, and of these none becomes master beside
//! it. A master stays one without the mandate until a better one takes over in the fabric: where nobody can be asked, the
//! datagrams decide, and no standby is preferred to the master that there is.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use weft_fabric::Guid;
use weft_state::State;

use super::QUICK;

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
    /// Whether this manager must leave the fabric to who holds it.
    pub(super) fn forbids(self) -> bool {
        matches!(self, Self::Withheld(_))
    }

    /// The priority of a manager that asks for it; none where there is none.
    pub(super) fn priority(self, is_master: bool) -> Option<u8> {
        match (self, is_master) {
            (Self::Unneeded, _) => None,
            (Self::Held(_), _) => Some(HELD),
            (_, true) => Some(LEADS),
            (_, false) => Some(0),
        }
    }

    /// What counts after this manager did nothing for so long that another may hold it: it is told anew.
    pub(super) fn doubted(self) -> Self {
        match self {
            Self::Held(_) => Self::Withheld(None),
            other => other,
        }
    }

    /// From one poll of the master to the next: short where this manager is to be master soon.
    pub(super) fn poll_interval(self, usual: Duration) -> Duration {
        match self {
            Self::Held(_) => usual.min(QUICK),
            _ => usual,
        }
    }

    /// Why the master is to be looked after by a standby for which this is news; none where it need not be.
    pub(super) fn why_look(self, master: Option<Guid>) -> Option<&'static str> {
        match self {
            Self::Held(_) => Some("this manager holds the mandate now"),
            Self::Withheld(Some(holder)) if master != Some(holder) => {
                Some("another manager holds the mandate now")
            }
            _ => None,
        }
    }
}
