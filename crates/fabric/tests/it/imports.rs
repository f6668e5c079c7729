//! Files of other programs become a fabric, or an error with position and reason.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_fabric::enums::{LinkWidth, Mtu, PortState, PortType, SmState};
use weft_fabric::export::{SnapshotOptions, write_ibnetdiscover, write_snapshot};
use weft_fabric::import::{import_fabric, import_ibnetdiscover, import_snapshot};
use weft_fabric::{
    Guid, Lid, Node, PortNum, PortRef, PortTable, Snapshot, SwitchIndex, Topology, Vl, powered_on,
};

const GOLDEN: &str = include_str!("../data/fattree4.snapshot.xml");
const DUMP: &str = include_str!("../data/quirks.ibnetdiscover");

fn find<'a>(topology: &'a Topology, name: &str) -> &'a Node {
    let mut found = topology.nodes().filter(|(_, node)| node.name() == name);
    let node = found.next().unwrap_or_else(|| panic!("{name}")).1;
    assert!(found.next().is_none(), "{name} twice");
    node
}

/// Lines of a document between two tags, without those that our exporter omits.
fn comparable(xml: &str) -> Vec<&str> {
    const LEFT_OUT: [&str; 2] = ["VLArbitrationPreemptElements", "CongestionInfo"];
    let mut lines = Vec::new();
    let mut skipping: Option<&str> = None;
    for line in xml.lines().skip(2) {
        let tag = line
            .trim_start_matches('<')
            .split(['>', ' '])
            .next()
            .unwrap();
        if skipping.is_none() {
            skipping = LEFT_OUT.iter().copied().find(|left_out| tag == *left_out);
            if skipping.is_none() {
                lines.push(line);
            }
        } else if tag.strip_prefix('/') == skipping {
            skipping = None;
        }
    }
    lines
}

#[test]
fn the_golden_snapshot_is_read() {
    let snapshot = import_snapshot(GOLDEN).unwrap();
    let topology = &snapshot.topology;
    assert_eq!(snapshot.unix_time, 1_700_000_000);
    assert_eq!((topology.hfis().count(), topology.switches().len()), (4, 4));
    assert_eq!(topology.links().count(), 8);
    let edge = find(topology, "edge1");
    let up = &edge.port(PortNum(48)).unwrap().info;
    assert_eq!(up.link_width_downgrade_tx_active, LinkWidth::X3);
    assert_eq!(up.neighbor_mtu.get(Vl(0)), Mtu::B8192);
    assert_eq!(
        (up.xmit_q[0].vl_stall_count, up.xmit_q[31].hoq_life),
        (7, 11)
    );
    assert_eq!(
        edge.port(PortNum(3)).unwrap().info.port_state,
        PortState::DOWN
    );
    assert_eq!(edge.port(PortNum(0)).unwrap().info.lid, Lid(5));
    let sm = &snapshot.sms[0];
    assert_eq!(
        (sm.lid, sm.state, sm.priority, sm.act_count),
        (Lid(1), SmState::MASTER, 8, 16)
    );
    assert_eq!(
        snapshot.linear.egress(SwitchIndex(2), Lid(3)),
        Some(PortNum(48))
    );
    let group = snapshot.groups.group(SwitchIndex(3), Lid(1)).unwrap();
    assert_eq!(group.iter().collect::<Vec<_>>(), [PortNum(47), PortNum(48)]);
}

/// Everything that our exporter writes at all, it writes as opareport did.
#[test]
fn the_golden_snapshot_is_written_as_it_was_read() {
    let snapshot = import_snapshot(GOLDEN).unwrap();
    let xml = crate::common::snapshot_xml_with_tables(&snapshot);
    let [ours, theirs] = [&xml, GOLDEN].map(|text| comparable(text));
    let mut compared = 0;
    let skipped = [
        "EndPortLID",
        "PortGroupSize",
        "PortGroupElements",
        "PortGroupFDB",
    ];
    let keep = |line: &&&str| !skipped.iter().any(|name| line.contains(name));
    for (ours, theirs) in ours.iter().filter(keep).zip(theirs.iter().filter(keep)) {
        assert_eq!(ours, theirs, "line {compared}");
        compared += 1;
    }
    assert!(compared > 8000, "{compared}");
    let lengths = [&ours, &theirs].map(|lines| lines.iter().filter(keep).count());
    assert_eq!(lengths[0], lengths[1]);
}

