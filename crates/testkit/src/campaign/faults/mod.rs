//! Each fault of the catalogue in each state of a fabric that two managers, with their SAs and PMs, take care of: it must
//! hold what must hold while the fault is there, and everything in time after it.

mod cables;
mod clients;
mod fault;
mod files;
mod judges;
mod managers;
mod orders;
mod pair;
mod place;
mod plant;
mod shapes;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weft_emulator::Options;
use weft_emulator::io::Control;
use weft_fabric::{PortNum, Tick, Topology};
use weft_manager::io::Event;
use weft_manager::pm::PmSettings;
use weft_manager::sm::Settings;
use weft_routing::EngineKind;

pub use fault::{Fault, State};

use super::bring_up::RunError;
use super::election::Trouble;
use super::programs::Port;
use super::watch::SetWatch;
use crate::cluster::{Cluster, ServiceSettings};
use crate::oracle::counters::Seen;
use crate::oracle::{Breach, lids};
use crate::world::WorldError;
use clients::Clients;
use orders::Orders;
use pair::HandedOn;
use place::{Places, any};
use plant::{Plant, Step};

/// Time between two looks while a fault is there, and between two requests of the load.
const STEP: Duration = Duration::from_millis(50);
/// From the death of a master to when another one has found that out, at most.
const TAKEN_OVER_NS: u64 = 15_000_000_000;
/// Duration of a sweep in which faults begin, at most.
const SWEEP_NS: u64 = 20_000_000;
/// From one sweep of the PM to the next, seconds.
const PM_INTERVAL: Duration = Duration::from_secs(5);
/// Number of the third manager, which runs only for one fault.
const THIRD: usize = 2;

/// A fault in a state of a fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// The fault.
    pub fault: Fault,
    /// The state.
    pub state: State,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fault {}, {}", self.fault, self.state)
    }
}

impl Cell {
    /// Whether a fabric has room for the fault: switches to cut off, two managers and hosts besides.
    pub fn fits(self, topology: &Topology) -> bool {
        let isl = |end: weft_fabric::PortRef| topology.switch_index(end.node).is_some();
        let has_isls = topology.links().any(|(a, b)| isl(a) && isl(b));
        let needs_isls = matches!(
            self.fault,
            Fault::FabricsJoined | Fault::LeafCut | Fault::HalfOfLinks
        );
        let places = Places::of(topology, &[]);
        let has_ports = match self.fault {
            Fault::CableMoved => !places.free.is_empty(),
            Fault::Loop => !places.free_pairs.is_empty(),
            Fault::DownAndUp => shapes::has_detour(&places),
            _ => true,
        };
        topology.hfis().count() > THIRD + 1 && (has_isls || !needs_isls) && has_ports
    }
}

/// Result of a seed in a cell.
#[derive(Debug)]
pub struct Outcome {
    /// The cell.
    pub cell: Cell,
    /// The seed.
    pub seed: u64,
    /// Every rule that was broken.
    pub breaches: Vec<Breach>,
    /// When everything held after the fault.
    pub converged: Option<Duration>,
    /// Paths that the SA has told.
    pub paths: u64,
    /// Digest of all datagrams of the managers, with their times.
    pub datagrams: u64,
    /// What was done, by its time.
    steps: Vec<(Tick, String)>,
    /// The managers' events, with their numbers.
    events: Vec<(Tick, usize, Event)>,
}

impl Outcome {
    /// Breaches, what was done, and the last `events_max` events.
    pub fn describe(&self, events_max: usize) -> String {
        super::story(&self.breaches, &self.steps, &self.events, events_max)
    }
}

/// Runs one seed of a cell in a fabric.
///
/// # Errors
/// [`RunError`] when it cannot be run to its end, or the fabric has no room for the fault.
pub fn run(cell: Cell, topology: &Arc<Topology>, seed: u64) -> Result<Outcome, RunError> {
    if !cell.fits(topology) {
        return Err(RunError::Fabric(format!("no room for {cell}")));
    }
    let own = u64::from(cell.fault.number()) << 8 | cell.state as u64;
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ own << 40);
    let members = draw_managers(&mut rng, topology);
    let places = Places::of(topology, &members);
    let options = Options {
        seed,
        agent_latency_ns: 20_000,
        hop_latency_ns: 100,
        ..Options::default()
    };
    let engine = match cell.fault {
        Fault::OtherShape => managers::any_engine(&mut rng),
        _ => EngineKind::default(),
    };
    let hosts = members.iter().zip([2, 1, 6]);
    let hosts = hosts.map(|(host, priority)| (*host, settings(priority, engine)));
    let mut cluster =
        Cluster::new(Arc::clone(topology), options, hosts.collect())?.serving(services());
    Run {
        sets: SetWatch::start(&mut cluster.emulator),
        clients: Clients::new(topology),
        cell,
        topology: Arc::clone(topology),
        places,
        rng,
        cluster,
        cut: Vec::new(),
        flapped: Vec::new(),
        handed_on: None,
        recabled: None,
        paused: None,
        orders: Orders::default(),
        settled: false,
        judging: true,
        counted: BTreeMap::new(),
        breaches: Vec::new(),
        steps: Vec::new(),
        events: Vec::new(),
    }
    .all(seed)
}

