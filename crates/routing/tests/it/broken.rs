//! Tables that are broken on purpose: the certificate refuses each with the right finding.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crate::common::{
    change, clockwise, fabric, home, index, no_groups, owner, port_to, routed, settings, walk,
};
use weft_fabric::enums::PortState;
use weft_fabric::{
    Lid, LinearTables, NodeId, PortGroupTables, PortMask, PortNum, PortRef, SwitchPortGroups,
    Topology,
};
use weft_routing::{Drop, EngineKind, Finding, Tables, certify, reroute, route};

fn findings(topology: &Topology, linear: &LinearTables, groups: &PortGroupTables) -> Vec<Finding> {
    certify(topology, Tables { linear, groups })
        .unwrap_err()
        .findings
}

/// A tree of two tiers, its tables, an edge switch, a core that it uses for `lid`, and the port
/// from that core down to another edge switch, which is not the one of `lid`.
struct Case {
    topology: Topology,
    linear: LinearTables,
    edge: NodeId,
    core: NodeId,
    lid: Lid,
}

fn case() -> Case {
    let topology = fabric("fattree:16,radix=8", 0);
    let linear = (**routed(&topology, &settings(EngineKind::FatTree, 2)).linear()).clone();
    let lid = Lid(16);
    let to = owner(&topology, lid).unwrap();
    let edge = home(&topology, owner(&topology, Lid(1)).unwrap()).unwrap();
    let core = walk(&topology, &linear, edge, lid, to).unwrap()[1].0;
    Case {
        topology,
        linear,
        edge,
        core,
        lid,
    }
}

#[test]
fn a_loop_is_shown_hop_by_hop() {
    let Case {
        topology,
        linear,
        edge,
        core,
        lid,
    } = case();
    let back = port_to(&topology, core, edge);
    let broken = change(&linear, &topology, core, lid, back.0);
    let found = findings(&topology, &broken, &no_groups());
    let Finding::Loop { lid: of, hops } = &found[0] else {
        panic!("{found:?}");
    };
    let steps: Vec<NodeId> = hops.iter().map(|hop| hop.switch).collect();
    let mut expected = vec![edge, core];
    expected.sort();
    assert_eq!((*of, steps), (lid, expected));
    for hop in hops {
        let entry = broken.egress(index(&topology, hop.switch), lid);
        assert_eq!(entry, Some(hop.egress));
    }
}

#[test]
fn drops_name_the_switch_and_the_reason() {
    let Case {
        topology,
        linear,
        edge,
        core,
        lid,
    } = case();
    let at_home = home(&topology, owner(&topology, lid).unwrap()).unwrap();
    let neighbour = PortRef {
        node: topology.hfis().nth(14).unwrap().0,
        port: PortNum(1),
    };
    let beside = topology.peer(neighbour).unwrap().port;
    assert_eq!(home(&topology, neighbour), Some(at_home));
    let cases = [
        (edge, 0xFF, Drop::NoEntry),
        (at_home, beside.0, Drop::WrongEndPort(neighbour)),
        (core, 200, Drop::DeadPort(PortNum(200))),
    ];
    for (node, entry, expected) in cases {
        let broken = change(&linear, &topology, node, lid, entry);
        let found = findings(&topology, &broken, &no_groups());
        let dropped = Finding::Dropped {
            lid,
            from: node,
            at: node,
            why: expected,
        };
        assert_eq!(found, [dropped], "entry {entry} at {node:?}");
    }
}

#[test]
fn short_tables_drop() {
    let Case {
        topology,
        linear,
        edge,
        ..
    } = case();
    let mut rows: Vec<Arc<[u8]>> = (0..linear.len() as u32)
        .map(|at| Arc::clone(linear.row_shared(weft_fabric::SwitchIndex(at)).unwrap()))
        .collect();
    rows[index(&topology, edge).0 as usize] = Arc::from(&[0xFFu8; 4][..]);
    let found = findings(&topology, &LinearTables::new(rows), &no_groups());
    assert!(
        found.iter().all(|finding| matches!(finding,
        Finding::Dropped { at, why: Drop::NoEntry, .. } if *at == edge)),
        "{found:?}"
    );
    assert!(found.len() > 1);
}

