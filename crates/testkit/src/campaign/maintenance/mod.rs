//! Work on a running fabric: plans applied and undone, switches and links drained, pulled and put
//! back, managers started again; in quiet, and while datagrams are lost and links and switches die.

mod follow;
pub mod scenario;
mod steps;

use weft_emulator::Options;
use weft_fabric::{Lmc, PortRef, Tick};
use weft_manager::io::Event;
use weft_manager::sm::Settings;
use weft_manager::sm::reroute::Arrangement;

use super::DigestedWorld;
use super::bring_up::{CONVERGED_WITHIN, RunError, generate};
use super::judge::{self, UsedLevels};
use super::members::told;
use super::watch::SetWatch;
use crate::digest::Digest;
use crate::grid;
use crate::oracle::multicast::Group;
use crate::oracle::partitions::Secured;
use crate::oracle::planned::{InForce, Tables};
use crate::oracle::{Breach, Invariant};
use crate::tape::Tape;
use crate::world::{Wait, World, WorldError, first_host};
pub use scenario::Scenario;

/// Broken rules of one moment that are noted.
const BREACHES_MAX: usize = 3;

/// Result of a seed.
#[derive(Debug)]
pub struct Outcome {
    /// The scenario drawn from it.
    pub scenario: Scenario,
    /// Every rule that was broken.
    pub breaches: Vec<Breach>,
    /// Steps and their results, in order.
    pub story: Vec<(Tick, String)>,
    /// Digest of all datagrams of the manager, with their times.
    pub datagrams: u64,
    /// The manager's events.
    pub events: Vec<(Tick, Event)>,
}

impl Outcome {
    /// Scenario, story, breaches, the last `events_max` events and how to see it again.
    pub fn describe(&self, events_max: usize) -> String {
        let story = self.story.iter();
        let story = story.map(|(at, what)| super::dated_line(*at, what));
        format!(
            "{}{}{}{}replay: {}\n",
            self.scenario,
            story.collect::<String>(),
            super::breach_lines(&self.breaches),
            super::event_lines(&self.events, events_max),
            super::replay_command("maintenance", self.scenario.seed)
        )
    }
}

/// An arrangement that was put in force, and what was before.
struct Undo {
    before: InForce,
    after: Arrangement,
    /// Since then nothing but plans has changed the fabric.
    untouched: bool,
}

struct Run {
    scenario: Scenario,
    world: DigestedWorld,
    sets: SetWatch,
    /// Lanes that ports were prepared for when the fabric came up.
    prepared: u8,
    /// An engine with another number of lanes has been in force: ports that carry data keep the maps that
    /// they have until their links go down, as plans say in words.
    mixed: bool,
    groups: Vec<Group>,
    secured: Vec<Secured>,
    undo: Vec<Undo>,
    /// Sets that had been done when tables were looked at last.
    seen_sets: u64,
    breaches: Vec<Breach>,
    story: Vec<(Tick, String)>,
    events: Vec<(Tick, Event)>,
}

/// Runs one seed.
///
/// # Errors
/// [`RunError`] when it cannot be run to its end.
pub fn run(seed: u64) -> Result<Outcome, RunError> {
    run_taped(seed, None)
}

/// As [`run`], with recordings of the managers.
///
/// # Errors
/// As there.
pub fn run_taped(seed: u64, tape: Option<Tape>) -> Result<Outcome, RunError> {
    let drawn = Scenario::draw(seed);
    let topology = generate(drawn.fabric)?;
    let (guid, port) = first_host(&topology).ok_or(WorldError::NoHost)?;
    let node = topology.find(guid).ok_or(WorldError::NoHost)?;
    let scenario = drawn.with_rounds(&topology, PortRef { node, port });
    let options = Options {
        seed,
        agent_latency_ns: scenario.latency_ns,
        hop_latency_ns: 100,
        ..Options::default()
    };
    let wanted = settings(&scenario);
    let mut world = World::taped(topology, options, wanted, Digest::default(), tape)?;
    world.plans_take(scenario.planning);
    let members = scenario.members.clone();
    let run = Run {
        scenario,
        sets: SetWatch::start(&mut world.emulator),
        prepared: UsedLevels::of(world.manager()).prepared(),
        mixed: false,
        world,
        groups: members.iter().flat_map(|one| one.last.clone()).collect(),
        secured: members.and_then(|one| one.secured).into_iter().collect(),
        undo: Vec::new(),
        seen_sets: 0,
        breaches: Vec::new(),
        story: Vec::new(),
        events: Vec::new(),
    };
    run.all()
}