fn same(a: &Snapshot, b: &Snapshot) {
    for ((_, a), (_, b)) in a.topology.nodes().zip(b.topology.nodes()) {
        assert_eq!(a, b, "{}", a.name());
    }
    assert_eq!(a.topology, b.topology);
    assert_eq!(a.linear, b.linear);
    assert_eq!(a.groups, b.groups);
    assert_eq!(a.sms, b.sms);
    assert_eq!((a.generation, a.unix_time), (b.generation, b.unix_time));
    assert_eq!(a.administration, b.administration);
}

/// Tables of ports by their contents: numbers of contents may differ.
fn same_tables(a: &Snapshot, b: &Snapshot) {
    assert_eq!(a.multicast, b.multicast);
    assert_eq!(a.lacking, b.lacking);
    for (node, port) in a.topology.nodes().flat_map(|(id, node)| {
        let ports = node.ports().map(|(port, _)| port);
        ports.map(move |port| (id, port)).collect::<Vec<_>>()
    }) {
        for kind in PortTable::ALL {
            let at = PortRef { node, port };
            let [a, b] = [a, b].map(|snapshot| snapshot.port_tables.table(at, kind));
            assert_eq!(a, b, "{at:?} {kind:?}");
        }
    }
}

#[test]
fn snapshots_round_trip() {
    for (fabric, lmc) in [
        ("one-switch:4", 0),
        ("fattree:100", 2),
        ("swd06,hosts=3", 0),
        ("torus:3x3", 1),
    ] {
        let snapshot = crate::common::bring_up(crate::common::generate(fabric), lmc);
        let xml = crate::common::snapshot_xml(&snapshot, true);
        same(&import_snapshot(&xml).unwrap(), &snapshot);
    }
    let snapshot = import_snapshot(GOLDEN).unwrap();
    same(
        &import_snapshot(&crate::common::snapshot_xml(&snapshot, true)).unwrap(),
        &snapshot,
    );
}

#[test]
fn tables_groups_and_virtual_fabrics_round_trip() {
    let golden = import_snapshot(GOLDEN).unwrap();
    let edge = golden
        .topology
        .nodes()
        .find(|(_, node)| node.name() == "edge1");
    let at = |port| PortRef {
        node: edge.unwrap().0,
        port: PortNum(port),
    };
    let table = |port, kind| golden.port_tables.table(at(port), kind);
    assert_eq!(table(0, PortTable::SlToSc).map(<[u8]>::len), Some(32));
    assert_eq!(table(1, PortTable::SlToSc), None, "of end ports only");
    let channels = table(1, PortTable::ScToSc).unwrap();
    assert_eq!(channels.len(), 48 * 32);
    assert_eq!(
        (channels[1], channels[2 * 32]),
        (1, 0xFF),
        "to ports 1 and 3"
    );
    assert_eq!(
        table(1, PortTable::PKeys).unwrap()[..4],
        [0x80, 1, 0x7F, 0xFF]
    );
    assert_eq!(table(1, PortTable::ArbitrationLow).unwrap()[..2], [0, 255]);
    assert_eq!(table(1, PortTable::Buffers).unwrap()[2..6], [4, 0, 0, 128]);
    assert_eq!(golden.multicast.row(SwitchIndex(0)).len(), 3);
    let group = &golden.administration.groups[0];
    assert_eq!(
        (group.mlid, group.mtu, group.rate),
        (Lid(0xF000_0000), Mtu::B256, 2)
    );
    assert_eq!(group.members.len(), 4);
    let fabric = &golden.administration.virtual_fabrics[0];
    assert_eq!(
        (&*fabric.vf_name.text(), fabric.bandwidth_percent),
        ("Default", 100)
    );

    let xml = crate::common::snapshot_xml_with_tables(&golden);
    let again = import_snapshot(&xml).unwrap();
    same(&again, &golden);
    same_tables(&again, &golden);
    // Without the tables of ports, all else is there.
    let fewer = import_snapshot(&crate::common::snapshot_xml(&golden, false)).unwrap();
    assert!(fewer.lacking.port_tables && fewer.lacking.buffers && !fewer.lacking.routes);
    assert!(fewer.port_tables.is_empty());
    assert_eq!(fewer.administration, golden.administration);
}

