//! The engine `opa-shortestpath` produces the vendor's tables, entry by entry, if
//! switches are in the order in which the vendor's manager finds them.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use weft_fabric::import::import_fabric;
use weft_fabric::{Snapshot, UNREACHABLE};
use weft_interop::Fabric;
use weft_interop::vendor_sm::{SmSettings, VendorSm, turn};
use weft_peers::{VENDOR_SM, program};
use weft_routing::{EngineKind, Settings, route};

const PATIENCE: Duration = Duration::from_secs(90);

/// The fabric with the vendor's tables, as its tool writes it down.
fn vendors(spec: &str, lmc: u8) -> Snapshot {
    let fabric = Fabric::start(spec);
    let settings = SmSettings {
        routing: "shortestpath",
        lmc,
        ..SmSettings::default()
    };
    let sm = VendorSm::start(&fabric, "node1", &settings);
    sm.swept(1, PATIENCE);
    let ran = fabric.run("node2", "opareport -q -o snapshot -r 2>/dev/null");
    assert!(ran.good, "{}", ran.text);
    import_fabric(ran.text.as_bytes()).unwrap()
}

fn writes_the_same(spec: &str, lmc: u8) {
    if program(VENDOR_SM).is_none() || program("opareport").is_none() {
        return;
    }
    let _turn = turn();
    let theirs = vendors(spec, lmc);
    let settings = Settings {
        engine: EngineKind::OpaShortestPath,
        ..Settings::default()
    };
    let ours = route(&theirs.topology, &settings).unwrap();
    let mut compared = 0;
    for node in theirs.topology.switches() {
        let name = &theirs.topology.node(*node).unwrap().name();
        let switch = theirs.topology.switch_index(*node).unwrap();
        let (theirs, ours) = (theirs.linear.row(switch), ours.linear().row(switch));
        for (lid, port) in theirs.iter().enumerate() {
            if *port != UNREACHABLE {
                compared += 1;
                assert_eq!(
                    ours.get(lid),
                    Some(port),
                    "{spec}, LMC {lmc}, {name:?}, LID {lid}"
                );
            }
        }
    }
    println!("{spec}, LMC {lmc}: {compared} entries");
    assert!(compared > 0, "{spec}");
}

#[test]
fn trees_with_parallel_links() {
    writes_the_same("pgft:2;24,3;1,2;1,12", 0);
    writes_the_same("pgft:2;24,3;1,2;1,12", 2);
}

#[test]
fn trees_of_three_tiers() {
    writes_the_same("pgft:3;4,4,4;1,4,4;1,1,1", 0);
    writes_the_same("pgft:3;4,4,4;1,4,4;1,1,1", 1);
    writes_the_same("pgft:3;4,3,2;1,2,3;1,2,1", 2);
}
