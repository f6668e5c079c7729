//! The phases of a sweep, and what starts one.

use std::sync::Arc;
use std::time::Duration;

use weft_fabric::{NodeId, Tick};
use weft_wire::enums::PortState;

use super::devices::{Device, Devices, Lft, Stage};
use super::election::Verdict;
use super::near::{Near, Reports};
use super::plan::Plan;
use super::settings::SweepSettings;
use super::{Manager, leftovers};
use crate::io::{Event, SweepPhase, SweepReason, SweepReport};

/// Things left to do that a report lists; the rest is counted.
const UNFINISHED_MAX: usize = 64;
/// Longest wait from an unfinished sweep to the next where no sweeps are scheduled.
const RETRY_MAX: Duration = Duration::from_secs(300);

/// What all switches must have done before any of them goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Gate {
    /// Adaptive routing is suspended everywhere before the first table changes.
    Settings,
    /// One table after the other; with a single one nobody waits for anybody.
    #[default]
    Tables,
    /// Adaptive routing goes on when all tables have changed.
    Resume,
}

/// What comes after a gate.
enum Passage {
    /// The switches go on.
    Open,
    /// They wait, see [`Sweep::leftovers_until`].
    Later,
    /// Nothing more is behind it.
    End,
}

/// Where the sweep is, and when the next one is due.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    phase: Option<SweepPhase>,
    /// Counts up from 1 with each sweep.
    pub number: u64,
    started: Tick,
    phase_started: Tick,
    pub report: SweepReport,
    more_unfinished: usize,
    /// Which of the plan's tables is being written.
    pub step: usize,
    /// What the switches wait for.
    pub gate: Gate,
    /// Until when packets may be in buffers that were sent off before this gate; none while it does
    /// not wait for that.
    leftovers_until: Option<Tick>,
    /// When the next sweep is due, and why.
    next: Option<(Tick, SweepReason)>,
    /// Unfinished sweeps in a row.
    unfinished_in_a_row: u32,
    ever: bool,
    /// What asks for the next sweep.
    pub reports: Reports,
    /// It looks only where something was reported.
    pub near: Option<Near>,
    /// The last sweep has left nothing open.
    pub settled: bool,
    /// When a node was last found not to answer in this sweep.
    pub lost_at: Option<Tick>,
    /// The manager's own port was asked again, after a node had not answered.
    own_asked_again: bool,
    /// A datagram has arrived twice since it began.
    pub twice: bool,
}

impl Sweep {
    /// What the sweep does at present, none between sweeps.
    pub(super) fn phase(&self) -> Option<SweepPhase> {
        self.phase
    }

    /// When a step that waits for packets in buffers may be taken.
    pub(super) fn leftovers_until(&self) -> Option<Tick> {
        self.leftovers_until
    }

    /// Notes what could not be done.
    pub(super) fn unfinished(&mut self, what: String) {
        if self.report.unfinished.len() < UNFINISHED_MAX {
            self.report.unfinished.push(what);
        } else {
            self.more_unfinished += 1;
        }
    }

    /// Asks for a sweep: now, or after the one under way. What others can cause waits until the
    /// hold-down time since the last sweep's start is over.
    pub(super) fn request(&mut self, now: Tick, reason: SweepReason, settings: &SweepSettings) {
        let at = match reason {
            SweepReason::Trap | SweepReason::Unfinished | SweepReason::Election
                if self.number > 0 =>
            {
                now.max(self.started + settings.trap_hold_down)
            }
            _ => now,
        };
        if reason != SweepReason::Trap {
            self.reports.ask_for_all();
        }
        self.want(at, reason);
    }

    /// Makes a sweep of everything follow the one under way at once.
    pub(super) fn again(&mut self, now: Tick) {
        self.reports.ask_for_all();
        self.want(now, SweepReason::Unfinished);
    }

    /// Ends the phase under way, if one is.
    fn end_phase(&mut self, now: Tick) {
        let place = match self.phase {
            Some(SweepPhase::Discover) => 0,
            Some(SweepPhase::Plan) => 1,
            Some(SweepPhase::Program) => 2,
            Some(SweepPhase::Activate) => 3,
            _ => return,
        };
        self.report.phase_ns[place] += now.0 - self.phase_started.0;
        self.phase_started = now;
    }

