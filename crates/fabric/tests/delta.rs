//! A delta tells what changed, and leads from one snapshot to the other.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use proptest::prelude::*;
use weft_fabric::enums::{LinkWidth, PortState, SmState};
use weft_fabric::tables::UNREACHABLE;
use weft_fabric::{
    Delta, DeltaError, Lid, LinearTables, Node, NodeId, PortGroupTables, PortMask, PortNum,
    PortRef, Snapshot, SwitchPortGroups, Topology, TopologyBuilder,
};

/// Something that happens to a fabric; numbers are taken modulo what there is.
#[derive(Debug, Clone)]
enum Change {
    Remove(usize),
    Unplug(usize),
    Recable(usize, usize),
    State(usize, u8),
    Width(usize, u16),
    Lid(usize, u32),
    Name(usize, u8),
    Entry(usize, usize, u8),
    Length(usize, usize),
    NoTables,
    Group(usize, u8),
    Manager(u8),
    NoManager,
    Reverse,
}

fn change() -> impl Strategy<Value = Change> {
    let any = || any::<usize>();
    prop_oneof![
        any().prop_map(Change::Remove),
        any().prop_map(Change::Unplug),
        (any(), any()).prop_map(|(a, b)| Change::Recable(a, b)),
        (any(), 1..5u8).prop_map(|(at, state)| Change::State(at, state)),
        (any(), 0..4u16).prop_map(|(at, bit)| Change::Width(at, 1 << bit)),
        (any(), 1..0xBFFFu32).prop_map(|(at, lid)| Change::Lid(at, lid)),
        (any(), b'a'..=b'z').prop_map(|(at, letter)| Change::Name(at, letter)),
        (any(), any(), 0..49u8).prop_map(|(at, lid, port)| Change::Entry(at, lid, port)),
        (any(), 1..200usize).prop_map(|(at, length)| Change::Length(at, length)),
        Just(Change::NoTables),
        (any(), 1..49u8).prop_map(|(at, port)| Change::Group(at, port)),
        (0..16u8).prop_map(Change::Manager),
        Just(Change::NoManager),
        Just(Change::Reverse),
    ]
}

fn apply(snapshot: &mut Snapshot, change: &Change) {
    let topology = Arc::make_mut(&mut snapshot.topology);
    let nodes = topology.len();
    let switches = topology.switches().len();
    match *change {
        Change::Remove(at) if nodes > 2 => keep(snapshot, |ids| {
            ids.remove(at % nodes);
        }),
        Change::Reverse => keep(snapshot, |ids| ids.reverse()),
        Change::Unplug(at) => {
            let links: Vec<_> = topology.links().collect();
            if !links.is_empty() {
                topology.disconnect(links[at % links.len()].0);
            }
        }
        Change::Recable(a, b) => recable(snapshot, a, b),
        Change::State(at, state) => {
            port(topology, at).port_state = PortState(state);
        }
        Change::Width(at, width) => {
            port(topology, at).link_width_downgrade_tx_active = LinkWidth(width);
        }
        Change::Lid(at, lid) => port(topology, at).lid = Lid(lid),
        Change::Name(at, letter) => {
            let node = topology.node_mut(NodeId((at % nodes) as u32)).unwrap();
            node.description.node_string[0] = letter;
        }
        Change::Entry(at, lid, entry) if switches > 0 => rows(snapshot, at, |row| {
            let length = row.len();
            row[lid % length] = entry;
        }),
        Change::Length(at, length) if switches > 0 => rows(snapshot, at, |row| {
            row.resize(length, UNREACHABLE);
        }),
        Change::NoTables => {
            snapshot.linear = Arc::default();
            snapshot.groups = Arc::default();
        }
        Change::Group(at, port) if switches > 0 => {
            let mut tables = Vec::from_iter((0..switches).map(|_| Arc::default()));
            let mask: PortMask = [PortNum(port), PortNum(1)].into_iter().collect();
            tables[at % switches] = Arc::new(SwitchPortGroups {
                groups: vec![mask],
                fdb: vec![0; 3],
            });
            snapshot.groups = Arc::new(PortGroupTables { switches: tables });
        }
        Change::Manager(priority) => {
            if let Some(sm) = snapshot.sms.first_mut() {
                (sm.priority, sm.state) = (priority, SmState::STANDBY);
            }
        }
        Change::NoManager => snapshot.sms.clear(),
        _ => {}
    }
}

