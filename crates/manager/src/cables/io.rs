//! What goes in and what comes out.

use std::sync::Arc;

use weft_config::Instance;
use weft_fabric::Snapshot;
use weft_wire::packet::Packet;

use super::{CableInfoPolicy, CableMemories};

/// How cables are read. [`CablesSettings::default`] is what the stock opafm.xml says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CablesSettings {
    /// At which ends, if at all (`<CableInfoPolicy>`).
    pub policy: CableInfoPolicy,
    /// Key of the agents (`<MKey>`).
    pub m_key: u64,
}

impl CablesSettings {
    /// What an instance of the configuration says.
    pub fn from_config(instance: &Instance) -> Self {
        Self {
            policy: instance.sm.cable_info_policy,
            m_key: instance.sm.mkey,
        }
    }
}

/// What the reader of cables is told.
#[derive(Debug, Clone)]
pub enum CablesInput {
    /// The time has come that [`super::Cables::deadline`] named.
    Tick,
    /// A LID-routed datagram of subnet management arrived at the manager's port.
    Received(Packet),
    /// The fabric as it is from now on.
    Published(Arc<Snapshot>),
    /// Another manager runs the fabric from now on.
    StandBy,
}

/// What the reader of cables wants done.
#[derive(Debug, Clone)]
pub enum CablesOutput {
    /// Send a datagram from the manager's port.
    Send(Packet),
    /// What is known from now on.
    Memories(Arc<CableMemories>),
}