/// Counters and memories of cables, with each byte in its place.
#[test]
fn counters_and_cables_round_trip() {
    let mut snapshot = import_snapshot(GOLDEN).unwrap();
    assert!(snapshot.counts.is_some() && snapshot.lacking.cables);
    let edge = find(&snapshot.topology, "edge1").guid();
    let memory: [u8; 128] = std::array::from_fn(|at| at as u8);
    Arc::make_mut(&mut snapshot.cables).insert((edge, PortNum(1)), memory);
    let xml = crate::common::snapshot_xml(&snapshot, false);
    assert!(xml.contains("<Value Seg=\"0xf\">0x78797a7b7c7d7e7f</Value>"));
    let again = import_snapshot(&xml).unwrap();
    assert_eq!(again.counts, snapshot.counts);
    assert_eq!(again.cables, snapshot.cables);
    assert!(!again.lacking.cables);
    let wrong = xml.replace("Seg=\"0xf\"", "Seg=\"0x10\"");
    let refused = import_snapshot(&wrong).unwrap_err().to_string();
    let expected = "attribute Seg of <Value> is 16, allowed: 0 to 15";
    assert!(refused.contains(expected), "{refused}");
}

#[test]
fn bad_tables_are_refused_with_their_line() {
    for (from, to, expected) in [
        (
            "<SC SL=\"0\">0</SC>",
            "<SC SL=\"0\">32</SC>",
            "<SC> is 32, allowed: 0 to 31",
        ),
        (
            "<SC SL=\"1\">",
            "<SC SL=\"32\">",
            "attribute SL of <SC> is 32, allowed: 0 to 31",
        ),
        (
            "ports=\"1-2,47-48\"",
            "ports=\"2-1\"",
            "attribute ports of <OutputPort> is \"2-1\"",
        ),
        (
            "pos=\"0\"",
            "pos=\"4\"",
            "attribute pos of <Value> is 4, allowed: 0 to 3",
        ),
        (
            "LID=\"0xf0000000\"",
            "LID=\"0xf0000003\"",
            "an entry for LID 0xf0000003 of a multicast table",
        ),
        ("<MLID>0xf0000000<", "<MLID>0xf0003fff<", "<MLID> is none"),
        (
            "<GID>0xfe80",
            "<GID>fe80",
            "<GID> is \"fe80000000000000:0x0011750101000011\"",
        ),
        (
            "<Membership_Int>1<",
            "<Membership_Int>16<",
            "<Membership_Int> is 16, allowed: 0 to 15",
        ),
        (
            "<HOQLife>0<",
            "<HOQLife>32<",
            "<HOQLife> is 32, allowed: 0 to 31",
        ),
    ] {
        assert!(GOLDEN.contains(from), "{from}");
        let error = import_snapshot(&GOLDEN.replacen(from, to, 1)).unwrap_err();
        let line = GOLDEN[..GOLDEN.find(from).unwrap()].lines().count() as u64;
        let said = error.to_string();
        assert!(said.contains(expected), "{said}");
        assert!(error.line.abs_diff(line) <= 1, "{said}: line {line}");
    }
}

