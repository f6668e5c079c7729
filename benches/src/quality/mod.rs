//! Congestion of the tables of each engine and of OpenSM's on the same fabrics, all
//! measured by the same code.

mod damage;
mod peer;

use clap::Args;
use weft_fabric::{LinearTables, Lmc, Topology};
use weft_routing::quality::{Effort, Quality, assess};
use weft_routing::{EngineKind, EngineUsed, FatTreeSettings, Settings, route};

use self::damage::Damage;
use crate::Failure;
use crate::fabrics::{give_lids, new_tree};
use crate::table::Table;

/// Options of `weft-bench quality`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Number of hosts of the fat tree.
    #[arg(long, default_value_t = 1_152)]
    hosts: u64,
    /// Number of ports of its switches.
    #[arg(long, default_value_t = 48)]
    radix: u8,
    /// LMCs of the hosts.
    #[arg(long, value_delimiter = ',', default_values_t = [0, 1, 2, 3],
        value_parser = clap::value_parser!(u8).range(0..=7))]
    lmc: Vec<u8>,
    /// Skip OpenSM.
    #[arg(long)]
    alone: bool,
    /// Only these engines of OpenSM.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "ftree,minhop,updn,dfsssp"
    )]
    peers: Vec<String>,
}

const OURS: [(&str, EngineKind); 4] = [
    ("dmodc", EngineKind::Dmodc),
    ("fattree", EngineKind::FatTree),
    ("shortestpath", EngineKind::ShortestPath),
    ("layered", EngineKind::Layered),
];

/// Routes of the vendor's manager, computed without running it.
const VENDOR: (&str, EngineKind) = ("opa-fm shortestpath", EngineKind::OpaShortestPath);

/// Measures and prints two tables: all figures, and Weft's best against the best of the others.
///
/// # Errors
/// [`Failure`] when a fabric, the routing or the peer fails.
pub fn run(options: &Options) -> Result<(), Failure> {
    let mut all = Table::new([
        "hosts",
        "state",
        "LMC",
        "tables of",
        "all-to-all worst",
        "/ bound",
        "spread",
        "shifts worst",
        "mean",
        "bandwidth",
        "permutations worst",
        "median",
        "bandwidth",
        "bisection bandwidth",
    ]);
    let mut beside = Table::new([
        "hosts",
        "state",
        "LMC",
        "what",
        "Weft's best",
        "the others' best",
        "",
    ]);
    for damage in Damage::ALL {
        for lmc in options.lmc.iter().copied().map(Lmc) {
            let case = Case::measure(options, damage, lmc)?;
            case.tell(options, &mut all);
            case.compare(options, &mut beside);
        }
    }
    println!("{all}\n{beside}");
    Ok(())
}

/// One fabric with one LMC, as routed by each router.
struct Case {
    damage: Damage,
    lmc: Lmc,
    ours: Vec<(String, Quality)>,
    theirs: Vec<(String, Quality)>,
}

impl Case {
    fn measure(options: &Options, damage: Damage, lmc: Lmc) -> Result<Self, Failure> {
        let mut topology = new_tree(options.hosts, options.radix)?;
        damage.apply(&mut topology);
        let mut case = Self {
            damage,
            lmc,
            ours: Vec::new(),
            theirs: Vec::new(),
        };
        for engine in options.peers.iter().filter(|_| !options.alone) {
            let peer = peer::route(&topology, engine, lmc)?;
            // The engine that it fell back to is in the table anyway.
            if peer.engine == *engine {
                let quality = judged(&peer.topology, &peer.linear);
                case.theirs.push((format!("OpenSM {engine}"), quality));
            }
        }
        give_lids(&mut topology, lmc);
        for (name, engine) in OURS {
            let routed = route(&topology, &settings(options, engine))?;
            let used = routed.engine().to_string();
            let name = if used == name {
                used
            } else {
                format!("{name}: {used}")
            };
            case.ours.push((name, judged(&topology, routed.linear())));
        }
        let (name, engine) = VENDOR;
        let routed = route(&topology, &settings(options, engine))?;
        // If its tables are refused, this would hold the routes of a fallback.
        if routed.engine() == EngineUsed::OpaShortestPath {
            let quality = judged(&topology, routed.linear());
            case.theirs.push((name.to_owned(), quality));
        }
        Ok(case)
    }