fn draw_managers(rng: &mut ChaCha8Rng, topology: &Topology) -> Vec<Port> {
    let hosts = topology.hfis().map(|(_, node)| (node.guid(), PortNum(1)));
    let mut hosts: Vec<Port> = hosts.collect();
    let mut draw = || hosts.swap_remove(rng.random_range(0..hosts.len()));
    vec![draw(), draw(), draw()]
}

fn settings(priority: u8, engine: EngineKind) -> Settings {
    let mut settings = Settings::default();
    settings.routing.engine = engine;
    settings.sweeps.interval = super::SWEEP_INTERVAL;
    settings.election.priority = priority;
    settings
}

fn services() -> ServiceSettings {
    ServiceSettings {
        pm: PmSettings {
            interval: PM_INTERVAL,
            ..PmSettings::default()
        },
        ..ServiceSettings::default()
    }
}

struct Run {
    cell: Cell,
    topology: Arc<Topology>,
    places: Places,
    rng: ChaCha8Rng,
    cluster: Cluster,
    clients: Clients,
    sets: SetWatch,
    /// Cables of managers' hosts that are pulled.
    cut: Vec<Port>,
    /// Ports whose links have gone down again and again.
    flapped: Vec<Port>,
    /// What standbys have of which master.
    handed_on: Option<HandedOn>,
    /// When cables were last plugged in elsewhere.
    recabled: Option<Tick>,
    /// The manager whose host is paused.
    paused: Option<usize>,
    /// What people have ordered.
    orders: Orders,
    /// Everything has held at some moment since the last trouble: managers know each other.
    settled: bool,
    /// Whether answers of the SA are judged: not while nodes lie about who they are.
    judging: bool,
    /// What readers last saw of each manager's counters.
    counted: BTreeMap<usize, Seen>,
    breaches: Vec<Breach>,
    steps: Vec<(Tick, String)>,
    events: Vec<(Tick, usize, Event)>,
}

impl Run {
    fn all(mut self, seed: u64) -> Result<Outcome, RunError> {
        for member in 0..THIRD {
            self.start(member)?;
        }
        self.converge("before the fault")?;
        let before = self.lids();
        self.trouble()?;
        let converged = self.converge("after the fault")?;
        if converged.is_some() {
            self.breaches
                .extend(lids::check_stable(&before, &self.lids()));
            self.judge_orders();
            self.every_host_is_served()?;
            self.unchanged_gets_no_set()?;
        }
        Ok(Outcome {
            cell: self.cell,
            seed,
            converged,
            paths: self.clients.answered,
            datagrams: self.cluster.datagrams(),
            breaches: self.breaches,
            steps: self.steps,
            events: self.events,
        })
    }

    /// Puts the fabric into its state, makes the fault, and waits for its end.
    fn trouble(&mut self) -> Result<(), RunError> {
        self.settled = false;
        self.judging = !matches!(
            self.cell.fault,
            Fault::WrongNodeGuid | Fault::WrongPortGuid | Fault::StolenLid
        );
        let begins = self.enter()?;
        let mut plant = plant::plant(self.cell.fault, &mut self.rng, &self.topology, &self.places);
        if self.cell.state == State::Failover {
            // The old master comes back when the fault has ended.
            let back = plant.ends_ns.max(TAKEN_OVER_NS);
            plant.steps.push((back, Step::Heal));
            plant.ends_ns = back;
        }
        let Plant { steps, ends_ns } = plant;
        for (at, step) in steps {
            self.run_until(Tick(begins.0 + at))?;
            self.take(step)?;
        }
        self.run_until(Tick(begins.0 + ends_ns))
    }