#[test]
fn ibnetdiscover_round_trips() {
    for fabric in [
        "one-switch:4",
        "back-to-back",
        "fattree:100",
        "swd06,hosts=3",
        "mesh:3x3",
    ] {
        let topology = crate::common::generate(fabric);
        let mut text = Vec::new();
        write_ibnetdiscover(&topology, &mut text).unwrap();
        assert_eq!(
            *import_fabric(&text).unwrap().topology,
            topology,
            "{fabric}"
        );
    }
    let topology = import_ibnetdiscover(DUMP).unwrap();
    let mut text = Vec::new();
    write_ibnetdiscover(&topology, &mut text).unwrap();
    assert_eq!(*import_fabric(&text).unwrap().topology, topology);
}

#[test]
fn the_quirks_of_real_dumps_are_understood() {
    let topology = import_ibnetdiscover(DUMP).unwrap();
    let names: Vec<String> = topology.nodes().map(|(_, node)| node.name()).collect();
    assert_eq!(
        names,
        [
            "MF0;rack1:MCS8500/L16/U2",
            "MF0;rack1:MCS8500/S01/U1",
            "host \"a\" mlx5_0",
            "dual mlx5_0 port1",
            "dual mlx5_0 port2",
            "lonely mlx5_0",
            "undescribed mlx5_0",
        ]
    );
    let leaf = find(&topology, "MF0;rack1:MCS8500/L16/U2");
    assert_eq!(leaf.info.num_ports, 41);
    assert_eq!(leaf.info.system_image_guid, Guid(0x0c42_a103_00fb_b954));
    assert_eq!(leaf.port(PortNum(0)).unwrap().info.lid, Lid(175));
    // The aggregation node is gone with its cable.
    assert_eq!(leaf.port(PortNum(41)).unwrap().peer, None);
    let up = leaf.port(PortNum(21)).unwrap();
    assert_eq!(
        (up.info.link_width_active, up.info.port_type),
        (LinkWidth::X2, PortType::FIXED)
    );
    let host = find(&topology, "host \"a\" mlx5_0");
    assert_eq!(
        (host.port(PortNum(1)).unwrap().info.lid, host.guid()),
        (Lid(693), Guid(0x1c34_da03_0055_03dc))
    );
    // 65535 is no LID; a GUID with bits 30 and 31 is none of an HFI.
    let first = find(&topology, "dual mlx5_0 port1");
    assert_eq!(first.port(PortNum(1)).unwrap().info.lid, Lid(0));
    let guids: BTreeSet<Guid> = topology.nodes().map(|(_, node)| node.guid()).collect();
    assert_eq!(guids.len(), names.len());
    for (_, node) in topology.hfis() {
        assert_eq!(node.guid().0 >> 30 & 3, 0);
        assert_eq!(node.info.num_ports, 1);
    }
    assert_eq!(topology.links().count(), 6);
}

#[test]
fn bad_dumps_are_refused_with_their_line() {
    let switch = "Switch 4 \"S-0a\" # \"s\"\n";
    for (text, line, what, allowed) in [
        ("\nhello", 2, "the line is \"hello\"", "vendid"),
        (
            "[1] \"H-01\"[1]",
            1,
            "a port of no node",
            "a Switch, Ca or Rt line before",
        ),
        (
            &format!("{switch}[5] \"H-01\"[1]"),
            2,
            "port 5 of a node with 4",
            "1 to 4",
        ),
        (
            &format!("{switch}[1] \"H-01\"[1]\n[1] \"H-02\"[1]"),
            3,
            "port 1 is listed again, first in line 2",
            "once",
        ),
        (
            &format!("{switch}{switch}"),
            2,
            "node 0x000000000000000a is described again, first in line 1",
            "once",
        ),
        (
            &format!("{switch}[1] \"S-0b\"[1]"),
            2,
            "a cable to switch 0x000000000000000b, which is not described",
            "described switches",
        ),
        (
            &format!("{switch}[1] \"S-0a\"[1]"),
            2,
            "a cable from a port to itself",
            "two ports",
        ),
        (
            &format!("{switch}[1] \"S-0a\"[9]"),
            2,
            "a cable to port 9 of 0x000000000000000a",
            "ports 1 to 4",
        ),
        (
            &format!("{switch}[1] \"S-0a\"[2]\n[2] \"S-0a\"[3]"),
            3,
            "a second cable on a port, the first is in line 2",
            "two ends",
        ),
        (
            &format!("{switch}[1] \"H-01\"[1]\n[2] \"H-01\"[1]"),
            3,
            "a second cable on a port, the first is in line 2",
            "two ends",
        ),
        ("Switch 4 \"S-00\"", 1, "a GUID is 0", "any other"),
    ] {
        let error = import_ibnetdiscover(text).unwrap_err();
        assert_eq!((error.line, error.what.as_str()), (line, what), "{text}");
        assert!(error.allowed.starts_with(allowed), "{}", error.allowed);
    }
}

