//! Steps of a round.

use std::time::Duration;

use weft_emulator::io::{Control, Faults};
use weft_fabric::Tick;
use weft_manager::Event;
use weft_manager::sm::drains::{Drain, drain_use};
use weft_manager::sm::reroute::{Arrangement, Change, Condition, RerouteError, RoutePlan};
use weft_routing::{AdaptiveSettings, EngineKind};

use super::follow::Baseline;
use super::scenario::{Round, Step, Trouble, spreads};
use super::{Run, Undo};
use crate::campaign::bring_up::{CONVERGED_WITHIN, RunError};
use crate::campaign::judge::{self, UsedLevels};
use crate::campaign::members::told;
use crate::oracle::spared::{self, part};
use crate::oracle::{Invariant, drained, multicast, planned};

/// From pulling something to putting it back.
const PULLED_FOR: Duration = Duration::from_secs(3);

impl Run {
    /// One round, to the end of its trouble.
    pub(super) fn round(&mut self, round: &Round) -> Result<(), RunError> {
        let touches = round.trouble.is_some() || matches!(round.step, Step::Pull(_));
        self.touched(touches);
        self.step(round)?;
        self.touched(touches);
        Ok(())
    }

    fn touched(&mut self, touches: bool) {
        let undo = self.undo.iter_mut();
        undo.for_each(|undo| undo.untouched &= !touches);
    }

    fn step(&mut self, round: &Round) -> Result<(), RunError> {
        match &round.step {
            Step::Engine(engine) => self.change(Change::Engine(*engine), round),
            Step::Adaptive(on) => {
                let mut settings = self.world.manager().arrangement().settings;
                settings.routing.adaptive = on.then(AdaptiveSettings::default);
                self.change(Change::Settings(Box::new(settings)), round)
            }
            Step::Drain(drain) => self.change(Change::Drain(*drain), round),
            Step::Undrain(any) => match self.drained(*any, |_| true) {
                Some(drain) => self.change(Change::Undrain(drain), round),
                None => Ok(()),
            },
            Step::Pull(any) => self.pull(*any, round),
            Step::RollBack => self.roll_back(round),
            Step::Restart => self.restart(round),
            Step::Crash(engine, after) => self.crash(*engine, *after),
        }
    }

    fn drained(&self, any: usize, which: impl Fn(&Drain) -> bool) -> Option<Drain> {
        let drains = self.world.manager().arrangement().drains;
        let drains: Vec<Drain> = drains.into_iter().filter(which).collect();
        (!drains.is_empty()).then(|| drains[any % drains.len()])
    }

    /// Trouble up to the step.
    fn lead(&mut self, trouble: Option<&Trouble>) -> Result<(), RunError> {
        let Some(trouble) = trouble else {
            return Ok(());
        };
        self.set_faults(trouble.faults)?;
        self.run_trouble(trouble, self.world.now(), 0, trouble.lead_ns)
    }

    /// The rest of a round's trouble, where it has any.
    fn rest(&mut self, round: &Round, start: Tick) -> Result<(), RunError> {
        match &round.trouble {
            Some(trouble) => self.trail(trouble, start),
            None => Ok(()),
        }
    }

    /// The rest of the trouble, then quiet.
    fn trail(&mut self, trouble: &Trouble, start: Tick) -> Result<(), RunError> {
        let from = self.world.now().since(start).as_nanos() as u64;
        let lasts = trouble.lasts_ns.max(from) + 1;
        self.run_trouble(trouble, start, from, lasts)?;
        self.set_faults(Faults::default())
    }

    /// A plan, and its application.
    fn change(&mut self, change: Change, round: &Round) -> Result<(), RunError> {
        let start = self.world.now();
        self.lead(round.trouble.as_ref())?;
        let planned = self.world.basis(change.clone());
        let planned = planned.and_then(|basis| Ok((basis.plan()?, basis)));
        let (plan, basis) = match planned {
            Ok(planned) => planned,
            Err(error) => {
                self.tell(format!("  refused: {error}"));
                self.judge_refusal(&change, Some(&error), round.trouble.is_none());
                return self.rest(round, start);
            }
        };
        self.judge_refusal(&change, None, round.trouble.is_none());
        let Some(trouble) = &round.trouble else {
            return self.apply(Condition::Epoch(basis.epoch), basis.wanted, Some(&plan));
        };
        let from = self.world.now().since(start).as_nanos() as u64;
        self.run_trouble(trouble, start, from, from + trouble.pause_ns)?;
        let adopted = self.adopt(Condition::Epoch(basis.epoch), basis.wanted);
        if let Err(error) = adopted.map(drop)
            && error != RerouteError::Stale
        {
            self.broke("apply", Invariant::AsPlanned, format!("refused: {error}"));
        }
        self.trail(trouble, start)
    }

