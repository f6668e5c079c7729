//! Faults of managers, their hosts, and the people who order them, as steps in time.

use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use weft_emulator::io::Control;
use weft_fabric::Guid;
use weft_manager::sm::Settings;
use weft_routing::{AdaptiveSettings, EngineKind};

use super::THIRD;
use super::fault::Fault;
use super::files::StateFile;
use super::place::any;
use super::plant::{MS, Planter, S, Step};
use crate::campaign::election::Trouble;

/// Largest step of a clock on the wall, seconds: ten years.
const CLOCK_MAX_S: i64 = 10 * 365 * 86_400;
/// Longest pause of a host with its clock: shorter than a standby waits for its master.
const PAUSE_MAX: u64 = 8 * S;
/// Engines that a running fabric may be given: they need the lanes that it has.
const ENGINES: [EngineKind; 5] = [
    EngineKind::Dmodc,
    EngineKind::FatTree,
    EngineKind::DgShortestPath,
    EngineKind::OpaShortestPath,
    EngineKind::Hypercube,
];
/// Those that prepare more lanes, which ports in use refuse.
const ENGINES_WITH_LANES: [EngineKind; 2] = [EngineKind::Dor, EngineKind::Layered];

/// A setting with another value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Setting {
    Engine(EngineKind),
    HoqLife(u8),
    Adaptive(bool),
    Interval(Duration),
}

/// An engine that is in force from the beginning, whatever shape the fabric has.
pub(super) fn any_engine(rng: &mut ChaCha8Rng) -> EngineKind {
    *any(rng, &[&ENGINES[..], &ENGINES_WITH_LANES].concat())
}

impl Setting {
    fn draw(rng: &mut ChaCha8Rng) -> Self {
        match rng.random_range(0..4) {
            0 => Self::Engine(*any(rng, &ENGINES)),
            1 => Self::HoqLife(rng.random_range(1..=19)),
            2 => Self::Adaptive(rng.random_bool(0.5)),
            _ => Self::Interval(Duration::from_secs(rng.random_range(3..=20))),
        }
    }

    pub(super) fn put(self, settings: &mut Settings) {
        match self {
            Self::Engine(engine) => settings.routing.engine = engine,
            Self::HoqLife(life) => settings.traffic.hoq_life = life,
            Self::Adaptive(on) => {
                settings.routing.adaptive = on.then(AdaptiveSettings::default);
            }
            Self::Interval(interval) => settings.sweeps.interval = interval,
        }
    }
}

