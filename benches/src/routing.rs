//! Routing and certificate beside writing the same tables with memset, and routing again after a
//! lost link.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use rayon::prelude::*;
use weft_fabric::{LinearTables, Lmc, PortRef, Topology};
use weft_routing::{
    EngineKind, RouteError, Routed, Settings, Tables, certify, changed_blocks, reroute, route,
};

use crate::Failure;
use crate::fabrics::{TREES, tree};
use crate::opensm;
use crate::table::{Table, millis};

/// What `weft-bench routing` takes.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Measure OpenSM at all sizes, not only up to 3,456 hosts: minutes.
    #[arg(long)]
    all: bool,
    /// Leave OpenSM out.
    #[arg(long)]
    alone: bool,
    /// Only the tree with this many hosts.
    #[arg(long)]
    hosts: Option<u64>,
    /// Runs of which the fastest counts.
    #[arg(long, default_value_t = 7)]
    runs: u32,
    /// LMC of the hosts.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=7))]
    lmc: u8,
}

/// Hosts up to which OpenSM is measured without `--all`.
const PEER_HOSTS: u64 = 3_456;

/// Measures and prints the table.
///
/// # Errors
/// [`Failure`] when a fabric, the routing or the peer fails.
pub fn run(options: &Options) -> Result<(), Failure> {
    let mut table = Table::new([
        "hosts",
        "engine",
        "routing + certificate ms",
        "of it certificate ms",
        "memset ms",
        "times memset",
        "times memset without certificate",
        "OpenSM ftree ms",
        "times faster",
    ]);
    let mut lost = Table::new(["hosts", "lost link", "again ms", "anew ms", "blocks"]);
    let wanted = |(hosts, _): &(u64, u8)| options.hosts.is_none_or(|only| only == *hosts);
    for (hosts, radix) in TREES.into_iter().filter(wanted) {
        let topology = tree(hosts, radix, Lmc(options.lmc))?;
        let asked = !options.alone && (options.all || hosts <= PEER_HOSTS);
        let peer = asked.then(|| opensm::ftree(&topology)).transpose()?;
        for (name, engine) in [
            ("dmodc", EngineKind::Dmodc),
            ("fattree", EngineKind::FatTree),
            ("shortestpath", EngineKind::ShortestPath),
        ] {
            let times = measure(&topology, engine, options.runs)?;
            let faster = peer.map(|peer| format!("{:.0}", peer / times.total));
            table.row([
                hosts.to_string(),
                name.to_owned(),
                millis(times.total),
                millis(times.certificate),
                millis(times.memset),
                format!("{:.1}", times.total / times.memset),
                format!("{:.1}", (times.total - times.certificate) / times.memset),
                peer.map_or("-".to_owned(), millis),
                faster.unwrap_or_else(|| "-".to_owned()),
            ]);
        }
        for (name, cable) in cables(&topology) {
            let times = measure_lost(&topology, cable, options.runs)?;
            lost.row([
                hosts.to_string(),
                name.to_owned(),
                millis(times.again),
                millis(times.anew),
                times.blocks.to_string(),
            ]);
        }
    }
    println!("{table}");
    print!("{lost}");
    Ok(())
}

/// Cables between switches that are taken away: the first and the last in order of nodes, which in
/// a tree is one from an edge switch and one from a top switch.
fn cables(topology: &Topology) -> Vec<(&'static str, PortRef)> {
    let is_switch = |end: &PortRef| topology.switch_index(end.node).is_some();
    let cables = topology.links();
    let mut cables = cables.filter(|(a, b)| is_switch(a) && is_switch(b));
    let first = cables.next().map(|cable| ("at an edge switch", cable.0));
    let last = cables.last().map(|cable| ("at a top switch", cable.0));
    first.into_iter().chain(last).collect()
}

/// What a lost link takes, the least of several runs.
#[derive(Debug, Clone, Copy)]
pub struct LostTimes {
    /// Seconds to route again with dmodc, certify and find the blocks that change.
    pub again: f64,
    /// Seconds of the same from nothing.
    pub anew: f64,
    /// Blocks that change.
    pub blocks: usize,
}

/// Routes a topology again after a cable is gone, several times.
///
/// # Errors
/// [`RouteError`] when it cannot be routed.
pub fn measure_lost(
    topology: &Topology,
    cable: PortRef,
    runs: u32,
) -> Result<LostTimes, RouteError> {
    let settings = Settings {
        engine: EngineKind::Dmodc,
        ..Settings::default()
    };
    let before = route(topology, &settings)?;
    let mut lost = topology.clone();
    lost.disconnect(cable);
    let mut times = LostTimes {
        again: f64::INFINITY,
        anew: f64::INFINITY,
        blocks: 0,
    };
    let blocks = |routed: Result<Routed, RouteError>| {
        routed.map(|routed| changed_blocks(before.linear(), routed.linear()).len())
    };
    for _ in 0..runs {
        let (seconds, changed) = timed(|| blocks(reroute(&before, &lost, &settings)));
        times.blocks = changed?;
        times.again = times.again.min(seconds);
        let (seconds, changed) = timed(|| blocks(route(&lost, &settings)));
        changed?;
        times.anew = times.anew.min(seconds);
    }
    Ok(times)
}

/// Seconds that the steps took, the least of several runs.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Routing and certificate together.
    pub total: f64,
    /// The certificate alone.
    pub certificate: f64,
    /// Filling tables of the same size, newly allocated, on the same cores.
    pub memset: f64,
}

/// Routes a topology several times.
///
/// # Errors
/// [`RouteError`] when it cannot be routed.
pub fn measure(topology: &Topology, engine: EngineKind, runs: u32) -> Result<Times, RouteError> {
    let settings = Settings {
        engine,
        ..Settings::default()
    };
    let mut times = Times {
        total: f64::INFINITY,
        certificate: f64::INFINITY,
        memset: f64::INFINITY,
    };
    for _ in 0..runs {
        let (seconds, routed) = timed(|| route(topology, &settings));
        let routed = routed?;
        times.total = times.total.min(seconds);
        let seconds = judge(topology, &routed);
        times.certificate = times.certificate.min(seconds);
        let tables = Arc::clone(routed.linear());
        drop(routed);
        let row = tables.row(weft_fabric::SwitchIndex(0)).len();
        let switches = tables.len();
        drop(tables);
        let (seconds, _) = timed(|| black_box(fill(switches, row)));
        times.memset = times.memset.min(seconds);
    }
    Ok(times)
}

fn judge(topology: &Topology, routed: &Routed) -> f64 {
    let tables = Tables {
        linear: routed.linear(),
        groups: routed.groups(),
    };
    timed(|| black_box(certify(topology, tables))).0
}

/// Tables that drop everything.
fn fill(switches: usize, row: usize) -> LinearTables {
    let rows = (0..switches).into_par_iter();
    let rows = rows.map(|_| std::iter::repeat_n(0xFF, row).collect::<Arc<[u8]>>());
    LinearTables::new(rows.collect())
}

/// What a step takes in seconds of wall clock, and its result.
pub fn timed<T>(step: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = step();
    (start.elapsed().as_secs_f64(), result)
}