#[test]
fn a_short_dump_gets_no_million_ports() {
    let switches = |count: u64| -> String {
        (1..=count)
            .map(|guid| format!("Switch 250 \"S-{guid:x}\"\n"))
            .collect()
    };
    let topology = import_ibnetdiscover(&switches(80)).unwrap();
    let mut nodes = topology.nodes();
    assert!(nodes.all(|(_, switch)| switch.info.num_ports == 250));
    let error = import_ibnetdiscover(&switches(2_000)).unwrap_err();
    assert_eq!((error.line, error.what.as_str()), (81, "too many ports"));
    // Cables make room for more.
    let ends: String = (1..=25)
        .map(|port| format!("[{port}] \"H-{port:x}00\"[1]\n"))
        .collect();
    import_ibnetdiscover(&format!("{}{ends}", switches(81))).unwrap();
}

#[test]
fn bad_snapshots_are_refused_with_their_line() {
    for (from, to, line, what) in [
        ("<Snapshot ", "<Report ", 2, "the document is <Report>"),
        (
            "unixtime=\"1700000000\"",
            "",
            2,
            "attribute unixtime of <Snapshot> is \"\"",
        ),
        (
            "<NodeGUID>0x0011750101000011</NodeGUID>",
            "",
            4,
            "<Node> has no <NodeGUID>",
        ),
        (
            "<NodeType_Int>1<",
            "<NodeType_Int>3<",
            7,
            "<NodeType_Int> is 3",
        ),
        ("<NumPorts>1<", "<NumPorts>0<", 10, "<NumPorts> is 0"),
        (
            "<NumPorts>1<",
            "<NumPorts>one<",
            10,
            "<NumPorts> is \"one\"",
        ),
        ("<PortNum>1<", "<PortNum>2<", 16, "<PortInfo> of port 2"),
        (
            "<LID>0x00000001<",
            "<LID>0x100000001<",
            22,
            "<LID> is \"0x100000001\"",
        ),
        ("<LMC>0<", "<LMC>8<", 35, "<LMC> is 8"),
        (
            "<PortState_Int>4</PortState_Int>",
            "",
            16,
            "<PortInfo> has no <PortState_Int>",
        ),
        (
            "<IPAddrIPV4>00000000<",
            "<IPAddrIPV4>0000000g<",
            25,
            "<IPAddrIPV4> is \"0000000g\"",
        ),
        (
            "<MTUSupported>10240<",
            "<MTUSupported>10000<",
            84,
            "<MTUSupported> is 10000",
        ),
        (
            "VLStall VL=\"00\"",
            "VLStall VL=\"32\"",
            92,
            "attribute VL of <VLStall> is 32",
        ),
        (
            "0x0011750101000012</NodeGUID>\n<NodeType",
            "0x0011750101000011</NodeGUID>\n<NodeType",
            622,
            "a second node with GUID 0x0011750101000011",
        ),
        (
            "<Value LID=\"0x8\">",
            "<Value LID=\"0x9\">",
            4087,
            "an entry for LID 0x9 of a table of 9",
        ),
        ("node1 hfi1_0", "node1 &hfi;", 5, "&hfi;"),
        (
            "<?xml version=\"1.0\" encoding=\"utf-8\" ?>",
            "<!DOCTYPE x>",
            1,
            "a document type",
        ),
    ] {
        assert!(GOLDEN.contains(from), "{from}");
        let error = import_snapshot(&GOLDEN.replacen(from, to, 1)).unwrap_err();
        assert_eq!(
            (error.line, error.what.as_str()),
            (line, what),
            "{from} -> {to}"
        );
        assert!(!error.allowed.is_empty());
    }
    let half = &GOLDEN[..GOLDEN.len() / 2];
    assert!(import_snapshot(half).is_err());
    let deep = format!("<Snapshot unixtime=\"0\">{}", "<a>".repeat(50));
    assert!(import_snapshot(&deep).unwrap_err().what.contains("17 deep"));
}

