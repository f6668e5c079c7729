//! A torus under both managers, judged by the vendor's tool: routes and SCtoSC tables together close no
//! credit loop, although routes alone do.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use weft_interop::Fabric;
use weft_interop::vendor_sm::{SmSettings, VendorSm, turn};
use weft_interop::weftd::Weftd;
use weft_peers::{VENDOR_SM, program};

const PATIENCE: Duration = Duration::from_secs(60);
const HOST: &str = "node1";
/// In a ring of five, routes of two steps follow each other all around.
const FABRIC: &str = "torus:5x3,hosts=1";
const FREE: &str = "Routes are deadlock free";
const LOOP: &str = "Deadlock detected";

fn settings() -> SmSettings {
    SmSettings {
        routing: "dor",
        torus: &[(5, 2, 3), (3, 4, 5)],
        ..SmSettings::default()
    }
}

fn report(fabric: &Fabric, name: &str) -> String {
    fabric.run(HOST, &format!("opareport -q -o {name}")).text
}

/// Judges the fabric by the reports that follow virtual lanes.
fn judge(fabric: &Fabric) {
    let routes = report(fabric, "validatevlroutes");
    assert!(routes.contains("0 Incomplete Route(s)"), "{routes}");
    let by_lane = report(fabric, "validatevlcreditloops");
    assert!(by_lane.contains("0 incomplete routes"), "{by_lane}");
    assert!(by_lane.contains(FREE), "{by_lane}");
}

fn has_peers() -> bool {
    program(VENDOR_SM).is_some() && program("opareport").is_some()
}

#[test]
fn no_credit_loop_is_found_under_weftd() {
    if !has_peers() {
        return;
    }
    let _turn = turn();
    let fabric = Fabric::start(FABRIC);
    let mut weftd = Weftd::start(&fabric, HOST, &settings());
    weftd.wait_until_master(PATIENCE);
    judge(&fabric);
    // The same routes by the report that does not look at lanes.
    let whatever_lane = report(&fabric, "validatecreditloops");
    assert!(whatever_lane.contains(LOOP), "{whatever_lane}");
}

#[test]
fn no_credit_loop_is_found_under_the_vendors_manager() {
    if !has_peers() {
        return;
    }
    let _turn = turn();
    let fabric = Fabric::start(FABRIC);
    let sm = VendorSm::start(&fabric, HOST, &settings());
    sm.swept(1, PATIENCE);
    judge(&fabric);
}
