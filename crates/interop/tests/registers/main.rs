//! The vendor's opasmaquery prints the emulator's registers for every attribute: its decoder
//! checks our layouts and our agent, under either manager.
#![allow(clippy::unwrap_used)]

mod cases;
mod expected;
mod printed;

use std::time::{Duration, Instant};

use cases::{Asked, Case};
use weft_fabric::PortNum;
use weft_interop::Fabric;
use weft_interop::vendor_sm::{SmSettings, VendorSm, turn};
use weft_interop::weftd::Weftd;
use weft_peers::{VENDOR_SM, program};

const PATIENCE: Duration = Duration::from_secs(60);
/// The host that the tool runs on; it is on port 1 of its switch.
const HOST: &str = "node1";

fn cases(fabric: &Fabric) -> Vec<Case> {
    fabric.inspect(|emulator| {
        let network = emulator.network();
        let mut cases = cases::hfi(&Asked::new(network, "node1 hfi1_0", "", PortNum(1)));
        let edge = Asked::new(network, "edge1", "1", PortNum(1));
        cases.extend(cases::switch(&edge, &[PortNum(0), PortNum(1), PortNum(5)]));
        cases
    })
}

/// Differences between the output of a call and the registers.
fn wrong(fabric: &Fabric, case: &Case) -> Vec<String> {
    let ran = fabric.run(HOST, &format!("opasmaquery {}", case.arguments));
    let prints = printed::read(&ran.text);
    let mut wrong = Vec::new();
    for (name, value) in &case.holds {
        match prints.get(name) {
            Some(printed) if printed == value => {}
            printed => wrong.push(format!("{name}: {value}, printed {printed:?}")),
        }
    }
    let unknown = prints
        .iter()
        .filter(|(name, _)| !case.holds.contains_key(*name));
    wrong.extend(unknown.map(|(name, value)| format!("{name}: printed {value}")));
    wrong
        .iter()
        .map(|what| format!("{}: {what}", case.arguments))
        .collect()
}

/// Compares all of it. Managers write congestion control after their sweep, at their own pace: what
/// changed while it was printed is printed again.
fn judge(fabric: &Fabric) {
    let until = Instant::now() + PATIENCE;
    loop {
        let cases = cases(fabric);
        let compared: usize = cases.iter().map(|case| case.holds.len()).sum();
        let wrong: Vec<String> = cases.iter().flat_map(|case| wrong(fabric, case)).collect();
        println!("{} calls, {compared} values", cases.len());
        if self::cases(fabric) == cases {
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
            return;
        }
        assert!(Instant::now() < until, "registers change all the time");
    }
}

fn settings() -> SmSettings {
    SmSettings {
        lmc: 2,
        full: true,
        ..SmSettings::default()
    }
}

#[test]
fn opasmaquery_prints_the_registers_under_weftd() {
    if program(VENDOR_SM).is_none() {
        return;
    }
    let fabric = Fabric::start("fattree:32,radix=8");
    let mut weftd = Weftd::start(&fabric, HOST, &settings());
    weftd.wait_until_master(PATIENCE);
    judge(&fabric);
}

#[test]
fn opasmaquery_prints_the_registers_under_the_vendors_manager() {
    if program(VENDOR_SM).is_none() {
        return;
    }
    let _turn = turn();
    let fabric = Fabric::start("fattree:32,radix=8");
    let sm = VendorSm::start(&fabric, HOST, &settings());
    sm.swept(1, PATIENCE);
    judge(&fabric);
}
