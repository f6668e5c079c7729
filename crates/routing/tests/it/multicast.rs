//! Multicast trees: every member reached exactly once, on whole and broken fabrics, by an independent
//! walk; and the certificate objects to deliberately broken tables.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::fabric;
use proptest::prelude::*;
use weft_fabric::enums::{LinkWidth, Mtu};
use weft_fabric::{
    Guid, Lid, MulticastTables, NodeId, PortMask, PortNum, PortRef, SwitchIndex, Topology,
};
use weft_routing::{
    MulticastFinding, MulticastGroup, MulticastNote, MulticastRequest, MulticastSettings,
    RootChoice, RoutedMulticast, certify_multicast, multicast_step, route_multicast,
};

const MLID: Lid = Lid(0xF000_0000);

fn hosts(topology: &Topology) -> Vec<PortRef> {
    let port = PortNum(1);
    topology
        .hfis()
        .map(|(node, _)| PortRef { node, port })
        .collect()
}

fn group(row: u32, receivers: &[PortRef], senders: &[PortRef]) -> MulticastGroup {
    MulticastGroup {
        mlid: Lid(MLID.0 + row),
        mtu: Mtu::B2048,
        rate_mbps: 25_000,
        receivers: receivers.to_vec(),
        senders: senders.to_vec(),
    }
}

fn routed(
    topology: &Topology,
    groups: &[MulticastGroup],
    settings: &MulticastSettings,
) -> RoutedMulticast {
    route_multicast(MulticastRequest {
        topology,
        settings,
        groups,
        manager: NodeId(0),
        before: None,
        same_links: false,
    })
    .unwrap()
}

/// Number of copies of a packet of `from` at each end port, and whether it reached a switch twice.
fn flood(
    topology: &Topology,
    tables: &MulticastTables,
    mlid: Lid,
    from: PortRef,
) -> (BTreeMap<PortRef, u32>, bool) {
    let mut got: BTreeMap<PortRef, u32> = BTreeMap::new();
    let mut visits: BTreeMap<NodeId, u32> = BTreeMap::new();
    let is_switch = |node| topology.node(node).unwrap().is_switch();
    let mut queue = match (is_switch(from.node), topology.peer(from)) {
        (true, _) => vec![from],
        (false, Some(peer)) => vec![peer],
        (false, None) => vec![],
    };
    while let Some(at) = queue.pop() {
        if !is_switch(at.node) {
            *got.entry(at).or_default() += 1;
            continue;
        }
        let visits = visits.entry(at.node).or_default();
        *visits += 1;
        if *visits > 1 {
            return (got, true);
        }
        let index = topology.switch_index(at.node).unwrap();
        for port in tables
            .ports(index, mlid)
            .iter()
            .filter(|port| *port != at.port)
        {
            let out = PortRef {
                node: at.node,
                port,
            };
            match port {
                PortNum(0) => *got.entry(out).or_default() += 1,
                _ => queue.extend(topology.peer(out)),
            }
        }
    }
    (got, false)
}

/// Every member of a group reaches each other receiver exactly once and no other port.
fn assert_delivers(topology: &Topology, tables: &MulticastTables, group: &MulticastGroup) {
    for from in group.receivers.iter().chain(&group.senders) {
        let (got, twice) = flood(topology, tables, group.mlid, *from);
        assert!(!twice, "{} of {from:?} comes to a switch twice", group.mlid);
        let others = group.receivers.iter().filter(|to| *to != from);
        let expected: BTreeMap<PortRef, u32> = others.map(|to| (*to, 1)).collect();
        assert_eq!(got, expected, "{} from {from:?}", group.mlid);
    }
}

const FABRICS: [&str; 8] = [
    "one-switch:6",
    "fattree:32,radix=8",
    "pgft:3;2,2,3;1,2,2;1,1,1",
    "pgft:2;4,6;1,4;1,2",
    "mesh:3x3,hosts=1",
    "torus:4x3,hosts=2",
    "hypercube:4,hosts=1",
    "swd06",
];

