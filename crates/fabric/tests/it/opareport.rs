//! Debian's `opareport` reads every kind of fabric that we export, without errors and with the expected
//! output. Its exit code is always 0, so the text is checked.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::snapshot_xml;
use weft_fabric::import::{import_ibnetdiscover, import_snapshot};
use weft_fabric::{Snapshot, Topology};

/// Output of `opareport -q -X - -o <report> …`, which must not contain an error.
fn opareport(xml: &str, arguments: &[&str]) -> String {
    let mut child = Command::new("opareport")
        .args(["-q", "-X", "-", "-o"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let xml = xml.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(xml.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    // opareport says of options that reports imply that a file needs none of them.
    let errors = String::from_utf8_lossy(&output.stderr);
    let implied = |line: &&str| line.ends_with("ignored for -X") || line.is_empty();
    let errors: Vec<&str> = errors.lines().filter(|line| !implied(line)).collect();
    assert!(
        output.status.success(),
        "{arguments:?}: {:?}",
        output.status
    );
    assert!(errors.is_empty(), "{arguments:?}: {errors:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The first number of the line that contains a text.
fn number(report: &str, text: &str) -> u64 {
    let line = report.lines().find(|line| line.contains(text));
    let line = line.unwrap_or_else(|| panic!("{text:?} in {report:.2000}"));
    line.split_whitespace()
        .find_map(|word| word.parse().ok())
        .unwrap()
}

fn check_routes(xml: &str, what: &str) {
    let routes = opareport(xml, &["validateroutes"]);
    assert_eq!(
        number(&routes, "Incomplete Route(s)"),
        0,
        "{what}: {routes:.3000}"
    );
    assert!(number(&routes, "Analyzed Routes") > 0, "{what}");
    let loops = opareport(xml, &["validatecreditloops"]);
    assert!(
        loops.contains("Routes are deadlock free"),
        "{what}: {loops:.3000}"
    );
}

fn check_reports(xml: &str, topology: &Topology, lids: u64, what: &str) {
    let nodes = opareport(xml, &["nodes"]);
    let hosts = topology.hfis().count() as u64;
    let switches = topology.switches().len() as u64;
    assert_eq!(number(&nodes, "Connected FIs in Fabric"), hosts, "{what}");
    assert_eq!(
        number(&nodes, "Connected Switches in Fabric"),
        switches,
        "{what}"
    );
    for (_, node) in topology.nodes() {
        assert!(
            nodes.contains(&format!("    Name: {}\n", node.name())),
            "{what}"
        );
    }
    let links = opareport(xml, &["links"]);
    let cables = topology.links().count();
    assert_eq!(number(&links, "Links in Fabric"), cables as u64, "{what}");
    assert_eq!(links.matches("100g 0x").count(), cables, "{what}");
    let summary = opareport(xml, &["lids"]);
    assert_eq!(number(&summary, "LID(s) in Fabric"), lids, "{what}");
    for report in ["comps", "linear"] {
        assert!(
            opareport(xml, &[report]).lines().count() > topology.len(),
            "{what}"
        );
    }
}

fn lids(topology: &Topology) -> u64 {
    let counts = topology
        .end_ports()
        .map(|(_, _, lmc)| u64::from(lmc.lids()));
    counts.sum()
}

#[test]
fn every_family_is_reported_as_it_is() {
    if weft_peers::program("opareport").is_none() {
        return;
    }
    for fabric in [
        "one-switch:4",
        "fattree:128",
        "fattree:100,oversubscription=3,links=2",
        "fattree:60,radix=8",
        "pgft:3;4,3,2;1,2,3;1,2,1",
        "mesh:3x3,hosts=2",
        "torus:3x3x3",
        "hypercube:4",
        "swd06,hosts=2",
        "swd24,hosts=1",
    ] {
        for lmc in [0, 2] {
            let snapshot = crate::common::bring_up(crate::common::generate(fabric), lmc);
            let xml = snapshot_xml(&snapshot, false);
            let what = format!("{fabric} lmc {lmc}");
            check_routes(&xml, &what);
            check_reports(&xml, &snapshot.topology, lids(&snapshot.topology), &what);
        }
    }
}

/// opareport writes its input again: none of our fields was lost.
#[test]
fn opareport_understood_every_field() {
    if weft_peers::program("opareport").is_none() {
        return;
    }
    for fabric in ["one-switch:4", "fattree:100", "torus:3x3", "swd06,hosts=2"] {
        let snapshot = crate::common::bring_up(crate::common::generate(fabric), 1);
        let again = opareport(&snapshot_xml(&snapshot, false), &["snapshot"]);
        compare(&import_snapshot(&again).unwrap(), &snapshot);
    }
}

/// The file with the LIDs of switches at all their ports, as a manager tells them.
fn with_switch_lids(xml: &str) -> String {
    const UNKNOWN: &str = "<EndPortLID>0x00000000<";
    let nodes = xml.split_inclusive("</Node>").map(|node| {
        let mut lids = node.lines().filter(|line| line.starts_with("<EndPortLID>"));
        let lid = lids.find(|line| !line.starts_with(UNKNOWN));
        let lid = lid.and_then(|line| line.strip_suffix("/EndPortLID>"));
        node.replace(UNKNOWN, lid.unwrap_or(UNKNOWN))
    });
    nodes.collect()
}

/// A report without how long it took.
fn without_times(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| match line.split_once("elapsed time") {
            Some((what, _)) => what,
            None => line,
        });
    lines.collect::<Vec<_>>().join("\n")
}

/// What opareport says of its own snapshot, it says of ours: tables of ports and switches, groups and virtual fabrics
/// are there.
#[test]
fn reports_of_tables_and_groups_are_the_same() {
    if weft_peers::program("opareport").is_none() {
        return;
    }
    let golden = &with_switch_lids(include_str!("../data/fattree4.snapshot.xml"));
    let ours = crate::common::snapshot_xml_with_tables(&import_snapshot(golden).unwrap());
    for report in [
        "mcgroups",
        "mcast",
        "vfinfo",
        "vfmember",
        "bfrctrl",
        "validatevlroutes",
        "validatevlcreditloops",
        "validatemcroutes",
    ] {
        for detail in ["0", "2", "3"] {
            let theirs = without_times(&opareport(golden, &[report, "-d", detail]));
            assert_eq!(
                without_times(&opareport(&ours, &[report, "-d", detail])),
                theirs,
                "{report} -d {detail}"
            );
            assert!(!theirs.contains("Report skipped"), "{theirs}");
        }
    }
    let nodes = |xml| opareport(xml, &["nodes", "-d", "9"]);
    let kept = |line: &&str| {
        ["SC", "VL", "PKey", "Weight"]
            .iter()
            .any(|word| line.contains(word))
    };
    let [theirs, ours] = [nodes(golden), nodes(&ours)];
    assert_eq!(
        ours.lines().filter(kept).collect::<Vec<_>>(),
        theirs.lines().filter(kept).collect::<Vec<_>>()
    );
}

/// Nodes are compared by GUID: opareport has an order of its own.
fn compare(theirs: &Snapshot, ours: &Snapshot) {
    assert_eq!(theirs.topology.len(), ours.topology.len());
    for (id, node) in ours.topology.nodes() {
        let other = theirs.topology.find(node.guid()).unwrap();
        let same = theirs.topology.node(other).unwrap();
        assert_eq!(
            (&same.info, &same.description, &same.switch),
            (&node.info, &node.description, &node.switch)
        );
        for ((number, a), (_, b)) in same.ports().zip(node.ports()) {
            assert_eq!(a.info, b.info, "{} port {number}", node.name());
            let guid = |snapshot: &Snapshot, end: weft_fabric::PortRef| {
                (snapshot.topology.node(end.node).unwrap().guid(), end.port)
            };
            assert_eq!(
                a.peer.map(|end| guid(theirs, end)),
                b.peer.map(|end| guid(ours, end))
            );
        }
        let rows = [(theirs, other), (ours, id)].map(|(snapshot, id)| {
            let index = snapshot.topology.switch_index(id);
            index.map(|index| snapshot.linear.row(index).to_vec())
        });
        assert_eq!(rows[0], rows[1]);
    }
    assert_eq!(theirs.sms.len(), ours.sms.len());
    assert_eq!(theirs.sms[0].port_guid, ours.sms[0].port_guid);
}

#[test]
fn a_route_is_the_way_through_our_tables() {
    if weft_peers::program("opareport").is_none() {
        return;
    }
    let snapshot = crate::common::bring_up(crate::common::generate("fattree:128"), 0);
    let xml = snapshot_xml(&snapshot, false);
    let ends = [1, 100].map(|host| format!("node:node{host} hfi1_0"));
    let text = opareport(&xml, &["route", "-S", &ends[0], "-D", &ends[1]]);
    let hops: Vec<(String, u8)> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("-> "))
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            (words[0].to_owned(), words[1].parse().unwrap())
        })
        .collect();
    assert_eq!(
        hops,
        walk(&snapshot, "node1 hfi1_0", "node100 hfi1_0"),
        "{text}"
    );
}

/// Node GUID and ingress port of each hop.
fn walk(snapshot: &Snapshot, from: &str, to: &str) -> Vec<(String, u8)> {
    let topology = &snapshot.topology;
    let find = |name: &str| {
        topology
            .nodes()
            .find(|(_, node)| node.name() == name)
            .unwrap()
    };
    let lid = find(to).1.end_ports().next().unwrap().1.info.lid;
    let mut hops = Vec::new();
    let mut at = find(from).1.end_ports().next().unwrap().1.peer;
    while let Some(end) = at {
        hops.push((
            topology.node(end.node).unwrap().guid().to_string(),
            end.port.0,
        ));
        let switch = topology.switch_index(end.node);
        let egress = switch.and_then(|switch| snapshot.linear.egress(switch, lid));
        let port = egress.map(|port| weft_fabric::PortRef {
            node: end.node,
            port,
        });
        at = port.and_then(|port| topology.peer(port));
    }
    hops
}

#[test]
fn the_real_fabric_is_routed_without_fault() {
    let dump = crate::common::public_data("hdr-400sw-2328hca.ibnetdiscover");
    let (Some(dump), true) = (dump, weft_peers::program("opareport").is_some()) else {
        return;
    };
    let snapshot = crate::common::bring_up(import_ibnetdiscover(&dump).unwrap(), 0);
    let xml = snapshot_xml(&snapshot, false);
    let routes = opareport(&xml, &["validateroutes"]);
    assert_eq!(number(&routes, "Incomplete Route(s)"), 0);
    assert_eq!(
        number(&opareport(&xml, &["links"]), "Links in Fabric"),
        8723
    );
}
