//! Debian's opareport checks whole bring-ups: nodes, LIDs, routes and active ports of the manager,
//! exported as a snapshot.
//!
//! opareport always exits with 0, so its text is read.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use crate::common::{brought_up, generate, real_fabric, settings};
use tempfile::NamedTempFile;
use weft_fabric::enums::PortState;
use weft_fabric::export::{SnapshotOptions, write_snapshot};
use weft_fabric::{PortRef, Snapshot, Topology, TopologyBuilder};
use weft_report::{Options, Point};
use weft_routing::EngineKind;
use weft_testkit::NoTap;

/// Most routes in which opareport looks for credit loops within seconds and a gigabyte.
const CREDIT_LOOP_ROUTES_MAX: usize = 1_400_000;

/// Pairs of hosts whose routes are compared hop by hop in each fabric.
const ROUTES: usize = 6;

fn opareport(file: &Path, arguments: &[&str]) -> Option<String> {
    let output = weft_peers::output(
        Command::new("opareport")
            .arg("-X")
            .arg(file)
            .args(arguments),
    )?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn export(snapshot: &Snapshot) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    write_snapshot(snapshot, SnapshotOptions::default(), &file).unwrap();
    file
}

/// The number before `what` on its line.
fn count(text: &str, what: &str) -> usize {
    let line = text.lines().find(|line| line.contains(what));
    let number = line.and_then(|line| line.trim().split(' ').next()?.parse().ok());
    number.unwrap_or_else(|| panic!("no {what:?} in:\n{text}"))
}

fn judge_routes(file: &Path, snapshot: &Snapshot, what: &str) -> Option<()> {
    let text = opareport(file, &["-o", "validateroutes"])?;
    let nodes = snapshot.topology.len();
    assert_eq!(count(&text, "Incomplete Route(s)"), 0, "{what}:\n{text}");
    assert!(
        count(&text, "Analyzed Routes") >= nodes * (nodes - 1),
        "{what}:\n{text}"
    );
    Some(())
}

/// The fabric and tables with every `stride`th host only.
fn thinned(snapshot: &Snapshot, stride: usize) -> Snapshot {
    let topology = &snapshot.topology;
    let mut builder = TopologyBuilder::new();
    let mut hosts = 0..;
    let mut kept = BTreeMap::new();
    for (id, node) in topology.nodes() {
        if !node.is_switch()
            && !hosts
                .next()
                .is_some_and(|host: usize| host.is_multiple_of(stride))
        {
            continue;
        }
        let mut node = node.clone();
        for port in node.ports().map(|(port, _)| port).collect::<Vec<_>>() {
            node.port_mut(port).unwrap().peer = None;
        }
        kept.insert(id, builder.add(node).unwrap());
    }
    let new = |end: PortRef| {
        kept.get(&end.node)
            .map(|node| PortRef { node: *node, ..end })
    };
    let mut cut = Vec::new();
    for (a, b) in topology.links() {
        match (new(a), new(b)) {
            (Some(a), Some(b)) => builder.connect(a, b).unwrap(),
            ends => cut.extend([ends.0, ends.1].into_iter().flatten()),
        }
    }
    let mut topology = builder.build().unwrap();
    for end in cut {
        let node = topology.node_mut(end.node).unwrap();
        node.port_mut(end.port).unwrap().info.port_state = PortState::DOWN;
    }
    Snapshot {
        topology: Arc::new(topology),
        sms: Vec::new(),
        ..snapshot.clone()
    }
}

/// opareport's report walks every pair of hosts on every LID and keeps its results: a large fabric is
/// checked with as many of its hosts as opareport can handle.
fn judge_credit_loops(snapshot: &Snapshot, what: &str) -> Option<()> {
    let hfis = snapshot.topology.hfis().count();
    let lids = snapshot
        .topology
        .end_ports()
        .map(|(_, _, lmc)| lmc.lids())
        .max()
        .unwrap() as usize;
    let stride = (1..)
        .find(|stride| (hfis / stride).pow(2) * lids <= CREDIT_LOOP_ROUTES_MAX)
        .unwrap();
    let snapshot = thinned(snapshot, stride);
    if stride > 1 {
        eprintln!(
            "{what}: opareport looks for credit loops between {} of {hfis} hosts",
            hfis.div_ceil(stride)
        );
    }
    let file = export(&snapshot);
    let text = opareport(file.path(), &["-o", "validatecreditloops"])?;
    let free = "Routes are deadlock free (No credit loops detected)";
    // Without a switch there is nothing that opareport could say of loops.
    let no_loop = text.contains(free) || snapshot.topology.switches().is_empty();
    assert!(
        no_loop && text.contains(" 0 incomplete routes"),
        "{what}:\n{text}"
    );
    Some(())
}

