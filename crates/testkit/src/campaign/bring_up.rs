//! Bring-up under fire: faults on the wire and dying links while the fabric comes up, then quiet,
//! in which it must converge, then a restart, after which it must be the same.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use weft_emulator::{Options, io as emulated};
use weft_fabric::generate::FabricSpec;
use weft_fabric::{Guid, Lid, Lmc, PortRef, Tick, Topology};
use weft_manager::io::{Command, Event};
use weft_manager::sm::Settings;
use weft_routing::EngineKind;

use super::DigestedWorld;
use super::judge;
use super::members::told;
use super::scenario::Scenario;
use super::watch::SetWatch;
use crate::digest::Digest;
use crate::oracle::multicast::Group;
use crate::oracle::partitions::Secured;
use crate::oracle::storm::{self, Budget, Clean};
use crate::oracle::{Breach, Invariant, lids, multicast, quiet, reach};
use crate::tape::Tape;
use crate::world::{Wait, World, WorldError, first_host};

/// I9: from the last fault to a fabric in which everything holds. One sweep may have begun just before
/// the last fault and see timeouts to its end; the next finds quiet.
pub const CONVERGED_WITHIN: Duration = Duration::from_secs(30);
/// From a change of members in a quiet fabric to tables that serve them, beside the time that their plan
/// takes.
const SERVED_WITHIN: Duration = Duration::from_millis(100);
/// Interval at which I2 is checked while faults last, besides after every Set: links that come up again lead where
/// tables still send.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Result of a seed.
#[derive(Debug)]
pub struct Outcome {
    /// The scenario drawn from it.
    pub scenario: Scenario,
    /// Every rule that was broken.
    pub breaches: Vec<Breach>,
    /// When everything held after the last fault.
    pub converged: Option<Duration>,
    /// Sweeps until then.
    pub sweeps: u64,
    /// Requests that came in at the emulator's door until then.
    pub sent: u64,
    /// Requests of the sweep that sent most, over those of the first sweep of the same fabric without faults.
    pub loudest: f64,
    /// Digest of all datagrams of the manager, with their times.
    pub datagrams: u64,
    /// The manager's events.
    pub events: Vec<(Tick, Event)>,
}

impl Outcome {
    /// Scenario, breaches, the last `events_max` events and how to see it again.
    pub fn describe(&self, events_max: usize) -> String {
        format!(
            "{}{}{}replay: {}\n",
            self.scenario,
            super::breach_lines(&self.breaches),
            super::event_lines(&self.events, events_max),
            super::replay_command("bring-up", self.scenario.seed)
        )
    }
}

