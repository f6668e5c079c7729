//! Description of an experiment: cases that differ in a few settings.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use weft_dataplane::packets::Picos;
use weft_dataplane::traffic::mpi::{ExchangeOrder, Load, RankSchedule, Stack};
use weft_dataplane::training::Stuck;
use weft_fabric::Sl;
use weft_fabric::export::slurm::SlurmTopology;
use weft_manager::Settings;
use weft_manager::congestion::CongestionSettings;
use weft_manager::sm::settings::{Level, Preemption};
use weft_routing::{AdaptiveSettings, EngineKind};

use super::collectives::Chosen;
use super::fabric::Fabric;
use super::hardware::Hardware;
use super::links::Links;
use super::published::Published;
use super::registry::Metric;
use super::values::picos;

/// An experiment.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its subject.
    pub title: String,
    /// Its cases in order; one that is swept stands once for each value, one with several sweeps once for each
    /// combination, the values of the first next to each other.
    pub cases: Vec<Case>,
    /// Its plots.
    pub plots: Vec<Plot>,
    /// Metrics that a program has added.
    pub metrics: Metrics,
}

/// Metrics that a program has added to those of this crate.
#[derive(Clone, Default)]
pub struct Metrics(pub(super) Vec<Arc<dyn Metric>>);

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|one| one.name()))
            .finish()
    }
}

/// What a plot has instead of a metric: the times of messages and packets.
pub const LATENCIES: &str = "latencies";

/// A chart of one metric: lines over a swept parameter, or bars for the cases without a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plot {
    /// The metric, or [`LATENCIES`].
    pub metric: String,
    /// The parameter of its axis; `None` for bars.
    pub over: Option<String>,
    /// Its axis in decades.
    pub logarithmic: bool,
    /// Its title.
    pub title: String,
}

/// A case's place among those of its sweeps.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Name of the case as it was written.
    pub series: String,
    /// What its first line `sweep` sweeps.
    pub first: Swept,
    /// What its other lines sweep, in their order.
    pub others: Vec<Swept>,
}

/// A swept parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Swept {
    /// Its name.
    pub word: String,
    /// Its value here.
    pub value: f64,
    /// The value as it was written.
    pub text: String,
}

/// An assumed constant at one of its bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct AtBound {
    /// Name of the case that is otherwise the same.
    pub case: String,
    /// The constant.
    pub constant: Swept,
}

impl Point {
    /// All that is swept.
    pub fn all(&self) -> impl Iterator<Item = &Swept> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The value of a swept parameter.
    pub fn value(&self, word: &str) -> Option<f64> {
        let found = self.all().find(|one| one.word == word);
        found.map(|one| one.value)
    }

    /// Name of its curve over a parameter: the case, and the values of all else that is swept.
    pub fn curve(&self, over: &str) -> String {
        let others = self.all().filter(|one| one.word != over);
        others.fold(self.series.clone(), |name, one| {
            format!("{name}, {} {}", one.word, one.text)
        })
    }
}

/// One run of an experiment.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// The fabric.
    pub fabric: Fabric,
    /// Size of the receive buffer of each switch port, bytes; `None` for the hardware's assumed size.
    pub buffer: Option<u32>,
    /// Properties of the hardware.
    pub hardware: Hardware,
    /// The constants among them, and of the buffer, that the scenario sets, at whatever value.
    pub set: BTreeSet<String>,
    /// Uplinks that each edge switch keeps, spread over the switches above; none for all.
    pub uplinks: Option<u32>,
    /// Order of the HFIs' LIDs.
    pub lid_order: LidOrder,
    /// Settings of the manager.
    pub manager: Manager,
    /// Hosts that take part; none for all.
    pub hosts: Option<u32>,
    /// They are drawn from all by the seed, in the fabric's order; else they are the first.
    pub scattered: bool,
    /// What Slurm knows of the fabric, for placements by it.
    pub slurm: Option<Arc<SlurmTopology>>,
    /// Which of the hosts have the ranks of its own traffic; none for all, in the fabric's order.
    pub placement: Option<Placement>,
    /// Ranks on each host: the first ones are on the first host, and so on.
    pub ranks: u32,
    /// Choice of communicating ranks.
    pub pairs: Pairs,
    /// Their traffic.
    pub traffic: Traffic,
    /// Software stack of MPI.
    pub stack: Stack,
    /// Service level of the traffic; `None` for SL 0, or all of them for packets by a pattern.
    pub sl: Option<Sl>,
    /// Jobs at the same time.
    pub beside: Vec<Arc<Beside>>,
    /// Faults of the fabric meanwhile, in order of time.
    pub faults: Vec<Arc<Fault>>,
    /// Percent of the links between switches that are cut, drawn by the seed.
    pub gone: f64,
    /// Runs, each with the next seed; the median of each metric counts.
    pub runs: u32,
    /// Virtual time in which only additional messages run, and up to 200 µs more,
    /// drawn by the seed.
    pub warm_up: Duration,
    /// Virtual time, from there on, after which the run is given up.
    pub limit: Duration,
    /// A run that is given up is a result: `ended` is 0 then.
    pub may_not_end: bool,
    /// Its place among those of its sweeps, `None` without a sweep.
    pub point: Option<Point>,
    /// What is assumed otherwise than usual, `None` for the case as it was written.
    pub assumed: Option<AtBound>,
    /// Links whose loads are kept; the busiest are printed.
    pub links: Links,
    /// Length of the intervals in which links, packets and jobs are followed; none for not at all.
    pub intervals: Option<Duration>,
    /// Messages that are kept one by one, of the case's own traffic and of named jobs.
    pub messages: u32,
    /// Print percentiles of the times of messages and packets, and write their histograms.
    pub latencies: bool,
    /// The case that its time is compared with, one before it.
    pub baseline: Option<String>,
    /// Published figures about it.
    pub published: Vec<Published>,
}

