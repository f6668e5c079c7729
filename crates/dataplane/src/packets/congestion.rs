//! Congestion control: switches mark packets (FECN), receivers tell their senders (BECN), senders
//! wait longer between packets (CCT).
//!
//! All of it follows the registers and is off while they are 0. A lane of a switch marks packets
//! while at least the threshold's fraction of its buffer waits for it: with 15, the most eager, from a
//! fifteenth on, with 1, the least, from a full buffer on; the vendor does not publish the fraction of
//! each step. A port that had to wait for credits is no root of congestion and marks only if the victim
//! mask names it. A receiver answers each mark with a packet of its own. The sender's service level
//! then moves up its table by the increase, and down by one with each timer; after each packet
//! that level pauses for the table's multiple of the packet's time.

use weft_fabric::{Lid, Sl};
use weft_wire::Layout;
use weft_wire::sm::{CctEntry, HfiCongestionSetting, SwitchCongestionSetting};

use super::Picos;
use super::congestion_time::CongestionTimes;
use super::event::{code, kind};
use super::hold::HELD;
use super::simulation::Simulation;
use super::store::{Packet, Parcel};
use crate::constants::{
    CCTI_TIMER_UNIT, FLIT_BYTES, MARKING_SIZE_UNIT, MARKING_THRESHOLD_MAX, NOTIFICATION_BYTES,
};
use crate::network::{NONE, Network};

/// Flits of a step of the smallest packet that is marked.
const MARKING_SIZE_FLITS: u16 = (MARKING_SIZE_UNIT / FLIT_BYTES) as u16;

/// Bits of [`SwitchCongestionSetting::control_map`].
const VICTIMS_VALID: u32 = 1;
const THRESHOLD_VALID: u32 = 4;
const RATE_VALID: u32 = 16;

/// A packet was marked by a switch.
pub(super) const FECN: u8 = 1;
/// A packet that reports marks to its receiver.
pub(super) const BECN: u8 = 2;

/// Marking settings of a switch.
#[derive(Debug, Clone, Default)]
struct Marking {
    /// 0 for never.
    threshold: u32,
    /// Flits of the smallest packet that is marked.
    flits_min: u16,
    /// Packets of a lane between two marked ones.
    rate: u16,
    victims: [u8; 32],
}

/// Reaction settings of an HFI.
#[derive(Debug, Clone, Default)]
struct Reaction {
    setting: HfiCongestionSetting,
    /// Multiplier and shift of each index up to the limit.
    table: Vec<CctEntry>,
    /// Index in the table and running timer by service level.
    levels: Vec<Level>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Level {
    index: u16,
    runs: bool,
}

/// Congestion control of all devices; empty vectors where nothing is on.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    marking: Vec<Marking>,
    /// By port.
    reactions: Vec<Option<Box<Reaction>>>,
    /// By egress lane: packets since the last marked one.
    since_mark: Vec<u16>,
    /// By egress lane of HFIs: nothing is sent before.
    gates: Vec<Picos>,
    /// By port: the last wake-up that was set for a gate.
    wakes: Vec<Picos>,
    marked: Vec<Marks>,
    pub(super) times: CongestionTimes,
}

/// Marks counted by a port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// Packets marked.
    pub(super) made: u64,
    /// Packets received with each mark.
    pub(super) forward: u64,
    pub(super) backward: u64,
}

impl State {
    /// Marks counted by a lane.
    pub(super) fn marks(&self, at: usize) -> Marks {
        self.marked.get(at).copied().unwrap_or_default()
    }
}

impl Simulation {
    /// Packets that switches have marked since the beginning.
    pub fn packets_marked(&self) -> u64 {
        self.congestion.marked.iter().map(|lane| lane.made).sum()
    }

