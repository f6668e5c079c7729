//! Directed routes, LID routes, and the mix of both.
use crate::agents::player::{ONE, Player};
use weft_dataplane::{Counter, VlCounter};
use weft_fabric::enums::NodeType;
use weft_fabric::{Guid, Lid, PortNum, Vl};
use weft_wire::Layout;
use weft_wire::header::{method, status};
use weft_wire::packet::Packet;
use weft_wire::sm::{AttributeId, NodeInfo, PortInfo, SwitchInfo};
use weft_wire::smp::{DirectedRoute, SmpView};

/// Finds all nodes from the first host by walking ports in order; returns each node's path.
fn discover(player: &mut Player) -> Vec<(NodeInfo, Vec<u8>)> {
    let mut found = vec![(player.node_info(&[]), Vec::new())];
    let mut next = 0;
    while next < found.len() {
        let (info, path) = found[next].clone();
        next += 1;
        if info.node_type == NodeType::HFI && !path.is_empty() {
            continue;
        }
        for port in 1..=info.num_ports {
            let mut path = path.clone();
            path.push(port);
            let smp = player.smp(method::GET, AttributeId::NODE_INFO, 0);
            let Some((0, payload)) = player.directed(&path, smp, &[]) else {
                continue;
            };
            let there = NodeInfo::decode(&payload).unwrap();
            if found
                .iter()
                .all(|(known, _)| known.node_guid != there.node_guid)
            {
                found.push((there, path));
            }
        }
    }
    found
}

#[test]
fn a_walk_by_directed_routes_finds_every_node() {
    let mut player = Player::new("fattree:64,radix=8,tiers=3");
    let nodes = player.emulator.network().topology().len();
    let found = discover(&mut player);
    assert_eq!(found.len(), nodes);
    for (info, path) in &found {
        let topology = player.emulator.network().topology().clone();
        let node = topology
            .node(topology.find(info.node_guid).unwrap())
            .unwrap();
        assert_eq!(info.num_ports, node.info.num_ports);
        assert!(path.len() <= 6, "{path:?}");
    }
}

#[test]
fn an_answer_tells_the_way_back_and_ends_with_pointer_zero() {
    let mut player = Player::new("fattree:32,radix=8,tiers=2");
    let path = [1, 5];
    let smp = player.smp(method::GET, AttributeId::NODE_INFO, 0);
    let ports = path.map(PortNum);
    let mut mad = Vec::new();
    smp.write_directed(&DirectedRoute::new(&ports).unwrap(), &[], &mut mad);
    let packet = Packet::lid_routed(Lid::PERMISSIVE, Lid::PERMISSIVE, mad);
    let answer = player.exchange(packet).pop().unwrap();
    let view = SmpView::parse(&answer.mad).unwrap();
    let route = view.directed.unwrap();
    assert_eq!(view.header.hop_pointer, 0);
    assert_eq!(view.header.hop_count, 2);
    assert_eq!(view.header.status, status::DIRECTION);
    let info = NodeInfo::decode(view.payload).unwrap();
    assert_eq!(route.initial_path[1..3], path);
    // The host's cable ends at the first edge switch's port 1, the edge's uplink at the core.
    assert_eq!(route.return_path[1], 1);
    assert_eq!(PortNum(route.return_path[2]), info.local_port_num);
    assert_eq!(
        (answer.slid, answer.dlid),
        (Lid::PERMISSIVE, Lid::PERMISSIVE)
    );
}

#[test]
fn wrong_paths_are_dropped() {
    let mut player = Player::new("one-switch:3,radix=8");
    let cases: [(&[u8], &str); 5] = [
        (&[1, 7], "a port without a cable"),
        (&[1, 9], "a port that does not exist"),
        (&[1, 0], "port 0"),
        (&[2], "a port that the host does not have"),
        (&[1, 2, 1], "through a host"),
    ];
    for (path, what) in cases {
        let smp = player.smp(method::GET, AttributeId::NODE_INFO, 0);
        assert_eq!(player.directed(path, smp, &[]), None, "{what}");
    }
    assert!(player.emulator.losses().no_way >= 5);
}

#[test]
fn lid_routed_datagrams_follow_the_programmed_tables() {
    let mut player = Player::new("one-switch:3,radix=8");
    player.program_one_switch(3);
    for (lid, kind) in [
        (3, NodeType::HFI),
        (4, NodeType::SWITCH),
        (1, NodeType::HFI),
    ] {
        let smp = player.smp(method::GET, AttributeId::NODE_INFO, 0);
        let (status, payload) = player.lid_routed(Lid(lid), smp, &[]).unwrap();
        assert_eq!(status, 0);
        assert_eq!(
            NodeInfo::decode(&payload).unwrap().node_type,
            kind,
            "LID {lid}"
        );
    }
}