impl Case {
    /// What is told of its own traffic, without a name, and of each named job.
    pub fn told_names(&self) -> impl Iterator<Item = Option<&str>> {
        let jobs = self.beside.iter().filter_map(|one| one.name.as_deref());
        std::iter::once(None).chain(jobs.map(Some))
    }

    /// Its name, without what is assumed otherwise.
    pub fn written_name(&self) -> &str {
        self.assumed.as_ref().map_or(&self.name, |one| &one.case)
    }

    /// The constant that is at one of its bounds.
    pub fn constant(&self) -> Option<&Swept> {
        self.assumed.as_ref().map(|one| &one.constant)
    }

    /// What was published of it: of nothing but the case as it was written.
    pub fn figures(&self) -> &[Published] {
        match self.assumed {
            None => &self.published,
            Some(_) => &[],
        }
    }

    /// What was published of a metric of it.
    pub fn figure(&self, metric: &str) -> Option<&Published> {
        self.figures().iter().find(|figure| figure.metric == metric)
    }
}

/// Order of the HFIs' LIDs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LidOrder {
    /// As the manager gives them to the fabric that it discovers.
    #[default]
    Discovery,
    /// Drawn by the seed: HFIs hold them before the manager begins.
    Random,
}

/// Traffic besides a case's own.
#[derive(Debug, Clone, PartialEq)]
pub struct Beside {
    /// Prefix of its metrics. Without a name it is not measured: it runs before and
    /// during the case's own traffic.
    pub name: Option<String>,
    /// Traffic of its ranks, or its hosts.
    pub traffic: Traffic,
    /// Ranks on each host, in addition to the others.
    pub ranks: u32,
    /// Which of the hosts that have not been given out have them; none for all hosts.
    pub placement: Option<Placement>,
    /// Choice of communicating ranks, as numbers of its own ranks.
    pub pairs: Pairs,
    /// Software stack of MPI.
    pub stack: Stack,
    /// On which service level; none for SL 0, or all of them for packets by a pattern.
    pub sl: Option<Sl>,
    /// So much later than the case's own traffic it begins.
    pub begin: Duration,
}

impl Beside {
    /// When it begins, where the case's own traffic begins at `own`.
    pub fn begins(&self, own: Picos) -> Picos {
        match self.name {
            Some(_) => own.saturating_add(picos(self.begin)),
            None => 0,
        }
    }
}

/// Something that happens to the fabric; the manager sees it as it would see it of devices.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// Virtual time since the traffic began.
    pub at: Duration,
    /// Kind of the fault.
    pub what: FaultKind,
    /// Its place.
    pub place: FaultPlace,
}

/// Faults of a link or a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// A cable is cut, or a node switched off.
    Down,
    /// It is mended, or switched on.
    Up,
    /// The remaining lanes of a cable.
    Lanes(u8),
    /// Damaged packets of a cable, of a million.
    Errors(u32),
    /// Datagrams of subnet management that are lost of those that a port sends, of a million.
    Loss(u32),
    /// The state that a link does not leave from its next training on; none: it trains at once.
    Stuck(Option<Stuck>),
    /// A node is off for this time, and starts with empty registers.
    Reboot(Duration),
}

/// Place of a fault.
#[derive(Debug, Clone, PartialEq)]
pub enum FaultPlace {
    /// The cable at a port, by its node's description and its number.
    Port(String, u8),
    /// A percentage of the cables between switches that are not cut from the beginning, drawn by the
    /// seed: the same ones each time.
    Drawn(f64),
    /// A node, by its description.
    Node(String),
}