/// Why a seed could not be run at all.
#[derive(Debug, Error)]
pub enum RunError {
    /// Its fabric cannot be made.
    #[error("{0}")]
    Fabric(String),
    /// The world broke.
    #[error(transparent)]
    World(#[from] WorldError),
    /// A manager's state, of which an older form is wanted, is of a version that the campaign does not know.
    #[error("the state of manager {0} is of a version of which no older form is known")]
    StateVersion(usize),
    /// Without faults, which everything is compared with, something does not end.
    #[error("without any fault {what} has not ended after {} s", CONVERGED_WITHIN.as_secs())]
    Clean {
        /// The unfinished activity.
        what: &'static str,
    },
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
    let own = own_port(&topology).ok_or(WorldError::NoHost)?;
    let scenario = drawn.with_events(&topology, own);
    let options = Options {
        seed,
        agent_latency_ns: scenario.latency_ns,
        hop_latency_ns: 100,
        faults: scenario.faults,
    };
    let budget = budget(&scenario, &topology)?;
    let wanted = settings(&scenario);
    let mut world = World::taped(topology, options, wanted, Digest::default(), tape)?;
    world.plans_take(scenario.planning);
    Run {
        budget,
        scenario,
        sets: SetWatch::start(&mut world.emulator),
        world,
        groups: None,
        breaches: Vec::new(),
        events: Vec::new(),
    }
    .all()
}

/// Limit of a manager's requests in a scenario: measured without any fault.
fn budget(scenario: &Scenario, topology: &Arc<Topology>) -> Result<Budget, RunError> {
    let wanted = settings(scenario);
    let mut singly = wanted.clone();
    singly.requests.aggregates = false;
    Ok(Budget {
        loss: scenario.faults.loss,
        open_max: wanted.requests.outstanding,
        clean: clean(scenario, topology, wanted)?,
        singly: clean(scenario, topology, singly)?,
    })
}

/// The first sweep of a scenario's fabric, its members there already, and another one.
fn clean(
    scenario: &Scenario,
    topology: &Arc<Topology>,
    settings: Settings,
) -> Result<Clean, RunError> {
    let options = Options {
        agent_latency_ns: scenario.latency_ns,
        hop_latency_ns: 100,
        ..Options::default()
    };
    let mut world = World::new(Arc::clone(topology), options, settings, Digest::default())?;
    let late = |what| RunError::Clean { what };
    if let Some(members) = &scenario.members {
        world.multicast(told(&members.last));
    }
    if world.bring_up(CONVERGED_WITHIN)? == Wait::TimedOut {
        return Err(late("the first sweep"));
    }
    let id = world.command(Command::Sweep);
    let done = world.run_while(CONVERGED_WITHIN, |world| world.reply(id).is_some())?;
    match (done, world.door().sweeps()) {
        (Wait::Done, [first, .., again]) => Ok(Clean {
            first: *first,
            again: *again,
        }),
        _ => Err(late("the second sweep")),
    }
}

pub(super) fn generate(fabric: &str) -> Result<Arc<Topology>, RunError> {
    let spec: FabricSpec = fabric
        .parse()
        .map_err(|error| RunError::Fabric(format!("{error}")))?;
    let topology = spec
        .generate()
        .map_err(|error| RunError::Fabric(format!("{error}")))?;
    Ok(Arc::new(topology))
}

fn own_port(topology: &Topology) -> Option<PortRef> {
    let (guid, port) = first_host(topology)?;
    Some(PortRef {
        node: topology.find(guid)?,
        port,
    })
}

fn settings(scenario: &Scenario) -> Settings {
    let mut settings = Settings::default();
    settings.lids.lmc = Lmc(scenario.lmc);
    settings.routing.engine = match scenario.engine {
        "fattree" => EngineKind::FatTree,
        _ => EngineKind::ShortestPath,
    };
    settings.sweeps.interval = super::SWEEP_INTERVAL;
    if let Some(members) = &scenario.members {
        members.configure(&mut settings);
    }
    settings
}

/// An external change during a run.
enum Change {
    /// Something dies or returns.
    Fabric(emulated::Control),
    /// Members join and leave.
    Members(Vec<Group>),
}

struct Run {
    scenario: Scenario,
    world: DigestedWorld,
    /// Limit of its requests.
    budget: Budget,
    sets: SetWatch,
    /// Members last passed to the manager.
    groups: Option<Vec<Group>>,
    breaches: Vec<Breach>,
    events: Vec<(Tick, Event)>,
}

impl Run {
    fn all(mut self) -> Result<Outcome, RunError> {
        self.under_fire()?;
        let converged = self.converge()?;
        let sweeps = self.world.manager().status().sweep;
        let sent = self.world.door().sent();
        if converged.is_some() {
            self.members_change_in_quiet()?;
            self.unchanged_gets_no_set()?;
            self.restart_keeps_lids()?;
        }
        self.breaches.extend(self.sets.take());
        self.breaches.extend(self.world.take_breaches());
        self.judge_storm();
        let Self {
            scenario,
            world,
            budget,
            breaches,
            events,
            ..
        } = self;
        Ok(Outcome {
            datagrams: world.tap.value(),
            loudest: budget.clean.loudest(world.door()),
            scenario,
            breaches,
            converged,
            sweeps,
            sent,
            events,
        })
    }

    /// Faults on the wire, and the scenario's events at their times.
    fn under_fire(&mut self) -> Result<(), RunError> {
        let controls = self.scenario.events.iter().cloned();
        let members = self
            .scenario
            .members
            .iter()
            .flat_map(|members| members.changes.iter().cloned());
        let mut changes: Vec<(Tick, Change)> = controls
            .map(|(at, control)| (at, Change::Fabric(control)))
            .chain(members.map(|(at, groups)| (at, Change::Members(groups))))
            .collect();
        changes.sort_by_key(|(at, _)| *at);
        for (at, change) in changes {
            self.run_looking(at)?;
            match change {
                Change::Fabric(control) => self.world.control(control)?,
                Change::Members(groups) => self.tell_members(groups),
            }
        }
        self.run_looking(self.scenario.faults_end())?;
        self.world
            .control(emulated::Control::Faults(emulated::Faults::default()))?;
        Ok(())
    }

    /// Runs up to `until` and checks I2 repeatedly.
    fn run_looking(&mut self, until: Tick) -> Result<(), RunError> {
        while self.world.now() < until {
            let next = (self.world.now() + LOOK_EVERY).min(until);
            self.world.run_until(next)?;
            self.events.append(&mut self.world.take_events());
            let now = self.world.now();
            let view = judge::view(&self.world);
            let mut loops = reach::check_loops(&view);
            loops.extend(multicast::check_loops(&view));
            self.breaches.extend(loops.into_iter().map(|breach| Breach {
                what: format!("at {} ns: {}", now.0, breach.what),
                ..breach
            }));
        }
        Ok(())
    }

