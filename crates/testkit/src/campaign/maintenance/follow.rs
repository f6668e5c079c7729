//! Time that passes between steps: looked at whenever a table may have changed.

use std::time::Duration;

use weft_emulator::io::{Control, Faults};
use weft_fabric::Tick;
use weft_manager::io::Event;
use weft_manager::sm::drains::{Drain, DrainUse, drain_use};

use super::Run;
use super::scenario::Trouble;
use crate::campaign::bring_up::{CONVERGED_WITHIN, RunError};
use crate::campaign::judge::{self, UsedLevels};
use crate::oracle::drained::{self, Part, Spare};
use crate::oracle::spared::part;
use crate::oracle::{Breach, Invariant, deadlock, kept, multicast, quiet, reach};
use crate::view::FabricView;
use crate::world::Wait;

/// Interval of checks of a fabric that has yet to converge.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// State for comparison with tables during a change.
#[derive(Default)]
pub(super) struct Baseline {
    /// The earlier fabric; pairs that could communicate then must still do so; `None` if that is not required.
    pub(super) reached: Option<FabricView>,
    /// The part that is pulled and put back meanwhile.
    pub(super) pulled: Option<Part>,
    /// The service levels that hosts use in the meantime.
    pub(super) levels: Option<UsedLevels>,
    /// Whether the manager ends during the change: I13 covers losses then.
    pub(super) crash: bool,
}

/// Links that are held back, or in quarantine, are used again by then where they stay up: twice `WindowSize`.
const BARRED_WITHIN: Duration = Duration::from_secs(2 * 900);

impl Run {
    /// The current fabric; with `strict` pairs that can communicate must still do so. Links that are not used
    /// as they went down too often come back while something else changes: with the next sweep after that, or
    /// after a restart, which forgets most of them.
    pub(super) fn baseline(&self, strict: bool, pulled: Option<Part>) -> Baseline {
        let now = self.world.now();
        let all_in_use =
            self.world.manager().quarantine(now).is_empty() && !self.leaves_links_out();
        let strict = strict && all_in_use;
        Baseline {
            reached: strict.then(|| judge::view(&self.world)),
            pulled,
            levels: Some(UsedLevels::of(self.world.manager())),
            crash: false,
        }
    }

    /// Runs up to `until`, and looks.
    pub(super) fn run_until(&mut self, until: Tick, base: &Baseline) -> Result<(), RunError> {
        while self.world.step(until)? {
            self.look(base);
        }
        self.look(base);
        Ok(())
    }

    /// Runs until a sweep has ended and no work is pending, which must happen in time.
    pub(super) fn run_sweep(&mut self, number: u64, base: &Baseline) -> Result<(), RunError> {
        let until = self.world.now() + CONVERGED_WITHIN;
        loop {
            let status = self.world.manager().status();
            if status.sweep >= number && status.phase.is_none() {
                return Ok(());
            }
            if !self.world.step(until)? {
                self.in_time(Wait::TimedOut, &format!("sweep {number}"));
                return Ok(());
            }
            self.look(base);
        }
    }

    /// Applies the round's faults, up to `at` nanoseconds from `start`.
    pub(super) fn run_trouble(
        &mut self,
        trouble: &Trouble,
        start: Tick,
        from: u64,
        at: u64,
    ) -> Result<(), RunError> {
        let base = Baseline::default();
        let due = trouble.events.iter();
        let due = due.filter(|(when, _)| (from..at).contains(when));
        for (when, control) in due {
            self.run_until(start + Duration::from_nanos(*when), &base)?;
            self.tell(format!("  {control:?}"));
            self.world.control(control.clone())?;
        }
        self.run_until(start + Duration::from_nanos(at), &base)
    }

    pub(super) fn set_faults(&mut self, faults: Faults) -> Result<(), RunError> {
        Ok(self.world.control(Control::Faults(faults))?)
    }

