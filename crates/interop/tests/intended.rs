//! PreDefinedTopology: the same nodes are in quarantine as under the vendor's manager, for the same reasons.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use weft_fabric::{Guid, Lid, Lmc, PortRef, Topology};
use weft_interop::quarantine::compared;
use weft_interop::vendor_sm::{SmSettings, VendorSm, turn};
use weft_interop::weftd::Weftd;
use weft_interop::{Fabric, topology_file};
use weft_peers::{VENDOR_SM, program};

const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(200);
/// The host that managers and tools run on.
const HOST: &str = "node1";
const FILE: &str = "fabric.topology";

fn swap(text: &str, a: &str, b: &str) -> String {
    text.replace(a, "@").replace(b, a).replace('@', b)
}

type Change = fn(&str) -> String;

/// Changes of the file, and the number of nodes that the vendor's manager lists.
const CASES: [(&str, usize, Change); 5] = [
    ("as it is", 0, str::to_owned),
    ("two hosts are swapped", 2, |text| {
        let text = swap(text, ">node3 hfi1_0<", ">node4 hfi1_0<");
        swap(&text, "0x0011750101000003", "0x0011750101000004")
    }),
    ("a host has another name", 1, |text| {
        text.replace(">node4 hfi1_0<", ">node9 hfi1_0<")
    }),
    ("a host is replaced", 1, |text| {
        text.replace("0x0011750101000004", "0x00117501010000ff")
    }),
    // It leaves out a switch without listing it: `sm_bounce_all_switch_ports` tells success.
    ("a switch is replaced", 0, |text| {
        text.replace("0x0011750102000002", "0x00117501020000ff")
    }),
];

#[test]
fn the_same_nodes_are_in_quarantine() {
    if program(VENDOR_SM).is_none() || program("opasaquery").is_none() {
        return;
    }
    let _turn = turn();
    let settings = SmSettings {
        topology: Some(FILE),
        ..SmSettings::default()
    };
    for (what, count, change) in CASES {
        let fabrics = [(); 2].map(|()| Fabric::start("pgft:2;2,2;1,2;1,1;radix=4"));
        for fabric in &fabrics {
            let text = change(&topology_file(fabric.topology()));
            std::fs::write(fabric.directory().join(FILE), text).unwrap();
        }
        let [weft, vendor] = &fabrics;
        let mut weftd = Weftd::start(weft, HOST, &settings);
        let sm = VendorSm::start(vendor, HOST, &settings);
        weftd.wait_until_master(PATIENCE);
        sm.swept(1, PATIENCE);
        let until = Instant::now() + PATIENCE;
        while let Err(why) = compared(&fabrics, HOST, count) {
            assert!(Instant::now() < until, "{what}: {why}");
            std::thread::sleep(PAUSE);
        }
    }
}

/// The fabric with LIDs from 101 on for switches, and four LIDs for each host from 404 on.
fn with_lids(topology: &Topology) -> Topology {
    let mut topology = topology.clone();
    let (mut switch, mut host) = (100, 400);
    let ends: Vec<PortRef> = topology.end_ports().map(|(end, ..)| end).collect();
    for end in ends {
        let (next, lmc) = match topology.switch_index(end.node) {
            Some(_) => (&mut switch, Lmc(0)),
            None => (&mut host, Lmc(2)),
        };
        *next += lmc.lids();
        let node = topology.node_mut(end.node).unwrap();
        let info = &mut node.port_mut(end.port).unwrap().info;
        (info.lid, info.lmc) = (Lid(*next), lmc);
    }
    topology
}

/// Base LID and LMC of every node's end port that has some.
fn lids(fabric: &Fabric) -> Vec<(Guid, Lid, u8)> {
    let nodes = fabric.view().nodes.into_iter();
    let held = nodes.filter_map(|node| {
        let port = node.end_port()?;
        (port.lid.0 != 0).then_some((node.guid, port.lid, port.lmc.0))
    });
    held.collect()
}

#[test]
fn the_same_lids_are_given() {
    if program(VENDOR_SM).is_none() {
        return;
    }
    let _turn = turn();
    let settings = SmSettings {
        topology: Some(FILE),
        changes: &[("<LidStrategy>Serial<", "<LidStrategy>Topology<")],
        ..SmSettings::default()
    };
    let fabrics = [(); 2].map(|()| Fabric::start("pgft:2;2,2;1,2;1,1;radix=4"));
    for fabric in &fabrics {
        let text = topology_file(&with_lids(fabric.topology()));
        std::fs::write(fabric.directory().join(FILE), text).unwrap();
    }
    let [weft, vendor] = &fabrics;
    let mut weftd = Weftd::start(weft, HOST, &settings);
    let sm = VendorSm::start(vendor, HOST, &settings);
    weftd.wait_until_master(PATIENCE);
    sm.swept(1, PATIENCE);
    let nodes = weft.topology().len();
    let until = Instant::now() + PATIENCE;
    while lids(weft).len() < nodes || lids(weft) != lids(vendor) {
        let (ours, theirs) = (lids(weft), lids(vendor));
        assert!(Instant::now() < until, "{ours:?}\nbut\n{theirs:?}");
        std::thread::sleep(PAUSE);
    }
    assert!(
        lids(weft)
            .iter()
            .any(|(_, lid, lmc)| (lid.0, *lmc) == (416, 2))
    );
}