/// Settings as a configuration file would give them.
fn settings(scenario: &Scenario) -> Settings {
    let mut settings = Settings::default();
    settings.lids.lmc = Lmc(scenario.lmc);
    settings.routing.engine = scenario.engine;
    settings.routing.adaptive = scenario.adaptive.then(Default::default);
    if let Ok(fabric) = scenario.fabric.parse() {
        settings.routing.mesh.dimensions = grid::dimensions(&fabric);
    }
    settings.sweeps.interval = super::SWEEP_INTERVAL;
    if let Some(members) = &scenario.members {
        members.configure(&mut settings);
    }
    settings
}

impl Run {
    fn all(mut self) -> Result<Outcome, RunError> {
        self.world.multicast(told(&self.groups));
        let ended = self.world.bring_up(CONVERGED_WITHIN)?;
        self.in_time(ended, "the first sweep");
        self.converge("bring-up")?;
        for (number, round) in self.scenario.rounds.clone().into_iter().enumerate() {
            self.tell(format!("round {number}: {:?}", round.step));
            self.round(&round)?;
            self.converge(&format!("round {number}"))?;
            self.judge_free_drains(&format!("after round {number}"));
            if !self.breaches.is_empty() {
                break;
            }
        }
        let Self {
            scenario,
            world,
            breaches,
            story,
            events,
            ..
        } = self;
        Ok(Outcome {
            datagrams: world.tap.value(),
            scenario,
            breaches,
            story,
            events,
        })
    }

    fn tell(&mut self, what: String) {
        self.story.push((self.world.now(), what));
    }

    /// Notes broken rules, saying when; of one moment the first few.
    fn broken(&mut self, when: &str, breaches: Vec<Breach>) {
        let now = self.world.now().0;
        let dated = breaches
            .into_iter()
            .take(BREACHES_MAX)
            .map(|breach| Breach {
                what: format!("{when}, at {now} ns: {}", breach.what),
                ..breach
            });
        self.breaches.extend(dated);
    }

    /// I9: what does not end in time is a breach.
    fn in_time(&mut self, wait: Wait, what: &str) {
        let breach = judge::in_time(wait, what);
        self.broken("waiting", breach.into_iter().collect());
    }

    fn broke(&mut self, when: &str, invariant: Invariant, what: String) {
        self.broken(when, vec![Breach::new(invariant, what)]);
    }

    /// Everything that must hold in a quiet fabric.
    fn judge(&self) -> Vec<Breach> {
        let mut breaches = judge::quiet(&self.world, &self.groups, &self.secured);
        if !self.mixed {
            breaches.extend(judge::levels(&self.world));
        }
        if !self.mixed && !self.says_answers_are_left_out() {
            breaches.extend(judge::answers(&self.world));
        }
        breaches
    }

    /// Whether the last sweep reports that answers on the level of the request may close a credit cycle.
    fn says_answers_are_left_out(&self) -> bool {
        let reports = self
            .events
            .iter()
            .rev()
            .filter_map(|(_, event)| match event {
                Event::SweepEnded(report) => Some(report),
                _ => None,
            });
        let last = reports
            .map(|report| report.routing.contains("; answers on "))
            .next();
        last.unwrap_or(false)
    }

    fn in_force(&self) -> InForce {
        let view = judge::view(&self.world);
        let switches = view.nodes.into_iter().filter(|node| node.switch);
        let tables: Tables = switches.map(|node| (node.guid, node.lft)).collect();
        InForce {
            arrangement: self.world.manager().arrangement(),
            engine: self.world.manager().status().engine,
            tables,
        }
    }
}
