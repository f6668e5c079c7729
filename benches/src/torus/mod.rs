//! Packets on a torus, whole and with links gone: what hosts receive on the tables of `dor`, of `layered` and
//! of OpenSM's torus-2QoS, each with its own lanes, in the same packet model.

mod drive;
mod ours;
mod peer;
mod registers;
mod summary;

use clap::Args;
use weft_dataplane::Network;
use weft_dataplane::packets::Random;
use weft_dataplane::traffic::{Hosts, Pattern};
use weft_fabric::generate::Grid;
use weft_fabric::{FabricSpec, PortRef, Topology};
use weft_routing::EngineKind;

use self::drive::Drive;
use self::summary::Summary;
use crate::Failure;

/// Options of `weft-bench torus`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Switches along each of three dimensions.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(3..=8))]
    side: u8,
    /// Percentage of the links between switches that are gone in damaged fabrics.
    #[arg(long, default_value_t = 5.0)]
    gone: f64,
    /// Number of damaged fabrics, each by a seed of its own.
    #[arg(long, default_value_t = 6)]
    fabrics: u64,
    /// Measured virtual time, microseconds; the warm-up takes as long again.
    #[arg(long, default_value_t = 200)]
    micros: u64,
    /// Skip OpenSM.
    #[arg(long)]
    alone: bool,
}

/// A torus with one host at each switch.
struct Torus {
    grid: Grid,
    spec: FabricSpec,
    topology: Topology,
}

impl Torus {
    fn new(side: u8) -> Result<Self, Failure> {
        let grid = Grid {
            dimensions: vec![side.into(); 3],
            wraps: true,
            hosts: 1,
            links: 1,
        };
        let spec = FabricSpec::Grid(grid.clone());
        Ok(Self {
            grid,
            topology: spec.generate()?,
            spec,
        })
    }

    /// A percentage of the links between switches, drawn by a seed.
    fn drawn(&self, percent: f64, seed: u64) -> Vec<PortRef> {
        let is_switch = |end: &PortRef| self.topology.switch_index(end.node).is_some();
        let links = self.topology.links();
        let mut links: Vec<PortRef> = links
            .filter(|(a, b)| is_switch(a) && is_switch(b))
            .map(|(a, _)| a)
            .collect();
        Random::new(seed).shuffle(&mut links);
        links.truncate((links.len() as f64 * percent / 100.0).round() as usize);
        links
    }
}

/// A fabric with the tables of a router in its registers.
struct Ready {
    network: Network,
    /// With the service levels of their paths.
    hosts: Hosts,
    /// The engine in force.
    engine: String,
}

/// A router of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Router {
    /// `dor`; with `UseEscapeVLs` off it has two virtual lanes.
    Dor {
        escape: bool,
    },
    Layered,
    Torus2Qos,
}

impl Router {
    const ALL: [Self; 4] = [
        Self::Dor { escape: false },
        Self::Dor { escape: true },
        Self::Layered,
        Self::Torus2Qos,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Dor { escape: false } => "`dor`, `UseEscapeVLs` 0",
            Self::Dor { escape: true } => "`dor`",
            Self::Layered => "`layered`",
            Self::Torus2Qos => "OpenSM torus-2QoS",
        }
    }

    /// The fabric with its tables; none where it refuses to route it.
    fn route(self, torus: &Torus, cuts: &[PortRef]) -> Result<Option<Ready>, Failure> {
        let ready = match self {
            Self::Dor { escape } => ours::bring_up(torus, cuts, EngineKind::Dor, escape)?,
            Self::Layered => ours::bring_up(torus, cuts, EngineKind::Layered, true)?,
            Self::Torus2Qos => return peer::bring_up(torus, cuts),
        };
        let wanted = if self == Self::Layered {
            "layered"
        } else {
            "dor"
        };
        Ok(Some(ready).filter(|ready| ready.engine == wanted))
    }
}

fn patterns(hosts: u32, side: u8) -> [(&'static str, Pattern); 3] {
    [
        ("uniform", Pattern::Uniform),
        ("tornado", Pattern::tornado(hosts, side.into())),
        ("transpose", Pattern::transpose(hosts, side.into())),
    ]
}

/// Measures and prints the table.
///
/// # Errors
/// [`Failure`] when a fabric does not come up or OpenSM cannot be run.
pub fn run(options: &Options) -> Result<(), Failure> {
    let torus = Torus::new(options.side)?;
    let mut summary = Summary::default();
    let damaged = (1..=options.fabrics).map(|seed| torus.drawn(options.gone, seed));
    let fabrics = std::iter::once(Vec::new()).chain(damaged);
    for (seed, cuts) in fabrics.enumerate() {
        let routers = Router::ALL.into_iter();
        let routers = routers.filter(|router| !options.alone || *router != Router::Torus2Qos);
        let routed: Result<Vec<_>, Failure> = routers
            .map(|router| Ok((router, router.route(&torus, &cuts)?)))
            .collect();
        let routed = routed?;
        let by_all = routed.iter().all(|(_, ready)| ready.is_some());
        for (router, ready) in &routed {
            let Some(ready) = ready else {
                summary.refused(*router, cuts.len());
                continue;
            };
            for (name, pattern) in patterns(ready.hosts.len() as u32, options.side) {
                let drive = Drive {
                    ready,
                    pattern: &pattern,
                    micros: options.micros,
                    seed: seed as u64,
                };
                summary.add((name, *router, cuts.len(), by_all), &drive.measure());
            }
        }
    }
    print!("{summary}");
    Ok(())
}
