//! The loop test: packets that circle over the links between switches, so that bad cables show in the counters.
//!
//! While it runs, each plan has loops ([`super::plan::LoopPlan`]), sweeps write their entries, and the end of a sweep
//! injects packets. The first plan after its end has no loops, and the packets end with the entries. It runs because
//! of the configuration, or by an operator's order, which goes before; an order lasts until the manager is no
//! longer master.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use weft_fabric::{Guid, Lid, PKey, Sl};
use weft_routing::{LoopPath, LoopSettings};
use weft_state::State;
use weft_wire::header::{class, method, version};
use weft_wire::packet::Packet;

use super::Manager;
use super::plan::LoopPlan;
use super::settings::LoopTestSettings;
use crate::io::{CommandError, Event, LoopSummary, Output};

/// Packets for each loop at a time, at most.
pub const LOOP_PACKETS_MAX: u32 = 10;
/// Loops that each link is to be in, at most.
pub const REDUNDANCY_MAX: u32 = 64;
/// Packets that the end of a sweep injects into all loops together; there are fewer LIDs.
const INJECTED_MAX: usize = 65_536;
/// Longest loop, and whether each sweep injects packets: in fast mode and otherwise.
const FAST: (u8, bool) = (4, false);
const FULL: (u8, bool) = (3, true);
/// Loops that each link is in, if nothing else is said.
const REDUNDANCY: u32 = 4;

/// Bytes of a packet without headers: a datagram of subnet administration that asks for nothing, filled with a
/// pattern of changing bits.
const PACKET_LEN: usize = 256;
const PATTERN: u8 = 0xB5;
/// An attribute that nobody has.
const ATTRIBUTE: u16 = 0x777;
/// Queue pair of management datagrams other than subnet management.
const GSI: u32 = 1;

/// An order to the loop test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoopTestOrder {
    /// Start it.
    Start {
        /// With few loops; otherwise as [`Self::FastMode`] says.
        fast: bool,
        /// Packets for each loop, 0 to [`LOOP_PACKETS_MAX`].
        packets: u32,
    },
    /// Stop it.
    Stop,
    /// With few loops from the next start on: of up to four links, and packets are injected once. Otherwise all
    /// loops of up to three, and each sweep injects packets.
    FastMode(bool),
    /// Inject this many packets into each loop, 1 to [`LOOP_PACKETS_MAX`].
    Inject(u32),
    /// Inject packets into the loops through this switch only.
    InjectAt(Guid),
    /// Whether each sweep injects packets.
    InjectEachSweep(bool),
    /// Most links of a loop, [`weft_routing::LOOP_LENGTH`].
    PathLength(u8),
    /// Loops that each link is in in fast mode, 1 to [`REDUNDANCY_MAX`].
    Redundancy(u32),
}

/// Why an order is not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoopTestError {
    /// Another manager runs the fabric, or sweeps are paused.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// It runs already.
    #[error("the loop test is running already; stop it first")]
    Running,
    /// It does not run.
    #[error("the loop test is not running")]
    NotRunning,
    /// A number outside its range.
    #[error("{what} is {value}, allowed: {least} to {most}")]
    Range {
        /// Which.
        what: &'static str,
        /// The value.
        value: u32,
        /// Lowest value allowed.
        least: u32,
        /// Highest value allowed.
        most: u32,
    },
    /// No such switch.
    #[error("no switch {node} is in a loop of the loop test")]
    NoSwitch {
        /// The GUID that was given.
        node: Guid,
    },
}

/// The loop test at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoopTestStatus {
    /// It runs.
    pub running: bool,
    /// By an order, not because of the configuration.
    pub by_order: bool,
    /// With few loops.
    pub fast: bool,
    /// Packets for each loop at a time.
    pub packets: u32,
    /// Most links of a loop.
    pub length_max: u8,
    /// Loops that each link is in in fast mode.
    pub redundancy: u32,
    /// Each sweep injects packets.
    pub each_sweep: bool,
    /// The switch into whose loops alone packets are injected.
    pub at: Option<Guid>,
    /// Packets that were injected into each loop since the start.
    pub injected: u64,
    /// Packets that were sent since the start.
    pub sent: u64,
    /// The loops; none while none are planned.
    pub plan: Option<Arc<LoopPlan>>,
}

/// What the loop test is to do.
#[derive(Debug, Clone, State)]
pub(super) struct LoopTest {
    pub(super) running: bool,
    pub(super) by_order: bool,
    /// Fast mode ends with this run.
    fast_once: bool,
    fast: bool,
    pub(super) packets: u32,
    pub(super) length_max: u8,
    pub(super) redundancy: u32,
    pub(super) each_sweep: bool,
    pub(super) at: Option<Guid>,
    /// The next sweep injects packets in any case.
    pub(super) is_pending: bool,
    injected: u64,
    sent: u64,
    /// What was told of the loops.
    told: Option<LoopSummary>,
}

impl Default for LoopTest {
    fn default() -> Self {
        Self {
            running: false,
            by_order: false,
            fast_once: false,
            fast: false,
            packets: 1,
            length_max: FULL.0,
            redundancy: REDUNDANCY,
            each_sweep: FULL.1,
            at: None,
            is_pending: false,
            injected: 0,
            sent: 0,
            told: None,
        }
    }
}

impl LoopTest {
    /// Does as the configuration says.
    pub(super) fn configured(settings: LoopTestSettings) -> Self {
        let mut test = Self::default();
        test.set_fast(settings.fast);
        test.packets = settings.packets.min(LOOP_PACKETS_MAX);
        test.running = settings.on;
        test
    }

