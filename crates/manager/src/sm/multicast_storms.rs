//! Ports that end multicast groups too often (`<McDosThreshold>`): the switch's port before them is disabled
//! or bounced, as by opa-fm (`sa_updateMcDeleteCountForPort`), which does so at the HFI itself. Subnet
//! administration counts.

use weft_fabric::{Guid, PortNum, Tick};

use super::Manager;
use crate::io::{Event, MulticastStorm, PortAction};

/// Why such a port is changed.
const STORM: &str = "ends multicast groups more often than McDosThreshold";

impl Manager {
    /// A port has ended too many groups.
    pub(super) fn multicast_storm(&mut self, now: Tick, storm: MulticastStorm) {
        let before = self.port_before_hfi(storm.port);
        let changed = before.and_then(|at| self.change_unasked(now, at, storm.action, STORM));
        if let Some(port) = changed {
            self.out.event(Event::MulticastStorm {
                port,
                groups: storm.groups,
                bounced: storm.action == PortAction::Bounce,
            });
        }
    }

    /// The switch's port before an HFI.
    fn port_before_hfi(&self, port_guid: Guid) -> Option<(Guid, PortNum)> {
        let mut all = self.devices.numbers();
        let hfi = all.find(|number| {
            let device = &self.devices[*number];
            let node = device.observed.node.as_ref();
            !device.is_switch() && node.is_some_and(|node| node.info.port_guid == port_guid)
        })?;
        self.port_before(hfi)
    }
}
