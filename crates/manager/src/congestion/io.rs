//! Inputs and outputs.

use std::sync::Arc;

use weft_config::Instance;
use weft_config::sm::CongestionControl;
use weft_fabric::{Guid, PortNum, Snapshot};
use weft_wire::packet::Packet;
use weft_wire::sm::AttributeId;

use super::CongestionHeld;
use crate::ask::SkippedWrites;

/// Settings for devices. [`CongestionSettings::default`] disables congestion control, as the
/// stock opafm.xml does.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CongestionSettings {
    /// `<CongestionControl>`.
    pub control: CongestionControl,
    /// Key of the agents (`<MKey>`).
    pub m_key: u64,
    /// Settings that are only read (`<SkipAttributeWrite>`).
    pub skips: SkippedWrites,
}

impl CongestionSettings {
    /// Settings of an instance of the configuration.
    pub fn from_config(instance: &Instance) -> Self {
        Self {
            control: instance.sm.congestion_control.clone(),
            m_key: instance.sm.mkey,
            skips: SkippedWrites(instance.sm.skip_attribute_write),
        }
    }
}

/// Inputs of the writer of congestion control.
#[derive(Debug, Clone)]
pub enum CongestionInput {
    /// The time has come that [`super::Congestion::deadline`] named.
    Tick,
    /// A LID-routed datagram of subnet management arrived at the manager's port.
    Received(Packet),
    /// The fabric as it is from now on.
    Published(Arc<Snapshot>),
    /// Another manager runs the fabric from now on.
    StandBy,
    /// Other settings.
    Settings(CongestionSettings),
}

/// Outputs of the writer of congestion control.
#[derive(Debug, Clone)]
pub enum CongestionOutput {
    /// Send a datagram from the manager's port.
    Send(Packet),
    /// Settings held by devices from now on; empty if congestion control is off.
    Held(Arc<CongestionHeld>),
    /// Tell people that a device does not take a setting.
    Refused {
        /// The node.
        node: Guid,
        /// The port, 0 of a switch.
        port: PortNum,
        /// The setting.
        attribute: AttributeId,
        /// The status of its answer; 0 where it keeps something else.
        status: u16,
    },
}
