//! The loop test of the vendor's manager and of `weftd`: the same loops, in the emulator's forwarding tables and in what
//! the vendor's `opafmcmd` shows.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use weft_emulator::Options;
use weft_fabric::cabling::Cabling;
use weft_fabric::enums::LinkWidth;
use weft_fabric::generate::FabricSpec;
use weft_fabric::{Guid, Lid, Topology};
use weft_interop::vendor_sm::{SmSettings, VendorSm, turn};
use weft_interop::{Fabric, Weftd};
use weft_peers::{VENDOR_SM, program};
use weft_testkit::view::FabricView;

const PATIENCE: Duration = Duration::from_secs(90);
const ON: (&str, &str) = (
    "<!-- <LoopTestOn>0</LoopTestOn> -->",
    "<LoopTestOn>1</LoopTestOn>",
);
const FAST: (&str, &str) = (
    "<!-- <LoopTestFastMode>0</LoopTestFastMode> -->",
    "<LoopTestFastMode>1</LoopTestFastMode>",
);
const PACKETS: (&str, &str) = (
    "<!-- <LoopTestPackets>5</LoopTestPackets> -->",
    "<LoopTestPackets>1</LoopTestPackets>",
);

/// The sending ports of a loop.
type Circle = BTreeSet<(Guid, u8)>;

/// What a manager makes of the loop test.
#[derive(Debug)]
struct Tested {
    /// By LID, the circles in the tables of the emulator.
    circles: BTreeMap<u32, Circle>,
    /// Packets that circle.
    circling: usize,
    /// By LID, the loops that `opafmcmd` shows.
    shown: BTreeMap<u32, Circle>,
}

/// The circles of LIDs that no port has.
fn circles(view: &FabricView) -> BTreeMap<u32, Circle> {
    let owned: BTreeSet<u32> = view
        .nodes
        .iter()
        .flat_map(|node| node.lids())
        .map(|lid| lid.0)
        .collect();
    let top = view
        .nodes
        .iter()
        .map(|node| node.lft.len() as u32)
        .max()
        .unwrap_or(0);
    let lids = (1..top).filter(|lid| !owned.contains(lid));
    let found = lids.filter_map(|lid| {
        let mut starts = 0..view.nodes.len();
        let circle = starts.find_map(|start| circle(view, start, Lid(lid)))?;
        Some((lid, circle))
    });
    found.collect()
}

fn circle(view: &FabricView, start: usize, lid: Lid) -> Option<Circle> {
    let (mut at, mut passed) = (start, Circle::new());
    loop {
        let node = view.nodes[at].switch.then_some(&view.nodes[at])?;
        let port = *node.lft.get(lid.0 as usize).filter(|port| **port != 0xFF)?;
        if !passed.insert((node.guid, port)) {
            return None;
        }
        at = node.port(port)?.peer?.0;
        if at == start {
            return Some(passed);
        }
    }
}

fn ask(client: &Path, words: &[&str]) -> String {
    let ran = Command::new(client).args(words).output().unwrap();
    String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap()
}

/// The loops of `smLooptestShowLoopPaths`, whose nodes are named by numbers that it tells first.
fn shown(text: &str) -> BTreeMap<u32, Circle> {
    let mut guids: BTreeMap<u32, Guid> = BTreeMap::new();
    let mut loops = BTreeMap::new();
    let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("Node Idx: ") {
            let (number, rest) = rest.split_once(", Guid: ").unwrap();
            let guid = hex(rest.split(' ').next().unwrap()).unwrap();
            guids.insert(number.parse().unwrap(), Guid(guid));
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [_, _, _, _, lid, hops @ ..] = &words[..]
            && hops
                .first()
                .is_some_and(|hop| hop.contains("->") && !hop.contains('['))
        {
            let hop = |hop: &&str| {
                let (node, port) = hop.split("->").next()?.split_once(':')?;
                Some((guids[&node.parse().ok()?], port.parse().ok()?))
            };
            loops.insert(
                hex(lid).unwrap() as u32,
                hops.iter().filter_map(hop).collect(),
            );
        }
    }
    loops
}