    pub(super) fn read_congestion(&mut self, network: &Network) {
        let marking: Vec<Marking> = network
            .topology()
            .switches()
            .iter()
            .map(|id| marking(network.device_at(*id).congestion_setting()))
            .collect();
        let mut reactions: Vec<Option<Box<Reaction>>> = vec![None; self.ports.len()];
        for (_, device) in network
            .devices()
            .filter(|(_, device)| device.switch().is_none())
        {
            let reaction = reaction(device.congestion_setting(), device.congestion_table());
            for (_, at) in device.ports() {
                let before = self.congestion.reactions.get_mut(at.0 as usize);
                let levels = before.and_then(Option::take).map(|before| before.levels);
                let with = |mut now: Reaction| {
                    now.levels = levels.clone().unwrap_or(now.levels);
                    let most = now.table.len().saturating_sub(1) as u16;
                    let levels = now.levels.iter_mut();
                    levels.for_each(|level| level.index = level.index.min(most));
                    Box::new(now)
                };
                reactions[at.0 as usize] = reaction.clone().map(with);
            }
        }
        let marks = marking.iter().any(|switch| switch.threshold > 0);
        let reacts = reactions.iter().any(Option::is_some);
        let state = &mut self.congestion;
        state.marking = if marks { marking } else { Vec::new() };
        state.reactions = if reacts { reactions } else { Vec::new() };
        let lanes = self.lanes.len();
        if marks {
            state.since_mark.resize(lanes, u16::MAX);
            state.times.make_room(lanes, self.ports.len());
        }
        if reacts {
            state.gates.resize(lanes, 0);
            state.wakes.resize(self.ports.len(), 0);
        }
        if marks || reacts {
            state.marked.resize(lanes, Marks::default());
        }
        (0..lanes).for_each(|at| self.update_congestion_time(at));
    }

    /// Marks a packet that leaves a switch, if its lane is congested.
    #[inline]
    pub(super) fn mark(&mut self, id: u32, at: usize, waited: bool) {
        if self.congestion.marking.is_empty() {
            return;
        }
        self.mark_if_congested(id, at, waited);
    }

    fn mark_if_congested(&mut self, id: u32, at: usize, waited: bool) {
        let index = at / self.width;
        let port = &self.ports[index];
        if port.switch == NONE {
            return;
        }
        let marking = &self.congestion.marking[port.switch as usize];
        let congested = self.is_congested(at);
        let packet = self.store.get_mut(id);
        if packet.marks & BECN != 0 {
            return;
        }
        let number = index - port.base as usize;
        let victim = waited && marking.victims[31 - number / 8 % 32] & 1 << (number % 8) == 0;
        let since = &mut self.congestion.since_mark[at];
        let due = *since >= marking.rate;
        if congested && !victim && due && packet.flits >= marking.flits_min {
            packet.marks |= FECN;
            *since = 0;
            self.congestion.marked[at].made += 1;
        } else {
            *since = since.saturating_add(1);
        }
    }

    /// Whether the data waiting for a switch's lane has reached its threshold.
    pub(super) fn is_congested(&self, at: usize) -> bool {
        let switch = self.ports[at / self.width].switch as usize;
        let threshold = self.congestion.marking.get(switch);
        let threshold = threshold.map_or(0, |marking| marking.threshold.min(MARKING_THRESHOLD_MAX));
        let lane = &self.lanes[at];
        let buffer = u32::from(lane.dedicated) + u32::from(lane.shared);
        let from = buffer * (MARKING_THRESHOLD_MAX + 1 - threshold);
        threshold > 0 && lane.waiting > 0 && lane.waiting * MARKING_THRESHOLD_MAX >= from
    }

    /// Processes a packet at an HFI that is marked, or that reports marks; returns whether it was a
    /// report, which has no other receiver.
    pub(super) fn take_marks(&mut self, packet: &Packet) -> bool {
        let at = packet.ingress as usize * self.width + usize::from(packet.lane);
        let of_hfi = self.ports[packet.ingress as usize].switch == NONE;
        if self.congestion.marked.is_empty() || !of_hfi {
            return packet.marks & BECN != 0;
        }
        if packet.marks & FECN != 0 {
            self.congestion.marked[at].forward += 1;
            self.notify(packet);
        }
        if packet.marks & BECN != 0 {
            self.congestion.marked[at].backward += 1;
            self.react(packet.ingress as usize, Sl(packet.tag as u8));
        }
        packet.marks & BECN != 0
    }

    /// The receiver of a marked packet notifies its sender, on the same service level.
    fn notify(&mut self, packet: &Packet) {
        let sender = packet.from as usize;
        let (lid, _) = self.lids[sender];
        self.totals.sent += 1;
        self.inject_marked(
            &Parcel {
                from: crate::network::PortIndex(packet.ingress),
                dlid: Lid(lid & !HELD),
                sl: Sl(packet.sl),
                bytes: NOTIFICATION_BYTES,
                tag: u64::from(packet.sl),
            },
            BECN,
        );
    }