    fn lead(&self, options: &Options) -> [String; 3] {
        [
            options.hosts.to_string(),
            self.damage.name(),
            self.lmc.0.to_string(),
        ]
    }

    fn tell(&self, options: &Options, table: &mut Table) {
        for (name, quality) in self.ours.iter().chain(&self.theirs) {
            let [hosts, state, lmc] = self.lead(options);
            let Quality {
                all_to_all,
                shifts,
                permutations,
                bisection,
                ..
            } = quality;
            let name = match quality.unroutable {
                0 => name.clone(),
                lost => format!("{name}, {lost} pairs not routed"),
            };
            table.row([
                hosts,
                state,
                lmc,
                name,
                short(all_to_all.worst),
                format!("{:.3}", all_to_all.over_bound()),
                format!(
                    "{:.3}",
                    all_to_all.deviation / all_to_all.mean.max(f64::MIN_POSITIVE)
                ),
                short(shifts.worst),
                format!("{:.2}", shifts.mean),
                format!("{:.3}", shifts.bandwidth),
                short(permutations.worst),
                short(permutations.median),
                format!("{:.4}", permutations.bandwidth),
                format!("{:.4}", bisection.bandwidth),
            ]);
        }
    }

    /// The best of each side for each figure.
    fn compare(&self, options: &Options, table: &mut Table) {
        for (what, figure, more_is_better) in FIGURES {
            let best = |side: &[(String, Quality)]| {
                let values = side
                    .iter()
                    .map(|(name, quality)| (figure(quality), name.clone()));
                values.reduce(|a, b| match more_is_better {
                    true => {
                        if b.0 > a.0 {
                            b
                        } else {
                            a
                        }
                    }
                    false => {
                        if b.0 < a.0 {
                            b
                        } else {
                            a
                        }
                    }
                })
            };
            let (Some(ours), Some(theirs)) = (best(&self.ours), best(&self.theirs)) else {
                continue;
            };
            let [hosts, state, lmc] = self.lead(options);
            let gain = if more_is_better {
                ours.0 - theirs.0
            } else {
                theirs.0 - ours.0
            };
            let said = |(value, name): &(f64, String)| format!("{value:.4} ({name})");
            table.row([
                hosts,
                state,
                lmc,
                what.to_owned(),
                said(&ours),
                said(&theirs),
                verdict(gain),
            ]);
        }
    }
}

/// A figure of a quality.
type Figure = fn(&Quality) -> f64;

/// The figure to compare, and whether larger is better.
const FIGURES: [(&str, Figure, bool); 5] = [
    (
        "all-to-all / bound",
        |quality| quality.all_to_all.over_bound(),
        false,
    ),
    ("worst shift", |quality| quality.shifts.worst, false),
    ("shift bandwidth", |quality| quality.shifts.bandwidth, true),
    (
        "permutation bandwidth",
        |quality| quality.permutations.bandwidth,
        true,
    ),
    (
        "bisection bandwidth",
        |quality| quality.bisection.bandwidth,
        true,
    ),
];

/// Smaller differences count as equal: a thousand random patterns cannot resolve them.
const EQUAL: f64 = 0.0005;

fn verdict(gain: f64) -> String {
    let word = if gain > EQUAL {
        "better"
    } else if gain < -EQUAL {
        "**worse**"
    } else {
        "equal"
    };
    word.to_owned()
}

fn judged(topology: &Topology, linear: &LinearTables) -> Quality {
    assess(topology, linear, &Effort::default())
}

fn settings(options: &Options, engine: EngineKind) -> Settings {
    // A tree of two tiers has at most radix² / 2 hosts.
    let two = u64::from(options.radix).pow(2) / 2;
    // The number of lanes that dfsssp uses.
    let lanes = if engine == EngineKind::Layered { 8 } else { 1 };
    Settings {
        engine,
        lanes,
        fat_tree: FatTreeSettings {
            tier_count: if options.hosts <= two { 2 } else { 3 },
            ..FatTreeSettings::default()
        },
        ..Settings::default()
    }
}

/// A number of flows, without decimals if it is whole.
fn short(flows: f64) -> String {
    let text = format!("{flows:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