#[test]
fn every_member_is_reached_exactly_once() {
    for spec in FABRICS {
        let topology = fabric(spec, 0);
        let hosts = hosts(&topology);
        let half: Vec<PortRef> = hosts.iter().copied().step_by(2).collect();
        let switch = PortRef {
            node: topology.switches()[0],
            port: PortNum(0),
        };
        let groups = [
            group(0, &hosts, &[]),
            group(1, &half, &hosts[1..2]),
            group(2, &[], &hosts[..1]),
            group(9, &[hosts[0], switch], &[]),
        ];
        for pruning in [false, true] {
            let settings = MulticastSettings {
                pruning,
                ..MulticastSettings::default()
            };
            let routed = routed(&topology, &groups, &settings);
            groups
                .iter()
                .for_each(|group| assert_delivers(&topology, routed.tables(), group));
            assert_eq!(routed.notes(), [], "{spec}");
            assert_eq!(routed.certificate().groups(), 4);
        }
    }
}

#[test]
fn pruning_leaves_only_the_way_between_members() {
    let topology = fabric("pgft:2;4,6;1,4;1,1", 0);
    let hosts = hosts(&topology);
    let settings = MulticastSettings {
        pruning: true,
        ..MulticastSettings::default()
    };
    // Two hosts of one leaf: no other switch knows the group.
    let routed = routed(&topology, &[group(0, &hosts[..2], &[])], &settings);
    let used = (0..topology.switches().len() as u32)
        .filter(|index| !routed.tables().ports(SwitchIndex(*index), MLID).is_empty());
    assert_eq!(used.count(), 1);
}

/// The tree as cables by GUID, whatever the numbering of nodes.
fn tree(topology: &Topology, tables: &MulticastTables) -> Vec<(Guid, Vec<PortNum>)> {
    let row = |(index, node): (usize, &NodeId)| {
        let ports = tables.ports(SwitchIndex(index as u32), MLID);
        (topology.node(*node).unwrap().guid(), ports.iter().collect())
    };
    let mut rows: Vec<_> = topology.switches().iter().enumerate().map(row).collect();
    rows.sort_unstable();
    rows
}

/// The fabric with nodes numbered backwards.
fn reversed(topology: &Topology) -> Topology {
    let mut builder = weft_fabric::TopologyBuilder::new();
    let last = topology.len() as u32 - 1;
    let nodes: Vec<_> = topology.nodes().map(|(_, node)| node.clone()).collect();
    for mut node in nodes.into_iter().rev() {
        let ports: Vec<PortNum> = node.ports().map(|(port, _)| port).collect();
        for port in ports {
            let peer = &mut node.port_mut(port).unwrap().peer;
            *peer = peer.map(|peer| PortRef {
                node: NodeId(last - peer.node.0),
                ..peer
            });
        }
        builder.add(node).unwrap();
    }
    builder.build().unwrap()
}

#[test]
fn the_tree_does_not_depend_on_where_the_manager_sits() {
    for spec in FABRICS {
        let topology = fabric(spec, 0);
        let backwards = reversed(&topology);
        for root in [RootChoice::LeastTotalCost, RootChoice::LeastWorstCaseCost] {
            let settings = MulticastSettings {
                root,
                ..MulticastSettings::default()
            };
            let [one, other] = [&topology, &backwards].map(|topology| {
                let hosts = hosts(topology);
                let routed = routed(topology, &[group(0, &hosts, &[])], &settings);
                tree(topology, routed.tables())
            });
            assert_eq!(one, other, "{spec}");
        }
    }
}

