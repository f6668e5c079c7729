//! `<Node>` without its forwarding tables.

use weft_wire::Layout;
use weft_wire::enums::{NodeType, PortType};
use weft_wire::id::{Guid, PortNum};
use weft_wire::sm::{NodeInfo, SwitchInfo};

use super::port::{port_info, read_bytes};
use crate::import::ImportError;
use crate::import::xml::Element;
use crate::powered_on;
use crate::tables::PortMask;
use crate::topology::{Node, Port};

pub(super) fn read_node(element: &Element<'_>) -> Result<Node, ImportError> {
    let info = read_info(element)?;
    let switch = match info.node_type {
        NodeType::SWITCH => Some(read_switch(element)?),
        _ => None,
    };
    let node = Node::new(info, element.description(), switch, powered_on_ports(&info));
    let mut node = node.map_err(|error| ImportError::topology(element.line, &error))?;
    let mut seen = PortMask::EMPTY;
    for child in element.all("PortInfo") {
        let number = PortNum(child.required("PortNum")?);
        let first = node.first_port();
        let port = node.port_mut(number).filter(|_| !seen.contains(number));
        let port = port.ok_or_else(|| {
            let allowed = format!("each of {first} to {} once", info.num_ports);
            ImportError::new(child.line, format!("<PortInfo> of port {number}"), allowed)
        })?;
        port.info = port_info(child, port.info)?;
        seen.insert(number);
    }
    Ok(node)
}

fn read_info(element: &Element<'_>) -> Result<NodeInfo, ImportError> {
    let guid = Guid(element.required("NodeGUID")?);
    let node_type = NodeType(element.required("NodeType_Int")?);
    let num_ports = element.required("NumPorts")?;
    let base = match node_type {
        NodeType::SWITCH => powered_on::switch_node_info(guid, guid, num_ports),
        NodeType::HFI => powered_on::hfi_info(guid, num_ports),
        other => {
            let what = format!("<NodeType_Int> is {}", other.0);
            return Err(ImportError::new(
                element.line_of("NodeType_Int"),
                what,
                "1 (HFI) or 2 (switch)",
            ));
        }
    };
    let most = if node_type == NodeType::SWITCH {
        254
    } else {
        4
    };
    if !(1..=most).contains(&num_ports) {
        let what = format!("<NumPorts> is {num_ports}");
        return Err(ImportError::new(
            element.line_of("NumPorts"),
            what,
            format!("1 to {most}"),
        ));
    }
    let system = element.optional("SystemImageGUID")?.map_or(guid, Guid);
    let vendor: u32 = element.optional("VendorID")?.unwrap_or(base.vendor_id);
    Ok(NodeInfo {
        base_version: element
            .optional("BaseVersion")?
            .unwrap_or(base.base_version),
        class_version: element
            .optional("ClassVersion")?
            .unwrap_or(base.class_version),
        system_image_guid: system,
        partition_cap: element
            .optional("PartitionCap")?
            .unwrap_or(base.partition_cap),
        device_id: element.optional("DeviceID")?.unwrap_or(base.device_id),
        revision: element.optional("Revision")?.unwrap_or(base.revision),
        vendor_id: vendor & 0x00FF_FFFF,
        ..base
    })
}

fn powered_on_ports(info: &NodeInfo) -> Vec<Port> {
    let port = |info| Port { info, peer: None };
    let external = (1..=info.num_ports).map(PortNum);
    if info.node_type == NodeType::SWITCH {
        let external = external.map(|number| powered_on::switch_port(number, PortType::STANDARD));
        return std::iter::once(powered_on::management_port())
            .chain(external)
            .map(port)
            .collect();
    }
    external.map(powered_on::hfi_port).map(port).collect()
}

fn read_switch(element: &Element<'_>) -> Result<SwitchInfo, ImportError> {
    let Some(element) = element.child("SwitchInfo") else {
        return Ok(powered_on::switch_info());
    };
    let mut bytes = powered_on::switch_info().to_bytes();
    for (name, at, width) in [
        ("LinearFDBCap", 0, 4),
        ("PortGroupFDBCap", 4, 4),
        ("MulticastFDBCap", 8, 4),
        ("LinearFDBTop", 12, 4),
        ("MulticastFDBTop", 16, 4),
        ("PartitionEnforcementCap", 70, 2),
        ("PortGroupCap", 72, 1),
        ("PortGroupTop", 73, 1),
        ("RoutingModeSupported", 74, 1),
        ("RoutingModeEnabled", 75, 1),
        ("U2", 76, 1),
        ("AdaptiveRouting", 78, 2),
        ("CapabilityMask", 80, 2),
    ] {
        let value = match width {
            1 => element.optional::<u8>(name)?.map(u64::from),
            2 => element.optional::<u16>(name)?.map(u64::from),
            _ => element.optional::<u32>(name)?.map(u64::from),
        };
        if let Some(value) = value {
            bytes[at..at + width].copy_from_slice(&value.to_be_bytes()[8 - width..]);
        }
    }
    // As many bytes as SwitchInfo has.
    let mut info = SwitchInfo::decode(&bytes).unwrap_or_default();
    info.life_time_value = element.optional("LifeTimeValue_Int")?.unwrap_or(0);
    info.port_state_change = element
        .optional::<u8>("PortStateChange")?
        .is_some_and(|on| on != 0);
    info.multicast_mask = element
        .optional("MulticastMask")?
        .unwrap_or(info.multicast_mask);
    info.collective_mask = element
        .optional("CollectiveMask")?
        .unwrap_or(info.collective_mask);
    for (name, field) in [
        ("IPAddrIPV6", &mut info.ip_addr_ipv6[..]),
        ("IPAddrIPV4", &mut info.ip_addr_ipv4[..]),
    ] {
        if let Some(child) = element.child(name) {
            read_bytes(child, field)?;
        }
    }
    Ok(info)
}
