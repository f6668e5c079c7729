//! Both managers on the same fabrics, with one LID a host and with four: all ports come up, and by the
//! tables as the switches have them every host reaches every LID of every other.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use weft_emulator::Options;
use weft_fabric::import::import_fabric;
use weft_fabric::powered_on::restart;
use weft_fabric::{FabricSpec, Topology};
use weft_interop::routes::judge;
use weft_interop::vendor_sm::{SmSettings, VendorSm, turn};
use weft_interop::{Fabric, Weftd};
use weft_peers::{VENDOR_SM, program, public_file};

const PATIENCE: Duration = Duration::from_secs(120);
/// A real fabric: 400 switches, 2,328 hosts.
const REAL: &str = "hdr-400sw-2328hca.ibnetdiscover";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Vendor,
    Weft,
}

/// A generated fabric.
fn generated(text: &str) -> Topology {
    let spec: FabricSpec = text.parse().unwrap();
    spec.generate().unwrap()
}

/// The real fabric, just switched on, where its file is there.
fn real() -> Option<Topology> {
    let bytes = std::fs::read(public_file(REAL)?).unwrap();
    Some(restart(&import_fabric(&bytes).unwrap().topology).unwrap())
}

/// Lets a manager make a fabric ready, and checks its registers.
fn makes_ready(kind: Kind, name: &str, topology: Topology, settings: &SmSettings) {
    let start = Instant::now();
    let fabric = Fabric::of(topology, Options::default());
    let host = fabric.topology().hfis().next().unwrap().1.guid();
    let host = format!("{host}");
    let log: Box<dyn Fn() -> String> = match kind {
        Kind::Vendor => {
            let sm = VendorSm::start(&fabric, &host, settings);
            sm.swept(1, PATIENCE);
            Box::new(move || sm.log())
        }
        Kind::Weft => {
            let mut weftd = Weftd::start(&fabric, &host, settings);
            weftd.wait_until_master(PATIENCE);
            Box::new(move || weftd.log())
        }
    };
    let judgement = judge(&fabric.view());
    let seconds = start.elapsed().as_secs_f64();
    let lmc = settings.lmc;
    println!("{kind:?} on {name}, LMC {lmc}: {judgement:?}, {seconds:.1} s");
    assert!(
        judgement.is_good(),
        "{kind:?} on {name}, LMC {lmc}: {judgement:?}\n{}",
        log()
    );
    let hosts = fabric.topology().hfis().count();
    assert_eq!(judgement.ways, (hosts * (hosts - 1)) << lmc, "{name}");
}

fn makes_all_ready(kind: Kind) {
    if program(VENDOR_SM).is_none() {
        return;
    }
    let _turn = (kind == Kind::Vendor).then(turn);
    let fat = |tiers| SmSettings {
        tiers,
        ..SmSettings::default()
    };
    let shortest = SmSettings {
        routing: "shortestpath",
        ..SmSettings::default()
    };
    let generated = |text| Some(generated(text));
    let cases = [
        ("fattree:1152", generated("fattree:1152"), fat(2)),
        (
            "fattree:1152,tiers=3",
            generated("fattree:1152,tiers=3"),
            fat(3),
        ),
        (REAL, real(), shortest),
    ];
    for (name, topology, settings) in cases {
        let Some(topology) = topology else { continue };
        for lmc in [0, 2] {
            let settings = SmSettings {
                lmc,
                ..settings.clone()
            };
            makes_ready(kind, name, topology.clone(), &settings);
        }
    }
}

#[test]
fn the_vendors_manager_routes_all_pairs() {
    makes_all_ready(Kind::Vendor);
}

#[test]
fn weft_routes_all_pairs() {
    makes_all_ready(Kind::Weft);
}