fn port(topology: &mut Topology, at: usize) -> &mut weft_wire::sm::PortInfo {
    let node = NodeId((at % topology.len()) as u32);
    let node = topology.node_mut(node).unwrap();
    let count = node.ports().len();
    let number = PortNum((at % count) as u8 + node.first_port().0);
    &mut node.port_mut(number).unwrap().info
}

fn recable(snapshot: &mut Snapshot, a: usize, b: usize) {
    let free: Vec<PortRef> = snapshot
        .topology
        .nodes()
        .flat_map(|(node, data)| {
            let empty = data
                .external_ports()
                .filter(|(_, port)| port.peer.is_none());
            empty.map(move |(port, _)| PortRef { node, port })
        })
        .collect();
    if free.len() < 2 || a % free.len() == b % free.len() {
        return;
    }
    let (a, b) = (free[a % free.len()], free[b % free.len()]);
    let ids: Vec<NodeId> = snapshot.topology.nodes().map(|(id, _)| id).collect();
    let mut builder = TopologyBuilder::new();
    for id in ids {
        builder
            .add(snapshot.topology.node(id).unwrap().clone())
            .unwrap();
    }
    builder.connect(a, b).unwrap();
    snapshot.topology = Arc::new(builder.build().unwrap());
}

/// Changes some rows; all have entries afterwards.
fn rows(snapshot: &mut Snapshot, at: usize, change: impl Fn(&mut Vec<u8>)) {
    let count = snapshot.topology.switches().len();
    let index = |at: usize| weft_fabric::SwitchIndex(at as u32);
    let rows = (0..count).map(|switch| {
        let mut row = snapshot.linear.row(index(switch)).to_vec();
        if row.is_empty() {
            row.resize(70, UNREACHABLE);
        }
        if switch == at % count {
            change(&mut row);
        }
        Arc::from(row)
    });
    snapshot.linear = Arc::new(LinearTables::new(rows.collect()));
}

/// Rebuilds a snapshot of some of its nodes, in a given order.
fn keep(snapshot: &mut Snapshot, choose: impl Fn(&mut Vec<NodeId>)) {
    let old = Arc::clone(&snapshot.topology);
    let mut ids: Vec<NodeId> = old.nodes().map(|(id, _)| id).collect();
    choose(&mut ids);
    let mut builder = TopologyBuilder::new();
    for id in &ids {
        builder.add(bare(old.node(*id).unwrap())).unwrap();
    }
    let new = |end: PortRef| {
        let node = ids.iter().position(|id| *id == end.node)?;
        Some(PortRef {
            node: NodeId(node as u32),
            port: end.port,
        })
    };
    for (a, b) in old.links() {
        if let (Some(a), Some(b)) = (new(a), new(b)) {
            builder.connect(a, b).unwrap();
        }
    }
    let topology = builder.build().unwrap();
    let indices: Vec<_> = ids.iter().filter_map(|id| old.switch_index(*id)).collect();
    if !snapshot.linear.is_empty() {
        let row = |index| Arc::clone(snapshot.linear.row_shared(index).unwrap());
        snapshot.linear = Arc::new(LinearTables::new(
            indices.iter().map(|index| row(*index)).collect(),
        ));
    }
    if !snapshot.groups.switches.is_empty() {
        let switches = indices
            .iter()
            .map(|index| Arc::clone(&snapshot.groups.switches[index.0 as usize]));
        snapshot.groups = Arc::new(PortGroupTables {
            switches: switches.collect(),
        });
    }
    if topology.switches().is_empty() {
        (snapshot.linear, snapshot.groups) = Default::default();
    }
    snapshot
        .sms
        .retain_mut(|sm| new(sm.port).map(|port| sm.port = port).is_some());
    snapshot.topology = Arc::new(topology);
}

