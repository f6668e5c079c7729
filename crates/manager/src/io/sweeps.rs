//! What a sweep tells besides its figures: the traps before it, and what it wrote.

use serde::{Deserialize, Serialize};
use weft_fabric::{Guid, Lid};
use weft_routing::Certificate;

/// A trap that reports a change, so that a sweep follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedChange {
    /// That of its [`Event::Trap`](super::Event::Trap).
    pub number: u64,
    /// LID of the sender.
    pub lid: Lid,
    /// Description of the trap.
    pub what: String,
}

/// A switch that has confirmed blocks of its linear table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenSwitch {
    /// GUID of the switch.
    pub switch: Guid,
    /// Number of blocks.
    pub blocks: u32,
}

/// What the certificate proves of routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