#[test]
fn unreachable_lids_are_counted_where_they_end() {
    let mut player = Player::new("one-switch:3,radix=8");
    player.program_one_switch(3);
    for lid in [9, 60, 5000] {
        let smp = player.smp(method::GET, AttributeId::NODE_INFO, 0);
        assert_eq!(player.lid_routed(Lid(lid), smp, &[]), None);
    }
    let network = player.emulator.network();
    let switch = network.topology().switches()[0];
    let ingress = network.device_at(switch).port(PortNum(1)).unwrap();
    assert_eq!(network.counter(ingress, Counter::RcvSwitchRelayErrors), 3);
    assert_eq!(network.port(ingress).relay_error(), Some((1, 5000)));
}

#[test]
fn a_link_that_is_down_discards_and_says_so() {
    let mut player = Player::new("one-switch:3,radix=8");
    player.program_one_switch(3);
    let network = player.emulator.network();
    let switch = network.topology().switches()[0];
    let guid = network.device_at(switch).info.node_guid;
    let port = PortNum(3);
    player.control(weft_emulator::io::Control::LinkDown { node: guid, port });
    let smp = player.smp(method::GET, AttributeId::NODE_INFO, 0);
    assert_eq!(player.lid_routed(Lid(3), smp, &[]), None);
    let network = player.emulator.network();
    let out = network.device_at(switch).port(port).unwrap();
    assert_eq!(network.counter(out, Counter::XmitDiscards), 1);
    assert_eq!(
        network.lane_counter(out, Vl(15), VlCounter::XmitDiscards),
        1
    );
    assert_eq!(network.counter(out, Counter::LinkDowned), 1);
}

#[test]
fn a_directed_route_can_start_behind_a_lid_route() {
    let mut player = Player::new("one-switch:3,radix=8");
    player.program_one_switch(3);
    let smp = player.smp(method::GET, AttributeId::NODE_INFO, 0);
    let (status, payload) = player.mixed(Lid(4), &[2], smp).unwrap();
    let info = NodeInfo::decode(&payload).unwrap();
    assert_eq!((status, info.node_type), (0, NodeType::HFI));
    // Without hops it is the switch itself, at any of its ports.
    let smp = player.smp(method::GET, AttributeId::PORT_INFO, ONE | 3);
    let (status, payload) = player.mixed(Lid(4), &[], smp).unwrap();
    let info = PortInfo::decode(&payload).unwrap();
    assert_eq!((status, info.neighbor_port_num), (0, PortNum(1)));
}

#[test]
fn a_circle_ends_and_is_counted() {
    let mut player = Player::new("mesh:2");
    // Both switches send LID 9 to each other.
    let found = discover(&mut player);
    let switches: Vec<_> = found
        .iter()
        .filter(|(info, _)| info.node_type == NodeType::SWITCH)
        .map(|(info, path)| (info.node_guid, path.clone()))
        .collect();
    let isl = |player: &Player, from: Guid, to: Guid| {
        let network = player.emulator.network();
        let device = network.device_at(network.find(from).unwrap());
        let mut ports = device.ports();
        let found = ports.find(|(_, at)| network.port(*at).info().neighbor_node_guid == to);
        found.unwrap().0.0
    };
    let [(a, a_path), (b, b_path)] = [switches[0].clone(), switches[1].clone()];
    for (path, out) in [(&a_path, isl(&player, a, b)), (&b_path, isl(&player, b, a))] {
        let mut info: SwitchInfo = player.read(path, AttributeId::SWITCH_INFO, 0);
        info.linear_fdb_top = 9;
        player.set(path, AttributeId::SWITCH_INFO, 0, &info.to_bytes());
        player.set(path, AttributeId::LINEAR_FDB, ONE, &[out; 64]);
    }
    let smp = player.smp(method::GET, AttributeId::NODE_INFO, 0);
    assert_eq!(player.lid_routed(Lid(9), smp, &[]), None);
    let network = player.emulator.network();
    let relay: u64 = network
        .devices()
        .flat_map(|(_, device)| device.ports())
        .map(|(_, at)| network.counter(at, Counter::RcvSwitchRelayErrors))
        .sum();
    assert_eq!(relay, 1);
}

#[test]
fn a_request_between_programs_is_delivered_on_active_links_only() {
    let mut player = Player::new("one-switch:3,radix=8");
    player.program_one_switch(3);
    let sa = |class: u8| {
        let mut mad = vec![0; 64];
        mad[..4].copy_from_slice(&[0x80, class, 0x80, 0x12]);
        Packet {
            dest_qp: 1,
            src_qp: 1,
            ..Packet::lid_routed(Lid(1), Lid(3), mad)
        }
    };
    assert_eq!(player.exchange(sa(3)), [], "links are only initialised");
    player.activate_one_switch(3);
    let arrived = player.exchange(sa(3));
    assert_eq!(arrived, [sa(3)]);
}