    /// The loops that are wanted; none while it does not run.
    pub(super) fn wanted(&self) -> Option<LoopSettings> {
        self.running.then_some(LoopSettings {
            length_max: self.length_max,
            fast: self.fast,
            redundancy: self.redundancy,
        })
    }

    pub(super) fn set_fast(&mut self, fast: bool) {
        self.fast = fast;
        (self.length_max, self.each_sweep) = if fast { FAST } else { FULL };
    }

    pub(super) fn start(&mut self, fast: bool, packets: u32) {
        if fast {
            self.set_fast(true);
        }
        self.fast_once = fast;
        (self.running, self.by_order, self.packets) = (true, true, packets);
        (self.injected, self.sent, self.is_pending) = (0, 0, false);
    }

    pub(super) fn stop(&mut self) {
        (self.running, self.by_order, self.packets) = (false, false, 1);
        (self.at, self.told, self.is_pending) = (None, None, false);
        if std::mem::take(&mut self.fast_once) {
            self.set_fast(false);
        }
    }

    /// The packets that the end of a sweep injects, by their LIDs; none where it injects none.
    fn due(&self, plan: &LoopPlan) -> Option<Vec<Lid>> {
        let is_due = self.is_pending || self.each_sweep || self.injected == 0;
        if !self.running || !is_due || self.packets == 0 {
            return None;
        }
        let at = self.at.map(|at| plan.topology.find(at));
        let is_meant = |path: &&LoopPath| match at {
            None => true,
            Some(node) => node.is_some_and(|node| path.leads_through(node)),
        };
        let paths = plan.paths.paths.iter().filter(is_meant);
        let lids: Vec<Lid> = paths.flat_map(|path| path.lids()).collect();
        let rounds = (0..self.packets).flat_map(|_| lids.iter().copied());
        Some(rounds.take(INJECTED_MAX).collect())
    }

    pub(super) fn event(&self) -> Event {
        match self.running {
            true => Event::LoopTestStarted {
                fast: self.fast,
                packets: self.packets,
                length_max: self.length_max,
            },
            false => Event::LoopTestStopped,
        }
    }
}

impl Manager {
    /// The loop test at this moment.
    pub fn loop_test(&self) -> LoopTestStatus {
        let test = &self.planning.loop_test;
        LoopTestStatus {
            running: test.running,
            by_order: test.by_order,
            fast: test.fast,
            packets: test.packets,
            length_max: test.length_max,
            redundancy: test.redundancy,
            each_sweep: test.each_sweep,
            at: test.at,
            injected: test.injected,
            sent: test.sent,
            plan: self.planning.plan.loops.clone().filter(|_| test.running),
        }
    }

    /// Follows a change of the configuration, unless an operator's order is in force.
    pub(super) fn configure_loop_test(&mut self, settings: LoopTestSettings) {
        let test = &mut self.planning.loop_test;
        let is_ordered = test.by_order && (test.running || settings.on);
        if settings == self.settings.loop_test || is_ordered {
            return;
        }
        let ran = test.running;
        *test = LoopTest::configured(settings);
        if ran != test.running {
            let event = test.event();
            self.out.event(event);
        }
    }

    /// Ends an operator's order: another manager that takes over knows nothing of it, and takes the loops and their
    /// packets away.
    pub(super) fn forget_loop_order(&mut self) {
        let test = &mut self.planning.loop_test;
        let ran = test.running;
        *test = LoopTest::configured(self.settings.loop_test);
        if ran != test.running {
            let event = test.event();
            self.out.event(event);
        }
    }

    /// Tells which loops are planned, where they are others than before.
    pub(super) fn tell_loops(&mut self) {
        let Some(plan) = self.planning.plan.loops.as_ref() else {
            return;
        };
        let summary = LoopSummary {
            loops: plan.paths.paths.len() as u32,
            lids: plan.paths.lids().count() as u32,
            links: plan.coverage.links() as u32,
            uncovered: plan.uncovered().len() as u32,
            is_cut_short: plan.paths.is_cut_short,
        };
        let test = &mut self.planning.loop_test;
        if test.told.replace(summary) != Some(summary) {
            self.out.event(Event::LoopsPlanned(summary));
        }
    }

    /// Injects the packets that are due, at the end of a sweep in which all switches have confirmed their tables.
    pub(super) fn inject_loop_packets(&mut self) {
        let planning = &mut self.planning;
        let plan = planning.plan.loops.as_ref();
        let lids = plan.and_then(|plan| planning.loop_test.due(plan));
        let Some(lids) = lids.filter(|lids| !lids.is_empty()) else {
            return;
        };
        let test = &mut planning.loop_test;
        test.is_pending = false;
        test.injected += u64::from(test.packets);
        test.sent += lids.len() as u64;
        let event = Event::LoopPacketsInjected {
            packets: test.packets,
            sent: lids.len() as u64,
            injected: test.injected,
        };
        let own = planning.plan.sm_lid();
        self.out.totals.sent += lids.len() as u64;
        for lid in lids {
            self.out.push(Output::Send(loop_packet(own, lid)));
        }
        self.out.event(event);
    }
}

fn loop_packet(own: Lid, lid: Lid) -> Packet {
    let mut mad = vec![PATTERN; PACKET_LEN];
    let [high, low] = ATTRIBUTE.to_be_bytes();
    mad[..24].fill(0);
    mad[..4].copy_from_slice(&[version::OPA, class::SUBN_ADM, version::OPA, method::SEND]);
    mad[16..18].copy_from_slice(&[high, low]);
    Packet {
        slid: own,
        dlid: lid,
        sl: Sl(0),
        pkey: PKey::MGMT_FULL,
        dest_qp: GSI,
        src_qp: GSI,
        mad,
    }
}
