//! Inputs and outputs.

use std::sync::Arc;

use weft_config::Instance;
use weft_fabric::Snapshot;
use weft_wire::packet::Packet;

use weft_fabric::CableMemories;

use super::CableInfoPolicy;

/// Settings of cable reading. [`CablesSettings::default`] equals the stock opafm.xml.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CablesSettings {
    /// At which ends, if at all (`<CableInfoPolicy>`).
    pub policy: CableInfoPolicy,
    /// Key of the agents (`<MKey>`).
    pub m_key: u64,
}

impl CablesSettings {
    /// Settings of an instance of the configuration.
    pub fn from_config(instance: &Instance) -> Self {
        Self {
            policy: instance.sm.cable_info_policy,
            m_key: instance.sm.mkey,
        }
    }
}

/// Inputs of the cable reader.
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

/// Outputs of the cable reader.
#[derive(Debug, Clone)]
pub enum CablesOutput {
    /// Send a datagram from the manager's port.
    Send(Packet),
    /// The cable memories known from now on.
    Memories(Arc<CableMemories>),
}