    /// Whether a node was lost after the manager's own port had answered: then it may be that port
    /// that is gone, and no other node. Asked for once a sweep.
    fn doubts_own_port(&self, own: &Device) -> bool {
        let lost_at = self.lost_at.filter(|_| !self.own_asked_again);
        !own.health.failed && lost_at.is_some_and(|lost_at| own.health.answered_at <= lost_at)
    }

    /// Whether there is a further step, and all switches have confirmed the tables of this one. Where
    /// one has not, what was drained stays drained until the next sweep knows what it holds: it may
    /// still send those LIDs the old way, and old and new ways together may run in a circle.
    fn may_take_next_step(&self, plan: &Plan, devices: &Devices) -> bool {
        let confirmed = |node: &NodeId| {
            let device = &devices[*node];
            let sure = !(device.health.failed && device.health.doubtful);
            match (&device.observed.lft, plan.row(self.step, node.0)) {
                (Lft::Whole(held), Some(row)) => sure && (Arc::ptr_eq(held, row) || held == row),
                _ => false,
            }
        };
        let switches = plan.topology.switches();
        self.step + 1 < plan.steps.len() && switches.iter().all(confirmed)
    }

    /// Whether the linear tables that are being written are those that are to stay.
    fn has_last_step(&self, plan: &Plan) -> bool {
        self.step + 1 == plan.steps.len()
    }

    /// Whether packets that were sent off before the switches came to this gate have left them. See
    /// [`leftovers`].
    fn have_leftovers_gone(&mut self, now: Tick, devices: &Devices) -> bool {
        let switches = devices.iter().filter_map(|device| device.observed.switch());
        let longest = switches.map(|switch| switch.life_time_value).max();
        let stay = leftovers::stay(longest.unwrap_or_default());
        *self.leftovers_until.get_or_insert(now + stay) <= now
    }

    /// Plans the next sweep. One that only makes room for a sweep that follows at once does not lengthen
    /// the wait before the next attempt.
    fn schedule_next(&mut self, now: Tick, settings: &SweepSettings, follows_at_once: bool) {
        if self.near.take().is_some() {
            self.reports.ask_for_all();
            let at = now.max(self.started + settings.trap_hold_down);
            self.want(at, SweepReason::Trap);
        }
        let longest = if settings.interval.is_zero() {
            RETRY_MAX
        } else {
            settings.interval
        };
        if self.report.unfinished.is_empty() {
            self.unfinished_in_a_row = 0;
        } else {
            let factor = 1_u32 << self.unfinished_in_a_row.min(16);
            self.unfinished_in_a_row += u32::from(!follows_at_once);
            let wait = settings.retry.saturating_mul(factor).min(longest);
            self.want(now + wait, SweepReason::Unfinished);
        }
        if !settings.interval.is_zero() {
            self.want(now + settings.interval, SweepReason::Scheduled);
        }
    }

    /// Begins: forgets what the last one noted for itself.
    fn begin(&mut self, now: Tick, reason: SweepReason) {
        self.ever = true;
        self.number += 1;
        (self.started, self.phase_started) = (now, now);
        (self.step, self.more_unfinished) = (0, 0);
        (self.lost_at, self.own_asked_again) = (None, false);
        let routing = std::mem::take(&mut self.report.routing);
        self.report = SweepReport {
            number: self.number,
            reason: Some(reason),
            routing,
            ..SweepReport::default()
        };
    }

    /// Counts what is there, for the report.
    fn count(&mut self, devices: &Devices) {
        let report = &mut self.report;
        for device in devices.iter() {
            match device.is_switch() {
                true => report.switches += 1,
                false => report.hfis += 1,
            }
            let node = device.observed.node.as_deref();
            for (_, port) in node.into_iter().flat_map(|node| node.external_ports()) {
                report.active_ports += u32::from(port.info.port_state == PortState::ACTIVE);
            }
            report.links += device.observed.good_ports.len();
        }
        report.links /= 2;
    }

