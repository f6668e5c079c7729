//! The vendor's manager takes the emulator for a fabric.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use weft_interop::routes::judge;
use weft_interop::vendor_sm::{SmSettings, VendorSm, turn};
use weft_interop::{Fabric, Sweep};
use weft_peers::{VENDOR_SM, program};

const PATIENCE: Duration = Duration::from_secs(90);

/// Number of starts until a manager sends nothing twice: its timeout is a quarter of a second,
/// which a busy machine can exceed. A fault of the emulator repeats itself.
const TRIES: usize = 3;

/// Lets the manager make a fabric ready; all that it finds to complain about is a failure.
fn brings_up(spec: &str, settings: &SmSettings) {
    if program(VENDOR_SM).is_none() {
        return;
    }
    let _turn = turn();
    let retries: Vec<usize> = (0..TRIES)
        .map(|_| bring_up(spec, settings).retries)
        .take_while(|retries| *retries > 0)
        .collect();
    assert!(retries.len() < TRIES, "{spec}: sent again: {retries:?}");
}

fn bring_up(spec: &str, settings: &SmSettings) -> Sweep {
    let fabric = Fabric::start(spec);
    let sm = VendorSm::start(&fabric, "node1", settings);
    let sweep = sm.swept(1, PATIENCE);
    assert!(sm.log().contains("from DISCOVERING to MASTER"), "{spec}");
    assert_eq!(sm.complaints(), Vec::<String>::new(), "{spec}");
    let judgement = judge(&fabric.view());
    println!("{spec}: {sweep:?} {judgement:?}");
    assert!(judgement.is_good(), "{spec}: {judgement:?}");
    let hosts = fabric.topology().hfis().count();
    assert_eq!(sweep.hfis, hosts, "{spec}");
    let lids = 1 << settings.lmc;
    assert_eq!(judgement.ways, hosts * (hosts - 1) * lids, "{spec}");
    sweep
}

#[test]
fn small_fabrics_come_up() {
    let shortest = SmSettings {
        routing: "shortestpath",
        ..SmSettings::default()
    };
    brings_up("back-to-back", &shortest);
    brings_up("one-switch:4", &SmSettings::default());
    brings_up("mesh:3x3", &shortest);
}

#[test]
fn several_lids_a_port_come_up() {
    let settings = SmSettings {
        lmc: 2,
        ..SmSettings::default()
    };
    brings_up("fattree:128", &settings);
}

#[test]
fn eleven_hundred_hosts_come_up() {
    brings_up("fattree:1152", &SmSettings::default());
}
