//! Registers of a device, as far as it has confirmed them.

use std::sync::Arc;

use weft_fabric::port_tables::PortTable;
use weft_fabric::{Node, PortMask, PortNum, SwitchPortGroups};

use super::Manager;
use super::devices::Device;
use super::tables::TableStore;

/// Registers of a device.
#[derive(Debug, Clone)]
pub struct DeviceRegisters {
    /// PortInfo and SwitchInfo.
    pub node: Arc<Node>,
    /// Linear forwarding table of a switch; beyond its end all is dropped.
    pub linear: Arc<[u8]>,
    /// Adaptive-routing groups, none where they are not known.
    pub groups: Option<Arc<SwitchPortGroups>>,
    /// Multicast forwarding table; entry n is for LID [`FIRST_MLID`](weft_fabric::FIRST_MLID) + n.
    pub multicast: Vec<PortMask>,
    /// Tables of its ports; those that are not known are left out.
    pub tables: Vec<(PortNum, PortTable, Arc<[u8]>)>,
}

impl Manager {
    /// What each device of the fabric holds: newer than the snapshot in the middle of a sweep.
    pub fn device_registers(&self) -> impl Iterator<Item = DeviceRegisters> {
        let devices = self.devices.iter();
        devices.filter_map(|device| registers(device, &self.devices.tables))
    }
}

fn registers(device: &Device, contents: &TableStore) -> Option<DeviceRegisters> {
    let observed = &device.observed;
    let ports = device.ports_with_tables();
    let tables = ports.flat_map(|port| {
        let ids = observed.tables(port).ids;
        let kinds = PortTable::ALL.into_iter().zip(ids);
        kinds.filter_map(move |(kind, id)| Some((port, kind, contents.shared(id)?)))
    });
    Some(DeviceRegisters {
        node: Arc::clone(observed.node.as_ref()?),
        linear: observed.lft.row(),
        groups: observed.groups.clone(),
        multicast: observed.mft.confirmed(),
        tables: tables.collect(),
    })
}
