//! A snapshot in parts and back, and parts that make no sense.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use proptest::prelude::*;
use weft_api::snapshot::{Assembler, SnapshotError, parts};
use weft_api::v1::GetSnapshotResponse;
use weft_api::v1::get_snapshot_response::Part;
use weft_fabric::enums::SmState;
use weft_fabric::{
    FabricSpec, Guid, Lid, LinearTables, NodeId, PortGroupTables, PortNum, PortRef, SmRecord,
    Snapshot, SwitchPortGroups,
};

fn snapshot(spec: &str) -> Arc<Snapshot> {
    let topology = spec.parse::<FabricSpec>().unwrap().generate().unwrap();
    let switches = topology.switches().len();
    let row = |n: usize| Arc::from(vec![n as u8; 100 + n]);
    let groups = |n: usize| SwitchPortGroups {
        groups: vec![[PortNum(1), PortNum(n as u8 + 2)].into_iter().collect()],
        fdb: vec![0, 255, 0],
    };
    let port = PortRef {
        node: NodeId(0),
        port: PortNum(1),
    };
    let sm = SmRecord {
        port,
        lid: Lid(1),
        port_guid: Guid(0x0011_7501_0100_0001),
        state: SmState::MASTER,
        priority: 8,
        sm_key: 0x5ec2e7,
        act_count: 3,
    };
    Arc::new(Snapshot {
        generation: 7,
        unix_time: 1_700_000_000,
        topology: Arc::new(topology),
        linear: Arc::new(LinearTables::new((0..switches).map(row).collect())),
        groups: Arc::new(PortGroupTables {
            switches: (0..switches).map(|n| Arc::new(groups(n))).collect(),
        }),
        multicast: Arc::default(),
        port_tables: Arc::default(),
        sms: vec![sm],
        ..Snapshot::default()
    })
}

fn assemble(
    parts: impl IntoIterator<Item = GetSnapshotResponse>,
) -> Result<Snapshot, SnapshotError> {
    let mut assembler = Assembler::default();
    for part in parts {
        assembler.push(part)?;
    }
    assembler.finish()
}

#[test]
fn comes_back_as_it_was_but_for_the_key() {
    for spec in ["back-to-back", "fattree:64", "torus:3x3"] {
        let before = snapshot(spec);
        let after = assemble(parts(before.clone())).unwrap();
        assert_eq!((after.generation, after.unix_time), (7, 1_700_000_000));
        assert_eq!(after.topology, before.topology, "{spec}");
        assert_eq!(after.linear, before.linear, "{spec}");
        assert_eq!(after.groups, before.groups, "{spec}");
        assert_eq!(after.sms[0].sm_key, 0, "keys stay in the daemon");
        let sm = SmRecord {
            sm_key: before.sms[0].sm_key,
            ..after.sms[0].clone()
        };
        assert_eq!(sm, before.sms[0]);
    }
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let all: Vec<_> = parts(snapshot("one-switch:2")).collect();
    let change = |index: usize, change: fn(&mut Part)| {
        let mut parts = all.clone();
        change(parts[index].part.as_mut().unwrap());
        assemble(parts).unwrap_err().to_string()
    };
    let short = change(1, |part| {
        if let Part::Node(node) = part {
            node.node_info.pop();
        }
    });
    assert_eq!(short, "NodeInfo of a node has 43 bytes, expected 44");
    let port = change(4, |part| {
        if let Part::Links(links) = part {
            links.links[0].a.as_mut().unwrap().port = 300;
        }
    });
    assert_eq!(port, "port number 300, allowed: 0 to 255");
    let unknown = change(5, |part| {
        if let Part::Linear(table) = part {
            table.switch_guid = 5;
        }
    });
    assert!(
        unknown.contains("names node 0x0000000000000005"),
        "{unknown}"
    );
    assert!(matches!(
        assemble(all[1..].to_vec()),
        Err(SnapshotError::NoHeader)
    ));
    assert!(matches!(assemble([]), Err(SnapshotError::NoHeader)));
}

proptest! {
    #[test]
    fn no_order_and_no_loss_of_parts_panics(
        order in prop::collection::vec(0usize..12, 0..40),
        cut in 0usize..300,
    ) {
        let all: Vec<_> = parts(snapshot("one-switch:3")).collect();
        let chosen = order.iter().map(|index| {
            let mut part = all[index % all.len()].clone();
            if let Some(Part::Node(node)) = &mut part.part {
                node.port_infos.truncate(node.port_infos.len().saturating_sub(cut));
            }
            part
        });
        let _ = assemble(all.iter().take(1).cloned().chain(chosen));
    }
}
