//! Peers of the packet model: simulators of networks that anyone can build. None of them has
//! Omni-Path's lanes, credits and counters.

mod booksim;
mod caminos;
mod htsim;
mod process;

use std::path::{Path, PathBuf};

use clap::Args;

use self::process::Cost;
use crate::Failure;
use crate::dataplane::{self, Load};
use crate::table::Table;

/// Options of `weft-bench simulators`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Directory in which `benches/fetch-simulators` has built them.
    #[arg(long, value_name = "DIR", default_value = "target/simulators")]
    directory: PathBuf,
    /// Number of runs; the fastest counts.
    #[arg(long, default_value_t = 3)]
    runs: u32,
}

/// A two-tier fat tree: as many hosts on each edge switch as there are core switches, one cable
/// from each edge to each core switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tree {
    edges: u32,
    cores: u32,
}

/// 48-port switches.
const OMNI_PATH: Tree = Tree {
    edges: 48,
    cores: 24,
};
/// The closest fabric that BookSim supports: trees with as many edge switches as hosts per switch.
const SQUARE: Tree = Tree {
    edges: 34,
    cores: 34,
};

impl Tree {
    fn hosts(self) -> u32 {
        self.edges * self.cores
    }

    /// Mean number of links from a host to a random one, itself included.
    fn mean_hops(self) -> f64 {
        4.0 - 2.0 / f64::from(self.edges)
    }

    fn name(self) -> String {
        let Self { edges, cores } = self;
        format!("{} hosts, {edges} edges, {cores} cores", self.hosts())
    }
}

/// Traffic that every simulator runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Traffic {
    /// Each packet to a random host, at half of the links' capacity.
    Half,
    /// Each packet to a random host, at full load.
    All,
    /// Each host to one other, at full load.
    Permutation,
}

impl Traffic {
    const ALL: [Self; 3] = [Self::Half, Self::All, Self::Permutation];

    fn name(self) -> &'static str {
        match self {
            Self::Half => "uniform, half load",
            Self::All => "uniform, full load",
            Self::Permutation => "random permutation, full load",
        }
    }
}

/// A third-party simulator.
struct Simulator {
    /// Name and version.
    name: &'static str,
    /// Path of its program below the common directory.
    program: &'static str,
    /// Its unit of a packet.
    packet: &'static str,
    tree: Tree,
    /// Traffic that it supports.
    traffic: &'static [Traffic],
    /// Lengths of a short and a longer run, in its own units; the difference counts, so that
    /// building the fabric does not.
    lengths: [u32; 2],
    /// Runs the program once, with a folder for its files, a traffic and a length.
    run: fn(&Path, &Path, Traffic, u32) -> Result<Cost, Failure>,
}

/// Measures and prints the table.
///
/// # Errors
/// [`Failure`] when a simulator is missing or fails.
pub fn run(options: &Options) -> Result<(), Failure> {
    let mut table = Table::new([
        "fabric",
        "traffic",
        "simulator",
        "a packet is",
        "packet-hops",
        "million packet-hops/s",
        "Weft times as many",
    ]);
    let peers = [booksim::BOOKSIM, htsim::HTSIM, caminos::CAMINOS];
    for tree in [OMNI_PATH, SQUARE] {
        for traffic in Traffic::ALL {
            let peers = peers.iter().filter(|peer| peer.tree == tree);
            let peers: Vec<_> = peers
                .filter(|peer| peer.traffic.contains(&traffic))
                .collect();
            if peers.is_empty() {
                continue;
            }
            let ours = weft(tree, traffic, options.runs)?;
            add(
                &mut table,
                tree,
                traffic,
                ("Weft", "2,112 bytes"),
                ours,
                ours,
            );
            for peer in peers {
                let cost = fastest(peer, options, traffic)?;
                let names = (peer.name, peer.packet);
                add(&mut table, tree, traffic, names, cost, ours);
            }
        }
    }
    print!("{table}");
    Ok(())
}

fn add(
    table: &mut Table,
    tree: Tree,
    traffic: Traffic,
    (name, packet): (&str, &str),
    cost: Cost,
    ours: Cost,
) {
    table.row([
        tree.name(),
        traffic.name().to_owned(),
        name.to_owned(),
        packet.to_owned(),
        format!("{:.0}", cost.hops),
        format!("{:.2}", cost.rate() / 1e6),
        format!("{:.1}", ours.rate() / cost.rate()),
    ]);
}

/// The packet model on one core.
fn weft(tree: Tree, traffic: Traffic, runs: u32) -> Result<Cost, Failure> {
    let hosts = tree.hosts();
    let [half, all, permutation, _] = Load::all(hosts);
    let load = match traffic {
        Traffic::Half => half,
        Traffic::All => all,
        Traffic::Permutation => permutation,
    };
    let radix = (2 * tree.cores) as u8;
    let (hops, seconds) = dataplane::rate(u64::from(hosts), radix, &load, runs)?;
    Ok(Cost {
        hops: hops as f64,
        seconds,
    })
}

/// Difference between the longer run and the short one, the fastest of several of each.
fn fastest(peer: &Simulator, options: &Options, traffic: Traffic) -> Result<Cost, Failure> {
    let program = options.directory.join(peer.program);
    let [short, long] = peer.lengths;
    let dir = tempfile::tempdir().map_err(Failure::io("temporary directory"))?;
    let once = |length| (peer.run)(&program, dir.path(), traffic, length);
    let mut best = (once(short)?, once(long)?);
    for _ in 1..options.runs {
        best.0 = best.0.faster(once(short)?);
        best.1 = best.1.faster(once(long)?);
    }
    let cost = best.1 - best.0;
    if cost.hops <= 0.0 || cost.seconds <= 0.0 {
        let why = "a long run did no more than a short one, or took no longer";
        return Err(process::unclear(peer.name, why));
    }
    Ok(cost)
}
