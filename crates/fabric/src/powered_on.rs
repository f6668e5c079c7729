//! State of OPA100 hardware that has just been switched on, before any subnet manager
//! touched it.
//!
//! Capabilities are those of the 100-series HFI as its Linux driver (`hfi1`) sets them, and of the
//! 48-port switch as far as public reports show them; sizes and identities are in
//! [`constants`](crate::constants), each with its source.

use weft_wire::enums::{
    LinkDownReason, LinkInitReason, LinkSpeed, LinkWidth, Mtu, NodeType, OfflineDisabledReason,
    PhysState, PortState, PortType,
};
use weft_wire::id::{Guid, Lid, PortNum, Vl};
use weft_wire::sm::{
    CapabilityMask, CapabilityMask3, NodeDescription, NodeInfo, PortInfo, SwitchInfo, VlMtus,
};

use crate::cabling::Cabling;
use crate::constants::{
    ARBITRATION_CAP, BUFFER_DEPTH, BUFFER_SPACE, BUFFER_UNIT, DATA_VLS, HFI_DEVICE_ID,
    LINEAR_FDB_CAP, MULTICAST_FDB_CAP, P_KEY_CAP, PORT_GROUP_CAP, RESP_TIME, SWITCH_DEVICE_ID,
    VENDOR_OUI, VL15_INIT, WIRE_DEPTH,
};
use crate::topology::{Node, NodeId, Port, PortRef, Topology, TopologyError};

const ALL_WIDTHS: LinkWidth = LinkWidth(0xF);
/// `STL_PORT_LINK_MODE_STL`.
const LINK_MODE_STL: u8 = 4;
/// 14-bit, 16-bit and 48-bit CRC.
const CRC_MODES: u8 = 0b0111;
const CRC_14: u8 = 0b0001;
/// Packet format 9B.
const FORMAT_9B: u16 = 2;
const ROUTING_LINEAR: u8 = 1;
/// `STL_PORT_FLIT_DISTANCE_MODE_1`.
const DISTANCE_MODE_1: u8 = 1;

/// The far end of a cable as reported by the link protocol to the near end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbor {
    /// The node there.
    pub node_guid: Guid,
    /// HFI or switch.
    pub node_type: NodeType,
    /// The port there.
    pub port: PortNum,
}

/// NodeInfo of an HFI with `ports` ports; its node, port and system GUIDs are one.
pub fn hfi_info(guid: Guid, ports: u8) -> NodeInfo {
    NodeInfo {
        node_type: NodeType::HFI,
        num_ports: ports,
        device_id: HFI_DEVICE_ID,
        local_port_num: PortNum(1),
        ..node_info(guid, guid)
    }
}

/// NodeInfo of a switch; `system` is the same for all switches of one chassis.
pub fn switch_node_info(guid: Guid, system: Guid, ports: u8) -> NodeInfo {
    NodeInfo {
        node_type: NodeType::SWITCH,
        num_ports: ports,
        device_id: SWITCH_DEVICE_ID,
        ..node_info(guid, system)
    }
}

fn node_info(guid: Guid, system: Guid) -> NodeInfo {
    NodeInfo {
        base_version: 0x80,
        class_version: 0x80,
        system_image_guid: system,
        node_guid: guid,
        port_guid: guid,
        partition_cap: P_KEY_CAP,
        revision: 0x11,
        vendor_id: VENDOR_OUI,
        ..NodeInfo::default()
    }
}

/// SwitchInfo of a switch that forwards nothing yet.
pub fn switch_info() -> SwitchInfo {
    SwitchInfo {
        linear_fdb_cap: LINEAR_FDB_CAP,
        port_group_fdb_cap: LINEAR_FDB_CAP,
        multicast_fdb_cap: MULTICAST_FDB_CAP,
        partition_enforcement_cap: P_KEY_CAP,
        port_group_cap: PORT_GROUP_CAP,
        routing_mode_supported: ROUTING_LINEAR,
        routing_mode_enabled: ROUTING_LINEAR,
        enhanced_port0: true,
        // The register's power-on default: multicast LIDs start at 0xF0000000.
        multicast_mask: 4,
        is_adaptive_routing_supported: true,
        ..SwitchInfo::default()
    }
}