    pub(super) fn look(&mut self, base: &Baseline) {
        let before = self.events.len();
        self.events.append(&mut self.world.take_events());
        let ended = self.events[before..].iter().any(
            |(_, event)| matches!(event, Event::SweepEnded(report) if report.unfinished.is_empty()),
        );
        if ended {
            self.judge_free_drains("at a sweep's end");
        }
        self.mixed |= UsedLevels::of(self.world.manager()).prepared() != self.prepared;
        let mut at_once = self.sets.take();
        at_once.extend(self.world.take_breaches());
        self.broken("on the way", at_once);
        let sets = self.world.emulator.stats().sets_total();
        if std::mem::replace(&mut self.seen_sets, sets) == sets {
            return;
        }
        let view = judge::view(&self.world);
        let mut breaches = reach::check_loops(&view);
        breaches.extend(multicast::check_loops(&view));
        if let Some(reached) = &base.reached {
            let root = judge::root(&self.world, &view);
            breaches.extend(match base.crash {
                true => kept::check(reached, &view, root),
                false => drained::check_pulled(reached, &view, root, base.pulled),
            });
        }
        if let (Some(used), true) = (&base.levels, base.reached.is_some()) {
            breaches.extend(deadlock::check_levels(&view, |lid| used.to(lid)));
        }
        self.broken("on the way", breaches);
    }

    /// Within its bound there is a moment at which everything holds.
    pub(super) fn converge(&mut self, when: &str) -> Result<(), RunError> {
        let start = self.world.now();
        let mut until = start + CONVERGED_WITHIN;
        let base = Baseline::default();
        loop {
            let idle = self.world.manager().status().phase.is_none();
            let breaches = match idle {
                true => [self.judge(), self.judge_used_drains()].concat(),
                false => Vec::new(),
            };
            if idle && breaches.is_empty() {
                return Ok(());
            }
            // Links that went down again and again are left out for a while, or for as long as losses count.
            let now = self.world.now();
            if !self.world.manager().quarantine(now).is_empty() && now.since(start) < BARRED_WITHIN
            {
                until = until.max(now + CONVERGED_WITHIN);
            }
            if now >= until {
                let late = quiet::check_converged(false, breaches, "in the end");
                self.broken(when, late);
                return Ok(());
            }
            self.run_until(self.world.now() + LOOK_EVERY, &base)?;
        }
    }

    /// D1: parts whose drain the manager reports as in force carry nothing. Switches that have come back since
    /// it looked may still send by the tables that they had.
    pub(super) fn judge_free_drains(&mut self, when: &str) {
        let view = judge::view(&self.world);
        let root = judge::root(&self.world, &view);
        let free = self.drains_in_use(false).into_iter();
        let snapshot = self.world.snapshot();
        let is_known = |guid| snapshot.topology.find(guid).is_some();
        let broken = free.flat_map(|(drain, _)| drained::check(&view, root, part(drain), is_known));
        self.broken(when, broken.collect());
    }

    /// D1 in a quiet fabric: drains are in force if it can spare all their parts.
    fn judge_used_drains(&self) -> Vec<Breach> {
        let view = judge::view(&self.world);
        let root = judge::root(&self.world, &view);
        let drains = self.world.manager().arrangement().drains.into_iter();
        let parts: Vec<Part> = drains.map(part).collect();
        if drained::can_spare(&view, root, &parts) != Spare::Yes {
            return Vec::new();
        }
        let used = self.drains_in_use(true).into_iter();
        used.map(|(drain, found)| {
            let what = format!("{drain:?} can be spared and is used: {found:?}");
            Breach::new(Invariant::Drained, what)
        })
        .collect()
    }

    /// Drains of parts that are there and, by what the manager has published, still carry something or not.
    fn drains_in_use(&self, used: bool) -> Vec<(Drain, DrainUse)> {
        let snapshot = self.world.snapshot();
        let drains = self.world.manager().arrangement().drains.into_iter();
        let found = drains.map(|drain| (drain, drain_use(&snapshot, drain)));
        found
            .filter(|(_, found)| found.present && found.is_free() != used)
            .collect()
    }
}
