//! Two or three managers on one fabric, while they, their hosts and links die and return and
//! datagrams are lost: after each round, without faults, every connected fabric has exactly one master,
//! whose routes hold; a manager that is not master never writes, and no Set closes a circle, unless
//! another manager writes at the same time.

mod scenario;

use std::sync::Arc;
use std::time::Duration;

use weft_emulator::{Options, io as emulated};
use weft_fabric::Tick;
use weft_fabric::generate::FabricSpec;
use weft_manager::Manager;
use weft_manager::io::Event;
use weft_manager::sm::Settings;

pub use scenario::{Candidate, Round, Scenario, Trouble};

use super::bring_up::RunError;
use super::parts;
use super::watch::SetWatch;
use crate::cluster::Cluster;
use crate::oracle::masters::IN_FLIGHT_MAX;
use crate::oracle::{Breach, lids, masters, quiet, reach, tables};
use crate::view::FabricView;

/// I9: from the end of a round's trouble to one master whose routes hold. A dead master is found out
/// within 10 s, two masters meet within a sweep interval, and a handover that failed is tried again a
/// minute later.
pub const CONVERGED_WITHIN: Duration = Duration::from_secs(90);
/// I7: from the end of a round's trouble, or from when two fabrics are joined, managers may take turns to
/// write for so long: each learns of the other in a sweep of its own, and the one hands over.
const CONTENDED_WITHIN: Duration = Duration::from_secs(25);
/// I8: the last part of a quiet time, in which nothing is written any more.
const STILL: Duration = Duration::from_secs(15);

/// Result of a seed.
#[derive(Debug)]
pub struct Outcome {
    /// The scenario drawn from it.
    pub scenario: Scenario,
    /// Every rule that was broken.
    pub breaches: Vec<Breach>,
    /// For each round, when everything held after its trouble.
    pub converged: Vec<Duration>,
    /// Digest of all datagrams of the managers, with their times.
    pub datagrams: u64,
    /// The managers' events, with their numbers.
    pub events: Vec<(Tick, usize, Event)>,
}

impl Outcome {
    /// Scenario, breaches, the managers' events about the election and their sweeps, and the command that
    /// replays it.
    pub fn describe(&self) -> String {
        let telling = |(_, _, event): &&(Tick, usize, Event)| {
            matches!(event, Event::Role { .. } | Event::SweepEnded(_))
        };
        let events = self.events.iter().filter(telling);
        let events = events.map(|(at, number, event)| {
            super::dated_line(*at, format_args!("manager {number}: {}", short(event)))
        });
        format!(
            "{}{}{}replay: {}\n",
            self.scenario,
            super::breach_lines(&self.breaches),
            events.collect::<String>(),
            super::replay_command("election", self.scenario.seed)
        )
    }
}

fn short(event: &Event) -> String {
    match event {
        Event::SweepEnded(report) => format!(
            "sweep {} ({:?}) ended as {}, {} sets, unfinished {:?}",
            report.number, report.reason, report.role, report.sets, report.unfinished
        ),
        other => format!("{other:?}"),
    }
}

/// Runs one seed.
///
/// # Errors
/// [`RunError`] when it cannot be run to its end.
pub fn run(seed: u64) -> Result<Outcome, RunError> {
    let fabric = Scenario::fabric(seed);
    let refused = |error: String| RunError::Fabric(error);
    let spec: FabricSpec = fabric
        .parse()
        .map_err(|error: weft_fabric::SpecError| refused(error.to_string()))?;
    let topology = spec
        .generate()
        .map_err(|error| refused(error.to_string()))?;
    let topology = Arc::new(topology);
    let scenario = Scenario::draw(seed, &topology);
    let hosts = scenario.candidates.iter().map(|candidate| {
        let settings = settings(candidate);
        (candidate.host, settings)
    });
    let options = Options {
        seed,
        agent_latency_ns: 20_000,
        hop_latency_ns: 100,
        ..Options::default()
    };
    let mut cluster = Cluster::new(topology, options, hosts.collect())?;
    Run {
        scenario,
        sets: SetWatch::start(&mut cluster.emulator),
        cluster,
        settled: false,
        breaches: Vec::new(),
        converged: Vec::new(),
        events: Vec::new(),
    }
    .all()
}

fn settings(candidate: &Candidate) -> Settings {
    let mut settings = Settings::default();
    settings.sweeps.interval = super::SWEEP_INTERVAL;
    settings.election.priority = candidate.priority;
    settings.election.elevated_priority = candidate.elevated;
    settings
}