/// PortInfo of an HFI's port without a cable.
pub fn hfi_port(port: PortNum) -> PortInfo {
    PortInfo {
        max_lid: Lid::MAX_UNICAST_16,
        capability_mask: CapabilityMask {
            is_automatic_migration_supported: true,
            is_capability_mask_notice_supported: true,
            ..CapabilityMask::default()
        },
        mgmt_allowed: true,
        ..external_port(port, PortType::STANDARD)
    }
}

/// PortInfo of a switch's external port without a cable.
pub fn switch_port(port: PortNum, port_type: PortType) -> PortInfo {
    external_port(port, port_type)
}

/// PortInfo of a switch's port 0, which is active from the start.
pub fn management_port() -> PortInfo {
    PortInfo {
        port_state: PortState::ACTIVE,
        phys_state: PhysState::LINK_UP,
        port_type: PortType::FIXED,
        neighbor_normal: true,
        link_speed_active: LinkSpeed::G25,
        link_width_active: LinkWidth::X4,
        link_width_downgrade_tx_active: LinkWidth::X4,
        link_width_downgrade_rx_active: LinkWidth::X4,
        port_link_mode_active: LINK_MODE_STL,
        port_ltp_crc_mode_active: CRC_14,
        ..capabilities(PortNum(0))
    }
}

fn external_port(port: PortNum, port_type: PortType) -> PortInfo {
    PortInfo {
        port_state: PortState::DOWN,
        phys_state: PhysState::POLLING,
        port_type,
        ..capabilities(port)
    }
}

fn capabilities(port: PortNum) -> PortInfo {
    let mut info = PortInfo {
        local_port_num: port,
        vl_cap: DATA_VLS,
        vl_arbitration_high_cap: ARBITRATION_CAP,
        vl_arbitration_low_cap: ARBITRATION_CAP,
        operational_vl: DATA_VLS,
        link_speed_supported: LinkSpeed::G25,
        link_speed_enabled: LinkSpeed::G25,
        link_width_supported: ALL_WIDTHS,
        link_width_enabled: ALL_WIDTHS,
        link_width_downgrade_supported: ALL_WIDTHS,
        link_width_downgrade_enabled: ALL_WIDTHS,
        port_link_mode_supported: LINK_MODE_STL,
        port_link_mode_enabled: LINK_MODE_STL,
        port_ltp_crc_mode_supported: CRC_MODES,
        port_ltp_crc_mode_enabled: CRC_MODES,
        port_packet_formats_supported: FORMAT_9B,
        port_packet_formats_enabled: FORMAT_9B,
        neighbor_mtu: VlMtus::uniform(Mtu::B2048),
        mtu_cap: Mtu::B10240,
        capability_mask3: CapabilityMask3 {
            is_shared_space_supported: true,
            ..CapabilityMask3::default()
        },
        ..PortInfo::default()
    };
    buffers(&mut info);
    info
}

fn buffers(info: &mut PortInfo) {
    info.buffer_alloc = (BUFFER_UNIT / 8).ilog2() as u8;
    info.vl15_init = VL15_INIT;
    info.overall_buffer_space = BUFFER_SPACE;
    info.buffer_depth = BUFFER_DEPTH;
    info.wire_depth = WIRE_DEPTH;
    info.resp_time_value = RESP_TIME;
}

/// Applies a link up with `width` and `speed` to a port: Init, with the neighbour known.
/// Values from a subnet manager (LID, keys, tables) stay. MgmtAllowed is reported by the switch at the
/// other end, whose setting stays too; between two HFIs both may manage (`hfi1`,
/// `chip.c`, `set_mgmt_allowed`).
pub fn link_up(info: &mut PortInfo, width: LinkWidth, speed: LinkSpeed, neighbor: Neighbor) {
    info.port_state = PortState::INIT;
    info.phys_state = PhysState::LINK_UP;
    info.offline_disabled_reason = OfflineDisabledReason::NONE;
    info.neighbor_normal = false;
    info.is_sm_configuration_started = false;
    info.link_init_reason = LinkInitReason::LINKUP;
    set_active_link(info, speed, width, LINK_MODE_STL, CRC_14);
    info.neighbor_node_guid = neighbor.node_guid;
    info.neighbor_port_num = neighbor.port;
    info.neighbor_node_type = u8::from(neighbor.node_type == NodeType::SWITCH);
    info.mgmt_allowed |= neighbor.node_type == NodeType::HFI;
    info.neighbor_mtu.set(Vl(15), Mtu::B2048);
}