#[test]
fn cables_of_a_snapshot_must_fit() {
    let links = &GOLDEN[GOLDEN.find("<Links>").unwrap()..];
    for (from, to, what) in [
        (
            "<NodeGUID>0x0011750101000011<",
            "<NodeGUID>0x1<",
            "a cable to node 0x0000000000000001, which is not in the snapshot",
        ),
        ("<PortNum>1<", "<PortNum>2<", "a cable to port 2"),
        ("<PortNum>2<", "<PortNum>1<", "a cable to port 1"),
        ("<From>", "<Frm>", "</From> where <Frm> is open"),
    ] {
        let changed = GOLDEN.replace(links, &links.replacen(from, to, 1));
        let error = import_snapshot(&changed).unwrap_err();
        assert_eq!(error.what, what);
        assert!(error.line > 4000);
    }
}

#[test]
fn a_power_failure_leaves_cables_and_names_only() {
    let snapshot = import_snapshot(GOLDEN).unwrap();
    let restarted = powered_on::restart(&snapshot.topology).unwrap();
    assert!(restarted.end_ports().all(|(_, lid, _)| lid == Lid(0)));
    assert!(restarted.links().eq(snapshot.topology.links()));
    let states = restarted
        .hfis()
        .map(|(_, node)| node.port(PortNum(1)).unwrap().info.port_state);
    assert!(states.eq([PortState::INIT; 4]));
    let generated = crate::common::generate("fattree:100");
    assert_eq!(
        powered_on::restart(&crate::common::bring_up(generated.clone(), 0).topology).unwrap(),
        generated
    );
}

#[test]
fn names_survive_whatever_they_hold() {
    for name in [
        &b"<a & \"b\">"[..],
        b" spaces  ",
        b"bell\x07",
        b"latin \xe9",
        b"back\\x41slash",
        b"]]>",
        "日本".as_bytes(),
    ] {
        let mut topology = crate::common::generate("one-switch:1");
        let id = topology.hfis().next().unwrap().0;
        let field = &mut topology.node_mut(id).unwrap().description.node_string;
        field.fill(0);
        field[..name.len()].copy_from_slice(name);
        let snapshot = crate::common::bring_up(topology, 0);
        let xml = crate::common::snapshot_xml(&snapshot, true);
        same(&import_snapshot(&xml).unwrap(), &snapshot);
        let mut text = Vec::new();
        write_ibnetdiscover(&snapshot.topology, &mut text).unwrap();
        let again = import_ibnetdiscover(std::str::from_utf8(&text).unwrap()).unwrap();
        assert_eq!(again.node(id).unwrap().description.bytes(), name);
    }
}

/// 400 switches, 2328 adapters, as it was one day in 2021.
#[test]
fn the_real_fabric_becomes_an_emulated_one() {
    let Some(text) = crate::common::public_data("hdr-400sw-2328hca.ibnetdiscover") else {
        return;
    };
    let topology = import_ibnetdiscover(&text).unwrap();
    assert_eq!(
        (topology.switches().len(), topology.hfis().count()),
        (400, 2328)
    );
    assert_eq!(topology.links().count(), 17_446 / 2);
    for (_, node) in topology.hfis() {
        assert_eq!(node.guid().0 >> 30 & 3, 0);
    }
    let snapshot = crate::common::bring_up(topology, 0);
    let mut xml = Vec::new();
    write_snapshot(&snapshot, SnapshotOptions::default(), &mut xml).unwrap();
    assert_eq!(
        import_fabric(&xml).unwrap().topology.links().count(),
        17_446 / 2
    );
}