/// The part of the manager's configuration that experiments vary.
#[derive(Debug, Clone, PartialEq)]
pub struct Manager {
    /// Settings of an opafm.xml, as the base of those below; `None` for the defaults.
    pub base: Option<Arc<Settings>>,
    /// `RoutingAlgorithm`.
    pub engine: EngineKind,
    /// `Lmc`.
    pub lmc: u8,
    /// Service levels, each with its own lane.
    pub lanes: u8,
    /// Service levels with their properties, as in `QOSGroup`; if there are any, `lanes` has
    /// no effect.
    pub levels: Vec<Level>,
    /// `Preemption`, on ports that can interleave packets; none when it is off.
    pub preemption: Option<Preemption>,
    /// `AdaptiveRouting`, none when it is off.
    pub adaptive: Option<AdaptiveSettings>,
    /// `CongestionControl`, which only an opafm.xml switches on.
    pub congestion: CongestionSettings,
    /// `HoqLife` as a register: 4.096 µs × 2^value; none for the manager's default.
    pub hoq_life: Option<u8>,
    /// `SwitchLifetime` likewise.
    pub switch_lifetime: Option<u8>,
    /// `VLStallCount`.
    pub stall_count: Option<u8>,
    /// `MaxDroppedLanes` of both link policies: number of lanes that a link may lose and continue.
    pub max_dropped_lanes: Option<u8>,
}

impl Manager {
    /// Settings of an opafm.xml; preemption is off, as on ports that cannot interleave packets.
    pub fn of(settings: Settings, congestion: CongestionSettings) -> Self {
        let traffic = settings.traffic;
        Self {
            engine: settings.routing.engine,
            lmc: settings.lids.lmc.0,
            levels: settings.levels.clone(),
            adaptive: settings.routing.adaptive,
            hoq_life: Some(traffic.hoq_life),
            switch_lifetime: Some(traffic.switch_lifetime),
            stall_count: Some(traffic.vl_stall_count),
            base: Some(Arc::new(settings)),
            congestion,
            ..Self::default()
        }
    }

    /// The service levels in use.
    pub fn levels(&self) -> Vec<Level> {
        if !self.levels.is_empty() {
            return self.levels.clone();
        }
        let level = |sl| Level {
            sl: Sl(sl),
            bandwidth: 100 / self.lanes,
            ..Level::default()
        };
        (0..self.lanes).map(level).collect()
    }
}

impl Default for Manager {
    fn default() -> Self {
        Self {
            base: None,
            engine: EngineKind::default(),
            lmc: 0,
            lanes: 1,
            levels: Vec::new(),
            preemption: None,
            adaptive: None,
            congestion: CongestionSettings::default(),
            hoq_life: None,
            switch_lifetime: None,
            stall_count: None,
            max_dropped_lanes: None,
        }
    }
}

/// Hosts for the ranks of some traffic, which are given to nobody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// Which of those that are free.
    pub kind: PlacementKind,
    /// How many; none for all that are free.
    pub hosts: Option<u32>,
}

/// Choice of hosts, and their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlacementKind {
    /// The first ones, in the fabric's order.
    Block,
    /// Drawn by the seed.
    Random,
    /// One of each edge switch in turns.
    Switches,
    /// As Slurm gives them out, by the case's topology of it.
    Topology,
}

/// Communicating ranks, by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pairs {
    /// The first half of the ranks with the second, in order.
    Halves,
    /// A number of pairs across two edge switches whose routes share the first uplink.
    SharedUplink(u32),
    /// These.
    List(Vec<(u32, u32)>),
}

