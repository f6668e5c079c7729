//! A fabric without a fault has no finding, whatever its hosts send and whatever its operators do.

use std::time::Duration;

use weft_emulator::io::Control;
use weft_emulator::traffic::TrafficJob;
use weft_fabric::import::import_fabric;
use weft_fabric::powered_on::restart;
use weft_fabric::{FabricSpec, Guid, Topology};
use weft_health::{Color, FigureName, Kind};
use weft_manager::sm::drains::Drain;
use weft_manager::sm::reroute::{Change, Condition};
use weft_peers::public_file;

use crate::lab::Lab;
use crate::planted::REAL;

/// Time between two sweeps.
const SWEEPS: Duration = Duration::from_secs(300);
/// Steps of an hour, each of which is looked at.
const STEPS: u64 = 6;
const STEP: u64 = 3_600 / STEPS;

fn generated(spec: &str) -> Topology {
    spec.parse::<FabricSpec>().unwrap().generate().unwrap()
}

fn start(lab: &mut Lab, name: &str, pattern: &str, rate_percent: f64) {
    let job = TrafficJob {
        rate_percent,
        ..TrafficJob::new(name.to_owned(), pattern.parse().unwrap())
    };
    lab.control(Control::TrafficStart(job));
}

fn stop(lab: &mut Lab, name: &str) {
    let name = Some(name.to_owned());
    lab.control(Control::TrafficStop { name });
}

/// Puts a drain or its end in force, as `weft drain` and `weft undrain` do.
fn arrange(lab: &mut Lab, change: Change) {
    let basis = lab.world.basis(change).unwrap();
    let condition = Condition::Epoch(basis.epoch);
    lab.world.adopt(&condition, basis.wanted).unwrap();
    lab.sweep();
}

/// Ports that were busy in the last reading.
fn busy(lab: &Lab) -> usize {
    let ports = lab.image.as_ref().unwrap().ports();
    ports.filter(|port| port.utilization() > 100).count()
}

/// Nothing is told but drains that are in force; names that several nodes have are no news of the day.
fn is_calm(lab: &mut Lab, drained: &[Guid], when: &str) {
    let page = lab.page();
    let told = page.findings.iter();
    let (drains, others): (Vec<_>, Vec<_>) = told
        .filter(|finding| finding.kind != Kind::SameName)
        .partition(|finding| finding.kind == Kind::Drained);
    assert!(others.is_empty(), "{when}: {others:#?}");
    let drains: Vec<Guid> = drains.iter().map(|finding| finding.a.node).collect();
    assert_eq!(drains, drained, "{when}");
    assert_eq!(page.color, Color::Green, "{when}: {:#?}", page.figures);
}

/// 24 hours with the usual traffic at a share of the hosts' rate, sweeps, jobs that come and go, and an upper switch that is drained and used again.
fn has_a_calm_day(topology: Topology, usual: &str, rate_percent: f64) {
    let mut lab = Lab::with(topology, SWEEPS);
    lab.read_counters();
    let upper = lab.link_between(lab.edge()).1.node;
    let upper = lab.guid(upper);
    start(&mut lab, "usual", usual, rate_percent);
    let mut most = 0;
    for hour in 1..=24_u64 {
        let mut drained = Vec::new();
        for step in 0..STEPS {
            match (hour % 4, step) {
                (1, 0) => start(&mut lab, "shift", "shift by=5", rate_percent),
                (2, 3) => stop(&mut lab, "shift"),
                (3, 1) => {
                    arrange(&mut lab, Change::Drain(Drain::Switch(upper)));
                    drained.push(upper);
                }
                (3, 4) => {
                    arrange(&mut lab, Change::Undrain(Drain::Switch(upper)));
                    drained.clear();
                }
                (0, 2) => lab.sweep(),
                _ => {}
            }
            lab.pass(STEP);
            most = most.max(busy(&lab));
            is_calm(&mut lab, &drained, &format!("hour {hour}, step {step}"));
        }
    }
    let hosts = lab.topology.hfis().count();
    assert!(most > hosts, "the hosts did send: {most} busy ports");
}

/// Four upper switches, of which each edge switch has one link to each.
#[test]
fn what_is_drained_carries_nothing_and_is_no_fault() {
    let mut lab = Lab::with(generated("pgft:2;4,4;1,4;1,1;radix=8"), SWEEPS);
    lab.read_counters();
    let upper = lab.link_between(lab.edge()).1.node;
    let upper = lab.guid(upper);
    let figure = |lab: &mut Lab, name| {
        let page = lab.page();
        let figure = page.figures.into_iter().find(|one| one.name == name);
        let figure = figure.unwrap();
        (figure.color, figure.value)
    };
    let whole = figure(&mut lab, FigureName::Bandwidth).1;
    assert!(whole.starts_with("100.0 % of the bandwidth between switches is there; "));
    arrange(&mut lab, Change::Drain(Drain::Switch(upper)));
    let (color, value) = figure(&mut lab, FigureName::Redundancy);
    assert!(value.starts_with("3 links until a switch with hosts is cut off (4 before), at "));
    assert!(value.ends_with(", with 1 switch drained"), "{value}");
    assert_eq!(color, Color::Green, "it is wanted");
    let (color, value) = figure(&mut lab, FigureName::Bandwidth);
    let there = "75.0 % of the bandwidth between switches is there, with 1 switch drained; ";
    assert!(value.starts_with(there), "{value}");
    assert_eq!(color, Color::Green);
    arrange(&mut lab, Change::Undrain(Drain::Switch(upper)));
    assert_eq!(figure(&mut lab, FigureName::Bandwidth).1, whole);
}

#[test]
fn a_day_of_usual_work_has_no_finding() {
    has_a_calm_day(generated("pgft:2;4,4;1,4;1,1;radix=8"), "uniform", 30.0);
}

#[test]
#[ignore = "minutes"]
fn a_day_on_1152_hosts_has_no_finding() {
    has_a_calm_day(generated("fattree:1152"), "uniform", 30.0);
}

#[test]
#[ignore = "minutes"]
fn a_day_on_a_real_fabric_has_no_finding() {
    let Some(file) = public_file(REAL) else {
        return;
    };
    let bytes = std::fs::read(file).unwrap();
    let topology = restart(&import_fabric(&bytes).unwrap().topology).unwrap();
    // From each host to each are more ways than the emulator takes. Its uplinks carry a part of what its hosts may send.
    has_a_calm_day(topology, "permutation seed=7", 10.0);
}
