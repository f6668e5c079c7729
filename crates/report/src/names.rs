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
        Some(half) => rate_called(half),
        None => "none".to_owned(),
    }
}

/// Half gigabits as the vendor's tools call a rate: 200 is `100g`.
pub(crate) fn rate_called(half_gigabits: u32) -> String {
    format!("{}g", f64::from(half_gigabits) / 2.0)
}

/// The rate as the code of the vendor's XML.
pub(crate) fn rate_code(rate: &str) -> u8 {
    match rate {
        "37.5g" => 7,
        "75g" => 9,
        "12.5g" => 11,
        "50g" => 12,
        "25g" => 15,
        "100g" => 16,
        _ => 1,
    }
}

/// A link width, or a set of them, as the vendor's tools print it.
pub(crate) fn width(width: LinkWidth) -> String {
    const LANES: [&str; 4] = ["1", "2", "3", "4"];
    let lanes = (0..16).filter(|bit| width.0 >> bit & 1 == 1);
    list(lanes.map(|bit| LANES.get(bit).copied().unwrap_or("?").to_owned()))
}

/// Serializes a link width, or a set of them, as [`width`] has it.
pub(crate) fn as_width<S: Serializer>(value: &LinkWidth, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&width(*value))
}

/// Serializes a link speed, or a set of them, as [`speed`] has it.
pub(crate) fn as_speed<S: Serializer>(value: &LinkSpeed, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&speed(*value))
}

/// A link speed, or a set of them, as the vendor's tools print it.
pub(crate) fn speed(speed: LinkSpeed) -> String {
    let known = [LinkSpeed::G12_5, LinkSpeed::G25];
    let rest = speed.0 & !known.iter().fold(0, |all, one| all | one.0);
    let names = known.iter().filter(|one| speed.0 & one.0 != 0);
    let names = names.map(LinkSpeed::to_string);
    list(names.chain((rest != 0).then(|| format!("Unk(0x{rest:04X})"))))
}

fn list(names: impl Iterator<Item = String>) -> String {
    match names.collect::<Vec<_>>().join(",") {
        empty if empty.is_empty() => "None".to_owned(),
        names => names,
    }
}
