//! Nodes, ports, links and tables.

use weft_fabric::enums::{LinkSpeed, LinkWidth, Mtu};
use weft_fabric::{Node, NodeId, PortRef, Snapshot};
use weft_report::LinkEntry;

use super::{node_type_code, port_counts, port_id};
use crate::time::known_s;
use crate::v1;

impl v1::GetFabricResponse {
    /// Fills the fields known from a snapshot; all others stay empty.
    pub fn from_snapshot(snapshot: &Snapshot) -> Self {
        let topology = &snapshot.topology;
        let switches = topology.switches().len() as u32;
        Self {
            generation: snapshot.generation,
            time: known_s(snapshot.unix_time),
            hfis: topology.len() as u32 - switches,
            switches,
            links: topology.links().count() as u32,
            ports: port_counts(snapshot),
            ..Self::default()
        }
    }
}

impl From<&Node> for v1::Node {
    fn from(node: &Node) -> Self {
        let end = node.end_ports().next().map(|(_, port)| &port.info);
        Self {
            guid: node.guid().0,
            node_type: node_type_code(node),
            name: node.name().to_string(),
            system_image_guid: node.info.system_image_guid.0,
            port_guid: node.info.port_guid.0,
            num_ports: u32::from(node.info.num_ports),
            vendor_id: node.info.vendor_id,
            device_id: u32::from(node.info.device_id),
            revision: node.info.revision,
            lid: end.map_or(0, |info| info.lid.0),
            lmc: end.map_or(0, |info| u32::from(info.lmc.0)),
        }
    }
}

impl v1::Port {
    /// A port of a snapshot; none when it does not exist.
    pub fn from_snapshot(snapshot: &Snapshot, at: PortRef) -> Option<Self> {
        let topology = &snapshot.topology;
        let port = topology.port(at)?;
        let info = &port.info;
        let is_end = at.port == topology.node(at.node)?.first_port();
        Some(Self {
            id: port_id(topology, at),
            state: i32::from(info.port_state.0),
            phys_state: i32::from(info.phys_state.0),
            lid: if is_end { info.lid.0 } else { 0 },
            lmc: if is_end { u32::from(info.lmc.0) } else { 0 },
            lanes: lanes(port.width()),
            lane_gigabits: lane_gigabits(info.link_speed_active),
            mtu_cap: mtu_bytes(info.mtu_cap),
            neighbor: port.peer.and_then(|peer| port_id(topology, peer)),
            link_down_reason: u32::from(info.link_down_reason.0),
        })
    }
}

fn lanes(width: LinkWidth) -> u32 {
    match width {
        LinkWidth::X1 => 1,
        LinkWidth::X2 => 2,
        LinkWidth::X3 => 3,
        LinkWidth::X4 => 4,
        _ => 0,
    }
}

fn lane_gigabits(speed: LinkSpeed) -> f64 {
    match speed {
        LinkSpeed::G12_5 => 12.5,
        LinkSpeed::G25 => 25.78125,
        _ => 0.0,
    }
}

fn mtu_bytes(mtu: Mtu) -> u32 {
    mtu.name().and_then(|name| name.parse().ok()).unwrap_or(0)
}

impl From<LinkEntry> for v1::Link {
    fn from(link: LinkEntry) -> Self {
        Self {
            from: Some(link.from.into()),
            to: Some(link.to.into()),
            rate: link.rate,
        }
    }
}

impl v1::ForwardingTable {
    /// A switch's table; none when the node is no switch.
    pub fn from_snapshot(snapshot: &Snapshot, id: NodeId) -> Option<Self> {
        let index = snapshot.topology.switch_index(id)?;
        Some(Self {
            switch_guid: snapshot.topology.node(id)?.guid().0,
            egress: snapshot.linear.row(index).to_vec(),
        })
    }
}
