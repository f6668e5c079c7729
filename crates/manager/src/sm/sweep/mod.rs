//! The phases of a sweep, and its triggers.
//!
//! | module | contents |
//! |---|---|
//! | `abandoned` | sweeps that end without new routes |
//! | `next` | triggers and times of sweeps |
//! | `steps` | the transition of all switches from their tables to the new ones |
//! | `phases` | from one phase to the next |
//! | `reported` | traps that the next sweep answers |
//! | `written` | the switches whose tables it changed |

mod abandoned;
mod next;
mod phases;
mod reported;
mod steps;
mod written;

use weft_fabric::Tick;
use weft_state::State;
use weft_wire::enums::PortState;

use super::devices::{Device, Devices};
use super::near::Near;
use super::pause::Pause;
use super::settings::SweepSettings;
use crate::io::{SweepPhase, SweepReason, SweepReport};
use abandoned::Abandoned;
use next::Next;
pub(super) use steps::{Gate, Steps};
use written::Written;

/// Things left to do that a report lists; the rest is counted.
const UNFINISHED_MAX: usize = 64;

/// State of the current sweep, and time of the next one.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Sweep {
    phase: Option<SweepPhase>,
    /// Counts up from 1 with each sweep.
    pub number: u64,
    started: Tick,
    phase_started: Tick,
    pub report: SweepReport,
    more_unfinished: usize,
    /// How much of what is unfinished is at links: it leaves nothing else undone.
    unfinished_links: usize,
    pub steps: Steps,
    pub written: Written,
    pub next: Next,
    /// It looks only where something was reported.
    pub near: Option<Near>,
    /// The last sweep has left nothing open.
    pub settled: bool,
    pub losses: Losses,
    pub abandoned: Abandoned,
    /// Nodes in doubt at the end of discovery were read again.
    looked_again: bool,
    /// Another manager runs the fabric: this sweep only reads.
    only_reads: bool,
    /// A datagram has arrived twice since it began.
    pub twice: bool,
    /// No sweep begins while this lasts.
    pub pause: Option<Pause>,
}

/// Nodes that a sweep has lost.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Losses {
    /// When a node was last found not to answer.
    pub last: Option<Tick>,
    /// Whether the manager's own port was read again after that.
    own_asked_again: bool,
}

impl Losses {
    /// Whether a node was lost after the manager's own port had answered: then it may be that port
    /// that is gone, and no other node. Checked once per sweep.
    fn may_be_own_port(&self, own: &Device) -> bool {
        let last = self.last.filter(|_| !self.own_asked_again);
        !own.health.failed && last.is_some_and(|last| own.health.answered_at <= last)
    }
}

impl Sweep {
    /// Current phase, `None` between sweeps.
    pub(super) fn phase(&self) -> Option<SweepPhase> {
        self.phase
    }

    /// Whether it has taken so long that it waits for nobody any more.
    pub(super) fn is_overlong(&self, now: Tick, settings: &SweepSettings) -> bool {
        let longest = settings.longest_wait;
        self.phase.is_some() && !longest.is_zero() && now.since(self.started) >= longest
    }

    /// Notes what could not be done.
    pub(super) fn unfinished(&mut self, what: String) {
        if self.report.unfinished.len() < UNFINISHED_MAX {
            self.report.unfinished.push(what);
        } else {
            self.more_unfinished += 1;
        }
    }

    /// Notes a device that has not answered, or has not taken all that it was to take.
    pub(super) fn unfinished_device(&mut self, what: String) {
        self.report.unfinished_devices += 1;
        self.unfinished(what);
    }

    /// Notes a link that cannot be used yet: it came, went or changed during the sweep, or one of its ends is not ready.
    pub(super) fn unfinished_link(&mut self, what: String) {
        self.unfinished_links += 1;
        self.unfinished(what);
    }

    /// Forgets what could not be done.
    pub(super) fn forget_unfinished(&mut self) {
        self.report.unfinished.clear();
        (self.more_unfinished, self.unfinished_links) = (0, 0);
        self.report.unfinished_devices = 0;
    }

    /// Completes the list of what could not be done.
    fn end_unfinished(&mut self) {
        let all = self.report.unfinished.len() + self.more_unfinished;
        self.report.only_links = all > 0 && all == self.unfinished_links;
        if self.more_unfinished > 0 {
            let more = format!("and {} more", self.more_unfinished);
            self.report.unfinished.push(more);
        }
    }

    /// Notes what could not be done, before all else of that.
    fn unfinished_first(&mut self, what: String) {
        let list = &mut self.report.unfinished;
        if list.len() >= UNFINISHED_MAX {
            list.pop();
            self.more_unfinished += 1;
        }
        list.insert(0, what);
    }

    /// Requests a sweep: now, or after the current one. Requests that others can cause wait until the
    /// hold-down time since the last sweep's start is over.
    pub(super) fn request(&mut self, now: Tick, reason: SweepReason, settings: &SweepSettings) {
        let at = match reason {
            SweepReason::Trap
            | SweepReason::Unfinished
            | SweepReason::Election
            | SweepReason::Unquarantine
            | SweepReason::LinkErrors
                if self.number > 0 =>
            {
                now.max(self.started + settings.trap_hold_down)
            }
            _ => now,
        };
        if reason != SweepReason::Trap {
            self.next.reports.ask_for_all();
        }
        self.next.want(at, reason);
    }

    /// Begins: discards data of the last sweep.
    fn begin(&mut self, now: Tick, reason: SweepReason) {
        self.number += 1;
        (self.started, self.phase_started) = (now, now);
        self.forget_unfinished();
        self.steps.step = 0;
        self.written = Written::default();
        self.losses = Losses::default();
        (self.looked_again, self.only_reads) = (false, false);
        let routing = std::mem::take(&mut self.report.routing);
        self.report = SweepReport {
            number: self.number,
            reason: Some(reason),
            routing,
            ..SweepReport::default()
        };
    }

    /// Adds the time of the current phase, if there is one, to the report.
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

    /// Counts nodes and links, for the report.
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

    /// Plans the next sweep. One that only makes room for a sweep that follows at once does not lengthen
    /// the wait before the next attempt.
    fn schedule_next(&mut self, now: Tick, settings: &SweepSettings, follows_at_once: bool) {
        if self.near.take().is_some() {
            let at = now.max(self.started + settings.trap_hold_down);
            self.next.reports.ask_for_all();
            self.next.want(at, SweepReason::Trap);
        }
        let finished = self.report.unfinished.is_empty();
        self.next.after(now, settings, finished, follows_at_once);
    }
}