fn bare(node: &Node) -> Node {
    let mut node = node.clone();
    let numbers: Vec<PortNum> = node.ports().map(|(number, _)| number).collect();
    for number in numbers {
        node.port_mut(number).unwrap().peer = None;
    }
    node
}

fn assert_same(a: &Snapshot, b: &Snapshot) {
    assert_eq!(a.topology, b.topology);
    assert_eq!(a.linear, b.linear);
    assert_eq!(a.groups, b.groups);
    assert_eq!(a.sms, b.sms);
    assert_eq!((a.generation, a.unix_time), (b.generation, b.unix_time));
}

fn check(a: &Snapshot, b: &Snapshot) {
    let delta = Delta::between(a, b);
    assert_same(&delta.apply(a).unwrap(), b);
    let again = Delta::between(&delta.apply(a).unwrap(), b);
    assert!(again.is_empty(), "{again}");
}

fn fabric() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("one-switch:3"),
        Just("back-to-back"),
        Just("pgft:2;2,3;1,2;1,2"),
        Just("mesh:2x3"),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn applying_a_delta_gives_the_other_snapshot(
        (old, new) in (fabric(), fabric()),
        lmc in 0..3u8,
        same in any::<bool>(),
        before in prop::collection::vec(change(), 0..6),
        after in prop::collection::vec(change(), 0..6),
    ) {
        let mut a = common::bring_up(common::generate(old), lmc);
        before.iter().for_each(|change| apply(&mut a, change));
        let mut b = if same { a.clone() } else { common::bring_up(common::generate(new), 0) };
        after.iter().for_each(|change| apply(&mut b, change));
        (b.generation, b.unix_time) = (2, 7);
        check(&a, &b);
        check(&b, &a);
    }
}

#[test]
fn a_delta_reads_line_by_line() {
    let a = common::bring_up(common::generate("pgft:2;2,2;1,2;1,1"), 0);
    let mut b = a.clone();
    b.generation = 2;
    for change in [
        Change::Remove(0),
        Change::Unplug(5),
        Change::State(0, 2),
        Change::Width(1, 4),
        Change::Lid(1, 9),
        Change::Entry(0, 2, 40),
        Change::Group(1, 7),
        Change::NoManager,
    ] {
        apply(&mut b, &change);
    }
    let text = Delta::between(&a, &b).to_string();
    assert_eq!(
        text,
        "generation 1 -> 2\n\
         node 0x0011750101000001 vanished\n\
         link 0x0011750101000001 1 - 0x0011750102000001 1 vanished\n\
         link 0x0011750102000002 3 - 0x0011750102000003 2 vanished\n\
         port 0x0011750101000002 1: Active -> Init\n\
         port 0x0011750101000003 1: 4x -> 3x LID 0x0003/0 -> 0x0009/0\n\
         switch 0x0011750102000001 LFT: blocks 0\n\
         switch 0x0011750102000001 adaptive routing: 0 groups\n\
         switch 0x0011750102000002 adaptive routing: 1 groups\n\
         switch 0x0011750102000003 adaptive routing: 0 groups\n\
         switch 0x0011750102000004 adaptive routing: 0 groups\n\
         adaptive routing on\n\
         no subnet manager\n"
    );
}

#[test]
fn a_delta_fits_only_its_own_snapshot() {
    let a = common::bring_up(common::generate("one-switch:2"), 0);
    let mut b = a.clone();
    b.generation = 2;
    let delta = Delta::between(&a, &b);
    assert!(delta.is_empty());
    let error = delta.apply(&b).unwrap_err();
    assert_eq!(
        error,
        DeltaError::Generation {
            expected: 1,
            actual: 2
        }
    );
    apply(&mut b, &Change::Name(2, b'x'));
    let mut other = common::bring_up(common::generate("back-to-back"), 0);
    other.generation = 1;
    let error = Delta::between(&a, &b).apply(&other).unwrap_err();
    assert!(matches!(error, DeltaError::NoNode { .. }), "{error}");
}
