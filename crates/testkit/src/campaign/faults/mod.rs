//! Each fault of the catalogue in each state of a fabric that two managers, with their SAs and PMs, take care of: it must
//! hold what must hold while the fault is there, and everything in time after it.

mod cables;
mod clients;
mod fault;
mod files;
mod managers;
mod orders;
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
use weft_fabric::enums::{PortState, SmState};
use weft_fabric::{Guid, Lid, PortNum, Tick, Topology};
use weft_manager::io::{Command, Event};
use weft_manager::pm::PmSettings;
use weft_manager::sm::{Settings, Told};
use weft_routing::EngineKind;

pub use fault::{Fault, State};

use super::bring_up::RunError;
use super::election::Trouble;
use super::programs::Port;
use super::watch::SetWatch;
use super::{judge, parts};
use crate::cluster::{Cluster, ServiceSettings};
use crate::oracle::counters::Seen;
use crate::oracle::{Breach, Invariant, counters, lids, masters, names, quiet};
use crate::view::{self, FabricView};
use crate::world::WorldError;
use clients::Clients;
use files::StateFile;
use orders::Orders;
use place::{Places, any};
use plant::{Plant, Step};

/// I9: from the end of a fault to a fabric in which everything holds, as in the campaign of elections.
const CONVERGED_WITHIN: Duration = Duration::from_secs(90);
/// I7: managers may take turns to write for so long after the end of a fault.
const CONTENDED_WITHIN: Duration = Duration::from_secs(25);
/// I8: for so long nothing is written once everything holds. Longer than from one sweep to the next.
const STILL: Duration = Duration::from_secs(15);
/// Time between two looks at the fabric.
const LOOK_EVERY: Duration = Duration::from_millis(250);
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

/// What standbys have been told.
#[derive(Debug, PartialEq, Eq)]
struct HandedOn {
    master: usize,
    standbys: Vec<usize>,
    state: Option<Vec<u8>>,
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
                if let Some(master) = self.master() {
                    self.cluster.command(master, Command::Sweep);
                }
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

