//! One case from beginning to end.

use std::borrow::Cow;

use thiserror::Error;
use weft_dataplane::packets::Picos;
use weft_dataplane::traffic::Histogram;
use weft_fabric::GenerateError;

use super::intervals::Intervals;
use super::links::LinkUse;
use super::measure::Stage;
use super::scenario::{Case, Scenario, Swept, Traffic};
use super::{stage, stream};
use weft_testkit::world::WorldError;

/// Why a case has no result.
#[derive(Debug, Error)]
pub enum ExperimentError {
    /// The fabric cannot be made.
    #[error(transparent)]
    Fabric(#[from] GenerateError),
    /// Manager and emulator cannot go on.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The manager has not brought the fabric up.
    #[error("the fabric is not up after {seconds} s")]
    NotUp {
        /// Virtual seconds waited.
        seconds: u64,
    },
    /// A device does not take its congestion control.
    #[error("congestion control: {what}")]
    Refused {
        /// The query and its answer.
        what: String,
    },
    /// There are no such hosts.
    #[error("hosts: {what}")]
    Hosts {
        /// Why.
        what: String,
    },
    /// There are no such pairs of ranks.
    #[error("pairs: {what}")]
    Pairs {
        /// Why.
        what: String,
    },
    /// A collective cannot be called so.
    #[error("{what}")]
    Traffic {
        /// Why.
        what: String,
    },
    /// A fault of a part that does not exist.
    #[error("fault: {what}")]
    Fault {
        /// The missing part.
        what: String,
    },
    /// The traffic has not ended within the limit.
    #[error("not ended after {millis} ms of virtual time, {lost} packets lost")]
    NotEnded {
        /// The limit, or when nothing was left to happen.
        millis: u128,
        /// Packets that were dropped.
        lost: u64,
    },
    /// Packets wait for each other in a circle.
    #[error(
        "after {millis} ms of virtual time packets wait for each other; credit loop: {}",
        loop_.join(", ")
    )]
    Deadlock {
        /// When.
        millis: u128,
        /// The ports and lanes that each wait for the next one.
        loop_: Vec<String>,
    },
}

/// Something that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// Name of the metric.
    pub metric: Cow<'static, str>,
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: Cow<'static, str>,
    /// The least and the most of several runs; none of a single one.
    pub spread: Option<(f64, f64)>,
}

/// Outcome of a case.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// All that was measured.
    pub measurements: Vec<Measurement>,
    /// Loads of links in the last half of the run, the busiest first, as many as the case asks for.
    pub links: Vec<LinkUse>,
    /// Links, packets and jobs in each interval, if the case asks for that.
    pub intervals: Intervals,
    /// Each rank of the case's own messages and of each named job's, in order.
    pub ranks: Vec<RankUse>,
    /// The first messages that came, as many as the case asks for.
    pub messages: Vec<MessageUse>,
    /// Times of the case's own messages or packets, and of each named job's.
    pub latencies: Vec<Latencies>,
    /// Virtual time that the run took.
    pub span: Picos,
    /// Method of sending messages, if that can differ.
    pub method: Option<String>,
    /// Links crossed by packets.
    pub hops: u64,
    /// Packets dropped.
    pub lost: u64,
    /// Routes that switches moved.
    pub moved: u64,
}

/// What became of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankUse {
    /// Name of its job; none for the case's own traffic.
    pub job: Option<String>,
    /// Its number in that.
    pub rank: u32,
    /// From the beginning until its last operation was over, of traffic from a file; else until the last message came that
    /// it sent or received.
    pub time: Picos,
    /// Bytes of the messages that it sent.
    pub sent: u64,
    /// Bytes of those that it received.
    pub received: u64,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageUse {
    /// Name of its job; none for the case's own traffic.
    pub job: Option<String>,
    /// Its sender in that.
    pub from: u32,
    /// Its receiver.
    pub to: u32,
    /// Its bytes.
    pub bytes: u64,
    /// When it was handed over, since the case's own traffic began.
    pub begun: Picos,
    /// Time from there until the receiver had all of it.
    pub time: Picos,
}

/// Percentiles of times that are told.
pub const PERCENTILES: [f64; 6] = [50.0, 90.0, 99.0, 99.9, 99.99, 100.0];

/// How long messages took from handing over to the moment at which the receiver has all of it, or packets until they
/// were delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latencies {
    /// Name of the job; none for the case's own traffic.
    pub job: Option<String>,
    /// How often each time occurred; of several runs all together.
    pub histogram: Histogram,
}

