//! `SmaSpoofingCheck` and what goes with it: the same devices are refused as by the vendor's manager, for the same
//! reasons.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use weft_emulator::Claims;
use weft_emulator::io::Control;
use weft_fabric::Guid;
use weft_interop::Fabric;
use weft_interop::quarantine::compared;
use weft_interop::vendor_sm::{SmSettings, VendorSm, turn};
use weft_interop::weftd::Weftd;
use weft_peers::{VENDOR_SM, program};

const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(200);
/// The host that managers and tools run on.
const HOST: &str = "node1";

/// A host far from the managers.
const LIAR: Guid = Guid(0x0011_7501_0100_0004);
const OTHER: Guid = Guid(0x0011_7501_0100_00FF);

const TRUE: Claims = Claims {
    node_guid: None,
    port_guid: None,
    mtu: None,
    lanes: None,
    packet_formats: None,
    table_size: None,
    refuses: None,
    ignores: None,
    pretends: None,
    denies: None,
    answers_from: None,
};

/// What a host claims, and the number of nodes that the vendor's manager lists.
const CASES: [(&str, Claims, usize); 5] = [
    ("the truth", TRUE, 0),
    (
        "another NodeGUID",
        Claims {
            node_guid: Some(OTHER),
            port_guid: Some(OTHER),
            ..TRUE
        },
        1,
    ),
    (
        "another PortGUID",
        Claims {
            port_guid: Some(OTHER),
            ..TRUE
        },
        1,
    ),
    (
        "small packets",
        Claims {
            mtu: Some(3),
            ..TRUE
        },
        1,
    ),
    (
        "another packet format",
        Claims {
            packet_formats: Some(8),
            ..TRUE
        },
        1,
    ),
];

/// A host with one data lane, where the virtual fabrics need more.
const ONE_LANE: Claims = Claims {
    lanes: Some(1),
    ..TRUE
};
#[test]
fn the_same_devices_are_refused() {
    if program(VENDOR_SM).is_none() || program("opasaquery").is_none() {
        return;
    }
    let _turn = turn();
    let cases = CASES.map(|(what, claims, count)| (what, claims, count, SmSettings::default()));
    let shares = SmSettings {
        full: true,
        ..SmSettings::default()
    };
    // With AllowMixedVLs it lets the host in, and does not end its sweep.
    let lanes = ("too few lanes", ONE_LANE, 1, shares);
    for (what, claims, count, settings) in cases.into_iter().chain([lanes]) {
        let fabrics = [(); 2].map(|()| Fabric::start("pgft:2;2,2;1,2;1,1;radix=4"));
        for fabric in &fabrics {
            let node = LIAR;
            fabric.control(Control::Claim { node, claims });
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
