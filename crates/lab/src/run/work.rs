//! The cases, several at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::experiment::outcome_store::{OutcomeStore, key};
use crate::experiment::{Case, Outcome, perform};
use indicatif::{ProgressBar, ProgressStyle};

use super::left::{self, CASES_MIN, Taken};
use super::seen::Seen;
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
    /// The bar has the cases of all parts, of which this is one.
    is_part: bool,
    /// Threads at work.
    at_work: AtomicUsize,
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
        if !self.is_part {
            self.bar.inc(1);
        }
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
            let later = if self.is_part { LATER_OF_ALL } else { LATER };
            set_template(&self.bar, later);
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

    /// Shows what all parts have performed, until this one has ended.
    fn follow(&self, mut seen: Seen) {
        while self.at_work.load(Ordering::Relaxed) > 0 {
            // What cannot be read now may be the next time; nothing but the bar depends on it.
            if let Ok(count) = seen.look() {
                self.bar.set_position(count as u64);
            }
            std::thread::sleep(LOOK);
        }
    }

    fn fail(&self, error: String) {
        lock(&self.failed).get_or_insert(error);
    }
}

/// A thread at work, which is so no longer when this goes, also by a panic.
struct Leaving<'a>(&'a AtomicUsize);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
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

/// Performs the cases without a stored outcome, and returns all outcomes; each is kept as it comes. The bar has these
/// cases, or those of all parts as they are `seen`, which are so many.
pub(super) fn perform_open(
    all: &[&Work<'_>],
    arguments: &Arguments,
    kept: Kept,
    seen: Option<(Seen, usize)>,
) -> Result<OutcomeStore, String> {
    let is_open = |work: &&Work<'_>| kept.outcomes.get(&work.key).is_none();
    let open: Vec<&Work<'_>> = all.iter().copied().filter(is_open).collect();
    let progress = Progress {
        bar: match &seen {
            None => bar(all.len(), all.len() - open.len(), AT_FIRST),
            Some((_, cases)) => bar(*cases, 0, AT_FIRST_OF_ALL),
        },
        is_part: seen.is_some(),
        at_work: AtomicUsize::new(usize::from(arguments.jobs)),
        kept: Mutex::new(kept),
        failed: Mutex::new(None),
        begun: Instant::now(),
        ended: Mutex::new(None),
        open: open.len(),
        jobs: usize::from(arguments.jobs),
    };
    let next = AtomicUsize::new(0);
    let one_after_the_other = || {
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
    let work = || {
        let _leaving = Leaving(&progress.at_work);
        one_after_the_other();
    };
    std::thread::scope(|scope| {
        (0..arguments.jobs).for_each(|_| drop(scope.spawn(work)));
        if let Some((seen, _)) = seen.filter(|_| !progress.bar.is_hidden()) {
            progress.follow(seen);
        }
    });
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

/// The same of a part: cases are those of all, the rest is its own.
const AT_FIRST_OF_ALL: &str =
    "{bar:20} {pos} of {len} cases of all parts, {elapsed} gone, here at work on {wide_msg}";
const LATER_OF_ALL: &str =
    "{bar:20} {pos} of {len} cases of all parts, {elapsed} gone, here {wide_msg}";
/// For who waits for all parts.
const WAITS: &str = "{bar:20} {pos} of {len} cases of all parts, {elapsed} gone, {wide_msg}";
/// Time between two looks at the files of parts.
const LOOK: Duration = Duration::from_millis(500);

/// Waits until all parts together have performed so many cases.
///
/// # Errors
/// A directory or file that cannot be read.
pub(super) fn wait(mut seen: Seen, cases: usize) -> Result<(), String> {
    let mut look = || seen.look().map_err(|error| format!("parts: {error}"));
    let begun = Instant::now();
    let before = look()?;
    let bar = bar(cases, before, WAITS);
    bar.set_message(left::words(None));
    loop {
        let count = look()?;
        bar.set_position(count as u64);
        if count == cases {
            bar.finish_and_clear();
            return Ok(());
        }
        if count >= before + CASES_MIN {
            let rate = begun.elapsed().as_secs_f64() / (count - before) as f64;
            let left = Duration::from_secs_f64(rate * (cases - count) as f64);
            bar.set_message(left::words(Some((left, left))));
        }
        std::thread::sleep(LOOK);
    }
}

/// On a terminal only; it hides itself elsewhere.
fn bar(all: usize, done: usize, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(all as u64).with_message("the first");
    set_template(&bar, template);
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