struct Run {
    scenario: Scenario,
    cluster: Cluster,
    sets: SetWatch,
    /// Since the last trouble everything has held at some moment: managers know each other.
    settled: bool,
    breaches: Vec<Breach>,
    converged: Vec<Duration>,
    events: Vec<(Tick, usize, Event)>,
}

impl Run {
    fn all(mut self) -> Result<Outcome, RunError> {
        for number in 0..self.scenario.rounds.len() {
            self.trouble(number)?;
            self.quiet(number)?;
        }
        let Self {
            scenario,
            cluster,
            breaches,
            converged,
            events,
            ..
        } = self;
        Ok(Outcome {
            datagrams: cluster.datagrams(),
            scenario,
            breaches,
            converged,
            events,
        })
    }

    fn trouble(&mut self, number: usize) -> Result<(), RunError> {
        let round = self.scenario.rounds[number].clone();
        let start = self.cluster.now().0;
        self.settled = false;
        self.cluster
            .control(emulated::Control::Faults(round.faults))?;
        for (at, trouble) in &round.events {
            self.run_until(Tick(start + at))?;
            self.make(trouble)?;
        }
        self.run_until(Tick(start + round.trouble_ns()))?;
        self.cluster
            .control(emulated::Control::Faults(emulated::Faults::default()))?;
        Ok(())
    }

    fn make(&mut self, trouble: &Trouble) -> Result<(), RunError> {
        let cluster = &mut self.cluster;
        match trouble {
            Trouble::Start(member) => cluster.start(*member)?,
            Trouble::Kill(member) => cluster.kill(*member)?,
            Trouble::Freeze(member) => cluster.freeze(*member),
            Trouble::Thaw(member) => cluster.thaw(*member),
            Trouble::PowerOff(member) => cluster.power(*member, false)?,
            Trouble::PowerOn(member) => {
                cluster.power(*member, true)?;
                cluster.start(*member)?;
            }
            Trouble::Fabric(control) => cluster.control(control.clone())?,
        }
        Ok(())
    }

    /// Runs, and records events, forbidden writes and circles.
    fn run_until(&mut self, until: Tick) -> Result<(), RunError> {
        self.cluster.run_until(until)?;
        self.events.append(&mut self.cluster.take_events());
        self.breaches.extend(parts::illegal(&mut self.cluster));
        let circles = self.sets.take_circles().into_iter();
        let closed = circles.filter(|circle| {
            self.settled
                || !parts::could_not_know(&self.cluster, &self.events, circle, IN_FLIGHT_MAX)
        });
        let closed: Vec<Breach> = closed.map(|circle| circle.breach).collect();
        self.breaches.extend(closed);
        Ok(())
    }

    /// I9: within its bound there is a moment from which on everything holds; I8: then nothing more
    /// is written.
    fn quiet(&mut self, number: usize) -> Result<(), RunError> {
        let start = self.cluster.now();
        // A round's trouble is shorter than the time allowed for two managers to find each other: writes
        // during it are checked by roles alone.
        drop(self.cluster.take_writes());
        let (mut since, mut last) = (None, Vec::new());
        let mut sets = 0;
        while self.cluster.now().since(start) < CONVERGED_WITHIN {
            self.run_until(self.cluster.now() + Duration::from_millis(500))?;
            last = parts::judge(&self.cluster, judge_part);
            let now = self.cluster.now();
            since = since
                .filter(|_| last.is_empty())
                .or(last.is_empty().then_some(now));
            self.settled = since.is_some();
            if now.since(start) <= CONVERGED_WITHIN - STILL {
                sets = self.cluster.emulator.stats().sets_total();
            }
        }
        let writes = self.cluster.take_writes();
        self.breaches
            .extend(masters::check(&writes, CONTENDED_WITHIN));
        let when = format!("in the quiet after round {number}");
        let late = quiet::check_converged(since.is_some(), last, &when);
        self.breaches.extend(late);
        let Some(at) = since else {
            return Ok(());
        };
        let more = self.cluster.emulator.stats().sets_total() - sets;
        let needless = quiet::check_unwritten(more, &format!("at the end, {when}"));
        self.breaches.extend(needless);
        self.converged.push(at.since(start));
        Ok(())
    }
}

/// What must hold of the part of a fabric that a master runs.
fn judge_part(view: &FabricView, root: usize, master: &Manager) -> Vec<Breach> {
    let mut breaches = reach::check_reachable(view, root);
    breaches.extend(lids::check(view, root));
    breaches.extend(tables::check(view, root, &master.snapshot()));
    breaches
}
