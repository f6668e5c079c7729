//! Reports on forwarding of whole bring-ups, and of tables with faults, against opareport on the same snapshot.

#![allow(clippy::unwrap_used)]

use std::process::Command;
use std::sync::Arc;

use crate::common::{brought_up, generate, settings};
use tempfile::NamedTempFile;
use weft_fabric::export::{SnapshotOptions, write_snapshot};
use weft_fabric::import::import_snapshot;
use weft_fabric::{Administration, Lid, LinearTables, NodeId, PortRef, Snapshot};
use weft_report::{Detail, Kind, Options, Request, Sample, Xml, document};
use weft_routing::EngineKind;
use weft_testkit::{NoTap, grid};
use weft_wire::sa::VfInfoRecord;

const REPORTS: &[&str] = &[
    "linear",
    "mcast",
    "portgroups",
    "portusage",
    "pathusage",
    "treepathusage",
    "bfrctrl",
    "vfmember",
    "validateroutes",
    "validatevlroutes",
    "validatecreditloops",
    "validatevlcreditloops",
];

fn xml(snapshot: &Snapshot) -> String {
    let options = SnapshotOptions {
        port_tables: true,
        ..SnapshotOptions::default()
    };
    let mut xml = Vec::new();
    write_snapshot(snapshot, options, &mut xml).unwrap();
    String::from_utf8(xml).unwrap()
}

/// Text, or XML with the options that the document names.
fn ours(snapshot: &Snapshot, name: &str, options: Option<&str>) -> (String, bool) {
    let request = Request {
        snapshot,
        options: Options {
            detail: Detail(2),
            ..Options::default()
        },
        ends: None,
        sample: Sample::default(),
        counted: None,
    };
    let report = Kind::named(name).unwrap().make(&request).unwrap();
    let text = match options {
        Some(options) => document(snapshot.unix_time, options, [&report as _]),
        None => report.to_string(),
    };
    (text, report.is_good())
}

/// Compares reports on a snapshot as it is exported; `None` where opareport is not installed and not required.
fn judge(snapshot: &Snapshot, names: &[&str], what: &str) -> Option<()> {
    let xml = xml(snapshot);
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &xml).unwrap();
    let again = import_snapshot(&xml).unwrap();
    for name in names {
        for form in [None, Some("-x")] {
            let path = file.path().to_str().unwrap();
            let mut options = vec!["-q", "-X", path, "-o", name];
            options.extend(form);
            let mut command = Command::new("opareport");
            command.env("TZ", "UTC").args(&options);
            let output = weft_peers::output(&mut command)?;
            let theirs = String::from_utf8_lossy(&output.stdout).into_owned();
            let (ours, _) = ours(&again, name, form.map(|_| options.join(" ")).as_deref());
            let differs = ours.lines().zip(theirs.lines()).find(|(a, b)| a != b);
            assert!(
                ours == theirs,
                "{what}, {name} {form:?}: {differs:?}\nours:\n{ours}\nopareport:\n{theirs}"
            );
        }
    }
    Some(())
}

#[test]
fn bring_ups_are_reported_as_opareport_does() {
    for (fabric, engine, lmc) in [
        ("fattree:36,radix=8", EngineKind::ShortestPath, 0),
        ("fattree:24,radix=8", EngineKind::FatTree, 2),
        ("torus:3x3,hosts=2", EngineKind::ShortestPath, 0),
    ] {
        let world = brought_up(generate(fabric), settings(engine, lmc), NoTap);
        if judge(&world.snapshot(), REPORTS, fabric).is_none() {
            return;
        }
    }
}

/// Packets change their channel at the datelines of a torus.
#[test]
fn a_torus_in_dimension_order_is_reported_as_opareport_does() {
    for fabric in ["torus:4x3,hosts=1", "torus:4x3,hosts=2", "torus:5"] {
        let mut settings = settings(EngineKind::Dor, 0);
        settings.routing.mesh.dimensions = grid::dimensions(&fabric.parse().unwrap());
        let world = brought_up(generate(fabric), settings, NoTap);
        // opareport takes service levels from virtual fabrics; without one it looks at no channels.
        let administration = Administration {
            virtual_fabrics: vec![VfInfoRecord::default()],
            ..Administration::default()
        };
        let snapshot = Snapshot {
            administration: Arc::new(administration),
            ..world.snapshot().as_ref().clone()
        };
        let others = REPORTS.iter().copied().filter(|name| *name != LOOPS);
        let others: Vec<&str> = others.collect();
        if judge(&snapshot, &others, fabric).is_none() {
            return;
        }
        // Without its lanes a torus has circles.
        let (text, theirs) = both(&snapshot, LOOPS).unwrap();
        assert!(text.contains("Deadlock detected"), "{text}");
        assert_eq!(without_starts(&text), without_starts(&theirs), "{fabric}");
    }
}

const LOOPS: &str = "validatecreditloops";

/// A report as text, and opareport's on the snapshot as it is exported.
fn both(snapshot: &Snapshot, name: &str) -> Option<(String, String)> {
    let xml = xml(snapshot);
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &xml).unwrap();
    let mut command = Command::new("opareport");
    command.arg("-q").arg("-X").arg(file.path());
    let output = weft_peers::output(command.args(["-o", name]))?;
    let theirs = String::from_utf8_lossy(&output.stdout).into_owned();
    Some((ours(&import_snapshot(&xml).unwrap(), name, None).0, theirs))
}

