//! Widths and speeds of links as opareport judges them: the page has a finding of every link that `slowlinks`,
//! `misconfiglinks` or `misconnlinks` names, and of no other.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

use weft_fabric::enums::{LinkSpeed, LinkWidth, PhysState, PortState, SmState};
use weft_fabric::export::{SnapshotOptions, write_snapshot};
use weft_fabric::{FabricSpec, Guid, Lid, PortNum, PortRef, SmRecord, Snapshot, Topology};
use weft_health::Kind;
use weft_peers::program;
use weft_wire::sm::PortInfo;

use crate::values::{findings, seen};

/// A link by its ends, the lower one first.
type Link = [(Guid, PortNum); 2];

const REPORTS: [(&str, &str); 3] = [
    ("slowlinks", "LinksExpected"),
    ("misconfiglinks", "LinksConfig"),
    ("misconnlinks", "LinksMismatched"),
];

/// Draws, always the same.
struct Draw(u64);

impl Draw {
    /// A number below `count`.
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count
    }

    /// What is usual, or one time in ten something else.
    fn mostly(&mut self, usual: u16, others: &[u16]) -> u16 {
        match self.below(10) {
            0 => others[self.below(others.len())],
            _ => usual,
        }
    }

    /// What a port supports and enables.
    fn abilities(&mut self, info: &mut PortInfo) {
        let (widths, speeds) = (self.mostly(0xF, &[0x3]), self.mostly(3, &[1]));
        info.link_width_supported = LinkWidth(widths);
        info.link_width_downgrade_supported = LinkWidth(widths);
        info.link_speed_supported = LinkSpeed(speeds);
        info.link_width_enabled = LinkWidth(widths & self.mostly(0xF, &[0x3]));
        let narrowed = self.mostly(0xF, &[0x3, 0xC]);
        info.link_width_downgrade_enabled = LinkWidth(widths & narrowed);
        info.link_speed_enabled = LinkSpeed(speeds & self.mostly(3, &[1]));
    }

    /// One of a set, mostly the best.
    fn one(&mut self, set: u16) -> u16 {
        let bits = (0..16).map(|bit| 1 << bit).filter(|bit| set & bit != 0);
        let bits: Vec<u16> = bits.collect();
        self.mostly(*bits.last().unwrap(), &bits)
    }
}

/// A fabric with links of all kinds between its switches.
fn fabric() -> Topology {
    let spec: FabricSpec = "fattree:512,radix=32".parse().unwrap();
    let mut topology = spec.generate().unwrap();
    bring_up(&mut topology);
    let is_switch = |end: PortRef| topology.switch_index(end.node).is_some();
    let links = topology
        .links()
        .filter(|(a, b)| is_switch(*a) && is_switch(*b));
    let links: Vec<(PortRef, PortRef)> = links.collect();
    let mut draw = Draw(1);
    for (a, b) in links {
        let [mut here, mut there] = [a, b].map(|end| topology.port(end).unwrap().info);
        draw.abilities(&mut here);
        draw.abilities(&mut there);
        let width = draw.one(here.link_width_enabled.0 & there.link_width_enabled.0);
        let speed = draw.one(here.link_speed_enabled.0 & there.link_speed_enabled.0);
        let narrower = |draw: &mut Draw| draw.one(width | (width - 1));
        let (out, back) = (narrower(&mut draw), narrower(&mut draw));
        for (info, sends, receives) in [(&mut here, out, back), (&mut there, back, out)] {
            info.link_width_active = LinkWidth(width);
            info.link_speed_active = LinkSpeed(speed);
            info.link_width_downgrade_tx_active = LinkWidth(sends);
            info.link_width_downgrade_rx_active = LinkWidth(receives);
        }
        for (end, info) in [(a, here), (b, there)] {
            let node = topology.node_mut(end.node).unwrap();
            node.port_mut(end.port).unwrap().info = info;
        }
    }
    topology
}