    fn master(&self) -> Option<usize> {
        let mut running = self.cluster.running();
        running
            .find(|(_, manager)| manager.role() == SmState::MASTER)
            .map(|(member, _)| member)
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
                if let Some(master) = self.master() {
                    self.cluster.freeze(master);
                }
            }
            Step::CutMaster => {
                if let Some(master) = self.master() {
                    let (node, port) = self.cluster.port(master);
                    self.cluster.control(Control::LinkDown { node, port })?;
                    self.cut.push((node, port));
                }
            }
            Step::Heal => self.heal()?,
            Step::PauseMaster => {
                self.paused = self.master();
                self.paused
                    .iter()
                    .for_each(|master| self.cluster.freeze(*master));
            }
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
            Step::Sweep => {
                if let Some(master) = self.master() {
                    self.cluster.command(master, Command::Sweep);
                }
            }
            Step::Set(setting) => self.set(setting),
            Step::SettingsOfBefore => self.settings_of_before(),
            Step::Drain(switch) => self.drain(switch),
            Step::Undrain(switch) => self.undrain(switch),
            Step::Contradict(switch, port) => self.contradict(switch, port),
        }
        Ok(())
    }

    /// Puts another file in the place of a manager's state, where it has one.
    fn put_state(&mut self, member: usize, file: &StateFile) -> Result<(), RunError> {
        let mut is_made = true;
        self.cluster.change_stored(member, |state| {
            let other = file.of(&state);
            is_made = other.is_some();
            other.unwrap_or(state)
        });
        is_made.then_some(()).ok_or(RunError::StateVersion(member))
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

    /// Images have the time of the clock on the wall, in whole seconds.
    fn clock_was_set(&mut self, member: usize) {
        let now = self.cluster.unix_s(member).saturating_sub(1);
        if let Some(seen) = self.counted.get_mut(&member) {
            seen.unix_time = seen.unix_time.min(now);
        }
    }

    /// Starts a manager that does not run. Counters begin anew: the daemon keeps them, the PM does not.
    fn start(&mut self, member: usize) -> Result<(), WorldError> {
        let begins = self.cluster.running().all(|(running, _)| running != member);
        if begins {
            self.handed_on = None;
            self.counted.remove(&member);
        }
        self.cluster.start(member)?;
        if begins {
            // It has not heard of its master yet.
            self.cluster.tell(member, Told::Behind(true));
        }
        Ok(())
    }

    /// Kills the master after so many Sets from now, or in a second.
    fn kill_master(&mut self, sets: u64) -> Result<(), RunError> {
        let Some(master) = self.master() else {
            return Ok(());
        };
        let from = self.cluster.emulator.stats().sets_total();
        let until = self.cluster.now() + Duration::from_secs(1);
        let written = |cluster: &Cluster| cluster.emulator.stats().sets_total() - from;
        while sets > 0 && written(&self.cluster) < sets && self.cluster.now() < until {
            self.cluster
                .run_until(self.cluster.now() + Duration::from_micros(20))?;
        }
        self.cluster.kill(master)?;
        Ok(())
    }

    fn heal(&mut self) -> Result<(), RunError> {
        for (node, port) in std::mem::take(&mut self.cut) {
            self.cluster.control(Control::LinkUp { node, port })?;
        }
        for member in 0..THIRD {
            self.cluster.thaw(member);
            self.start(member)?;
        }
        Ok(())
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

    /// Standbys have their master's state, as the daemons of a pair hand it on, and lack nothing then.
    fn hand_on(&mut self) {
        let Some(master) = self.master() else {
            return;
        };
        let standbys = self.cluster.running();
        let standbys = standbys.filter(|(_, manager)| manager.role() == SmState::STANDBY);
        let standbys: Vec<usize> = standbys.map(|(member, _)| member).collect();
        let state = self.cluster.last_state(master).map(<[u8]>::to_vec);
        let now = HandedOn {
            master,
            standbys,
            state,
        };
        if self.handed_on.as_ref() == Some(&now) {
            return;
        }
        for standby in &now.standbys {
            let state = now.state.iter().cloned().map(Told::State);
            let told = state.chain([Told::Behind(false)]);
            told.for_each(|told| self.cluster.tell(*standby, told));
        }
        self.handed_on = Some(now);
    }

    fn ask_from(&mut self, from: Port) -> Result<(), WorldError> {
        let to = *any(&mut self.rng, &self.places.hosts);
        self.clients.ask(&mut self.cluster, from, to)
    }

    /// Longest time from sending a Set to its execution: agents may be slow, and datagrams late.
    fn in_flight(&self) -> Duration {
        match self.cell.fault {
            Fault::SlowAgent | Fault::LateAnswers | Fault::Delay => Duration::from_secs(2),
            _ => masters::IN_FLIGHT_MAX,
        }
    }

    /// I2, I7, I11 and I14, which hold at all times.
    fn look(&mut self) {
        self.events.append(&mut self.cluster.take_events());
        let illegal = self.cluster.take_illegal().into_iter().map(|set| {
            let what = format!(
                "manager {} wrote {} as {} at {} ns",
                set.member, set.attribute, set.role, set.at.0
            );
            Breach::new(Invariant::OneMaster, what)
        });
        self.breaches.extend(illegal);
        for mut circle in self.sets.take_circles() {
            // A sweep that began before cables were plugged in elsewhere does not know where they lead.
            circle.other_wrote = circle.other_wrote.max(self.recabled);
            let (events, in_flight) = (&self.events, self.in_flight());
            let excused =
                !self.settled && parts::could_not_know(&self.cluster, events, &circle, in_flight);
            if !excused {
                self.breaches.push(circle.breach);
            }
        }
        for (member, seen) in self.cluster.take_counted() {
            if let Some(before) = self.counted.get(&member) {
                self.breaches.extend(counters::check(before, &seen));
            }
            self.counted.insert(member, seen);
        }
        self.clients.take(&mut self.cluster);
        let wrong = self.clients.take_wrong();
        if self.judging {
            self.breaches.extend(wrong);
        }
    }

    /// I9: within its bound there is a moment from which on everything holds, and I8: nothing is written for a while.
    fn converge(&mut self, when: &str) -> Result<Option<Duration>, RunError> {
        let start = self.cluster.now();
        drop(self.cluster.take_writes());
        let (mut since, mut last) = (None, Vec::new());
        let mut sets = 0;
        while self.cluster.now().since(start) < CONVERGED_WITHIN {
            self.run_until(self.cluster.now() + LOOK_EVERY)?;
            let written = self.cluster.emulator.stats().sets_total();
            // Where nothing was written, what held holds.
            if since.is_none() || written != sets {
                last = self.judge();
                since = last.is_empty().then(|| self.cluster.now());
                self.settled = since.is_some();
                self.judging |= self.settled;
            }
            sets = written;
            if since.is_some_and(|since| self.cluster.now().since(since) >= STILL) {
                break;
            }
        }
        let writes = self.cluster.take_writes();
        self.breaches
            .extend(masters::check(&writes, CONTENDED_WITHIN));
        let now = self.cluster.now();
        let held = since.filter(|since: &Tick| now.since(*since) >= STILL);
        if since.is_some() && held.is_none() {
            let what = format!("the fabric is still written to {when}");
            last.push(Breach::new(Invariant::NoNeedlessSet, what));
        }
        self.breaches
            .extend(quiet::check_converged(held.is_some(), last, when));
        Ok(held.map(|at| at.since(start)))
    }

    /// Everything that must hold in quiet. The link of a port that has gone down over and over may be held back.
    fn judge(&self) -> Vec<Breach> {
        parts::judge(&self.cluster, |view, root, master| {
            let mut view = view.clone();
            self.flapped
                .iter()
                .for_each(|port| held_back(&mut view, *port));
            let mut broken = judge::rules(&view, root, master, &[], &[]);
            broken.extend(names::check(
                self.cluster.emulator.network(),
                &master.snapshot(),
            ));
            broken
        })
    }

    /// The SA tells each host that is connected with the master a path to each of some others.
    fn every_host_is_served(&mut self) -> Result<(), RunError> {
        let view = view::read(self.cluster.emulator.network());
        let Some(root) = self
            .master()
            .and_then(|it| view.find(self.cluster.host(it)))
        else {
            return Ok(());
        };
        let served = view.served(root);
        let is_served = |host: &&Port| view.find(host.0).is_some_and(|place| served[place]);
        let hosts: Vec<Port> = self
            .places
            .hosts
            .iter()
            .filter(is_served)
            .copied()
            .collect();
        let before = self.clients.answered;
        for from in &hosts {
            let to = *any(&mut self.rng, &hosts);
            self.clients.ask(&mut self.cluster, *from, to)?;
        }
        let until = self.cluster.now() + Duration::from_secs(1);
        while self.cluster.now() < until {
            self.cluster.run_until(self.cluster.now() + STEP)?;
            self.look();
        }
        let answered = self.clients.answered - before;
        if answered < hosts.len() as u64 {
            let what = format!("the SA answers {answered} of {} hosts", hosts.len());
            self.breaches.push(Breach::new(Invariant::Converged, what));
        }
        Ok(())
    }

    /// I8, by a sweep that is asked for.
    fn unchanged_gets_no_set(&mut self) -> Result<(), RunError> {
        let Some(master) = self.master() else {
            return Ok(());
        };
        let before = self.cluster.emulator.stats().sets_total();
        let id = self.cluster.command(master, Command::Sweep);
        let until = self.cluster.now() + CONVERGED_WITHIN;
        let mut reply = None;
        while reply.is_none() && self.cluster.now() < until {
            self.cluster.run_until(self.cluster.now() + STEP)?;
            self.look();
            reply = self.cluster.reply(id);
        }
        if !matches!(reply, Some(Ok(_))) {
            let what = format!("the sweep of a quiet fabric: {reply:?}");
            self.breaches.push(Breach::new(Invariant::Converged, what));
        }
        let sets = self.cluster.emulator.stats().sets_total() - before;
        let needless = quiet::check_unwritten(sets, "in a sweep of an unchanged fabric");
        self.breaches.extend(needless);
        Ok(())
    }

    fn lids(&self) -> BTreeMap<Guid, Lid> {
        lids::by_guid(&view::read(self.cluster.emulator.network()))
    }
}

/// A link that is up and not armed carries no data, and need not.
fn held_back(view: &mut FabricView, (node, PortNum(port)): Port) {
    let Some(place) = view.find(node) else {
        return;
    };
    let mut end = |place: usize, port: u8| -> Option<(usize, u8)> {
        let port = view.nodes[place]
            .ports
            .get_mut(usize::from(port))?
            .as_mut()?;
        if port.state == PortState::ACTIVE {
            return None;
        }
        port.permitted = false;
        port.peer
    };
    if let Some((peer, far)) = end(place, port) {
        end(peer, far);
    }
}