    fn adopt(&mut self, condition: Condition, wanted: Arrangement) -> Result<u64, RerouteError> {
        let undo = Undo {
            before: self.in_force(),
            after: wanted.clone(),
            untouched: true,
        };
        let adopted = self.world.adopt(&condition, wanted);
        match &adopted {
            Ok(sweep) => {
                self.tell(format!("  in force with sweep {sweep}"));
                self.undo.push(undo);
            }
            Err(error) => self.tell(format!("  not applied: {error}")),
        }
        adopted
    }

    /// Applies a plan without faults: nothing may be lost beyond the plan's announcement, and all rules hold
    /// when the sweep has ended.
    fn apply(
        &mut self,
        condition: Condition,
        wanted: Arrangement,
        plan: Option<&RoutePlan>,
    ) -> Result<(), RunError> {
        let keeps_all = plan.is_some_and(|plan| plan.dropping == 0);
        let used = UsedLevels::of(self.world.manager());
        let mut base = self.baseline(keeps_all, None);
        // The plan says that hosts' path records of before are not covered.
        base.levels
            .take_if(|_| plan.is_some_and(|plan| plan.changed_levels > 0));
        let sweep = match self.adopt(condition, wanted) {
            Ok(sweep) => sweep,
            Err(error) => {
                self.broke("apply", Invariant::AsPlanned, format!("refused: {error}"));
                return Ok(());
            }
        };
        self.run_sweep(sweep, &base)?;
        let broken = self.judge();
        self.broken("after its sweep", broken);
        let engine = self.world.manager().status().engine;
        let changed = UsedLevels::of(self.world.manager()).changed_from(&used);
        let other = plan.map(|plan| planned::check(plan, &engine, changed));
        self.broken("after its sweep", other.unwrap_or_default());
        Ok(())
    }

    fn roll_back(&mut self, round: &Round) -> Result<(), RunError> {
        let Some(undo) = self.undo.pop() else {
            return Ok(());
        };
        let start = self.world.now();
        self.lead(round.trouble.as_ref())?;
        let condition = Condition::InForce(Box::new(undo.after.clone()));
        let adopted = self
            .world
            .adopt(&condition, undo.before.arrangement.clone());
        let sweep = match adopted {
            Ok(sweep) => sweep,
            Err(error) => {
                self.broke(
                    "rollback",
                    Invariant::AsPlanned,
                    format!("refused: {error}"),
                );
                return Ok(());
            }
        };
        match &round.trouble {
            Some(trouble) => self.trail(trouble, start)?,
            None => {
                self.run_sweep(sweep, &Baseline::default())?;
                let broken = self.judge();
                self.broken("after a rollback", broken);
            }
        }
        let broken = planned::check_rollback(&undo.before, &self.in_force(), undo.untouched);
        self.broken("rollback", broken);
        Ok(())
    }

    fn restart(&mut self, round: &Round) -> Result<(), RunError> {
        let start = self.world.now();
        self.lead(round.trouble.as_ref())?;
        let before = self.world.manager().arrangement();
        let base = self.baseline(round.trouble.is_none(), None);
        self.world.restart(before.settings.clone())?;
        self.world.multicast(told(&self.groups));
        self.undo.clear();
        if self.world.manager().arrangement().drains != before.drains {
            let what = "drains are forgotten".to_owned();
            self.broke("restart", Invariant::Drained, what);
        }
        match &round.trouble {
            Some(trouble) => self.trail(trouble, start),
            None => self.run_sweep(1, &base),
        }
    }