/// Traffic of ranks.
#[derive(Debug, Clone, PartialEq)]
pub enum Traffic {
    /// osu_bw, osu_mbw_mr and osu_bibw, IMB Biband and iperf.
    Bandwidth {
        /// Bytes of a message.
        bytes: u64,
        /// Messages before the receiver answers.
        window: u32,
        /// Windows before time is taken, and while it is.
        skip: u32,
        /// Windows while time is taken.
        iterations: u32,
        /// Both of a pair send.
        both_ways: bool,
        /// IP over the fabric instead of PSM2.
        ip: bool,
    },
    /// osu_latency and osu_multi_lat.
    Latency {
        /// Bytes of a message.
        bytes: u64,
        /// Round trips before time is taken; none for as many as the benchmark has.
        skip: Option<u32>,
        /// Round trips while time is taken.
        iterations: u32,
    },
    /// mpi_nxnlatbw: each rank with each other, in rounds of pairs.
    AllPairs {
        /// Bytes of a message.
        bytes: u64,
        /// Round trips before time is taken.
        skip: u32,
        /// Round trips while time is taken.
        iterations: u32,
        /// Pairs that are active at a time; 0 for as many as there can be.
        sessions: u32,
        /// Bytes of the messages with which bandwidths are measured; none for latencies alone.
        large: Option<u64>,
    },
    /// IMB Alltoall.
    AllToAll {
        /// Bytes from each rank to each.
        bytes: u64,
        /// Exchanges before time is taken.
        skip: u32,
        /// Exchanges while time is taken.
        iterations: u32,
        /// Order of destinations.
        order: ExchangeOrder,
        /// Most steps of a rank at a time.
        overlap: u32,
    },
    /// A collective made of messages.
    Collective {
        /// Which.
        of: Chosen,
        /// Bytes of a call.
        bytes: u64,
        /// Its root.
        root: u32,
        /// Calls, one after the other.
        iterations: u32,
    },
    /// Copies over sockets, or ib_read_bw.
    Copies {
        /// Kind of transport.
        load: Load,
        /// Bytes of a message.
        bytes: u64,
        /// Bytes of each pair and direction; `None` for as long as other traffic runs.
        total: Option<u64>,
        /// Bytes a second that each direction has to send; `None` for as many as it can.
        rate: Option<u64>,
        /// Both of a pair send.
        both_ways: bool,
    },
    /// Operations of ranks, from a file.
    File {
        /// The file, as the scenario names it.
        file: String,
        /// What each rank does.
        ranks: Arc<Vec<RankSchedule>>,
    },
    /// No packets: rates of flows that share links fairly, over many random matchings
    /// of the hosts and over all shifts.
    Bisection {
        /// Random matchings.
        matchings: u32,
    },
    /// Packets by a pattern, as many as fit or at a load.
    Stream {
        /// The pattern.
        pattern: StreamPattern,
        /// Bytes of a packet on the link.
        bytes: u32,
        /// Share of the rate of a link, none for as many as fit.
        load: Option<f64>,
        /// Virtual time before and while it is measured.
        span: Duration,
    },
}

impl Traffic {
    /// Whether its ranks are chosen by [`Pairs`].
    pub fn has_pairs(&self) -> bool {
        matches!(
            self,
            Self::Bandwidth { .. } | Self::Latency { .. } | Self::Copies { .. }
        )
    }

    /// Whether ranks send it as messages, each rank at one service level.
    pub fn is_messages(&self) -> bool {
        !matches!(self, Self::Stream { .. } | Self::Bisection { .. })
    }

    /// Whether its ranks can stand on some of the hosts, in any order.
    pub fn has_placement(&self) -> bool {
        self.is_messages() && !matches!(self, Self::AllPairs { .. })
    }

    /// Number of directions in which each pair sends.
    pub fn ways(&self) -> u32 {
        match self {
            Self::Bandwidth { both_ways, .. } | Self::Copies { both_ways, .. } => {
                1 + u32::from(*both_ways)
            }
            _ => 1,
        }
    }

    /// Whether MPI sends it.
    pub fn is_mpi(&self) -> bool {
        let other = matches!(self, Self::Bandwidth { ip: true, .. } | Self::Copies { .. });
        self.is_messages() && !other
    }

    /// The metric by which it is compared with a baseline.
    pub fn compared(&self) -> &'static str {
        match self {
            Self::Bandwidth { .. } | Self::Copies { .. } => "bandwidth",
            Self::Latency { .. } | Self::AllPairs { .. } | Self::Stream { .. } => "latency",
            Self::AllToAll { .. } | Self::Collective { .. } | Self::File { .. } => "time",
            Self::Bisection { .. } => "bisection",
        }
    }
}

/// A pattern of packets; see [`weft_dataplane::traffic::Pattern`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamPattern {
    /// To random hosts.
    Uniform,
    /// A random permutation.
    Permutation,
    /// To the host at this distance.
    Shift(u32),
    /// This percentage to host 0.
    Hotspot(u32),
    /// In a torus with this number of switches along each dimension, just less than half way around each.
    Tornado(u32),
    /// In such a grid, to the host with the coordinates in reverse order.
    Transpose(u32),
}

/// All that can be measured.
pub const METRICS: [&str; 32] = [
    "bandwidth",
    "rate",
    "messages",
    "bandwidth_min",
    "bandwidth_bound",
    "latency",
    "latency_min",
    "latency_max",
    "latency_bound",
    "time",
    "same_block",
    "other_block",
    "between_blocks",
    "asymmetry_min",
    "asymmetry_max",
    "asymmetry_time",
    "jitter",
    "systematic",
    "bisection",
    "slowest",
    "worst_shift",
    "shift_by",
    "accepted",
    "least",
    "ended",
    "discards",
    "discarded",
    "marked",
    "reprogrammed",
    "shorter",
    "of_baseline",
    "step",
];