/// Those of the cases that ask for them, with the name of the case and of the job.
pub(super) fn asked_latencies<'a>(
    scenario: &'a Scenario,
    outcomes: &'a [Outcome],
) -> impl Iterator<Item = (String, &'a Histogram)> {
    let cases = scenario.cases.iter().zip(outcomes);
    let cases = cases.filter(|(case, _)| case.latencies);
    let all = cases.flat_map(|(case, outcome)| outcome.latencies.iter().map(move |of| (case, of)));
    all.map(|(case, of)| {
        let name = match &of.job {
            Some(job) => format!("{}, {job}", case.name),
            None => case.name.clone(),
        };
        (name, &of.histogram)
    })
}

impl Latencies {
    /// None where nothing has come.
    pub(super) fn new(job: Option<&str>, histogram: Histogram) -> Option<Self> {
        let job = job.map(str::to_owned);
        (histogram.count() > 0).then_some(Self { job, histogram })
    }
}

impl Outcome {
    /// A measurement by its name.
    pub fn get(&self, metric: &str) -> Option<&Measurement> {
        self.measurements.iter().find(|one| one.metric == metric)
    }
}

/// Runs a case the requested number of times, each time with the next seed; equal seeds give equal
/// results. Packets by a pattern use `threads` threads, which affects only the run
/// time; messages between ranks use one.
///
/// # Errors
/// [`ExperimentError`] when the fabric does not come up or the traffic does not end.
pub fn perform(case: &Case, seed: u64, threads: usize) -> Result<Outcome, ExperimentError> {
    let seeds = (0..case.runs.max(1)).map(|run| seed.wrapping_add(u64::from(run)));
    let runs: Result<Vec<Outcome>, _> = seeds
        .map(|seed| perform_once(case, seed, threads))
        .collect();
    Ok(combine(runs?))
}

fn perform_once(case: &Case, seed: u64, threads: usize) -> Result<Outcome, ExperimentError> {
    let staged = stage::set(case, seed)?;
    let ran = match case.traffic {
        Traffic::Stream { .. } => stream::run(case, staged, seed, threads)?,
        _ => Stage::new(case, staged, seed)?.run(),
    };
    let mut measurements = match ran.measurements {
        Err(ExperimentError::NotEnded { .. } | ExperimentError::Deadlock { .. })
            if case.may_not_end =>
        {
            vec![measurement("ended", 0.0, "")]
        }
        Ok(measurements) if case.may_not_end => {
            let ended = measurement("ended", 1.0, "");
            std::iter::once(ended).chain(measurements).collect()
        }
        other => other?,
    };
    let totals = ran.totals;
    let is_disturbed = !case.beside.is_empty() || !case.faults.is_empty();
    if is_disturbed || case.may_not_end {
        let lost = totals.lost - ran.before.lost;
        let ended = lost + totals.delivered - ran.before.delivered;
        let share = 1e6 * lost as f64 / ended.max(1) as f64;
        measurements.push(measurement("discards", lost as f64, "packets"));
        measurements.push(measurement("discarded", share, "ppm"));
    }
    measurements.extend(ran.reprogrammed);
    if case.manager.congestion.control.enable {
        measurements.push(measurement("marked", ran.marked as f64, "packets"));
    }
    Ok(Outcome {
        measurements,
        links: ran.links,
        intervals: ran.intervals,
        ranks: ran.ranks,
        messages: ran.messages,
        latencies: ran.latencies,
        method: ran.method,
        span: ran.span,
        hops: totals.hops,
        lost: totals.lost,
        moved: ran.moved,
    })
}

/// The first run, or the first that ended if any did, with the median for each of its metrics of all
/// runs that have it; of counts (which are often zero) the mean.
fn combine(mut runs: Vec<Outcome>) -> Outcome {
    if runs.is_empty() {
        return Outcome::default();
    }
    let ended = |run: &Outcome| run.get("ended").is_none_or(|ended| ended.value > 0.0);
    let mut first = runs.remove(runs.iter().position(ended).unwrap_or(0));
    for one in runs.iter().flat_map(|run| &run.latencies) {
        let known = first.latencies.iter_mut();
        match known.into_iter().find(|known| known.job == one.job) {
            Some(known) => known.histogram.merge(&one.histogram),
            None => first.latencies.push(one.clone()),
        }
    }
    for one in &mut first.measurements {
        let others = runs.iter().filter_map(|run| run.get(&one.metric));
        let mut values: Vec<f64> = others.map(|other| other.value).collect();
        values.push(one.value);
        one.spread = spread(&values);
        one.value = if COUNTED.contains(&one.metric.as_ref()) {
            values.iter().sum::<f64>() / values.len() as f64
        } else {
            median(values)
        };
    }
    first
}

/// The least and the most of several values.
fn spread(values: &[f64]) -> Option<(f64, f64)> {
    let least = values.iter().copied().reduce(f64::min);
    let most = values.iter().copied().reduce(f64::max);
    least.zip(most).filter(|_| values.len() > 1)
}

