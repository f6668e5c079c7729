//! Shared helpers of the tests of this crate.
#![allow(clippy::unwrap_used, dead_code, unreachable_pub)]

use std::collections::VecDeque;
use std::sync::Arc;

use weft_fabric::enums::{PortState, SmState};
use weft_fabric::export::{SnapshotOptions, write_snapshot};
use weft_fabric::tables::UNREACHABLE;
use weft_fabric::{
    FabricSpec, Lid, LinearTables, Lmc, NodeId, PortNum, PortRef, SmRecord, Snapshot, Topology,
};

/// The described fabric.
pub fn generate(text: &str) -> Topology {
    let spec: FabricSpec = text.parse().unwrap();
    spec.generate().unwrap()
}

/// A file of the public data, where it is there.
pub fn public_data(name: &str) -> Option<String> {
    Some(std::fs::read_to_string(weft_peers::public_file(name)?).unwrap())
}

/// Gives every end port LIDs, routes by breadth-first trees that go up before they go down, and
/// activates all ports.
pub fn bring_up(mut topology: Topology, lmc: u8) -> Snapshot {
    let top = assign_lids(&mut topology, lmc);
    activate(&mut topology, top);
    let linear = route(&topology, top);
    let sm = topology
        .hfis()
        .next()
        .map(|(id, _)| id)
        .unwrap_or(NodeId(0));
    let port = PortRef {
        node: sm,
        port: PortNum(u8::from(!topology.node(sm).unwrap().is_switch())),
    };
    let record = SmRecord {
        port,
        lid: topology.port(port).unwrap().info.lid,
        port_guid: topology.node(sm).unwrap().guid(),
        state: SmState::MASTER,
        priority: 8,
        sm_key: 0,
        act_count: 16,
    };
    Snapshot {
        generation: 1,
        unix_time: 1_700_000_000,
        topology: Arc::new(topology),
        linear: Arc::new(linear),
        sms: vec![record],
        ..Snapshot::default()
    }
}

fn assign_lids(topology: &mut Topology, lmc: u8) -> u32 {
    let mut next: u32 = 1 << lmc;
    let ends: Vec<PortRef> = topology.end_ports().map(|(port, ..)| port).collect();
    for end in ends {
        let node = topology.node_mut(end.node).unwrap();
        let step = if node.is_switch() { 0 } else { lmc };
        let size = 1u32 << step;
        next = next.next_multiple_of(size);
        let info = &mut node.port_mut(end.port).unwrap().info;
        (info.lid, info.lmc) = (Lid(next), Lmc(step));
        next += size;
    }
    next - 1
}

fn activate(topology: &mut Topology, top: u32) {
    let ids: Vec<NodeId> = topology.nodes().map(|(id, _)| id).collect();
    for id in ids {
        let node = topology.node_mut(id).unwrap();
        if let Some(switch) = &mut node.switch {
            switch.linear_fdb_top = top;
        }
        let numbers: Vec<PortNum> = node.ports().map(|(number, _)| number).collect();
        for number in numbers {
            let port = node.port_mut(number).unwrap();
            if port.info.port_state == PortState::INIT {
                port.info.port_state = PortState::ACTIVE;
                port.info.neighbor_normal = true;
            }
            if port.info.port_state != PortState::DOWN {
                port.info.master_sm_lid = Lid(1);
            }
        }
    }
}

/// A tree of switches for each destination LID.
fn route(topology: &Topology, top: u32) -> LinearTables {
    let ranks = ranks(topology);
    let switches = topology.switches().len();
    let mut rows = vec![vec![UNREACHABLE; top as usize + 1]; switches];
    for (end, base, lmc) in topology.end_ports() {
        for lid in base.0..base.0 + lmc.lids() {
            for (switch, port) in tree(topology, &ranks, end, lid as usize) {
                rows[switch][lid as usize] = port;
            }
        }
    }
    LinearTables::new(rows.into_iter().map(Arc::from).collect())
}

/// Distance of each switch from the nearest host.
fn ranks(topology: &Topology) -> Vec<u32> {
    let mut rank = vec![u32::MAX; topology.len()];
    let mut queue: VecDeque<NodeId> = topology.hfis().map(|(id, _)| id).collect();
    queue.iter().for_each(|id| rank[id.0 as usize] = 0);
    while let Some(id) = queue.pop_front() {
        for (_, port) in topology.node(id).unwrap().external_ports() {
            if let Some(peer) = port
                .peer
                .filter(|peer| rank[peer.node.0 as usize] == u32::MAX)
            {
                rank[peer.node.0 as usize] = rank[id.0 as usize] + 1;
                queue.push_back(peer.node);
            }
        }
    }
    rank
}

/// Egress ports of the switches towards a destination by up/down routing: a path goes up (in rank,
/// then index) as long as it likes and then only down. Built backwards from the destination: first
/// the switches that only go down to it, then those that go up before. Switches that a path between
/// core switches must dip below come last; no host's packet goes there.
fn tree(topology: &Topology, ranks: &[u32], end: PortRef, spread: usize) -> Vec<(usize, u8)> {
    let order = |id: NodeId| (ranks[id.0 as usize], u32::MAX - id.0);
    let mut egress: Vec<Option<u8>> = vec![None; topology.len()];
    egress[end.node.0 as usize] = Some(0);
    let mut reached = vec![end.node];
    let allowed: [&dyn Fn(NodeId, NodeId) -> bool; 3] = [
        &|from, to| order(to) > order(from),
        &|from, to| order(to) < order(from),
        &|_, _| true,
    ];
    for may_step in allowed {
        reached.sort_by_key(|id| std::cmp::Reverse(order(*id)));
        let mut next = 0;
        while let Some(&id) = reached.get(next) {
            next += 1;
            let node = topology.node(id).unwrap();
            let count = node.external_ports().len().max(1);
            let ports = node
                .external_ports()
                .cycle()
                .skip(spread % count)
                .take(count);
            for peer in ports.filter_map(|(_, port)| port.peer) {
                let new = egress[peer.node.0 as usize].is_none();
                let switch = topology.node(peer.node).unwrap().is_switch();
                if new && switch && may_step(id, peer.node) {
                    egress[peer.node.0 as usize] = Some(peer.port.0);
                    reached.push(peer.node);
                }
            }
        }
    }
    let switches = topology.switches().iter().enumerate();
    switches
        .filter_map(|(index, id)| Some((index, egress[id.0 as usize]?)))
        .collect()
}

/// The snapshot as opareport's XML.
pub fn snapshot_xml(snapshot: &Snapshot, down_ports: bool) -> String {
    let mut xml = Vec::new();
    let options = SnapshotOptions {
        down_ports,
        ..SnapshotOptions::default()
    };
    write_snapshot(snapshot, options, &mut xml).unwrap();
    String::from_utf8(xml).unwrap()
}

/// The snapshot as opareport's XML, tables of ports included.
pub fn snapshot_xml_with_tables(snapshot: &Snapshot) -> String {
    let options = SnapshotOptions {
        port_tables: true,
        ..SnapshotOptions::default()
    };
    let mut xml = Vec::new();
    write_snapshot(snapshot, options, &mut xml).unwrap();
    String::from_utf8(xml).unwrap()
}
