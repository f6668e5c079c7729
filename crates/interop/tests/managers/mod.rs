//! A manager of either kind on a host.

use std::time::Duration;

use weft_interop::vendor_sm::{SmSettings, VendorSm};
use weft_interop::{Fabric, Weftd};

const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Vendor,
    Weft,
}

pub(crate) enum Manager {
    Vendor(VendorSm),
    Weft(Weftd),
}

impl Manager {
    pub(crate) fn start(kind: Kind, fabric: &Fabric, host: &str, priority: u8) -> Self {
        let settings = SmSettings {
            priority,
            ping_s: 1,
            ..SmSettings::default()
        };
        match kind {
            Kind::Vendor => Self::Vendor(VendorSm::start(fabric, host, &settings)),
            Kind::Weft => Self::Weft(Weftd::start(fabric, host, &settings)),
        }
    }

    pub(crate) fn wait_until_master(&mut self) {
        match self {
            Self::Vendor(sm) => {
                sm.wait_for("to MASTER", 1, PATIENCE);
                let swept = sm.sweeps().len();
                sm.swept(swept.max(1), PATIENCE);
            }
            Self::Weft(weftd) => weftd.wait_until_master(PATIENCE),
        }
    }

    pub(crate) fn wait_until_standby(&mut self) {
        match self {
            Self::Vendor(sm) => sm.wait_for("to STANDBY", 1, PATIENCE),
            Self::Weft(weftd) => weftd.wait_until_standby(PATIENCE),
        }
    }

    pub(crate) fn kill(&mut self) {
        match self {
            Self::Vendor(sm) => sm.kill(),
            Self::Weft(weftd) => weftd.kill(),
        }
    }

    pub(crate) fn log(&self) -> String {
        match self {
            Self::Vendor(sm) => sm.log(),
            Self::Weft(weftd) => weftd.log(),
        }
    }
}