/// Applies a link down for `reason` to a port: it polls for a
/// partner again, and the neighbour is unknown.
pub fn link_down(info: &mut PortInfo, reason: LinkDownReason) {
    info.port_state = PortState::DOWN;
    info.phys_state = PhysState::POLLING;
    info.neighbor_normal = false;
    info.is_sm_configuration_started = false;
    info.link_init_reason = LinkInitReason::NOP;
    info.link_down_reason = reason;
    set_active_link(info, LinkSpeed::NOP, LinkWidth::NOP, 0, 0);
    info.neighbor_node_guid = Guid(0);
    info.neighbor_port_num = PortNum(0);
    info.neighbor_node_type = 0;
}

fn set_active_link(info: &mut PortInfo, speed: LinkSpeed, width: LinkWidth, mode: u8, crc: u8) {
    info.link_speed_active = speed;
    info.link_width_active = width;
    info.link_width_downgrade_tx_active = width;
    info.link_width_downgrade_rx_active = width;
    info.port_link_mode_active = mode;
    info.port_ltp_crc_mode_active = crc;
}

/// An HFI with one port and no cable.
///
/// # Errors
/// None in practice: the ports are made to fit NodeInfo.
pub fn hfi(guid: Guid, name: &str) -> Result<Node, TopologyError> {
    let ports = vec![unconnected(hfi_port(PortNum(1)))];
    Node::new(
        hfi_info(guid, 1),
        NodeDescription::from_text(name),
        None,
        ports,
    )
}

/// A switch with `ports` external ports and no cables.
///
/// # Errors
/// None in practice: the ports are made to fit NodeInfo.
pub fn switch(guid: Guid, system: Guid, name: &str, ports: u8) -> Result<Node, TopologyError> {
    let external =
        (1..=ports).map(|port| unconnected(switch_port(PortNum(port), PortType::STANDARD)));
    let all = std::iter::once(unconnected(management_port())).chain(external);
    Node::new(
        switch_node_info(guid, system, ports),
        NodeDescription::from_text(name),
        Some(switch_info()),
        all.collect(),
    )
}

/// The fabric after a power failure: the same nodes, names, cables and widths, and nothing of what
/// a subnet manager wrote. A cable whose link was down is left out; a link that had lost lanes
/// comes up with those that it had left.
///
/// # Errors
/// None in practice: the topology had the same nodes and cables before.
pub fn restart(topology: &Topology) -> Result<Topology, TopologyError> {
    let mut cabling = Cabling::with_capacity(topology.len());
    for (_, node) in topology.nodes() {
        cabling.add(restarted(node)?);
    }
    for (a, b) in topology.links() {
        let width = topology.port(a).map_or(LinkWidth::NOP, Port::width);
        if width != LinkWidth::NOP {
            cabling.connect((a.node, a.port.0), (b.node, b.port.0), width)?;
        }
    }
    cabling.build()
}

/// Lets all ports take packets that are interleaved, one in another, and interrupt large ones with
/// small ones of up to 8,192 bytes once a manager tells them to. No public report says which hardware
/// can; the HFI's Linux driver says that its ports cannot.
pub fn let_interleave(topology: &mut Topology) {
    for id in (0..topology.len() as u32).map(NodeId) {
        let Some(node) = topology.node_mut(id) else {
            continue;
        };
        let numbers: Vec<PortNum> = node.external_ports().map(|(number, _)| number).collect();
        for number in numbers {
            if let Some(port) = node.port_mut(number) {
                port.info.interleave_max_nest_level_rx_supported = 1;
                port.info.interleave_distance_supported = DISTANCE_MODE_1;
                port.info.interleave_distance_enabled = DISTANCE_MODE_1;
                port.info.preemption_max_small_pkt_limit = u8::MAX;
            }
        }
    }
}

/// Hosts that may manage an emulated fabric where nothing else is said: a manager's and a standby's.
pub const MANAGERS: usize = 2;

