//! A snapshot in parts and back, and parts that make no sense.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use proptest::prelude::*;
use weft_api::snapshot::{Assembler, SnapshotError, of_pieces, parts, pieces};
use weft_api::v1::GetSnapshotResponse;
use weft_api::v1::SnapshotExtra;
use weft_api::v1::get_snapshot_response::Part;
use weft_fabric::cables::Module;
use weft_fabric::enums::{Mtu, SmState};
use weft_fabric::{
    Administration, CableMemories, DeviceGroup, FabricSpec, GroupMember, Guid, JoinState, Lacking,
    Lid, LinearTables, MulticastGroup, MulticastTables, NodeId, NodeTables, PKey, PortGroupTables,
    PortMask, PortNum, PortRef, PortTable, PortTables, PortTablesBuilder, Sl, SmRecord, Snapshot,
    SwitchPortGroups, TableId, Topology,
};
use weft_wire::id::Gid;
use weft_wire::sa::{DeviceGroupMemberRecord, QuarantinedNodeRecord, VfInfoRecord};

fn snapshot(spec: &str) -> Arc<Snapshot> {
    let topology = spec.parse::<FabricSpec>().unwrap().generate().unwrap();
    let switches = topology.switches().len();
    let row = |n: usize| Arc::from(vec![n as u8; 100 + n]);
    let groups = |n: usize| SwitchPortGroups {
        groups: vec![[PortNum(1), PortNum(n as u8 + 2)].into_iter().collect()],
        fdb: vec![0, 255, 0],
    };
    let mft = |n: usize| {
        let ports = [PortNum(0), PortNum(200)].into_iter().collect();
        let mut row = vec![PortMask::EMPTY; n + 5];
        row[n] = ports;
        Arc::from(row)
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
        linear: Arc::new(LinearTables::new((0..switches).map(row).collect())),
        groups: Arc::new(PortGroupTables {
            switches: (0..switches).map(|n| Arc::new(groups(n))).collect(),
        }),
        multicast: Arc::new(MulticastTables::new((0..switches).map(mft).collect())),
        port_tables: Arc::new(port_tables(&topology)),
        administration: Arc::new(administration()),
        cables: Arc::new(cables()),
        topology: Arc::new(topology),
        sms: vec![sm],
        ..Snapshot::default()
    })
}

fn port_tables(topology: &Topology) -> PortTables {
    let mut builder = PortTablesBuilder::default();
    for (id, node) in topology.nodes() {
        let content = builder.content(&[id.0 as u8 / 3; 32]);
        let mut ids = [TableId::UNKNOWN; weft_fabric::port_tables::PORT_TABLES];
        ids[PortTable::ScToVlt as usize] = content;
        let ports = vec![ids; node.ports().len()];
        let first = node.first_port();
        builder.node(NodeTables { first, ports });
    }
    builder.finish()
}

/// More than a part has; of one the monitors only, of one all.
fn cables() -> CableMemories {
    let mut cables = CableMemories::default();
    for number in 0..3_000_u16 {
        let port = (Guid(u64::from(number / 48)), PortNum((number % 48) as u8));
        cables.insert(port, [number as u8; 128]);
    }
    let module = Module {
        monitors: [7; 64],
        thresholds: None,
    };
    cables.insert_module((Guid(9), PortNum(200)), module);
    let thresholds = Some([9; 128]);
    let module = Module {
        thresholds,
        ..module
    };
    cables.insert_module((Guid(9), PortNum(1)), module);
    cables
}

/// With a group of more members than a part has.
fn administration() -> Administration {
    let gid = |interface| Gid {
        prefix: 0xFE80 << 48,
        interface: Guid(interface),
    };
    let member = |number| GroupMember {
        port: gid(number),
        joined: JoinState(number as u8 & 0xF),
    };
    let group = |number, members| MulticastGroup {
        mgid: gid(number),
        mlid: Lid(0xF000_3FFE),
        pkey: PKey(0x8001),
        q_key: 0xB1B,
        mtu: Mtu::B2048,
        rate: 16,
        lifetime: 17,
        sl: Sl(31),
        hop_limit: 255,
        flow_label: 0xF_FFFF,
        t_class: 3,
        permanent: number == 1,
        members: (1..=members).map(member).collect(),
    };
    let device = |lid| DeviceGroupMemberRecord {
        lid: Lid(lid),
        ..DeviceGroupMemberRecord::default()
    };
    let devices = |name: &str, count| DeviceGroup {
        name: name.to_owned(),
        members: (1..=count).map(device).collect(),
    };
    Administration {
        groups: Arc::new(vec![group(1, 0), group(2, 20_000), group(3, 1)]),
        virtual_fabrics: vec![VfInfoRecord {
            vf_index: 3,
            ..VfInfoRecord::default()
        }],
        device_groups: Some(vec![devices("all", 9_000), devices("none", 0)]),
        quarantined: Some(vec![QuarantinedNodeRecord {
            trusted_lid: Lid(9),
            quarantine_reasons: 0x4,
            ..QuarantinedNodeRecord::default()
        }]),
    }
}