    /// Makes the next sweep due at `at`, or leaves it due earlier.
    fn want(&mut self, at: Tick, reason: SweepReason) {
        match self.next {
            Some((due, _)) if due <= at => {}
            _ => self.next = Some((at, reason)),
        }
    }
}

impl Manager {
    /// When the next sweep begins, none during a sweep.
    pub(super) fn sweep_due(&self) -> Option<Tick> {
        let idle = self.sweep.phase.is_none() && !self.registrations.is_updating();
        let first = (!self.sweep.ever).then_some(Tick(0));
        let due = first.or(self.sweep.next.map(|(at, _)| at));
        due.filter(|_| idle && self.election.may_sweep())
    }

    /// Begins the sweep that is due.
    pub(super) fn start_due_sweep(&mut self, now: Tick) {
        if self.sweep_due().is_none_or(|due| due > now) {
            return;
        }
        let reason = self
            .sweep
            .next
            .take()
            .map_or(SweepReason::Start, |(_, reason)| reason);
        let reason = if self.sweep.ever {
            reason
        } else {
            SweepReason::Start
        };
        self.doubt_writes();
        self.out.begin_sweep();
        self.sweep.begin(now, reason);
        let number = self.sweep.number;
        self.out.event(Event::SweepStarted { number, reason });
        self.enter_phase(now, SweepPhase::Discover);
        match self.reported_switches(reason) {
            Some(reported) => self.begin_near_discovery(&reported),
            None => self.begin_discovery(),
        }
        self.sweep.settled = false;
    }

    fn enter_phase(&mut self, now: Tick, phase: SweepPhase) {
        self.sweep.end_phase(now);
        self.sweep.phase = Some(phase);
        self.out.event(Event::Phase(phase));
    }

    /// Goes on to what comes next, now that no node has anything more to do; says whether there is
    /// something.
    pub(super) fn advance(&mut self, now: Tick) -> bool {
        let phase = self.sweep.phase;
        if phase.is_some() && self.election.is_cut_off() {
            self.end_sweep(now);
            return true;
        }
        match phase {
            Some(SweepPhase::Discover) => self.end_discovery(now),
            Some(SweepPhase::Plan) if !self.election.is_master() => self.end_sweep(now),
            Some(SweepPhase::Plan) if self.planning.is_due() => {
                self.publish_loss();
                self.ask_for_plan();
            }
            Some(SweepPhase::Plan) if self.planning.is_under_way() => return false,
            Some(SweepPhase::Plan) => self.end_plan(now),
            Some(SweepPhase::Program) => {
                let passage = self.pass_gate(now);
                if matches!(passage, Passage::Later) {
                    return false;
                }
                self.sweep.leftovers_until = None;
                if matches!(passage, Passage::End) {
                    self.enter_phase(now, SweepPhase::Activate);
                    self.begin_activate();
                }
            }
            Some(SweepPhase::Activate) if self.register_again() => {}
            Some(_) => self.end_sweep(now),
            None => return self.advance_update(now),
        }
        true
    }

    fn end_discovery(&mut self, now: Tick) {
        if self.go_on_near() {
            return;
        }
        if self.sweep.doubts_own_port(&self.devices[0]) {
            self.sweep.own_asked_again = true;
            self.identify(0);
            return;
        }
        if self.devices[0].health.failed || self.devices[0].observed.node.is_none() {
            self.end_blind_sweep(now);
            return;
        }
        match self.elect(now) {
            Verdict::Won if self.rearm_switches() => return,
            Verdict::Lead | Verdict::Won => self.enter_phase(now, SweepPhase::Plan),
            Verdict::Rest => {
                self.plan_nothing();
                self.end_sweep(now);
                return;
            }
        }
        self.settle_links();
        if self.devices[0].observed.good_ports.is_empty() {
            self.sweep
                .unfinished("the manager's own port has no link".into());
        }
        self.begin_plan();
    }

    /// Ends a sweep in which the manager's own port does not answer. It has told nothing of any other
    /// node: all stay as they were, with their LIDs and routes.
    fn end_blind_sweep(&mut self, now: Tick) {
        self.sweep.report.unfinished.clear();
        self.sweep.more_unfinished = 0;
        self.sweep
            .unfinished("the manager's own port does not answer".into());
        self.end_sweep(now);
    }

