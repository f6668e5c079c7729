//! Observers of the devices, called after each Set.

use weft_dataplane::{Network, PortIndex};
use weft_fabric::{NodeId, Tick};
use weft_wire::sm::AttributeId;

/// A Set that a node has carried out; of an aggregate each segment is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetDone {
    /// When.
    pub now: Tick,
    /// The port that asked for it.
    pub from: PortIndex,
    /// The node.
    pub node: NodeId,
    /// The attribute.
    pub attribute: AttributeId,
    /// Its modifier.
    pub modifier: u32,
}

/// Sees the devices after each Set that one of them has carried out, before anything else happens.
pub trait Observer: std::fmt::Debug + Send {
    /// A Set has been carried out.
    fn set_done(&mut self, network: &Network, done: SetDone);
}
