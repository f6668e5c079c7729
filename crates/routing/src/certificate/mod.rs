//! The certificate: what must be true of tables before any of them is written.
//!
//! It reads the topology by itself and shares no code with the engines.

mod finding;

pub use finding::{Channel, Drop, Finding, Hop, Refusal};
use weft_fabric::{LinearTables, NodeId, PortGroupTables, Topology};

use crate::diff::WritePlan;

/// Linear tables and the adaptive groups that go with them.
#[derive(Debug, Clone, Copy)]
pub struct Tables<'a> {
    /// Linear forwarding tables.
    pub linear: &'a LinearTables,
    /// Adaptive groups, empty where adaptive routing is off.
    pub groups: &'a PortGroupTables,
}

/// Proof that tables are good for one topology; only [`certify`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// LIDs that were followed, of HFIs and of switches.
    pub lids: u64,
    /// Switch-to-LID routes that arrive.
    pub routes: u64,
    /// Switch-to-LID routes that cannot exist, because no cables lead there.
    pub disconnected: u64,
    /// The parts of the fabric that no cable joins, as switches; one when all is connected.
    pub parts: Vec<Vec<NodeId>>,
    /// Directed links between switches.
    pub channels: u64,
    /// Pairs of successive links that data traffic uses; they close no cycle.
    pub dependencies: u64,
}

/// How to get from old tables to new ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transition {
    /// Any order of writes is safe.
    Direct(WritePlan),
    /// Some entries must be dropped first.
    Drained(WritePlan),
}
/// Judges tables.
///
/// # Errors
/// [`Refusal`] with what is wrong.
pub fn certify(_topology: &Topology, _tables: Tables<'_>) -> Result<Certificate, Refusal> {
    Err(Refusal { findings: Vec::new() })
}
/// Judges the way from old tables to new ones.
///
/// # Errors
/// [`Refusal`] when the new tables themselves are wrong.
pub fn certify_transition(_t: &Topology, _old: Tables<'_>, _new: Tables<'_>) -> Result<Transition, Refusal> {
    Err(Refusal { findings: Vec::new() })
}
