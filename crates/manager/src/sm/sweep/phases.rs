//! From one phase of a sweep to the next.

use weft_fabric::{Tick, text};
use weft_wire::enums::SmState;

use super::steps::{Passage, Steps};
use crate::io::{Event, SweepPhase, SweepReason};
use crate::sm::Manager;
use crate::sm::devices::Stage;
use crate::sm::election::Verdict;

/// What a sweep leaves to do where [`Steps::may_resume`](super::Steps::may_resume) says no.
const STAYS_PAUSED: &str = "adaptive routing stays suspended until all switches have their tables";

/// What a sweep leaves to do where some switch does not take over its SCtoSC tables.
const NO_MAPS: &str = "no forwarding table is changed before all switches have their SCtoSC tables";

impl Manager {
    /// When the next sweep begins, none during a sweep or a pause.
    pub(in crate::sm) fn sweep_due(&self) -> Option<Tick> {
        let idle = self.sweep.phase.is_none() && !self.registrations.is_updating();
        let due = self.sweep.next.due();
        let may = idle && self.sweep.pause.is_none() && self.election.may_sweep();
        due.filter(|_| may)
    }

    /// Begins the sweep that is due.
    pub(in crate::sm) fn start_due_sweep(&mut self, now: Tick) {
        if self.sweep_due().is_none_or(|due| due > now) {
            return;
        }
        let reason = self.sweep.next.take();
        self.doubt_writes();
        self.out.begin_sweep();
        self.sweep.begin(now, reason);
        let number = self.sweep.number;
        let traps = self.sweep.next.reported.take();
        self.out.event(Event::SweepStarted {
            number,
            reason,
            traps,
        });
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

    /// Continues with the next phase, now that no node has anything more to do; returns whether there is
    /// one.
    pub(in crate::sm) fn advance(&mut self, now: Tick) -> bool {
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
            Some(SweepPhase::Program) => return self.pass_gate(now),
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
        if self.sweep.losses.may_be_own_port(&self.devices[0]) {
            self.sweep.losses.own_asked_again = true;
            self.identify(0);
            return;
        }
        if self.devices[0].health.failed || self.devices[0].observed.node.is_none() {
            self.end_blind_sweep(now);
            return;
        }
        if self.sweep.only_reads {
            self.end_reading(now);
            return;
        }
        match self.elect(now) {
            Verdict::Won if self.rearm_switches() | self.read_waiting_tables() => return,
            Verdict::Lead | Verdict::Won if self.look_again() => return,
            Verdict::Lead | Verdict::Won if self.is_abandoned() => return self.end_sweep(now),
            Verdict::Lead | Verdict::Won => self.enter_phase(now, SweepPhase::Plan),
            Verdict::Rest => {
                self.sweep.only_reads = true;
                let stands_by = self.election.role() == SmState::STANDBY;
                if !stands_by || !self.read_waiting_tables() {
                    self.end_reading(now);
                }
                return;
            }
        }
        self.settle_links();
        if self.devices[0].observed.good_ports.is_empty() {
            self.sweep
                .unfinished("the manager's own port has no link".into());
        }
        self.begin_plan();
        self.settle_refusals(now);
    }

    /// Whether so many devices have fallen silent that this sweep is to end here.
    fn is_abandoned(&mut self) -> bool {
        let devices = &self.devices;
        let is_silent = |guid| {
            let node = devices.find(guid);
            node.is_some_and(|node| devices.is_silent(node))
        };
        let judged = self.sweep.abandoned.judge(&self.settings.sweeps, is_silent);
        match judged {
            Some(why) => {
                self.sweep.unfinished_first(why);
                true
            }
            None => false,
        }
    }

    /// Ends the sweep of a manager that does not run the fabric.
    fn end_reading(&mut self, now: Tick) {
        self.plan_nothing();
        self.end_sweep(now);
    }

    /// Reads nodes again that came into doubt after they were read: another master may have written to
    /// them. Does so once per sweep; returns whether there are any.
    fn look_again(&mut self) -> bool {
        if std::mem::replace(&mut self.sweep.looked_again, true) {
            return false;
        }
        let number = self.sweep.number;
        let mut any = false;
        for node in self.devices.numbers() {
            let health = &self.devices[node].health;
            if health.doubtful && health.works_in(number) {
                self.identify(node);
                any = true;
            }
        }
        any
    }

    /// Ends a sweep in which the manager's own port does not answer. It reveals nothing about any other
    /// node: all keep their state, LIDs and routes.
    fn end_blind_sweep(&mut self, now: Tick) {
        self.sweep.forget_unfinished();
        self.sweep
            .unfinished("the manager's own port does not answer".into());
        self.end_sweep(now);
    }

    fn end_plan(&mut self, now: Tick) {
        self.enter_phase(now, SweepPhase::Program);
        self.sweep.steps.gate = Steps::first_gate(&self.planning.plan);
        self.begin_handover();
        if !self.planning.plan.steps.is_empty() {
            self.begin_program();
        }
    }

    /// Lets the switches, all of which wait, go on to what comes next; says whether the phase does
    /// something now.
    fn pass_gate(&mut self, now: Tick) -> bool {
        if self.planning.plan.handover.has_begun() {
            return self.end_program(now);
        }
        let (sweep, plan) = (&mut self.sweep, &mut self.planning.plan);
        let stage = match sweep.steps.pass(now, plan, &self.devices) {
            Passage::Later => return false,
            Passage::Channels => Some(Stage::WriteChannels),
            Passage::Table => Some(Stage::WriteTable),
            Passage::Resume => {
                plan.stays_paused = !sweep.steps.may_resume(plan, &self.devices);
                if plan.stays_paused {
                    sweep.unfinished(STAYS_PAUSED.into());
                }
                Some(Stage::Resume)
            }
            Passage::Multicast => plan
                .go_on_multicast(&self.devices, sweep)
                .then_some(Stage::WriteMulticast),
            Passage::WithoutMaps => {
                sweep.unfinished(NO_MAPS.into());
                None
            }
            Passage::End => None,
        };
        sweep.steps.forget_leftovers();
        match stage {
            Some(stage) => self.requests.schedule.let_go(&mut self.devices, stage),
            None => return self.end_program(now),
        }
        true
    }

    /// Goes on to activation once every port has the partitions that it is to have.
    fn end_program(&mut self, now: Tick) -> bool {
        if !self.hand_over() {
            self.enter_phase(now, SweepPhase::Activate);
            self.begin_activate();
        }
        true
    }

    fn end_sweep(&mut self, now: Tick) {
        self.sweep.end_phase(now);
        let activated = self.sweep.phase == Some(SweepPhase::Activate);
        let plan = &self.planning.plan;
        let tried = activated && self.election.is_master() && !plan.steps.is_empty();
        let replan = tried && self.devices.judge_activation(plan, &mut self.sweep);
        if replan {
            self.sweep.next.again(now);
        }
        self.read_again_doubted(now);
        self.sweep.settled = activated && !replan && self.sweep.report.unfinished.is_empty();
        self.election.end_sweep();
        self.planning.give_up(&self.devices);
        self.sweep.phase = None;
        self.sweep.steps.forget_leftovers();
        for device in self.devices.iter_mut() {
            device.work.stage = Stage::Idle;
            device.health.doubtful |= device.observed.sent_row.is_some();
        }
        self.sweep.count(&self.devices);
        let is_programmed = tried
            && self
                .sweep
                .steps
                .may_resume(&self.planning.plan, &self.devices);
        self.publish();
        if is_programmed {
            self.inject_loop_packets();
        }
        self.out.end_sweep();
        let sweep = &mut self.sweep;
        sweep.report.generation = self.out.published.generation;
        sweep.report.role = self.election.role();
        sweep.written.tell(&mut sweep.report.tables);
        sweep.report.elapsed_ns = now.0 - sweep.started.0;
        sweep.end_unfinished();
        self.sweep.schedule_next(now, &self.settings.sweeps, replan);
        let report = self.sweep.report.clone();
        self.out.event(Event::Phase(SweepPhase::Idle));
        self.out.event(Event::SweepEnded(report));
        self.answer_sweep_commands();
        self.look_after_sweep(now);
        self.keep_watch(now);
        self.start_due_sweep(now);
    }

    /// Requests a sweep that reads again what a datagram that arrived twice may have overwritten.
    fn read_again_doubted(&mut self, now: Tick) {
        let doubted = self.doubt_writes();
        if doubted == 0 {
            return;
        }
        self.sweep.unfinished(format!(
            "datagrams arrive twice in this fabric: what was written to {} has to be read again",
            text::count(doubted, "node")
        ));
        self.sweep
            .request(now, SweepReason::Unfinished, &self.settings.sweeps);
    }

    /// Next stage after a finished one; returns whether the node continues at once.
    pub(in crate::sm) fn finish_stage(&mut self, now: Tick, node: u32) -> bool {
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