    /// When the fault begins.
    fn enter(&mut self) -> Result<Tick, RunError> {
        let now = self.cluster.now();
        Ok(match self.cell.state {
            State::Idle | State::Load => now,
            State::Sweep => {
                self.sweep();
                Tick(now.0 + self.rng.random_range(0..SWEEP_NS))
            }
            State::Failover => {
                let step = match self.rng.random_range(0..3) {
                    0 => Step::FreezeMaster,
                    1 => Step::CutMaster,
                    _ => Step::KillMaster(0),
                };
                self.take(step)?;
                Tick(now.0 + self.rng.random_range(0..TAKEN_OVER_NS))
            }
        })
    }

    fn take(&mut self, step: Step) -> Result<(), RunError> {
        self.steps.push((self.cluster.now(), format!("{step:?}")));
        match step {
            Step::Trouble(trouble) => self.make(&trouble)?,
            Step::AskPaths(hosts, count) => {
                for from in hosts {
                    for _ in 0..count {
                        self.ask_from(from)?;
                    }
                }
            }
            Step::Join(hosts, joins) => {
                for host in hosts {
                    self.clients.join(&mut self.cluster, host, joins)?;
                }
            }
            Step::Garbage(host, count) => {
                for _ in 0..count {
                    self.clients
                        .garbage(&mut self.cluster, host, &mut self.rng)?;
                }
            }
            Step::KillMaster(sets) => self.kill_master(sets)?,
            Step::FreezeMaster => {
                self.freeze_master();
            }
            Step::CutMaster => self.cut_master()?,
            Step::Heal => self.heal()?,
            Step::PauseMaster => self.paused = self.freeze_master(),
            Step::ResumeUnaware => {
                if let Some(member) = self.paused.take() {
                    self.cluster.thaw_unaware(member);
                    self.clock_was_set(member);
                }
            }
            Step::SetClock(member, ahead_s) => {
                self.cluster.set_clock(member, ahead_s);
                self.clock_was_set(member);
            }
            Step::DiskFull(member, full) => self.cluster.set_disk_full(member, full),
            Step::PutState(member, file) => self.put_state(member, &file)?,
            Step::Sweep => self.sweep(),
            Step::Set(setting) => self.set(setting),
            Step::SettingsOfBefore => self.settings_of_before(),
            Step::Drain(switch) => self.drain(switch),
            Step::Undrain(switch) => self.undrain(switch),
            Step::Contradict(switch, port) => self.contradict(switch, port),
        }
        Ok(())
    }

    fn make(&mut self, trouble: &Trouble) -> Result<(), WorldError> {
        match trouble {
            Trouble::Start(member) => self.start(*member),
            Trouble::Kill(member) => self.cluster.kill(*member),
            Trouble::Freeze(member) => {
                self.cluster.freeze(*member);
                Ok(())
            }
            Trouble::Thaw(member) => {
                self.cluster.thaw(*member);
                Ok(())
            }
            Trouble::PowerOff(member) => self.cluster.power(*member, false),
            Trouble::PowerOn(member) => {
                self.cluster.power(*member, true)?;
                self.start(*member)
            }
            Trouble::Fabric(control) => {
                self.cluster.control(control.clone())?;
                match control {
                    Control::ExchangeCables { .. }
                    | Control::MoveCable { .. }
                    | Control::PlugCable { .. }
                    | Control::PullCable { .. } => {
                        self.recabled = Some(self.cluster.now());
                        self.sets.recabled(self.cluster.emulator.network());
                    }
                    Control::Flap { node, port, .. } => self.flapped.push((*node, *port)),
                    _ => {}
                }
                Ok(())
            }
        }
    }

    /// Runs; hosts ask where they do, and what must always hold is checked.
    fn run_until(&mut self, until: Tick) -> Result<(), RunError> {
        while self.cluster.now() < until {
            if self.cell.state == State::Load {
                for _ in 0..4 {
                    let from = *any(&mut self.rng, &self.places.hosts);
                    self.ask_from(from)?;
                }
            }
            let next = (self.cluster.now() + STEP).min(until);
            self.cluster.run_until(next)?;
            self.hand_on();
            self.look();
        }
        Ok(())
    }

    fn ask_from(&mut self, from: Port) -> Result<(), WorldError> {
        let to = *any(&mut self.rng, &self.places.hosts);
        self.clients.ask(&mut self.cluster, from, to)
    }
}
