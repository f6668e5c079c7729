//! Which devices are let into the fabric.

use weft_config::Instance;
use weft_fabric::Guid;

/// Which devices are let into the fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionSettings {
    /// What a device says about itself is compared with what its neighbour's hardware reports
    /// (`<SmaSpoofingCheck>`).
    pub compares: bool,
    /// Ports that have fewer data lanes than are in use are used with those that they have (`<AllowMixedVLs>`).
    pub mixes_lanes: bool,
}

impl Default for AdmissionSettings {
    fn default() -> Self {
        Self {
            compares: true,
            mixes_lanes: false,
        }
    }
}

impl AdmissionSettings {
    pub(super) fn from_config(instance: &Instance) -> Self {
        Self {
            compares: instance.sm.sma_spoofing_check,
            mixes_lanes: instance.sm.allow_mixed_vls,
        }
    }

    /// Whether what the device with a GUID says about itself is compared.
    pub(crate) fn doubts(&self, _device: Guid) -> bool {
        self.compares
    }
}