impl Planter<'_> {
    pub(super) fn managers(&mut self, fault: Fault, rng: &mut ChaCha8Rng) {
        let until = self.until;
        let plant = &mut self.plant;
        match fault {
            Fault::ThirdManager => {
                plant.step(0, Step::Trouble(Trouble::Start(THIRD)));
                let end = match rng.random_bool(0.5) {
                    true => Trouble::Kill(THIRD),
                    false => Trouble::PowerOff(THIRD),
                };
                plant.step(until, Step::Trouble(end));
            }
            Fault::MasterKilled => {
                // A switch that comes back gives it something to write.
                let node = *any(rng, &self.places.switches);
                plant.control(0, Control::NodeDown { node });
                plant.control(MS, Control::NodeUp { node });
                plant.step(MS + 1, Step::KillMaster(rng.random_range(1..60)));
                plant.step(until.max(12 * S), Step::Heal);
            }
            Fault::MasterHangs => {
                plant.step(0, Step::FreezeMaster);
                plant.step(until, Step::Heal);
            }
            Fault::OwnPort => {
                plant.step(0, Step::CutMaster);
                plant.step(until, Step::Heal);
            }
            Fault::Failovers => {
                for round in 0..3 {
                    plant.step(round * 25 * S, Step::KillMaster(0));
                    plant.step(round * 25 * S + 20 * S, Step::Heal);
                }
            }
            Fault::StateFile if rng.random_bool(0.5) => self.full_disks(rng),
            Fault::StateFile => self.torn_files(rng),
            Fault::OldState => self.old_state(rng),
            Fault::ClockJumps => self.clocks(rng),
            Fault::OtherSettings => self.settings(rng),
            Fault::Contradictions => self.contradictions(rng),
            _ => {
                plant.step(0, Step::FreezeMaster);
                plant.step(60 * S, Step::Heal);
            }
        }
    }

    /// No manager can write, something is drained, and the master dies.
    fn full_disks(&mut self, rng: &mut ChaCha8Rng) {
        let switch = *any(rng, &self.places.switches);
        let plant = &mut self.plant;
        (0..THIRD).for_each(|member| plant.step(0, Step::DiskFull(member, true)));
        plant.step(1, Step::Drain(switch));
        let dies = rng.random_range(200 * MS..2 * S);
        plant.step(dies, Step::KillMaster(0));
        let back = self.until.max(dies + 12 * S);
        (0..THIRD).for_each(|member| plant.step(back, Step::DiskFull(member, false)));
        plant.step(back + 1, Step::Heal);
        plant.step(back + 2 * S, Step::Undrain(switch));
    }

    /// Managers that begin again with a damaged file, or with that and a whole one.
    fn torn_files(&mut self, rng: &mut ChaCha8Rng) {
        let until = self.until;
        for member in self.some_managers(rng) {
            let plant = &mut self.plant;
            plant.step(0, Step::Trouble(Trouble::Kill(member)));
            plant.step(1, Step::PutState(member, StateFile::torn(rng)));
            plant.step(until, Step::Trouble(Trouble::Start(member)));
        }
    }

    /// Managers that begin again with what the first version has written, while two hosts are off that come back in the
    /// other order: nothing in the fabric says which LIDs were theirs.
    fn old_state(&mut self, rng: &mut ChaCha8Rng) {
        let until = self.until;
        for member in self.some_managers(rng) {
            let plant = &mut self.plant;
            plant.step(S, Step::Trouble(Trouble::Kill(member)));
            plant.step(S + 1, Step::PutState(member, StateFile::First));
            plant.step(S + until.min(3 * S), Step::Trouble(Trouble::Start(member)));
        }
        let hosts = &self.places.hosts;
        let (a, b) = (any(rng, hosts).0, any(rng, hosts).0);
        for (node, back) in [(a.max(b), 20 * S), (a.min(b), 25 * S)] {
            self.plant
                .during(back, Control::NodeDown { node }, Control::NodeUp { node });
        }
    }

    /// One of the managers, or both.
    fn some_managers(&self, rng: &mut ChaCha8Rng) -> std::ops::Range<usize> {
        match rng.random_range(0..3) {
            0 => 0..1,
            1 => 1..THIRD,
            _ => 0..THIRD,
        }
    }

    /// Clocks on the wall are set, those of the managers apart, and a host is paused with all its clocks.
    fn clocks(&mut self, rng: &mut ChaCha8Rng) {
        for member in 0..THIRD {
            for _ in 0..3 {
                let at = rng.random_range(0..self.until);
                let near = rng.random_bool(0.5);
                let most = if near { 90 } else { CLOCK_MAX_S };
                let ahead_s = rng.random_range(-most..=most);
                self.plant.step(at, Step::SetClock(member, ahead_s));
            }
        }
        let pause = rng.random_range(100 * MS..PAUSE_MAX);
        let at = rng.random_range(0..S);
        self.plant.step(at, Step::PauseMaster);
        self.plant.step(at + pause, Step::ResumeUnaware);
    }

    /// All managers get other settings, some of them in the middle of a sweep; at the end those of before, or not.
    fn settings(&mut self, rng: &mut ChaCha8Rng) {
        let until = self.until;
        let plant = &mut self.plant;
        for _ in 0..rng.random_range(1..=4) {
            let at = rng.random_range(0..until);
            if rng.random_bool(0.7) {
                plant.step(at, Step::Sweep);
            }
            let set = Step::Set(Setting::draw(rng));
            plant.step(at + rng.random_range(1..5 * MS), set);
        }
        if rng.random_bool(0.5) {
            plant.step(until + 5 * MS, Step::SettingsOfBefore);
        }
        // Engines differ in the paths that they give.
        plant.ends_ns = plant.ends_ns.max(until + 6 * MS);
    }

    /// Several people order the master at once, again and again.
    fn contradictions(&mut self, rng: &mut ChaCha8Rng) {
        let mut switches: Vec<Guid> = Vec::new();
        for _ in 0..rng.random_range(1..=3) {
            let at = rng.random_range(0..self.until);
            let (switch, port) = (*any(rng, &self.places.switches), self.places.cable(rng));
            self.plant.step(at, Step::Contradict(switch, port));
            switches.push(switch);
        }
        let end = self.until + 2 * S;
        switches.sort_unstable();
        switches.dedup();
        for (wait, switch) in (1..).zip(switches) {
            self.plant.step(end + wait * S, Step::Undrain(switch));
        }
    }
}
