//! What a sweep tells besides its figures: the traps before it, and what it wrote.

use serde::{Deserialize, Serialize};
use weft_fabric::{Guid, Lid};
use weft_routing::Certificate;
use weft_state::State;

/// A trap that reports a change, so that a sweep follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct ReportedChange {
    /// That of its [`Event::Trap`](super::Event::Trap).
    pub number: u64,
    /// LID of the sender.
    pub lid: Lid,
    /// Description of the trap.
    pub what: String,
}

/// The linear tables that a sweep has written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct WrittenTables {
    /// Blocks that switches have confirmed.
    pub blocks: u64,
    /// Switches that have confirmed some.
    pub switches: u32,
    /// The first 256 of them, by GUID.
    pub first: Vec<WrittenSwitch>,
    /// What is proved of the routes that it has put in force or left in force; none where there are none, or where the
    /// way to them was refused.
    pub certificate: Option<Certified>,
}

/// A switch that has confirmed blocks of its linear table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct WrittenSwitch {
    /// GUID of the switch.
    pub switch: Guid,
    /// Number of blocks.
    pub blocks: u32,
}

/// What the certificate proves of routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct Certified {
    /// Pairs of a switch and a LID with complete routes.
    pub routes: u64,
    /// Pairs that no cables join.
    pub disconnected: u64,
    /// Pairs of successive links, without a cycle.
    pub dependencies: u64,
}

impl Certified {
    /// What a certificate proves.
    pub fn of(certificate: &Certificate) -> Self {
        Self {
            routes: certificate.routes(),
            disconnected: certificate.disconnected(),
            dependencies: certificate.dependencies(),
        }
    }
}