    fn end_plan(&mut self, now: Tick) {
        self.enter_phase(now, SweepPhase::Program);
        self.sweep.gate = match self.planning.plan.pause {
            true => Gate::Settings,
            false => Gate::Tables,
        };
        if !self.planning.plan.steps.is_empty() {
            self.begin_program();
        }
    }

    /// Lets the switches, all of which wait, go on to what comes next.
    fn pass_gate(&mut self, now: Tick) -> Passage {
        let (sweep, devices) = (&mut self.sweep, &mut self.devices);
        let plan = &mut self.planning.plan;
        let (settles, stage) = match sweep.gate {
            // Where entries are drained first, what groups have sent off leaves with theirs.
            Gate::Settings if devices.are_suspended() => {
                (plan.settle && !plan.settle_drained, Stage::WriteTable)
            }
            Gate::Tables if sweep.may_take_next_step(plan, devices) => {
                (plan.settle_drained, Stage::WriteTable)
            }
            Gate::Tables if plan.pause => (plan.settle, Stage::Resume),
            Gate::Tables | Gate::Resume if sweep.has_last_step(plan) => {
                if !plan.go_on_multicast(devices, sweep) {
                    return Passage::End;
                }
                (false, Stage::WriteMulticast)
            }
            _ => return Passage::End,
        };
        if settles && !sweep.have_leftovers_gone(now, devices) {
            return Passage::Later;
        }
        match (sweep.gate, stage) {
            (Gate::Settings, _) => sweep.gate = Gate::Tables,
            (_, Stage::WriteTable) => sweep.step += 1,
            (_, Stage::Resume) => sweep.gate = Gate::Resume,
            _ => {}
        }
        self.requests.schedule.let_go(devices, stage);
        Passage::Open
    }

    fn end_sweep(&mut self, now: Tick) {
        self.sweep.end_phase(now);
        let activated = self.sweep.phase == Some(SweepPhase::Activate);
        let plan = &self.planning.plan;
        let tried = activated && self.election.is_master() && !plan.steps.is_empty();
        let replan = tried && self.devices.judge_activation(plan, &mut self.sweep);
        if replan {
            self.sweep.again(now);
        }
        self.sweep.settled = activated && !replan && self.sweep.report.unfinished.is_empty();
        self.election.end_sweep();
        if self.doubt_writes() {
            self.sweep
                .request(now, SweepReason::Unfinished, &self.settings.sweeps);
        }
        self.planning.give_up(&self.devices);
        self.sweep.phase = None;
        self.sweep.leftovers_until = None;
        for device in self.devices.iter_mut() {
            device.work.stage = Stage::Idle;
        }
        self.sweep.count(&self.devices);
        self.publish();
        self.out.end_sweep();
        let sweep = &mut self.sweep;
        sweep.report.generation = self.out.published.generation;
        sweep.report.role = self.election.role();
        sweep.report.elapsed_ns = now.0 - sweep.started.0;
        if sweep.more_unfinished > 0 {
            let more = sweep.more_unfinished;
            sweep.report.unfinished.push(format!("and {more} more"));
        }
        self.sweep.schedule_next(now, &self.settings.sweeps, replan);
        let report = self.sweep.report.clone();
        self.out.event(Event::Phase(SweepPhase::Idle));
        self.out.event(Event::SweepEnded(report));
        self.answer_sweep_commands();
        self.start_due_sweep(now);
    }

    /// What follows a stage that is done; says whether the node goes on at once.
    pub(super) fn finish_stage(&mut self, now: Tick, node: u32) -> bool {
        match self.devices[node].work.stage {
            Stage::Idle | Stage::Ready => false,
            stage if stage.is_discovery() => self.after_discovery(now, node),
            Stage::WriteGroups => {
                let needs = self.needs();
                let wanted = needs.wanted_groups(node);
                let blocks = needs.group_blocks(node);
                self.devices[node].observed.take_groups(wanted, blocks);
                self.after_writing(now, node)
            }
            Stage::Activate => self.after_activation(now, node),
            Stage::Reregister => {
                self.devices[node].work.enter(Stage::Idle);
                false
            }
            _ => self.after_writing(now, node),
        }
    }
}