#[test]
fn the_root_is_chosen_as_told() {
    // In a line of five switches the middle one is best by both costs.
    let topology = fabric("mesh:5x1,hosts=1", 0);
    let guid = |index: usize| topology.node(topology.switches()[index]).unwrap().guid();
    let all: Vec<Guid> = (0..5).map(guid).collect();
    let made = |root, min_improvement, manager: NodeId, before: Option<&RoutedMulticast>| {
        let settings = MulticastSettings {
            root,
            min_improvement,
            ..MulticastSettings::default()
        };
        route_multicast(MulticastRequest {
            topology: &topology,
            settings: &settings,
            groups: &[],
            manager,
            before,
            same_links: false,
        })
        .unwrap()
    };
    let (manager, _) = topology.hfis().next().unwrap();
    let root_of = |root, before: Option<Guid>, min_improvement| {
        // A manager on the switch itself makes it the root.
        let before = before.map(|guid| {
            let node = topology.find(guid).unwrap();
            made(RootChoice::ManagerNeighbor, 0, node, None)
        });
        let routed = made(root, min_improvement, manager, before.as_ref());
        routed.root().unwrap()
    };
    let own = PortRef {
        node: manager,
        port: PortNum(1),
    };
    let neighbour = topology.peer(own).unwrap().node;
    let neighbour = topology.node(neighbour).unwrap().guid();
    let middle = root_of(RootChoice::LeastTotalCost, None, 50);
    assert_eq!(root_of(RootChoice::LeastWorstCaseCost, None, 50), middle);
    assert_eq!(
        root_of(RootChoice::ManagerNeighbor, Some(middle), 50),
        neighbour
    );
    // Costs along the line: 10, 7, 6, 7, 10. The end is 40 % worse, its neighbours 14 %.
    let cost = |root: &Guid| {
        let kept = root_of(RootChoice::LeastTotalCost, Some(*root), 20) == *root;
        let kept_whatever = root_of(RootChoice::LeastTotalCost, Some(*root), 41) == *root;
        assert!(kept_whatever);
        kept
    };
    assert_eq!(all.iter().filter(|root| cost(root)).count(), 3);
}

#[test]
fn links_that_cannot_carry_a_group_are_not_in_its_tree() {
    let mut topology = fabric("mesh:3x1,hosts=1", 0);
    let (switches, hosts) = (topology.switches().to_vec(), hosts(&topology));
    let narrow = topology
        .links()
        .find(|(a, b)| switches.contains(&a.node) && switches.contains(&b.node))
        .unwrap();
    for end in [narrow.0, narrow.1] {
        let port = topology
            .node_mut(end.node)
            .unwrap()
            .port_mut(end.port)
            .unwrap();
        port.info.link_width_downgrade_tx_active = LinkWidth::X2;
    }
    let slow = group(0, &hosts, &[]);
    let fast = MulticastGroup {
        rate_mbps: 100_000,
        ..group(1, &hosts, &[])
    };
    let routed = routed(
        &topology,
        &[slow.clone(), fast.clone()],
        &MulticastSettings::default(),
    );
    assert_delivers(&topology, routed.tables(), &slow);
    let reached = |from: PortRef| flood(&topology, routed.tables(), fast.mlid, from).0.len();
    let mut reach: Vec<usize> = hosts.iter().map(|host| reached(*host)).collect();
    reach.sort_unstable();
    assert_eq!(reach, [0, 1, 1]);
    assert_eq!(
        routed.notes(),
        [MulticastNote::Apart {
            mlid: fast.mlid,
            groups: 1,
            switches: 1
        }]
    );
}

#[test]
fn limits_are_told() {
    let mut topology = fabric("mesh:3x1,hosts=1", 0);
    let hosts = hosts(&topology);
    let end = topology.switches()[0];
    topology
        .node_mut(end)
        .unwrap()
        .switch
        .as_mut()
        .unwrap()
        .multicast_fdb_cap = 8;
    let groups = [
        group(7, &hosts, &[]),
        group(8, &hosts, &[]),
        group(20, &hosts, &[]),
    ];
    let settings = MulticastSettings {
        rows_max: 16,
        ..MulticastSettings::default()
    };
    let routed = routed(&topology, &groups, &settings);
    assert_delivers(&topology, routed.tables(), &groups[0]);
    let [no_row, apart, small] = routed.notes() else {
        panic!("{:?}", routed.notes());
    };
    assert_eq!(
        *no_row,
        MulticastNote::NoRow {
            mlid: groups[2].mlid,
            groups: 1,
            rows_max: 16
        }
    );
    assert!(
        matches!(apart, MulticastNote::Apart { mlid, groups: 1, .. } if *mlid == groups[1].mlid)
    );
    assert_eq!(
        *small,
        MulticastNote::SmallTables {
            switch: end,
            switches: 1,
            cap: 8,
            rows: 9
        }
    );
}

