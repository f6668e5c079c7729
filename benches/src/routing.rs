//! Routing and certificate compared with writing the same tables with memset, and rerouting after a
//! lost link.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use rayon::prelude::*;
use weft_fabric::{LinearTables, Lmc, PortRef, SwitchIndex, Topology};
use weft_routing::{EngineKind, RouteError, Routed, Settings, changed_blocks, reroute, route};

use crate::Failure;
use crate::fabrics::{TREES, tree};
use crate::opensm;
use crate::table::{Table, millis};

/// Options of `weft-bench routing`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Measure OpenSM at all sizes, not only up to 3,456 hosts: minutes.
    #[arg(long)]
    all: bool,
    /// Skip OpenSM.
    #[arg(long)]
    alone: bool,
    /// Only the tree with this many hosts.
    #[arg(long)]
    hosts: Option<u64>,
    /// Number of runs; the fastest counts.
    #[arg(long, default_value_t = 7)]
    runs: u32,
    /// LMC of the hosts.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=7))]
    lmc: u8,
}

/// Measured engines.
const ENGINES: [(&str, EngineKind); 3] = [
    ("dmodc", EngineKind::Dmodc),
    ("fattree", EngineKind::FatTree),
    ("shortestpath", EngineKind::ShortestPath),
];

/// Largest number of hosts for which OpenSM is measured without `--all`.
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
        "times memset without certificate",
        "new pages: routing + certificate ms",
        "memset ms",
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
        let new = on_new_pages(&topology)?;
        for ((name, engine), new) in ENGINES.into_iter().zip(new) {
            let times = measure(&topology, engine, options.runs)?;
            let faster = peer.map(|peer| format!("{:.0}", peer / times.total));
            table.row([
                hosts.to_string(),
                name.to_owned(),
                millis(times.total),
                millis(times.total - times.routing),
                millis(times.memset),
                format!("{:.1}", times.routing / times.memset),
                millis(new.total),
                millis(new.memset),
                format!("{:.1}", new.routing / new.memset),
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

/// Removed cables between switches: the first and the last in order of nodes, which in
/// a tree are one at an edge switch and one at a top switch.
fn cables(topology: &Topology) -> Vec<(&'static str, PortRef)> {
    let is_switch = |end: &PortRef| topology.switch_index(end.node).is_some();
    let cables = topology.links();
    let mut cables = cables.filter(|(a, b)| is_switch(a) && is_switch(b));
    let first = cables.next().map(|cable| ("at an edge switch", cable.0));
    let last = cables.last().map(|cable| ("at a top switch", cable.0));
    first.into_iter().chain(last).collect()
}

/// Times after a lost link, the least of several runs.
#[derive(Debug, Clone, Copy)]
pub struct LostTimes {
    /// Time to reroute with dmodc, certify and find the changed blocks, seconds.
    pub again: f64,
    /// Time with a full `route` instead, seconds.
    pub anew: f64,
    /// Changed blocks.
    pub blocks: usize,
}

/// Reroutes a topology after a cable is gone, several times; in between it comes back.
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
    let mut before = route(topology, &settings)?;
    let mut lost = topology.clone();
    lost.disconnect(cable);
    let mut times = LostTimes {
        again: f64::INFINITY,
        anew: f64::INFINITY,
        blocks: 0,
    };
    for _ in 0..runs.max(1) {
        let blocks = |routed: &Routed| changed_blocks(before.linear(), routed.linear()).len();
        let again = || reroute(&before, &lost, &settings).map(|routed| (blocks(&routed), routed));
        let (seconds, again) = timed(again);
        let (blocks_again, routed) = again?;
        times.blocks = blocks_again;
        times.again = times.again.min(seconds);
        let anew = || route(&lost, &settings).map(|routed| blocks(&routed));
        let (seconds, anew) = timed(anew);
        anew?;
        times.anew = times.anew.min(seconds);
        before = reroute(&routed, topology, &settings)?;
    }
    Ok(times)
}

/// Times of making tables and of filling as many bytes, seconds, the least of several runs.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Routing and certificate together.
    pub total: f64,
    /// Routing alone.
    pub routing: f64,
    /// Filling newly allocated tables of the same size, on the same cores.
    pub memset: f64,
}

impl Times {
    const NONE: Self = Self {
        total: f64::INFINITY,
        routing: f64::INFINITY,
        memset: f64::INFINITY,
    };

    fn least(&mut self, total: f64, routed: &Routed, memset: f64) {
        self.total = self.total.min(total);
        let routing = total - routed.certificate_took().as_secs_f64();
        self.routing = self.routing.min(routing);
        self.memset = self.memset.min(memset);
    }
}

/// Routes a topology several times; each run reuses the memory of the previous one.
///
/// # Errors
/// [`RouteError`] when it cannot be routed.
pub fn measure(topology: &Topology, engine: EngineKind, runs: u32) -> Result<Times, RouteError> {
    let mut times = Times::NONE;
    for _ in 0..runs.max(1) {
        let (total, routed) = timed_route(topology, engine);
        let routed = routed?;
        times.least(total, &routed, f64::INFINITY);
        let (switches, row) = size(&routed);
        drop(routed);
        let (memset, _) = timed(|| black_box(fill(switches, row)));
        times.memset = times.memset.min(memset);
    }
    Ok(times)
}

/// Number of runs on new pages, whose tables are all kept meanwhile.
const NEW_RUNS: usize = 3;

/// Times for each engine if all tables lie in memory that the process has not used yet.
fn on_new_pages(topology: &Topology) -> Result<[Times; ENGINES.len()], RouteError> {
    let mut kept = Vec::new();
    let mut all = [Times::NONE; ENGINES.len()];
    for ((_, engine), times) in ENGINES.into_iter().zip(&mut all) {
        for _ in 0..NEW_RUNS {
            let (total, routed) = timed_route(topology, engine);
            let routed = routed?;
            let (switches, row) = size(&routed);
            let (memset, tables) = timed(|| black_box(fill(switches, row)));
            times.least(total, &routed, memset);
            kept.push((routed, tables));
        }
    }
    Ok(all)
}

fn timed_route(topology: &Topology, engine: EngineKind) -> (f64, Result<Routed, RouteError>) {
    let settings = Settings {
        engine,
        ..Settings::default()
    };
    timed(|| route(topology, &settings))
}

/// Number of rows, and bytes of one.
fn size(routed: &Routed) -> (usize, usize) {
    let tables = routed.linear();
    (tables.len(), tables.row(SwitchIndex(0)).len())
}

/// Tables that drop everything.
fn fill(switches: usize, row: usize) -> LinearTables {
    let rows = (0..switches).into_par_iter();
    let rows = rows.map(|_| std::iter::repeat_n(0xFF, row).collect::<Arc<[u8]>>());
    LinearTables::new(rows.collect())
}

/// Wall-clock time of a step in seconds, and its result.
pub fn timed<T>(step: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = step();
    (start.elapsed().as_secs_f64(), result)
}