const EXTRAS: [SnapshotExtra; 6] = [
    SnapshotExtra::MulticastTables,
    SnapshotExtra::PortTables,
    SnapshotExtra::Administration,
    SnapshotExtra::DeviceGroups,
    SnapshotExtra::QuarantinedNodes,
    SnapshotExtra::Cables,
];

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
        let after = assemble(parts(before.clone(), &EXTRAS, None)).unwrap();
        assert_eq!((after.generation, after.unix_time), (7, 1_700_000_000));
        assert_eq!(after.topology, before.topology, "{spec}");
        assert_eq!(after.linear, before.linear, "{spec}");
        assert_eq!(after.groups, before.groups, "{spec}");
        assert_eq!(after.multicast, before.multicast, "{spec}");
        assert_eq!(after.port_tables, before.port_tables, "{spec}");
        assert_eq!(after.administration, before.administration, "{spec}");
        assert_eq!(after.cables, before.cables, "{spec}");
        assert_eq!(after.lacking, Lacking::default(), "{spec}");
        assert_eq!(after.sms[0].sm_key, 0, "keys stay in the daemon");
        let sm = SmRecord {
            sm_key: before.sms[0].sm_key,
            ..after.sms[0].clone()
        };
        assert_eq!(sm, before.sms[0]);
    }
}

#[test]
fn what_is_not_asked_for_is_lacking() {
    let after = assemble(parts(snapshot("one-switch:2"), &[], None)).unwrap();
    let lacking = Lacking {
        port_tables: true,
        buffers: true,
        administration: true,
        cables: true,
        ..Lacking::default()
    };
    assert_eq!(after.lacking, lacking);
    assert!(after.port_tables.is_empty() && after.multicast.is_empty());
    assert_eq!(after.administration, Arc::default());
}

