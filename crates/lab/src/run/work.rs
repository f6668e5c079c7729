//! The cases, several at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use weft_lab::experiment::outcome_store::{OutcomeStore, key};
use weft_lab::experiment::{Case, Outcome, perform};

use super::left::{self, Taken};
use super::state::Kept;
use super::{Arguments, Experiment};

/// Progress of the workers.
struct Progress {
    bar: ProgressBar,
    kept: Mutex<Kept>,
    failed: Mutex<Option<String>>,
    begun: Instant,
    /// The cases that have ended here, none before the first has.
    ended: Mutex<Option<Ended>>,
    /// Cases without an outcome at the beginning.
    open: usize,
    jobs: usize,
}

/// What the cases that have ended tell of the others.
#[derive(Default)]
struct Ended {
    cases: usize,
    packet_hops: u64,
    taken: Taken,
}

impl Progress {
    /// Until the first case has ended, the one that began last is shown.
    fn begin(&self, case: &str) {
        if lock(&self.ended).is_none() {
            self.bar.set_message(case.to_owned());
        }
    }

    fn finish(&self, key: String, outcome: Outcome, taken: Duration) {
        self.bar.inc(1);
        self.tell(outcome.hops, taken);
        let added = lock(&self.kept).add(key, outcome);
        if let Err(error) = added {
            self.fail(error);
        }
    }

    /// Tells the rate of all cases together and the time left.
    fn tell(&self, packet_hops: u64, taken: Duration) {
        let mut ended = lock(&self.ended);
        if ended.is_none() {
            set_template(&self.bar, LATER);
        }
        let ended = ended.get_or_insert_default();
        ended.cases += 1;
        ended.packet_hops += packet_hops;
        ended.taken.add(taken);
        let seconds = self.begun.elapsed().as_secs_f64().max(1e-3);
        let rate = ended.packet_hops as f64 / seconds / 1e6;
        let left = self.open.saturating_sub(ended.cases);
        let left = left::words(ended.taken.left(left, self.jobs));
        self.bar.set_message(format!("{rate:.1} M hops/s, {left}"));
    }

    fn fail(&self, error: String) {
        lock(&self.failed).get_or_insert(error);
    }
}

/// A thread that died while it held the lock has ended the run anyway.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A case and the key under which its outcome is stored.
pub(super) struct Work<'a> {
    pub(super) case: &'a Case,
    pub(super) key: String,
}

/// All cases of all experiments, in their order.
pub(super) fn all(experiments: &[Experiment], seed: u64) -> Vec<Vec<Work<'_>>> {
    let work = |case| Work {
        case,
        key: key(case, seed),
    };
    let scenarios = experiments.iter().map(|experiment| &experiment.scenario);
    scenarios
        .map(|one| one.cases.iter().map(work).collect())
        .collect()
}

/// Outcomes of all cases of all experiments, in their order whatever the number of jobs.
pub(super) fn outcomes(
    all: &[Vec<Work<'_>>],
    found: OutcomeStore,
) -> Result<Vec<Vec<Outcome>>, String> {
    let found: BTreeMap<String, Outcome> = found.0.into_iter().collect();
    let outcome = |work: &Work<'_>| {
        let outcome = found.get(&work.key).cloned();
        outcome.ok_or_else(|| format!("nothing came of case {:?}", work.case.name))
    };
    let outcomes = |of: &Vec<Work<'_>>| of.iter().map(outcome).collect();
    all.iter().map(outcomes).collect()
}

/// Cases, each once: two may differ in nothing that their outcome depends on.
pub(super) fn distinct<'a>(all: &'a [Vec<Work<'a>>]) -> Vec<&'a Work<'a>> {
    let mut seen = BTreeSet::new();
    let all = all.iter().flatten();
    all.filter(|work| seen.insert(&work.key)).collect()
}

/// Performs the cases without a stored outcome, and returns all outcomes; each is kept as it comes.
pub(super) fn perform_open(
    all: &[&Work<'_>],
    arguments: &Arguments,
    kept: Kept,
) -> Result<OutcomeStore, String> {
    let is_open = |work: &&Work<'_>| kept.outcomes.get(&work.key).is_none();
    let open: Vec<&Work<'_>> = all.iter().copied().filter(is_open).collect();
    let progress = Progress {
        bar: bar(all.len(), all.len() - open.len()),
        kept: Mutex::new(kept),
        failed: Mutex::new(None),
        begun: Instant::now(),
        ended: Mutex::new(None),
        open: open.len(),
        jobs: usize::from(arguments.jobs),
    };
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(Work { case, key }) = open.get(next.fetch_add(1, Ordering::Relaxed)) {
            if lock(&progress.failed).is_some() {
                return;
            }
            progress.begin(&case.name);
            let begun = Instant::now();
            match perform(case, arguments.seed, usize::from(arguments.threads)) {
                Ok(outcome) => progress.finish(key.clone(), outcome, begun.elapsed()),
                Err(error) => progress.fail(format!("case {:?}: {error}", case.name)),
            }
        }
    };
    std::thread::scope(|scope| (0..arguments.jobs).for_each(|_| drop(scope.spawn(work))));
    progress.bar.finish_and_clear();
    if let Some(error) = lock(&progress.failed).take() {
        return Err(error);
    }
    let kept = progress.kept.into_inner();
    let kept = kept.unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(kept.outcomes)
}

/// Before the first case has ended nothing is known of their time.
const AT_FIRST: &str = "{bar:20} {pos} of {len} cases, {elapsed} gone, at work on {wide_msg}";
/// Packets times the links that they crossed, a second, and the time left.
const LATER: &str = "{bar:20} {pos} of {len} cases, {elapsed} gone, {wide_msg}";

/// On a terminal only; it hides itself elsewhere.
fn bar(all: usize, done: usize) -> ProgressBar {
    let bar = ProgressBar::new(all as u64).with_message("the first");
    set_template(&bar, AT_FIRST);
    bar.set_position(done as u64);
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_secs(1));
    }
    bar
}

fn set_template(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}