    /// Everything that must hold in a quiet fabric.
    fn judge(&self) -> Vec<Breach> {
        let members = self.scenario.members.iter();
        let secured: Vec<Secured> = members.filter_map(|one| one.secured.clone()).collect();
        let groups = self.groups.as_deref().unwrap_or_default();
        let mut breaches = judge::quiet(&self.world, groups, &secured);
        breaches.extend(judge::levels(&self.world));
        breaches
    }

    fn tell_members(&mut self, groups: Vec<Group>) {
        self.world.multicast(told(&groups));
        self.groups = Some(groups);
    }

    /// Members that change while nothing else does are served at once.
    fn members_change_in_quiet(&mut self) -> Result<(), RunError> {
        let Some(members) = &self.scenario.members else {
            return Ok(());
        };
        let last = members.last.clone();
        let idle = self
            .world
            .run_while(CONVERGED_WITHIN, |world| world.is_idle())?;
        self.in_time(idle, "the sweep before members change");
        self.tell_members(last);
        let until = self.world.now() + SERVED_WITHIN + self.scenario.planning;
        self.world.run_until(until)?;
        self.events.append(&mut self.world.take_events());
        let broken = self.judge();
        self.breaches
            .extend(broken.into_iter().map(|breach| Breach {
                what: format!("after members changed: {}", breach.what),
                ..breach
            }));
        Ok(())
    }

    /// I9: within its bound there is a moment between sweeps from which on everything holds.
    fn converge(&mut self) -> Result<Option<Duration>, RunError> {
        let start = self.world.now();
        let mut since = None;
        let mut last = Vec::new();
        while self.world.now().since(start) < CONVERGED_WITHIN {
            let next = self.world.now() + Duration::from_millis(250);
            self.world.run_until(next)?;
            self.events.append(&mut self.world.take_events());
            last = self.judge();
            since = since
                .filter(|_| last.is_empty())
                .or(last.is_empty().then(|| self.world.now()));
        }
        let when = format!("{} s after the last fault", CONVERGED_WITHIN.as_secs());
        let late = quiet::check_converged(since.is_some(), last, &when);
        self.breaches.extend(late);
        Ok(since.map(|at| at.since(start)))
    }

    /// Waits for pending work, then requests a sweep, which has to succeed.
    fn forced_sweep(&mut self) -> Result<(), RunError> {
        let idle = self
            .world
            .run_while(CONVERGED_WITHIN, |world| world.is_idle())?;
        self.in_time(idle, "the sweep before the one that is asked for");
        let id = self.world.command(Command::Sweep);
        let mut reply = None;
        let answered = self.world.run_while(CONVERGED_WITHIN, |world| {
            reply = world.reply(id);
            reply.is_some()
        })?;
        self.in_time(answered, "the sweep that is asked for");
        self.events.append(&mut self.world.take_events());
        if let Some(Err(error)) = reply {
            let what = format!("the forced sweep of a quiet fabric failed: {error}");
            self.breaches.push(Breach::new(Invariant::Converged, what));
        }
        Ok(())
    }

    /// I9: what does not end in time is a breach.
    fn in_time(&mut self, wait: Wait, what: &str) {
        self.breaches.extend(judge::in_time(wait, what));
    }

    /// I8.
    fn unchanged_gets_no_set(&mut self) -> Result<(), RunError> {
        let before = self.world.emulator.stats().sets_total();
        self.forced_sweep()?;
        let again = self.world.door().sweeps().last().copied();
        self.breaches
            .extend(storm::check_again(again, &self.budget));
        let sets = self.world.emulator.stats().sets_total() - before;
        let needless = quiet::check_unwritten(sets, "in a sweep of an unchanged fabric");
        self.breaches.extend(needless);
        Ok(())
    }

    /// I5 over a restart, and everything else again.
    fn restart_keeps_lids(&mut self) -> Result<(), RunError> {
        let before = self.lids();
        self.world.restart(settings(&self.scenario))?;
        if let Some(groups) = self.groups.clone() {
            self.tell_members(groups);
        }
        let ended = self.world.bring_up(CONVERGED_WITHIN)?;
        self.in_time(ended, "the first sweep after a restart");
        self.events.append(&mut self.world.take_events());
        self.breaches
            .extend(lids::check_stable(&before, &self.lids()));
        let broken = self.judge();
        self.breaches
            .extend(broken.into_iter().map(|breach| Breach {
                what: format!("after a restart: {}", breach.what),
                ..breach
            }));
        Ok(())
    }

    fn lids(&self) -> BTreeMap<Guid, Lid> {
        lids::by_guid(&judge::view(&self.world))
    }

    /// I10, by what came in at the emulator's door.
    fn judge_storm(&mut self) {
        let storms = storm::check(self.world.door(), &self.budget);
        self.breaches.extend(storms);
    }
}
