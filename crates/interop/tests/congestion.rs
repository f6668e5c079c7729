//! Congestion control is written and reported as by the vendor's manager.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use weft_interop::vendor_sm::{SmSettings, VendorSm, turn};
use weft_interop::weftd::Weftd;
use weft_interop::{Fabric, Ran};
use weft_peers::{VENDOR_SM, program};

const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(200);
/// The host that managers and tools run on.
const HOST: &str = "node1";

/// Queries of subnet administration and of devices.
const QUERIES: [&str; 8] = [
    "opasaquery -o conginfo",
    "opasaquery -o swcongset",
    "opasaquery -o swportcong",
    "opasaquery -o hficongset",
    "opasaquery -o hficongcon",
    "opasmaquery -o swcongset 1",
    "opasmaquery -o hficongset -l 1",
    "opasmaquery -o hficongcon -b 0,7 -l 1",
];

#[test]
fn both_managers_set_the_same() {
    if program(VENDOR_SM).is_none() {
        return;
    }
    let _turn = turn();
    let settings = SmSettings {
        full: true,
        ..SmSettings::default()
    };
    let fabrics = [(); 2].map(|()| Fabric::start("fattree:32,radix=8"));
    let [weft, vendor] = &fabrics;
    let mut weftd = Weftd::start(weft, HOST, &settings);
    let sm = VendorSm::start(vendor, HOST, &settings);
    weftd.wait_until_master(PATIENCE);
    sm.swept(1, PATIENCE);
    // Both write it after the sweep, at their own pace.
    let until = Instant::now() + PATIENCE;
    let mut wrong = differences(&fabrics);
    while !wrong.is_empty() {
        assert!(Instant::now() < until, "{}", wrong.join("\n"));
        std::thread::sleep(PAUSE);
        wrong = differences(&fabrics);
    }
}

/// Differences between the two, and queries without an answer.
fn differences([weft, vendor]: &[Fabric; 2]) -> Vec<String> {
    let differs = |line: &&str| {
        let [ours, theirs] = [weft, vendor].map(|fabric| fabric.run(HOST, line));
        let told = |ran: &Ran| ran.good && ran.text.lines().count() > 2;
        (!told(&theirs) || ours.text != theirs.text)
            .then(|| format!("{line}:\n{}\nbut\n{}", ours.text, theirs.text))
    };
    QUERIES.iter().filter_map(differs).collect()
}