/// Metrics that count.
const COUNTED: [&str; 4] = ["ended", "discards", "discarded", "marked"];

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
}

/// Runs all cases, and compares those that name a baseline with it; `begin` is called for each one.
///
/// # Errors
/// The name of the case that failed, and why.
pub fn perform_all(
    scenario: &Scenario,
    seed: u64,
    mut begin: impl FnMut(usize, &Case),
) -> Result<Vec<Outcome>, (String, ExperimentError)> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    for (index, case) in scenario.cases.iter().enumerate() {
        begin(index, case);
        let outcome = perform(case, seed, 1);
        outcomes.push(outcome.map_err(|error| (case.name.clone(), error))?);
    }
    compare(scenario, &mut outcomes);
    Ok(outcomes)
}

/// Adds to each case that names a baseline how it compares with it: `shorter` for times and
/// latencies, `of_baseline` for bandwidths; `step` where one was published; and the metrics that a program has added.
pub fn compare(scenario: &Scenario, outcomes: &mut [Outcome]) {
    for index in 0..outcomes.len().min(scenario.cases.len()) {
        let case = &scenario.cases[index];
        let part = |there: Option<usize>, metric: &str| {
            let there = outcomes.get(there?)?.get(metric)?.value;
            let here = outcomes[index].get(metric)?.value;
            (there != 0.0).then(|| here / there)
        };
        let base = baseline(scenario, case);
        let of = |metric: &str| part(base, metric);
        let shorter = of("time").or_else(|| of("latency"));
        let shorter = shorter.map(|part| measurement("shorter", 100.0 * (1.0 - part), "%"));
        let share = of("bandwidth").or_else(|| of("bisection"));
        let share = share.map(|part| measurement("of_baseline", 100.0 * part, "%"));
        let step = part(before_step(scenario, case), "messages");
        let step = step.map(|part| measurement("step", 100.0 * (part - 1.0), "%"));
        let found: Vec<Measurement> = [shorter, share, step].into_iter().flatten().collect();
        outcomes[index].measurements.extend(found);
        let outcome = &outcomes[index];
        let added = scenario.metrics.0.iter().filter_map(|metric| {
            let value = metric.of(outcome).filter(|value| value.is_finite())?;
            Some(measurement(metric.name(), value, metric.unit()))
        });
        let added: Vec<Measurement> = added.collect();
        outcomes[index].measurements.extend(added);
    }
}

/// If a step was published, the case at the previous value on its curve over what is swept first.
fn before_step(scenario: &Scenario, case: &Case) -> Option<usize> {
    (case.published.iter()).find(|figure| figure.metric == "step")?;
    let here = case.point.as_ref()?;
    let cases = scenario.cases.iter().enumerate();
    let before = cases.filter_map(|(index, other)| {
        let there = other.point.as_ref()?;
        let word = &here.first.word;
        let is_before = there.curve(word) == here.curve(word)
            && other.constant() == case.constant()
            && there.first.value < here.first.value;
        is_before.then_some((there.first.value, index))
    });
    let last = before.max_by(|(one, _), (other, _)| one.total_cmp(other));
    last.map(|(_, index)| index)
}

/// The case that a case is compared with: the one of that name, or of those that are swept under that name the
/// one with the same values. Both assume the same, but for a constant that the baseline sets itself.
fn baseline(scenario: &Scenario, case: &Case) -> Option<usize> {
    let name = case.baseline.as_ref()?;
    let here = |word: &str| case.point.as_ref()?.value(word);
    let is_there = |other: &Case| {
        other.point.as_ref().is_some_and(|there| {
            let same = there.all().all(|one| here(&one.word) == Some(one.value));
            there.series == *name && same
        })
    };
    let is_named = |other: &Case| other.point.is_none() && other.written_name() == name;
    let find = |constant: Option<&Swept>| {
        let matches = |is_meant: &dyn Fn(&Case) -> bool| {
            let mut cases = scenario.cases.iter();
            cases.position(|other| other.constant() == constant && is_meant(other))
        };
        matches(&is_there).or_else(|| matches(&is_named))
    };
    find(case.constant()).or_else(|| find(None))
}

/// Measurements of a job.
pub(super) fn named(
    name: &str,
    measured: impl IntoIterator<Item = Measurement>,
) -> impl Iterator<Item = Measurement> {
    measured.into_iter().map(move |one| Measurement {
        metric: Cow::Owned(format!("{name}.{}", one.metric)),
        ..one
    })
}

pub(super) fn measurement(metric: &'static str, value: f64, unit: &'static str) -> Measurement {
    Measurement {
        metric: Cow::Borrowed(metric),
        value,
        unit: Cow::Borrowed(unit),
        spread: None,
    }
}
