//! Bring-up of whole fabrics: manager and emulator in this process, one thread, no latency.

use std::sync::Arc;

use clap::Args;
use weft_emulator::Options as EmulatorOptions;
use weft_emulator::io::Control;
use weft_fabric::{Lmc, Node, PortRef, Tick, Topology};
use weft_manager::io::{Command, Event, SweepReport};
use weft_manager::sm::Settings;
use weft_routing::EngineKind;
use weft_testkit::{NoTap, World};

use crate::Failure;
use crate::fabrics::{TREES, new_tree};
use crate::memory::peak_mib;
use crate::routing::timed;
use crate::table::{Table, millis};

/// Options of `weft-bench bringup`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Only the tree with this many hosts.
    #[arg(long)]
    hosts: Option<u64>,
    /// LMC of the hosts.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=7))]
    lmc: u8,
    /// Number of runs; the fastest counts.
    #[arg(long, default_value_t = 3)]
    runs: u32,
}

/// Measures and prints the table. Memory is the peak of this process so far, so that it is meaningful
/// for the largest fabric only; `--hosts` measures another one.
///
/// # Errors
/// [`Failure`] when a fabric cannot be made or does not come up.
pub fn run(options: &Options) -> Result<(), Failure> {
    let mut table = Table::new([
        "hosts",
        "switches",
        "bring-up ms",
        "datagrams",
        "Sets",
        "re-sweep ms",
        "datagrams",
        "Sets",
        "lost link ms",
        "datagrams",
        "Sets",
        "peak MiB",
    ]);
    let wanted = |(hosts, _): &(u64, u8)| options.hosts.is_none_or(|only| only == *hosts);
    for (hosts, radix) in TREES.into_iter().filter(wanted) {
        let mut best: Option<Measured> = None;
        for _ in 0..options.runs.max(1) {
            let measured = measure(hosts, radix, options.lmc)?;
            let better = best
                .as_ref()
                .is_none_or(|best| measured.first_s < best.first_s);
            best = if better { Some(measured) } else { best };
        }
        let Some(best) = best else { continue };
        table.row([
            hosts.to_string(),
            best.first.switches.to_string(),
            millis(best.first_s),
            best.first.sent.to_string(),
            best.first.sets.to_string(),
            millis(best.again_s),
            best.again.sent.to_string(),
            best.again.sets.to_string(),
            millis(best.lost_s),
            best.lost.sent.to_string(),
            best.lost.sets.to_string(),
            peak_mib("self").to_string(),
        ]);
    }
    print!("{table}");
    Ok(())
}

struct Measured {
    first_s: f64,
    first: SweepReport,
    again_s: f64,
    again: SweepReport,
    lost_s: f64,
    lost: SweepReport,
}

fn measure(hosts: u64, radix: u8, lmc: u8) -> Result<Measured, Failure> {
    let topology = Arc::new(new_tree(hosts, radix)?);
    let mut settings = Settings::default();
    settings.routing.engine = EngineKind::FatTree;
    settings.lids.lmc = Lmc(lmc);
    let mut world =
        World::new(topology, EmulatorOptions::default(), settings, NoTap)?.without_reader();
    let (first_s, first) = timed(|| sweep(&mut world));
    let first = first?;
    let all_ports = 2 * u64::from(first.links);
    if u64::from(first.active_ports) != all_ports || !first.unfinished.is_empty() {
        let why = format!(
            "{} of {all_ports} ports Active: {:?}",
            first.active_ports, first.unfinished
        );
        return Err(Failure::BringUp { hosts, why });
    }
    world.command(Command::Sweep);
    let (again_s, again) = timed(|| sweep(&mut world));
    if let Some(cut) = link_between_switches(&world.snapshot().topology) {
        world.control(cut)?;
    }
    let (lost_s, lost) = timed(|| sweep(&mut world));
    Ok(Measured {
        first_s,
        first,
        again_s,
        again: again?,
        lost_s,
        lost: lost?,
    })
}

/// Cuts the first link between two switches.
pub(crate) fn link_between_switches(topology: &Topology) -> Option<Control> {
    let is_switch = |end: &PortRef| topology.switch_index(end.node).is_some();
    let mut links = topology.links();
    let (end, _) = links.find(|(a, b)| is_switch(a) && is_switch(b))?;
    let node = topology.node(end.node).map(Node::guid)?;
    let port = end.port;
    Some(Control::LinkDown { node, port })
}

/// Runs until a sweep has ended, and no longer.
pub(crate) fn sweep(world: &mut World) -> Result<SweepReport, Failure> {
    loop {
        let mut more = world.step(world.now())?;
        let events = world.take_events().into_iter();
        let mut ended = events.filter_map(|(_, event)| match event {
            Event::SweepEnded(report) => Some(report),
            _ => None,
        });
        if let Some(report) = ended.next_back() {
            return Ok(report);
        }
        more = more || world.step(Tick(u64::MAX))?;
        if !more {
            let why = "nothing is left to do, and no sweep has ended".to_owned();
            return Err(Failure::BringUp { hosts: 0, why });
        }
    }
}
