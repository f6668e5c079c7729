//! What can differ at the far end of a link, and what is done about it.

use std::fmt;

use serde::{Deserialize, Serialize};
use weft_state::State;

/// What differs at the far end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, State)]
#[repr(u8)]
pub enum Fault {
    /// The file has no cable at the near port, or one to another port number.
    UndefinedLink = 1,
    /// Another NodeGUID.
    NodeGuid = 2,
    /// Another NodeDesc.
    NodeDesc = 4,
    /// Another PortGUID of an HFI, or an HFI in place of a switch.
    PortGuid = 8,
}

/// All faults, in the order in which they are named.
const ALL: [(Fault, &str); 4] = [
    (Fault::UndefinedLink, "no such link"),
    (Fault::NodeDesc, "another NodeDesc"),
    (Fault::NodeGuid, "another NodeGUID"),
    (Fault::PortGuid, "another PortGUID"),
];

/// A set of [`Fault`]s; displays as a list in words.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, State,
)]
pub struct Faults(u8);

impl Faults {
    /// Adds one.
    pub fn insert(&mut self, fault: Fault) {
        self.0 |= fault as u8;
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether one is in it.
    pub fn contains(self, fault: Fault) -> bool {
        self.0 & fault as u8 != 0
    }

    /// Those of them that `rules` give a level.
    pub(super) fn at(self, rules: &Rules, level: Look) -> Self {
        let at = ALL
            .iter()
            .filter(|(fault, _)| self.contains(*fault) && rules.look(*fault) == level);
        at.fold(Self::default(), |mut all, (fault, _)| {
            all.insert(*fault);
            all
        })
    }

    /// Those of either set.
    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ALL.iter().filter(|(fault, _)| self.contains(*fault));
        let names: Vec<&str> = names.map(|(_, name)| *name).collect();
        f.write_str(&names.join(", "))
    }
}

/// What is done about a fault.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, State)]
pub enum Look {
    /// It is not looked for.
    #[default]
    Off,
    /// It is reported.
    Warn,
    /// The link is not to be used.
    Enforce,
}

/// What is done about each fault.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct Rules {
    /// Another NodeDesc.
    pub node_desc: Look,
    /// Another NodeGUID. Where it is off, nodes that the file does not have by GUID are looked up by description.
    pub node_guid: Look,
    /// Another PortGUID.
    pub port_guid: Look,
    /// A link that the file lacks.
    pub undefined_link: Look,
}

impl Rules {
    /// The same for each fault.
    pub fn all(look: Look) -> Self {
        Self {
            node_desc: look,
            node_guid: look,
            port_guid: look,
            undefined_link: look,
        }
    }

    fn look(&self, fault: Fault) -> Look {
        match fault {
            Fault::UndefinedLink => self.undefined_link,
            Fault::NodeGuid => self.node_guid,
            Fault::NodeDesc => self.node_desc,
            Fault::PortGuid => self.port_guid,
        }
    }
}