/// Leaves management to the first `count` HFIs and to `others`: the switches tell all the rest that they may
/// not manage, so that those are only limited members of the management partition.
pub fn limit_managers(topology: &mut Topology, count: usize, others: &[Guid]) {
    let rest = topology.hfis().skip(count);
    let rest = rest.filter(|(_, node)| !others.contains(&node.guid()));
    let rest: Vec<NodeId> = rest.map(|(id, _)| id).collect();
    for id in rest {
        let faces_switch = |topology: &Topology, port| {
            let peer = topology.peer(PortRef { node: id, port });
            peer.is_some_and(|peer| topology.switch_index(peer.node).is_some())
        };
        let numbers: Vec<PortNum> = topology.node(id).map_or(Vec::new(), |node| {
            node.external_ports().map(|(number, _)| number).collect()
        });
        for number in numbers {
            let allowed = !faces_switch(topology, number);
            if let Some(port) = topology.node_mut(id).and_then(|node| node.port_mut(number)) {
                port.info.mgmt_allowed = allowed;
            }
        }
    }
}

/// Sets the receive buffer of all external switch ports, in bytes, rounded down to units.
pub fn give_buffers(topology: &mut Topology, bytes: u32) {
    let units = (bytes / BUFFER_UNIT).min(u32::from(u16::MAX)) as u16;
    for id in topology.switches().to_vec() {
        let Some(node) = topology.node_mut(id) else {
            continue;
        };
        let numbers: Vec<PortNum> = node.external_ports().map(|(number, _)| number).collect();
        for number in numbers {
            if let Some(port) = node.port_mut(number) {
                port.info.overall_buffer_space = units;
            }
        }
    }
}

fn restarted(node: &Node) -> Result<Node, TopologyError> {
    let external = node.external_ports().map(|(number, port)| {
        if node.is_switch() {
            switch_port(number, port.info.port_type)
        } else {
            hfi_port(number)
        }
    });
    let management = node.is_switch().then(management_port);
    let ports = management.into_iter().chain(external).map(unconnected);
    let switch = node.switch.map(|_| switch_info());
    Node::new(node.info, node.description, switch, ports.collect())
}

fn unconnected(info: PortInfo) -> Port {
    Port { info, peer: None }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_link_that_bounces_is_as_new_but_for_its_reason() {
        let neighbor = Neighbor {
            node_guid: Guid(7),
            node_type: NodeType::SWITCH,
            port: PortNum(3),
        };
        let mut bounced = hfi_port(PortNum(1));
        link_up(&mut bounced, LinkWidth::X4, LinkSpeed::G25, neighbor);
        let first = bounced;
        link_down(&mut bounced, LinkDownReason::FM_BOUNCE);
        assert_eq!(bounced.port_state, PortState::DOWN);
        assert_eq!(bounced.neighbor_node_guid, Guid(0));
        link_up(&mut bounced, LinkWidth::X4, LinkSpeed::G25, neighbor);
        bounced.link_down_reason = first.link_down_reason;
        assert_eq!(bounced, first);
    }

    #[test]
    fn only_so_many_hosts_may_manage() {
        let managers = |spec: &str, count| -> Vec<bool> {
            let spec: crate::generate::FabricSpec = spec.parse().unwrap();
            let mut topology = spec.generate().unwrap();
            limit_managers(&mut topology, count, &[]);
            let ports = topology
                .hfis()
                .filter_map(|(_, node)| node.port(PortNum(1)));
            ports.map(|port| port.info.mgmt_allowed).collect()
        };
        assert_eq!(managers("one-switch:3", 1), [true, false, false]);
        assert_eq!(managers("one-switch:2", 9), [true, true]);
        assert_eq!(managers("back-to-back", 0), [true, true]);
    }

    #[test]
    fn nodes_have_the_ports_that_their_info_says() {
        let node = switch(Guid(1), Guid(1), "sw", 48).unwrap();
        assert_eq!(node.ports().len(), 49);
        assert!(
            node.ports()
                .all(|(number, port)| port.info.local_port_num == number)
        );
        assert_eq!(hfi(Guid(2), "host").unwrap().first_port(), PortNum(1));
    }
}
