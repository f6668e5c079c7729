//! Names of ports and links in reports.

use serde::Serializer;
use std::fmt::Display;
use weft_fabric::enums::{LinkSpeed, LinkWidth};
use weft_fabric::topology::{node_type, width_in_use};
use weft_fabric::{Guid, NodeId, PortRef, Snapshot, Topology};
use weft_wire::sm::PortInfo;

/// Writes a value as the text that it prints as: GUIDs have more digits than a JSON number keeps.
pub(crate) fn as_text<T: Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

/// Serializes an optional value as text.
pub(crate) fn as_text_opt<T: Display, S: Serializer>(
    value: &Option<T>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => to.collect_str(value),
        None => to.serialize_none(),
    }
}

/// A port's GUID, where it has one: a switch's port 0 and the port of an HFI.
pub(crate) fn port_guid(topology: &Topology, at: PortRef) -> Option<Guid> {
    let node = topology.node(at.node)?;
    (at.port == node.first_port()).then_some(node.info.port_guid)
}

/// `0x… SW name`.
pub(crate) fn node_line(snapshot: &Snapshot, id: NodeId) -> String {
    match snapshot.topology.node(id) {
        Some(node) => format!("{} {} {}", node.guid(), node_type(node), node.name()),
        None => String::new(),
    }
}

/// Twice the rate in Gb/s as it is called (100g is 200): lanes in use, in the narrower direction, times
/// the speed of a lane. None where no link is up.
pub(crate) fn rate_half_gigabits(info: &PortInfo) -> Option<u32> {
    let lanes = match width_in_use(info) {
        LinkWidth::X1 => 1,
        LinkWidth::X2 => 2,
        LinkWidth::X3 => 3,
        LinkWidth::X4 => 4,
        _ => return None,
    };
    match info.link_speed_active {
        LinkSpeed::G12_5 => Some(lanes * 25),
        LinkSpeed::G25 => Some(lanes * 50),
        _ => None,
    }
}

/// The rate as the vendor's tools call it: `100g`, `37.5g`.
pub(crate) fn rate(info: &PortInfo) -> String {
    match rate_half_gigabits(info) {
        Some(half) => format!("{}g", f64::from(half) / 2.0),
        None => "none".to_owned(),
    }
}

/// A link width as the vendor's tools print it.
pub(crate) fn width(width: LinkWidth) -> String {
    if width == LinkWidth::NOP {
        "None".to_owned()
    } else {
        width.to_string()
    }
}

/// A link speed as the vendor's tools print it.
pub(crate) fn speed(speed: LinkSpeed) -> String {
    if speed == LinkSpeed::NOP {
        "None".to_owned()
    } else {
        speed.to_string()
    }
}