/// A ring where every route runs clockwise: no loop, but all links wait for each other.
#[test]
fn a_credit_cycle_is_shown_link_by_link() {
    let topology = fabric("torus:5", 0);
    let tables = clockwise(&topology);
    let found = findings(&topology, &tables, &no_groups());
    let [Finding::CreditCycle { channels }] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(channels.len(), 5, "{channels:?}");
    for (index, channel) in channels.iter().enumerate() {
        let next = channels[(index + 1) % channels.len()];
        assert_eq!(channel.to.node, next.from.node);
        assert_eq!(topology.peer(channel.from), Some(channel.to));
        for from in [channel.from, next.from] {
            let at = crate::common::index(&topology, from.node);
            assert_eq!(tables.egress(at, channel.lid), Some(from.port));
        }
    }
}

#[test]
fn a_group_that_leads_back_is_a_loop() {
    let Case {
        topology,
        linear,
        edge,
        core,
        lid,
    } = case();
    let back = port_to(&topology, core, edge);
    let straight = linear.egress(index(&topology, core), lid).unwrap();
    let mut fdb = vec![0xFF; 64];
    fdb[lid.0 as usize] = 0;
    let empty = |_: &NodeId| Arc::new(SwitchPortGroups::default());
    let mut switches: Vec<_> = topology.switches().iter().map(empty).collect();
    let group = |ports: &[PortNum]| {
        Arc::new(SwitchPortGroups {
            groups: vec![ports.iter().copied().collect::<PortMask>()],
            fdb: fdb.clone(),
        })
    };
    let at = index(&topology, core).0 as usize;
    switches[at] = group(&[straight]);
    let good = PortGroupTables {
        switches: switches.clone(),
    };
    let linear = &linear;
    certify(
        &topology,
        Tables {
            linear,
            groups: &good,
        },
    )
    .unwrap();
    switches[at] = group(&[straight, back]);
    let bad = PortGroupTables { switches };
    let found = findings(&topology, linear, &bad);
    assert!(
        matches!(&found[0], Finding::Loop { lid: of, .. } if *of == lid),
        "{found:?}"
    );
}

#[test]
fn shared_lids_are_found() {
    let Case {
        mut topology,
        linear,
        ..
    } = case();
    let hfi = topology.hfis().nth(3).unwrap().0;
    let port = topology
        .node_mut(hfi)
        .unwrap()
        .port_mut(PortNum(1))
        .unwrap();
    port.info.lid = Lid(2);
    let found = findings(&topology, &linear, &no_groups());
    assert!(
        matches!(found[..], [Finding::LidShared { lid: Lid(2), .. }]),
        "{found:?}"
    );
}

/// A fabric without the link of one HFI, whose port at the switch is in this state.
fn with_host_left_out(whole: &Topology, host: PortRef, state: PortState) -> Topology {
    let mut topology = whole.clone();
    let at = whole.peer(host).unwrap();
    topology.disconnect(host);
    let port = topology
        .node_mut(at.node)
        .unwrap()
        .port_mut(at.port)
        .unwrap();
    port.info.port_state = state;
    topology
}

#[test]
fn a_host_that_is_left_out_sends_as_long_as_its_link_is_armed() {
    let whole = fabric("mesh:3x3,hosts=1", 0);
    let settings = settings(EngineKind::ShortestPath, 0);
    let ends = whole.nodes().filter(|(_, node)| !node.is_switch());
    let hosts = ends.map(|(node, _)| PortRef {
        node,
        port: PortNum(1),
    });
    let mut closes = 0;
    for host in hosts {
        let silent = with_host_left_out(&whole, host, PortState::INIT);
        let armed = with_host_left_out(&whole, host, PortState::ARMED);
        let before = route(&silent, &settings).unwrap();
        let tables = Tables {
            linear: before.linear(),
            groups: before.groups(),
        };
        assert!(certify(&silent, tables).is_ok());
        let Err(refusal) = certify(&armed, tables) else {
            continue;
        };
        closes += 1;
        let is_cycle = |finding: &Finding| matches!(finding, Finding::CreditCycle { .. });
        assert!(refusal.findings.iter().all(is_cycle), "{refusal}");
        let after = reroute(&before, &armed, &settings).unwrap();
        assert_ne!(after.linear(), before.linear());
        assert_eq!(after.linear(), route(&armed, &settings).unwrap().linear());
    }
    assert!(closes > 0, "no host closes a cycle");
}