/// All links active with four lanes, and a LID for each end port.
fn bring_up(topology: &mut Topology) {
    let links: Vec<(PortRef, PortRef)> = topology.links().collect();
    for end in links.into_iter().flat_map(|(a, b)| [a, b]) {
        let node = topology.node_mut(end.node).unwrap();
        let info = &mut node.port_mut(end.port).unwrap().info;
        (info.port_state, info.phys_state) = (PortState::ACTIVE, PhysState::LINK_UP);
        info.link_speed_active = LinkSpeed::G25;
        info.link_width_active = LinkWidth::X4;
        info.link_width_downgrade_tx_active = LinkWidth::X4;
        info.link_width_downgrade_rx_active = LinkWidth::X4;
    }
    let ends: Vec<PortRef> = topology.end_ports().map(|(end, ..)| end).collect();
    for (lid, end) in (1..).zip(ends) {
        let node = topology.node_mut(end.node).unwrap();
        node.port_mut(end.port).unwrap().info.lid = Lid(lid);
    }
}

fn snapshot(topology: &Topology) -> Snapshot {
    let (node, host) = topology.hfis().next().unwrap();
    let port = PortRef {
        node,
        port: PortNum(1),
    };
    let sm = SmRecord {
        port,
        port_guid: host.guid(),
        state: SmState::MASTER,
        lid: topology.port(port).unwrap().info.lid,
        priority: 0,
        sm_key: 0,
        act_count: 0,
    };
    Snapshot {
        topology: topology.clone().into(),
        sms: vec![sm],
        ..Snapshot::default()
    }
}

fn link(ends: &[(Guid, PortNum)]) -> Link {
    let [a, b] = ends else {
        panic!("{ends:?} are no ends of a link")
    };
    [*a.min(b), *a.max(b)]
}

/// Links that a report of a snapshot names.
fn named(xml: &[u8], report: &str, element: &str) -> BTreeSet<Link> {
    let mut command = Command::new("opareport");
    command.args(["-q", "-x", "-X", "-", "-o", report]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let (mut stdin, xml) = (child.stdin.take().unwrap(), xml.to_vec());
    let writer = std::thread::spawn(move || stdin.write_all(&xml));
    let ran = child.wait_with_output().unwrap();
    let wrong = String::from_utf8_lossy(&ran.stderr);
    assert!(writer.join().unwrap().is_ok(), "{wrong}");
    let text = String::from_utf8(ran.stdout).unwrap();
    let (open, close) = (format!("<{element}>"), format!("</{element}>"));
    let section = text
        .split_once(&open)
        .unwrap()
        .1
        .split_once(&close)
        .unwrap()
        .0;
    let value = |part: &str| part.split('<').next().unwrap().to_owned();
    let links = section.split("<Link ").skip(1).map(|part| {
        let ports = part.split("<NodeGUID>").skip(1).map(|part| {
            let guid = value(part);
            let guid = u64::from_str_radix(guid.trim_start_matches("0x"), 16).unwrap();
            let port = value(part.split_once("<PortNum>").unwrap().1);
            (Guid(guid), PortNum(port.parse().unwrap()))
        });
        link(&ports.collect::<Vec<_>>())
    });
    links.collect()
}

#[test]
fn the_page_names_the_links_that_opareport_names() {
    if program("opareport").is_none() {
        return;
    }
    let topology = fabric();
    let mut xml = Vec::new();
    write_snapshot(&snapshot(&topology), SnapshotOptions::default(), &mut xml).unwrap();
    let mut theirs = BTreeSet::new();
    for (report, element) in REPORTS {
        let links = named(&xml, report, element);
        assert!(links.len() > 10, "{report}: {}", links.len());
        theirs.extend(links);
    }
    let all = topology.links().count();
    assert!(theirs.len() < all, "{} of {all}", theirs.len());
    let found = findings(&seen(&topology), &topology);
    let found = found
        .iter()
        .filter(|one| matches!(one.kind, Kind::Degraded | Kind::Asymmetric));
    let ours = found.map(|one| {
        let ends = [&one.a, one.b.as_ref().unwrap()];
        link(&ends.map(|end| (end.node, end.port.unwrap())))
    });
    let ours: BTreeSet<Link> = ours.collect();
    let missed: Vec<&Link> = theirs.difference(&ours).collect();
    let more: Vec<&Link> = ours.difference(&theirs).collect();
    assert!(
        missed.is_empty() && more.is_empty(),
        "missed {missed:x?}, more {more:x?}"
    );
    println!("{} of {all} links", ours.len());
}