    /// A sender goes up its table.
    fn react(&mut self, port: usize, level: Sl) {
        let reaction = self.congestion.reactions.get_mut(port);
        let Some(reaction) = reaction.and_then(Option::as_mut) else {
            return;
        };
        let number = usize::from(level.0 & 31);
        if reaction.setting.control_map & 1 << number == 0 {
            return;
        }
        let entry = reaction.setting.hfi_congestion_entry_list[number];
        let most = reaction.table.len().saturating_sub(1) as u16;
        let state = &mut reaction.levels[number];
        state.index = state
            .index
            .saturating_add(u16::from(entry.ccti_increase))
            .min(most);
        if !state.runs && entry.ccti_timer > 0 {
            state.runs = true;
            self.start_timer(port, number, entry.ccti_timer);
        }
    }

    fn start_timer(&mut self, port: usize, level: usize, units: u16) {
        let at = self.now + Picos::from(units) * CCTI_TIMER_UNIT;
        let event = code(kind::CALM, port as u32, level as u32);
        self.calendar.push(at, event);
    }

    /// A timer has run out: one step down the table.
    pub(super) fn calm(&mut self, port: usize, level: usize) {
        let reaction = self.congestion.reactions.get_mut(port);
        let Some(reaction) = reaction.and_then(Option::as_mut) else {
            return;
        };
        let entry = reaction.setting.hfi_congestion_entry_list[level];
        let state = &mut reaction.levels[level];
        let least = u16::from(entry.ccti_min);
        state.index = state.index.saturating_sub(1).max(least.min(state.index));
        state.runs = state.index > least && entry.ccti_timer > 0;
        if state.runs {
            self.start_timer(port, level, entry.ccti_timer);
        }
    }

    /// A packet of an HFI begins to leave: when its service level may send again. Levels that share
    /// a lane wait for each other.
    #[inline]
    pub(super) fn hold_back(
        &mut self,
        port: usize,
        at: usize,
        level: u8,
        (now, span): (Picos, Picos),
    ) {
        let reaction = self.congestion.reactions.get(port);
        let Some(reaction) = reaction.and_then(Option::as_ref) else {
            return;
        };
        let index = usize::from(reaction.levels[usize::from(level)].index);
        let entry = reaction.table.get(index).copied().unwrap_or_default();
        let delay = (span * Picos::from(entry.cct_multiplier)) >> entry.cct_shift;
        self.congestion.gates[at] = now + span + delay;
    }

    /// Whether a lane of an HFI must wait.
    #[inline]
    pub(super) fn is_held_back(&self, at: usize) -> bool {
        let gate = self.congestion.gates.get(at);
        gate.is_some_and(|gate| *gate > self.now)
    }

    /// The first of a port's lanes that wait and are held back wakes it when it may send.
    #[inline]
    pub(super) fn wake_at_gate(&mut self, index: usize) {
        if !self.congestion.gates.is_empty() {
            self.set_wake(index);
        }
    }

    fn set_wake(&mut self, index: usize) {
        let waiting = self.ports[index].waiting;
        let lanes = (0..self.width).filter(|lane| waiting & 1 << lane != 0);
        let gates = lanes.map(|lane| self.congestion.gates[index * self.width + lane]);
        let Some(gate) = gates.filter(|gate| *gate > self.now).min() else {
            return;
        };
        let wake = &mut self.congestion.wakes[index];
        if *wake != gate {
            *wake = gate;
            self.calendar.push(gate, code(kind::GATE, index as u32, 0));
        }
    }
}

fn marking(setting: &[u8]) -> Marking {
    let setting = SwitchCongestionSetting::decode(setting).unwrap_or_default();
    let valid = |bit: u32| setting.control_map & bit != 0;
    let mut marking = Marking::default();
    if valid(THRESHOLD_VALID) {
        marking.threshold = u32::from(setting.threshold);
        marking.flits_min = u16::from(setting.packet_size) * MARKING_SIZE_FLITS;
    }
    if valid(RATE_VALID) {
        marking.rate = setting.marking_rate;
    }
    if valid(VICTIMS_VALID) {
        marking.victims = setting.victim_mask;
    }
    marking
}

/// None where no service level reacts.
fn reaction(setting: &[u8], table: &[u8]) -> Option<Reaction> {
    let setting = HfiCongestionSetting::decode(setting).ok()?;
    let (limit, entries) = table.split_first_chunk::<2>()?;
    let limit = usize::from(u16::from_be_bytes(*limit));
    let entries = entries.chunks_exact(2).take(limit + 1);
    let table: Vec<CctEntry> = entries
        .filter_map(|bytes| CctEntry::decode(bytes).ok())
        .collect();
    (setting.control_map != 0 && limit > 0).then(|| Reaction {
        setting,
        table,
        levels: vec![Level::default(); 32],
    })
}