/// Waits until the client shows loops and a packet circles in each, as a manager sends them one after another, and looks
/// at all of it.
fn look(fabric: &Fabric, client: &Path) -> Tested {
    let until = Instant::now() + PATIENCE;
    loop {
        let circling = fabric.inspect(|emulator| emulator.circling());
        let text = ask(client, &["smLooptestShowLoopPaths"]);
        let shown = shown(&text);
        let circles = circles(&fabric.view());
        if !shown.is_empty() && circling >= circles.len() {
            return Tested {
                circles,
                circling,
                shown,
            };
        }
        let loops = circles.len();
        assert!(
            Instant::now() < until,
            "{circling} packets circle in {loops} loops; {text}"
        );
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// Both managers, one after the other, on a fabric of their own.
fn both(topology: &Topology, settings: &SmSettings) -> Option<[Tested; 2]> {
    let (_, client) = (program(VENDOR_SM)?, program("opafmcmd")?);
    let _turn = turn();
    let vendor = {
        let fabric = Fabric::of(topology.clone(), Options::default());
        let sm = VendorSm::start(&fabric, "node1", settings);
        sm.swept(1, PATIENCE);
        // Its sockets are there when its threads have begun; too many attempts before that end its server.
        std::thread::sleep(Duration::from_secs(5));
        look(&fabric, &client)
    };
    let fabric = Fabric::of(topology.clone(), Options::default());
    let mut weftd = Weftd::start_for_opafmcmd(&fabric, "node1", settings);
    weftd.wait_until_master(PATIENCE);
    let own = look(&fabric, &client);
    Some([vendor, own])
}

fn values(loops: &BTreeMap<u32, Circle>) -> BTreeSet<Circle> {
    loops.values().cloned().collect()
}

/// Three switches in a triangle, of which two have a second cable between them, and a host at each of two.
fn triangle() -> Topology {
    let mut cabling = Cabling::with_capacity(2);
    let hosts = [cabling.add_hfi().unwrap(), cabling.add_hfi().unwrap()];
    let switches = ["sw0", "sw1", "sw2"].map(|name| cabling.add_switch(name, 8, None).unwrap());
    let [a, b, c] = switches;
    let mut connect = |one, other| cabling.connect(one, other, LinkWidth::X4).unwrap();
    connect((hosts[0], 1), (a, 1));
    connect((hosts[1], 1), (b, 1));
    connect((a, 2), (b, 2));
    connect((a, 3), (b, 3));
    connect((b, 4), (c, 1));
    connect((c, 2), (a, 4));
    cabling.build().unwrap()
}

#[test]
fn both_managers_find_the_same_loops() {
    let settings = SmSettings {
        routing: "shortestpath",
        pm: true,
        changes: &[ON, PACKETS],
        ..SmSettings::default()
    };
    let Some([vendor, own]) = both(&triangle(), &settings) else {
        return;
    };
    // Two over the parallel cables, four over the third switch.
    assert_eq!(own.circles.len(), 6, "{own:?}");
    assert_eq!(own.circles, own.shown);
    assert_eq!(vendor.circles, vendor.shown);
    assert_eq!(values(&own.circles), values(&vendor.circles));
    let lids = |tested: &Tested| tested.circles.keys().copied().collect::<Vec<u32>>();
    assert_eq!(lids(&own), lids(&vendor));
    println!("{} and {} packets circle", vendor.circling, own.circling);
    assert!(vendor.circling >= 6 && own.circling >= 6);
}

#[test]
fn fast_mode_of_both_managers_covers_every_link_in_both_directions() {
    let settings = SmSettings {
        routing: "shortestpath",
        pm: true,
        changes: &[ON, FAST, PACKETS],
        ..SmSettings::default()
    };
    let spec: FabricSpec = "pgft:2;2,3;1,3;1,1".parse().unwrap();
    let topology = spec.generate().unwrap();
    let Some(tested) = both(&topology, &settings) else {
        return;
    };
    let is_switch = |node| topology.switch_index(node).is_some();
    let links = topology
        .links()
        .filter(|(a, b)| is_switch(a.node) && is_switch(b.node));
    let guid = |node| topology.node(node).unwrap().guid();
    let ends: Circle = links
        .flat_map(|(a, b)| [a, b])
        .map(|end| (guid(end.node), end.port.0))
        .collect();
    for Tested {
        circles, circling, ..
    } in &tested
    {
        let covered: Circle = circles.values().flatten().copied().collect();
        assert_eq!(covered, ends);
        assert_eq!(*circling, circles.len(), "one packet for each");
    }
    println!(
        "{} and {} LIDs",
        tested[0].circles.len(),
        tested[1].circles.len()
    );
}