    /// I13: the manager ends while it writes other routes. A plan that announces that it drops is none to try
    /// this with, nor are routes around links that are held back, which the next manager does not know.
    fn crash(&mut self, engine: EngineKind, after: usize) -> Result<(), RunError> {
        let before = self.world.manager().arrangement();
        let planned = self.world.basis(Change::Engine(engine));
        let planned = planned.and_then(|basis| Ok((basis.plan()?, basis)));
        let Ok((plan, basis)) = planned else {
            return Ok(());
        };
        let spreads = spreads(before.settings.routing.engine);
        if plan.dropping > 0 || spreads || self.leaves_links_out() {
            return Ok(());
        }
        let base = Baseline {
            crash: true,
            ..self.baseline(true, None)
        };
        if self
            .adopt(Condition::Epoch(basis.epoch), basis.wanted)
            .is_err()
        {
            return Ok(());
        }
        let until = self.world.now() + CONVERGED_WITHIN;
        for _ in 0..after {
            if !self.world.step(until)? {
                break;
            }
            self.look(&base);
        }
        self.tell(format!("  ends {after} moments later"));
        self.world.restart(before.settings)?;
        self.world.multicast(told(&self.groups));
        self.undo.clear();
        self.run_sweep(1, &base)
    }

    /// Whether the last sweep left links out of its routes.
    pub(super) fn leaves_links_out(&self) -> bool {
        let last = self.events.iter().rev().find_map(|(_, event)| match event {
            Event::SweepEnded(report) => Some(report.unused_links > 0),
            _ => None,
        });
        last.unwrap_or_default()
    }

    /// Pulls a drained part, at once, and puts it back later.
    fn pull(&mut self, any: usize, round: &Round) -> Result<(), RunError> {
        let snapshot = self.world.snapshot();
        let is_free = |drain: &Drain| {
            let found = drain_use(&snapshot, *drain);
            found.present && found.is_free()
        };
        let Some(drain) = self.drained(any, is_free) else {
            return Ok(());
        };
        self.tell(format!("  pulls {drain:?}"));
        let before = judge::view(&self.world);
        // Outside of trees, and over several lanes, engines take other paths when nodes are numbered
        // differently, and the search that numbers them may have used the pulled part.
        let engine = self.world.manager().arrangement().settings.routing.engine;
        let keeps_paths = self.scenario.fabric.starts_with("pgft") && !spreads(engine);
        let strict = round.trouble.is_none() && keeps_paths;
        let base = self.baseline(strict, Some(part(drain)));
        let (down, up) = controls(drain);
        self.world.control(down)?;
        let after = judge::view(&self.world);
        let root = judge::root(&self.world, &after);
        let mut lost = drained::check_pulled(&before, &after, root, Some(part(drain)));
        lost.extend(multicast::check_delivery(&after, root, &self.groups));
        self.broken("pulled", lost);
        let start = self.world.now();
        self.lead(round.trouble.as_ref())?;
        self.rest(round, start)?;
        self.run_until(self.world.now() + PULLED_FOR, &base)?;
        self.converge("pulled")?;
        self.tell("  puts it back".to_owned());
        self.world.control(up)?;
        self.run_until(self.world.now() + PULLED_FOR, &base)
    }

    /// D3.
    fn judge_refusal(&mut self, change: &Change, error: Option<&RerouteError>, calm: bool) {
        if !calm {
            return;
        }
        let Change::Drain(drain) = change else {
            if let Some(error) = error {
                let what = format!("{change:?} is refused: {error}");
                self.broke("plan", Invariant::Spared, what);
            }
            return;
        };
        let view = judge::view(&self.world);
        let root = judge::root(&self.world, &view);
        let drains = self.world.manager().arrangement().drains;
        let broken = spared::check(&view, root, &drains, *drain, error);
        self.broken("plan", broken.into_iter().collect());
    }
}

/// Controls that take a part away, and bring it back.
fn controls(drain: Drain) -> (Control, Control) {
    match drain {
        Drain::Switch(node) => (Control::NodeDown { node }, Control::NodeUp { node }),
        Drain::Link(node, port) => (
            Control::LinkDown { node, port },
            Control::LinkUp { node, port },
        ),
    }
}
