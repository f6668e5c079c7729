//! Which devices are let into the fabric.

use serde::{Deserialize, Serialize};
use weft_config::Instance;
use weft_fabric::Guid;
use weft_state::State;

/// Which devices are let into the fabric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct AdmissionSettings {
    /// What a device says about itself is compared with what its neighbour's hardware reports
    /// (`<SmaSpoofingCheck>`).
    pub compares: bool,
    /// Switches are refused whose firmware the hardware of their neighbours has not checked
    /// (`<NeighborFWAuthenEnable>`).
    pub needs_checked_firmware: bool,
    /// HFIs that are trusted: they are not compared, and switches let their packets in with any source LID
    /// (`<SmAppliances>`).
    pub appliances: Vec<Guid>,
    /// Ports that have fewer data lanes than are in use are used with those that they have (`<AllowMixedVLs>`).
    pub mixes_lanes: bool,
}

impl Default for AdmissionSettings {
    fn default() -> Self {
        Self {
            compares: true,
            needs_checked_firmware: false,
            appliances: Vec::new(),
            mixes_lanes: false,
        }
    }
}

impl AdmissionSettings {
    pub(super) fn from_config(instance: &Instance) -> Self {
        let section = &instance.sm.sm_appliances;
        let appliances = section.nodes();
        Self {
            compares: instance.sm.sma_spoofing_check,
            needs_checked_firmware: instance.sm.neighbor_fw_authen_enable,
            appliances: appliances.filter(|_| section.enable).collect(),
            mixes_lanes: instance.sm.allow_mixed_vls,
        }
    }

    /// Whether what the device with a NodeGUID says about itself is compared.
    pub(crate) fn doubts(&self, device: Guid) -> bool {
        self.compares && !self.is_appliance(device)
    }

    pub(crate) fn is_appliance(&self, device: Guid) -> bool {
        self.appliances.contains(&device)
    }
}
