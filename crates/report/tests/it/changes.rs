//! What differs between two fabrics.

use std::sync::Arc;

use weft_fabric::{FabricSpec, Lid, LinearTables, PortRef, Snapshot, SwitchIndex};
use weft_report::changes;

/// A tree whose hosts have LIDs, and whose switches send everything out of port 1.
fn fabric() -> Snapshot {
    let spec: FabricSpec = "pgft:2;2,2;1,2;1,1;radix=8".parse().unwrap();
    let mut topology = spec.generate().unwrap();
    let ends: Vec<PortRef> = (topology.end_ports().map(|(at, ..)| at)).collect();
    for (lid, at) in (1..).zip(ends) {
        let node = topology.node_mut(at.node).unwrap();
        node.port_mut(at.port).unwrap().info.lid = Lid(lid);
    }
    let switches = topology.switches().len();
    let row: Arc<[u8]> = Arc::from(vec![1; 20]);
    Snapshot {
        topology: Arc::new(topology),
        linear: Arc::new(LinearTables::new(vec![row; switches])),
        ..Snapshot::default()
    }
}

#[test]
fn the_same_fabric_has_no_differences() {
    let fabric = fabric();
    let same = changes(&fabric, &fabric);
    assert!(same.is_empty() && same.routes > 0);
    assert_eq!(same.to_string(), "No node, link, LID or route differs.\n");
}

#[test]
fn links_lids_and_routes_that_differ_are_listed_both_ways() {
    let before = fabric();
    let mut after = before.clone();
    let topology = Arc::make_mut(&mut after.topology);
    let (gone, _) = topology.links().last().unwrap();
    topology.disconnect(gone);
    let (host, _, _) = topology.end_ports().next().unwrap();
    let node = topology.node_mut(host.node).unwrap();
    node.port_mut(host.port).unwrap().info.lid = Lid(17);
    let mut rows: Vec<Arc<[u8]>> = (0..before.linear.len() as u32)
        .map(|index| Arc::clone(before.linear.row_shared(SwitchIndex(index)).unwrap()))
        .collect();
    // Of a LID that is there, and of one that is not.
    let mut row = rows[2].to_vec();
    (row[3], row[19]) = (5, 5);
    rows[2] = Arc::from(row);
    after.linear = Arc::new(LinearTables::new(rows));
    let (there, back) = (changes(&before, &after), changes(&after, &before));
    assert_eq!((there.links_gone.len(), there.links_new.len()), (1, 0));
    assert_eq!((back.links_gone.len(), back.links_new.len()), (0, 1));
    let [lid] = &there.lids[..] else {
        panic!("{:?}", there.lids);
    };
    assert_eq!((lid.before, lid.after), (1, 17));
    assert_eq!((there.routes_moved, back.routes_moved), (1, 1));
    assert_eq!(there.routes, back.routes);
    assert_eq!(there.switches.len(), 1);
    let text = there.to_string();
    assert!(text.starts_with("- link "), "{text}");
    assert!(text.contains(": 1 -> 17\n"), "{text}");
    assert!(
        text.ends_with(&format!("changed; 1 of {} routes moved\n", there.routes)),
        "{text}"
    );
}

#[test]
fn nodes_that_come_and_go_are_listed() {
    let small = "one-switch:3".parse::<FabricSpec>().unwrap();
    let large = "one-switch:5".parse::<FabricSpec>().unwrap();
    let snapshot = |spec: &FabricSpec| Snapshot {
        topology: Arc::new(spec.generate().unwrap()),
        ..Snapshot::default()
    };
    let there = changes(&snapshot(&small), &snapshot(&large));
    assert_eq!((there.nodes_gone.len(), there.nodes_new.len()), (0, 2));
    assert_eq!((there.links_gone.len(), there.links_new.len()), (0, 2));
    let text = there.to_string();
    assert!(text.contains("+ HFI node4 hfi1_0 (0x"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
}