fn judge_lists(file: &Path, snapshot: &Snapshot, what: &str) -> Option<()> {
    let nodes = opareport(file, &["-o", "nodes", "-d", "0"])?;
    let switches = snapshot.topology.switches().len();
    let hfis = snapshot.topology.len() - switches;
    assert_eq!(
        count(&nodes, "Connected FIs in Fabric"),
        hfis,
        "{what}:\n{nodes}"
    );
    assert_eq!(
        count(&nodes, "Connected Switches in Fabric"),
        switches,
        "{what}:\n{nodes}"
    );
    let links = opareport(file, &["-o", "links", "-d", "0"])?;
    let ours = snapshot.topology.links().count();
    assert_eq!(count(&links, "Links in Fabric"), ours, "{what}:\n{links}");
    Some(())
}

/// The lines of a route report that name hops, in a common form for both programs.
fn hops(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim_end);
    let hop = lines.filter(|line| line.contains(" 0x") && !line.contains("GID:"));
    hop.map(str::to_owned).collect()
}

fn judge_hops(file: &Path, snapshot: &Snapshot, what: &str) -> Option<()> {
    let hfis: Vec<_> = snapshot
        .topology
        .hfis()
        .map(|(_, node)| node.guid())
        .collect();
    for pair in 0..ROUTES.min(hfis.len() / 2) {
        let (from, to) = (
            hfis[pair * hfis.len() / ROUTES.max(1)],
            hfis[hfis.len() - 1 - pair],
        );
        if from == to {
            continue;
        }
        let points = [from, to].map(|guid| format!("nodeguid:{guid}"));
        let theirs = opareport(file, &["-o", "route", "-S", &points[0], "-D", &points[1]])?;
        let [from, to] = points.map(|point| {
            let no_files = &|_: &str| Err(String::new());
            Point::parse(&point, no_files)
                .unwrap()
                .select(snapshot)
                .unwrap()
        });
        let ours = weft_report::route(snapshot, &from, &to, &Options::default())
            .unwrap()
            .to_string();
        assert!(hops(&ours).len() > 2, "{what}:\n{ours}");
        assert_eq!(hops(&ours), hops(&theirs), "{what}");
    }
    Some(())
}

fn judge(topology: Arc<Topology>, engine: EngineKind, lmc: u8, what: &str) {
    let what = format!("{what}, {engine:?}, LMC {lmc}");
    let world = brought_up(topology, settings(engine, lmc), NoTap);
    let snapshot = world.snapshot();
    let file = export(&snapshot);
    let judged = judge_lists(file.path(), &snapshot, &what)
        .and_then(|()| judge_routes(file.path(), &snapshot, &what))
        .and_then(|()| judge_hops(file.path(), &snapshot, &what))
        .and_then(|()| judge_credit_loops(&snapshot, &what));
    if judged.is_some() {
        eprintln!("{what}: opareport finds nothing wrong");
    }
}

/// Every generated tree and chassis.
const FABRICS: [&str; 9] = [
    "back-to-back",
    "one-switch:8",
    "fattree:hosts=288,radix=24",
    "pgft:2;6,8;1,4;1,1",
    "pgft:2;4,6;1,2;1,3",
    "pgft:3;3,3,4;1,3,3;1,1,1",
    "pgft:3;4,2,2;1,2,2;1,2,1",
    "swd06:hosts=8",
    "swd24:hosts=2",
];

#[test]
fn opareport_finds_nothing_wrong_in_generated_fabrics() {
    for fabric in FABRICS {
        for (engine, lmc) in [
            (EngineKind::ShortestPath, 0),
            (EngineKind::FatTree, 0),
            (EngineKind::FatTree, 2),
        ] {
            judge(generate(fabric), engine, lmc, fabric);
        }
    }
}

#[test]
fn opareport_finds_nothing_wrong_with_1152_hosts() {
    judge(
        generate("fattree:1152"),
        EngineKind::FatTree,
        0,
        "fattree:1152",
    );
}

#[test]
fn opareport_finds_nothing_wrong_in_a_real_degraded_fabric() {
    for lmc in [0, 2] {
        let Some(topology) = real_fabric() else {
            return;
        };
        judge(topology, EngineKind::FatTree, lmc, "400 switches");
    }
}
