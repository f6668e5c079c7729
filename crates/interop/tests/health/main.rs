//! `weft health` beside the vendor's judges of a fabric: what opareport, opafabricanalysis and opalinkanalysis find of
//! faults that were planted, `weft health` finds too, and it finds every one of them.
//!
//! | module | contents |
//! |---|---|
//! | `lab` | a fabric with faults that a manager watches |
//! | `faults` | the faults, their places, and the findings that are to name them |
//! | `vendor` | the vendor's tools and what they name |
//! | `page` | the page of `weft health` and what it names |
//! | `table` | all of it in one table |
#![allow(clippy::unwrap_used)]

mod faults;
mod lab;
mod page;
mod table;
mod vendor;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use weft_fabric::import::import_fabric;
use weft_fabric::powered_on::restart;
use weft_fabric::{FabricSpec, Guid, PortNum, Topology};
use weft_interop::vendor_sm::SmSettings;
use weft_peers::{program, public_file};

use faults::{Fault, Places};
use lab::Lab;
use vendor::Vendor;

/// A port as all sides name it, port 0 for a node.
type End = (Guid, PortNum);

const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(300);
/// A real fabric: 400 switches, 2,328 hosts.
const REAL: &str = "hdr-400sw-2328hca.ibnetdiscover";
/// Tools of the vendor that are needed.
const TOOLS: [&str; 3] = ["opareport", "opafabricanalysis", "opalinkanalysis"];

fn generated(spec: &str) -> Topology {
    spec.parse::<FabricSpec>().unwrap().generate().unwrap()
}

/// Plants every fault in a fabric, and compares what is found.
fn judge(topology: Topology, settings: SmSettings) {
    if TOOLS.iter().any(|tool| program(tool).is_none()) {
        return;
    }
    let places = Places::choose(&topology);
    let lab = Lab::start(topology, &places, settings);
    let vendor = Vendor::of(&lab);
    vendor.take_baseline();
    lab.has_only(&places.ends_from_start());
    let faults = faults::plant(&lab, &places);
    lab.sweep();
    let until = Instant::now() + PATIENCE;
    while let Err(why) = all_found(&lab, &faults) {
        assert!(Instant::now() < until, "{why}");
        std::thread::sleep(PAUSE);
    }
    let reports = vendor.reports();
    let page = lab.page();
    println!("{}", table::drawn(&lab, &faults, &reports, &page));
    let unseen: Vec<&str> = faults
        .iter()
        .filter(|fault| fault.is_for_vendor && !reports.iter().any(|report| fault.is_in(report)))
        .map(|fault| fault.name)
        .collect();
    assert!(unseen.is_empty(), "no tool of the vendor finds {unseen:?}");
    let named: BTreeSet<End> = reports
        .iter()
        .flat_map(|report| report.ends.iter().copied())
        .collect();
    let missed: Vec<String> = named
        .iter()
        .filter(|end| !page.names(**end, &lab))
        .map(|end| lab.called(*end))
        .collect();
    assert!(
        missed.is_empty(),
        "the vendor's tools find these, weft health does not: {missed:#?}\n{page:#?}"
    );
    let planted: BTreeSet<End> = faults
        .iter()
        .flat_map(|fault| fault.places.clone())
        .collect();
    let false_ones: Vec<String> = page
        .findings
        .iter()
        .filter(|finding| !finding.is_note() && !finding.touches(&planted, &lab))
        .map(|finding| format!("{finding:?}"))
        .collect();
    assert!(false_ones.is_empty(), "nobody planted: {false_ones:#?}");
}

/// Whether the page has a finding of the right kind for each fault.
fn all_found(lab: &Lab, faults: &[Fault]) -> Result<(), String> {
    let page = lab.page();
    let open: Vec<&Fault> = faults
        .iter()
        .filter(|fault| fault.found_in(&page).is_none())
        .collect();
    match open.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "not on the page: {open:#?}\n{page:#?}\n{}",
            lab.log()
        )),
    }
}

/// Eight switches with four hosts each under four.
#[test]
fn nothing_that_the_vendors_tools_find_is_missed() {
    judge(
        generated("pgft:2;4,8;1,4;1,1;radix=16"),
        SmSettings::default(),
    );
}

#[test]
#[ignore = "minutes"]
fn nothing_is_missed_on_1152_hosts() {
    judge(generated("fattree:1152"), SmSettings::default());
}

#[test]
#[ignore = "minutes"]
fn nothing_is_missed_on_a_real_fabric() {
    let Some(file) = public_file(REAL) else {
        return;
    };
    // opalinkanalysis separates the columns of its list by semicolons, and garbles names that have one.
    let dump = std::fs::read_to_string(file).unwrap().replace(';', " ");
    let topology = restart(&import_fabric(dump.as_bytes()).unwrap().topology).unwrap();
    let settings = SmSettings {
        routing: "shortestpath",
        ..SmSettings::default()
    };
    judge(topology, settings);
}