/// The lines of a report in order of the alphabet, without the numbers of links in circles and without where each circle
/// begins, which may be anywhere.
fn without_starts(text: &str) -> Vec<String> {
    let line = |line: &str| match line.split_once(") is in a CYCLE") {
        Some((_, length)) => format!("a CYCLE{length}"),
        None => line
            .split_once("LINK ")
            .and_then(|(_, link)| Some(link.split_once(' ')?.1))
            .unwrap_or(line)
            .to_owned(),
    };
    let mut lines: Vec<String> = text.lines().map(line).collect();
    lines.sort();
    lines
}

/// The fabric with other linear tables.
fn with_tables(snapshot: &Snapshot, mut change: impl FnMut(NodeId, &mut Vec<u8>)) -> Snapshot {
    let switches = snapshot.topology.switches().iter().enumerate();
    let rows = switches.map(|(index, id)| {
        let mut row = snapshot
            .linear
            .row(weft_fabric::SwitchIndex(index as u32))
            .to_vec();
        change(*id, &mut row);
        Arc::from(row)
    });
    Snapshot {
        linear: Arc::new(LinearTables::new(rows.collect())),
        ..snapshot.clone()
    }
}

/// The port of a switch that leads to another one.
fn toward(snapshot: &Snapshot, from: NodeId, to: NodeId) -> u8 {
    let node = snapshot.topology.node(from).unwrap();
    let mut ports = node.external_ports();
    let found = ports.find(|(_, port)| port.peer.is_some_and(|peer| peer.node == to));
    found.unwrap().0.0
}

#[test]
fn faults_in_tables_are_found_as_opareport_finds_them() {
    let world = brought_up(
        generate("fattree:24,radix=8"),
        settings(EngineKind::FatTree, 0),
        NoTap,
    );
    let snapshot = world.snapshot();
    let first = snapshot.topology.switches()[0];
    for (what, entry) in [
        ("a hole", 0xFF),
        ("another way", 1),
        ("a switch that keeps", 0),
    ] {
        let faulty = with_tables(&snapshot, |id, row| {
            if id == first {
                row[7] = entry;
            }
        });
        let names = ["validateroutes", "pathusage", "treepathusage"];
        if judge(&faulty, &names, what).is_none() {
            return;
        }
        let (text, good) = ours(&faulty, "validateroutes", None);
        assert!(!good || entry == 1, "{text}");
    }
}

/// All packets go round a ring of four switches in one direction.
#[test]
fn a_ring_in_one_direction_is_a_credit_loop() {
    let world = brought_up(
        generate("torus:4,hosts=1"),
        settings(EngineKind::ShortestPath, 0),
        NoTap,
    );
    let snapshot = world.snapshot();
    let topology = &snapshot.topology;
    let mut ring = vec![topology.switches()[0]];
    while ring.len() < 4 {
        let node = topology.node(ring[ring.len() - 1]).unwrap();
        let peers = node.external_ports().filter_map(|(_, port)| port.peer);
        let mut switches = peers.filter(|peer| topology.switch_index(peer.node).is_some());
        ring.push(
            switches
                .find(|peer| !ring.contains(&peer.node))
                .unwrap()
                .node,
        );
    }
    let before = |lid: usize, row: &[u8], id: NodeId| {
        let port = row[lid];
        let at = PortRef {
            node: id,
            port: weft_fabric::PortNum(port),
        };
        let peer = topology.peer(at);
        port == 0 || peer.is_some_and(|peer| topology.switch_index(peer.node).is_none())
    };
    let looped = with_tables(&snapshot, |id, row| {
        let place = ring.iter().position(|other| *other == id).unwrap();
        let next = toward(&snapshot, id, ring[(place + 1) % 4]);
        for lid in 1..row.len() {
            let used = row[lid] != weft_fabric::UNREACHABLE && Lid(lid as u32).is_unicast();
            if used && !before(lid, row, id) {
                row[lid] = next;
            }
        }
    });
    assert!(ours(&snapshot, "validatecreditloops", None).1);
    let (text, good) = ours(&looped, "validatecreditloops", None);
    assert!(!good && text.contains("is in a CYCLE of 4:"), "{text}");
    assert_eq!(text.matches("LINK").count(), 5, "{text}");
    // As many links, in circles as long, however opareport numbers them.
    let xml = xml(&looped);
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &xml).unwrap();
    let mut command = Command::new("opareport");
    command
        .arg("-q")
        .arg("-X")
        .arg(file.path())
        .args(["-o", "validatecreditloops"]);
    let Some(output) = weft_peers::output(&mut command) else {
        return;
    };
    let theirs = String::from_utf8_lossy(&output.stdout).into_owned();
    let head = |text: &str| {
        text.lines()
            .take_while(|line| !line.starts_with("LINK"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(head(&text), head(&theirs));
    assert!(theirs.contains("is in a CYCLE of"), "{theirs}");
    // Routes that reach all hosts are no fault.
    assert!(ours(&looped, "validateroutes", None).1);
}