#[test]
fn extras_that_make_no_sense_are_refused() {
    let all: Vec<_> = parts(snapshot("one-switch:2"), &EXTRAS, None).collect();
    let change = |change: fn(&mut Part)| {
        let mut parts = all.clone();
        let every = parts.iter_mut().filter_map(|part| part.part.as_mut());
        every.for_each(change);
        assemble(parts).unwrap_err().to_string()
    };
    let size = change(|part| {
        if let Part::Multicast(table) = part {
            table.size = 1 << 30;
        }
    });
    let expected = "the size of a multicast table is 1073741824, allowed: 0 to 16383";
    assert_eq!(size, expected);
    let content = change(|part| {
        if let Part::PortTables(tables) = part {
            tables.contents[4] = 9;
        }
    });
    let expected = "a table of a port is 9, allowed: a content that has come";
    assert_eq!(content, expected);
    let monitors = change(|part| {
        if let Part::Cables(part) = part {
            part.cables[5].monitors = vec![1];
        }
    });
    let expected = "the monitors of a cable has 1 bytes, expected 64";
    assert_eq!(monitors, expected);
    let mlid = change(|part| {
        if let Part::Group(group) = part {
            group.mlid = 0xC000;
        }
    });
    let expected = "the LID of a multicast group is 49152, allowed: 0xF0000000 to 0xF0003FFE";
    assert_eq!(mlid, expected);
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let all: Vec<_> = parts(snapshot("one-switch:2"), &[], None).collect();
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

/// A store of pieces: returns how many have changed.
fn keep(
    store: &mut BTreeMap<Vec<u8>, Vec<u8>>,
    before: Option<&Snapshot>,
    now: &Snapshot,
) -> usize {
    let mut changed = 0;
    let Ok(()) = pieces::<Infallible>(before, now, &mut |piece| {
        assert_ne!(piece.before, piece.now);
        let held = store.remove(piece.key);
        assert_eq!(held.as_deref(), piece.before, "what was said before");
        if let Some(value) = piece.now {
            store.insert(piece.key.to_vec(), value.to_vec());
        }
        changed += 1;
        Ok(())
    });
    changed
}

/// The snapshot with its nodes in another order, and without one of them.
fn without_node(snapshot: &Arc<Snapshot>) -> Snapshot {
    let gone = snapshot.topology.node(NodeId(3)).unwrap().guid().0;
    let (mut nodes, mut others) = (Vec::new(), Vec::new());
    for response in parts(Arc::clone(snapshot), &EXTRAS, None) {
        let place = match response.part.as_ref().unwrap() {
            Part::Node(_) => &mut nodes,
            _ => &mut others,
        };
        place.push(response);
    }
    nodes.remove(3);
    nodes.reverse();
    let is_gone = |id: &Option<weft_api::v1::PortId>| id.unwrap().node_guid == gone;
    for response in &mut others {
        if let Part::Links(links) = response.part.as_mut().unwrap() {
            links
                .links
                .retain(|link| !is_gone(&link.a) && !is_gone(&link.b));
        }
    }
    others.retain(|response| match response.part.as_ref().unwrap() {
        Part::PortTables(tables) => tables.node_guid != gone,
        Part::Linear(table) => table.switch_guid != gone,
        Part::PortGroups(groups) => groups.switch_guid != gone,
        Part::Multicast(table) => table.switch_guid != gone,
        _ => true,
    });
    let header = others.remove(0);
    let all = [header].into_iter().chain(nodes).chain(others);
    assemble(all).unwrap()
}

#[test]
fn pieces_that_changed_make_the_snapshot_of_now() {
    let first = snapshot("fattree:64");
    let mut table = (*first).clone();
    table.generation = 8;
    let mut rows: Vec<Arc<[u8]>> = (0..first.linear.len() as u32)
        .map(|index| {
            Arc::clone(
                first
                    .linear
                    .row_shared(weft_fabric::SwitchIndex(index))
                    .unwrap(),
            )
        })
        .collect();
    rows[2] = Arc::from(vec![7; 60]);
    table.linear = Arc::new(LinearTables::new(rows));
    let mut cut = table.clone();
    let topology = Arc::make_mut(&mut cut.topology);
    let (end, _) = topology.links().nth(30).unwrap();
    topology.disconnect(end);
    let mut joined = cut.clone();
    let administration = Arc::make_mut(&mut joined.administration);
    Arc::make_mut(&mut administration.groups).remove(1);
    let mut standby = joined.clone();
    standby.lacking.administration = true;
    standby.administration = Arc::default();
    let mut exchanged = standby.clone();
    Arc::make_mut(&mut exchanged.cables).insert((Guid(9), PortNum(1)), [77; 128]);
    let mut warmer = exchanged.clone();
    let module = Module {
        monitors: [9; 64],
        thresholds: None,
    };
    Arc::make_mut(&mut warmer.cables).insert_module((Guid(9), PortNum(1)), module);
    let mut led = warmer.clone();
    led.lacking.cables = true;
    led.cables = Arc::default();
    let less = without_node(&Arc::new(joined.clone()));
    let other = (*snapshot("torus:3x3")).clone();
    let all = [
        (table, Some(2)),
        (cut, Some(4)),
        (joined, Some(1)),
        (standby, None),
        (exchanged, Some(1)),
        (warmer, Some(0)),
        (led, None),
        (less, None),
        (other, None),
        (Snapshot::default(), None),
    ];
    let mut store = BTreeMap::new();
    keep(&mut store, None, &first);
    let mut before = (*first).clone();
    for (place, (now, few)) in all.into_iter().enumerate() {
        let changed = keep(&mut store, Some(&before), &now);
        assert!(
            few.is_none_or(|few| changed <= few),
            "{place}: {changed} pieces"
        );
        let mut whole = BTreeMap::new();
        keep(&mut whole, None, &now);
        assert!(
            store == whole,
            "{place}: changes make another snapshot than the whole"
        );
        let extras = &EXTRAS[..5];
        let back = of_pieces(&store).unwrap();
        assert!(back.cables.same_cables(&now.cables), "{place}: cables");
        assert_eq!(back.cables.modules().count(), 0, "{place}");
        assert_eq!(back.lacking.cables, now.lacking.cables, "{place}");
        let expected: Vec<_> = parts(Arc::new(now.clone()), extras, None).collect();
        let back: Vec<_> = parts(Arc::new(back), extras, None).collect();
        assert!(back == expected, "{place}: the parts differ");
        before = now;
    }
}

#[test]
fn pieces_that_make_no_snapshot_are_refused() {
    let mut store = BTreeMap::new();
    keep(&mut store, None, &snapshot("one-switch:3"));
    for key in store.keys() {
        let mut wrong = store.clone();
        wrong.remove(key);
        // What is gone may be missing, but nothing panics.
        let _ = of_pieces(&wrong);
        for value in [vec![], vec![0xFF; 3]] {
            let mut wrong = store.clone();
            wrong.insert(key.clone(), value);
            let _ = of_pieces(&wrong);
        }
    }
    store.insert(vec![99], vec![]);
    let error = of_pieces(&store).unwrap_err().to_string();
    assert_eq!(error, "a key of the snapshot is missing or wrong");
    assert!(of_pieces(&BTreeMap::<Vec<u8>, Vec<u8>>::new()).is_err());
}

proptest! {
    #[test]
    fn no_order_and_no_loss_of_parts_panics(
        order in prop::collection::vec(0usize..20, 0..40),
        cut in 0usize..300,
    ) {
        let all: Vec<_> = parts(snapshot("one-switch:3"), &EXTRAS, None).collect();
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