/// Tables with one mask changed.
fn with(
    tables: &MulticastTables,
    switches: usize,
    switch: usize,
    change: impl Fn(&mut PortMask),
) -> MulticastTables {
    let rows = (0..switches).map(|index| {
        let mut row = tables.row(SwitchIndex(index as u32)).to_vec();
        if index == switch {
            change(&mut row[0]);
        }
        Arc::from(row)
    });
    MulticastTables::new(rows.collect())
}

#[test]
fn the_certificate_objects_to_what_is_broken() {
    let topology = fabric("torus:3x3,hosts=2", 0);
    // One host of each switch.
    let mut by_switch: BTreeMap<NodeId, PortRef> = BTreeMap::new();
    for host in hosts(&topology) {
        by_switch.insert(topology.peer(host).unwrap().node, host);
    }
    let members: Vec<PortRef> = by_switch.into_values().collect();
    let groups = [group(0, &members, &[])];
    let settings = MulticastSettings::default();
    let routed = routed(&topology, &groups, &settings);
    let switches = topology.switches();
    let find = |broken: &MulticastTables| {
        certify_multicast(&topology, broken, &groups)
            .unwrap_err()
            .findings
    };
    let leads = |switch: usize, to_switch: bool| {
        let node = topology.node(switches[switch]).unwrap();
        let mask = routed.tables().ports(SwitchIndex(switch as u32), MLID);
        let matching = node
            .external_ports()
            .filter_map(|(port, end)| Some((port, end.peer?)));
        let ports: Vec<(PortNum, bool)> = matching
            .filter(|(_, peer)| topology.node(peer.node).unwrap().is_switch() == to_switch)
            .map(|(port, _)| (port, mask.contains(port)))
            .collect();
        ports
    };
    let mut seen = [0; 4];
    for switch in 0..switches.len() {
        for (port, used) in leads(switch, true) {
            let broken = with(routed.tables(), switches.len(), switch, |mask| match used {
                true => mask.remove(port),
                false => mask.insert(port),
            });
            let findings = find(&broken);
            let forwarded = matches!(findings[0], MulticastFinding::NotForwarded { port: at, .. } if at == port);
            let circle = matches!(findings[0], MulticastFinding::Circle { .. });
            assert!(if used { forwarded } else { circle }, "{findings:?}");
            seen[usize::from(used)] += 1;
        }
        for (port, used) in leads(switch, false) {
            let broken = with(routed.tables(), switches.len(), switch, |mask| match used {
                true => mask.remove(port),
                false => mask.insert(port),
            });
            let findings = find(&broken);
            let delivered = matches!(findings[0], MulticastFinding::NotDelivered { .. });
            let stranger = matches!(findings[0], MulticastFinding::Stranger { .. });
            assert!(if used { delivered } else { stranger }, "{findings:?}");
            seen[2 + usize::from(used)] += 1;
        }
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
    let dead = with(routed.tables(), switches.len(), 0, |mask| {
        mask.insert(PortNum(200))
    });
    assert!(matches!(find(&dead)[0], MulticastFinding::DeadPort { .. }));
    let none = certify_multicast(&topology, routed.tables(), &[]).unwrap_err();
    assert!(matches!(none.findings[0], MulticastFinding::NoGroup { .. }));
    // Both sides of a cable taken out: two trees.
    let (mut tables, cut) = (routed.tables().as_ref().clone(), leads(0, true));
    let (port, _) = *cut.iter().find(|(_, used)| *used).unwrap();
    let peer = topology
        .peer(PortRef {
            node: switches[0],
            port,
        })
        .unwrap();
    let far = topology.switch_index(peer.node).unwrap().0 as usize;
    tables = with(&tables, switches.len(), 0, |mask| mask.remove(port));
    tables = with(&tables, switches.len(), far, |mask| mask.remove(peer.port));
    assert!(matches!(find(&tables)[0], MulticastFinding::Apart { .. }));
}

#[test]
fn a_change_of_the_tree_clears_first_and_a_change_of_members_does_not() {
    let topology = fabric("torus:3x3,hosts=1", 0);
    let hosts = hosts(&topology);
    let settings = MulticastSettings {
        min_improvement: 0,
        ..MulticastSettings::default()
    };
    let old = routed(&topology, &[group(0, &hosts, &[])], &settings);
    let fewer = routed(&topology, &[group(0, &hosts[..3], &[])], &settings);
    assert_eq!(
        multicast_step(&topology, old.tables(), fewer.tables()),
        None
    );
    assert_eq!(
        multicast_step(&topology, &MulticastTables::default(), old.tables()),
        None
    );
    let mut cut = topology.clone();
    let used = old.tables().ports(SwitchIndex(0), MLID);
    let node = topology.switches()[0];
    let is_switch = |port: &PortNum| {
        let peer = topology.peer(PortRef { node, port: *port });
        peer.is_some_and(|peer| topology.node(peer.node).unwrap().is_switch())
    };
    let port = used.iter().find(is_switch).unwrap();
    assert!(cut.disconnect(PortRef { node, port }));
    let without = routed(&cut, &[group(0, &hosts, &[])], &settings);
    // The cable comes back: the old tree and the one around it would close a circle.
    let step = multicast_step(&topology, without.tables(), old.tables()).unwrap();
    assert_eq!(multicast_step(&topology, without.tables(), &step), None);
    assert_eq!(multicast_step(&topology, &step, old.tables()), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Any members on any fabric with any cables pulled: all that cables still join are reached.
    #[test]
    fn broken_fabrics_get_a_forest(
        spec in 0..FABRICS.len(),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..12),
        picks in proptest::collection::vec(any::<(proptest::sample::Index, bool)>(), 1..12),
        pruning: bool,
    ) {
        let mut topology = fabric(FABRICS[spec], 0);
        let links: Vec<_> = topology.links().collect();
        for cut in cuts {
            topology.disconnect(cut.get(&links).0);
        }
        let hosts = hosts(&topology);
        let mut members: BTreeMap<PortRef, bool> = BTreeMap::new();
        for (pick, receives) in picks {
            members.insert(*pick.get(&hosts), receives);
        }
        let of = |receives: bool| -> Vec<PortRef> {
            members.iter().filter(|(_, is)| **is == receives).map(|(end, _)| *end).collect()
        };
        let group = group(3, &of(true), &of(false));
        let settings = MulticastSettings { pruning, ..MulticastSettings::default() };
        let routed = routed(&topology, std::slice::from_ref(&group), &settings);
        for from in members.keys() {
            let (got, twice) = flood(&topology, routed.tables(), group.mlid, *from);
            prop_assert!(!twice);
            let joined = reachable(&topology, *from);
            let others = group.receivers.iter().filter(|to| *to != from && joined.contains(&to.node));
            let expected: BTreeMap<PortRef, u32> = others.map(|to| (*to, 1)).collect();
            prop_assert_eq!(got, expected);
        }
    }
}

/// Nodes that cables lead to over switches.
fn reachable(topology: &Topology, from: PortRef) -> std::collections::BTreeSet<NodeId> {
    let mut found = std::collections::BTreeSet::from([from.node]);
    let mut stack: Vec<NodeId> = topology
        .peer(from)
        .map(|peer| peer.node)
        .into_iter()
        .collect();
    while let Some(at) = stack.pop() {
        let node = topology.node(at).unwrap();
        if found.insert(at) && node.is_switch() {
            stack.extend(
                node.external_ports()
                    .filter_map(|(_, end)| Some(end.peer?.node)),
            );
        }
    }
    found
}
