//! Adaptive routing: a switch moves routes, not packets.
//!
//! Every 64 ms × 2^ARFrequency a switch looks at its ports. A port is congested when what waits for
//! one of its lanes takes up at least the threshold's share of the lane's buffer. Then the route of
//! the packet that waits first is moved to another port of its LID's group: one route for each
//! congested port and look, and only to a port where less waits. How many routes the firmware moves
//! at a look is not public. Routes whose port is lost are moved at once.

use weft_fabric::Lid;

use super::configure::UNREACHABLE;
use super::event::{code, kind};
use super::simulation::Simulation;
use super::{Picos, Random};
use crate::constants::{ADAPTIVE_PERIOD, ADAPTIVE_THRESHOLD_DEFAULT, ADAPTIVE_THRESHOLDS};
use crate::network::Network;
use crate::switch::SwitchRegisters;
use weft_wire::sm::{PortGroupFdb, PortGroupTable, SwitchInfo};

/// A group's ports: bit n is port n + 1.
pub(crate) type Mask = [u64; 4];

/// Algorithm that selects a new port (`AdaptiveRouting.Algorithm`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Algorithm {
    #[default]
    Random,
    Greedy,
    GreedyRandom,
}

impl Algorithm {
    /// The algorithm in SwitchInfo.
    pub(crate) fn of(info: &SwitchInfo) -> Self {
        match info.ar_algorithm {
            0 => Self::Random,
            1 => Self::Greedy,
            _ => Self::GreedyRandom,
        }
    }
}

/// Settings of a switch, and its groups.
#[derive(Debug, Clone, Default)]
struct Policy {
    enabled: bool,
    lost_only: bool,
    algorithm: Algorithm,
    period: Picos,
    /// Percent of a lane's buffer.
    threshold: u32,
    /// Group by LID.
    groups: Vec<u8>,
    masks: Vec<Mask>,
    /// A look is in the calendar.
    looks: bool,
    moved: u64,
}

/// Adaptive routing of all switches.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    policies: Vec<Policy>,
    /// Random numbers of each switch.
    random: Vec<Random>,
    /// Routes have changed, or may at any moment.
    pub(super) routes_change: bool,
}

impl State {
    pub(super) fn new(switches: usize, seed: u64) -> Self {
        let random = (0..switches).map(|index| Random::of(seed, index as u64));
        Self {
            policies: vec![Policy::default(); switches],
            random: random.collect(),
            routes_change: false,
        }
    }
}

impl Simulation {
    pub(super) fn read_adaptive(&mut self, network: &Network) {
        for index in 0..self.switches.len() {
            if !self.moves_switch(index) {
                continue;
            }
            let (looks, moved) = (
                self.adaptive.policies[index].looks,
                self.adaptive.policies[index].moved,
            );
            let mut policy = read(&network.switches[index]);
            (policy.looks, policy.moved) = (looks, moved);
            self.adaptive.policies[index] = policy;
            if self.adaptive.policies[index].enabled {
                self.adaptive.routes_change = true;
                self.move_lost_routes(index);
                self.begin_looks(index);
            }
        }
    }

    /// Switches do not look all at once.
    fn begin_looks(&mut self, index: usize) {
        let policy = &mut self.adaptive.policies[index];
        if policy.looks || policy.lost_only {
            return;
        }
        policy.looks = true;
        let phase = self.adaptive.random[index].bits() % policy.period.max(1);
        self.calendar
            .push(self.now + phase, code(kind::ADAPT, index as u32, 0));
    }

    /// Whether packets to a LID can overtake each other: their routes have changed, or may.
    #[inline]
    pub fn may_overtake(&self) -> bool {
        self.adaptive.routes_change
    }

    /// Routes that switches have moved since the beginning.
    pub fn routes_moved(&self) -> u64 {
        self.adaptive
            .policies
            .iter()
            .map(|policy| policy.moved)
            .sum()
    }

    /// The port by which a switch sends packets to a LID now.
    pub fn route_of(&self, switch: weft_fabric::SwitchIndex, lid: Lid) -> Option<u8> {
        let routes = &self.switches.get(switch.0 as usize)?.routes;
        let port = routes.get(lid.0 as usize).copied();
        port.filter(|port| *port != UNREACHABLE)
    }

    /// A switch looks at its ports.
    pub(super) fn adapt(&mut self, index: usize) {
        let policy = &mut self.adaptive.policies[index];
        if !policy.enabled || policy.lost_only {
            policy.looks = false;
            return;
        }
        let next = self.now + policy.period;
        self.calendar.push(next, code(kind::ADAPT, index as u32, 0));
        for port in 1..=self.switches[index].ports {
            if let Some(lid) = self.congested_route(index, port) {
                self.move_route(index, lid, port);
            }
        }
    }

    /// The LID of the first packet in the most loaded lane of a port above
    /// the threshold.
    fn congested_route(&self, index: usize, port: u8) -> Option<u32> {
        let egress = self.switches[index].base as usize + usize::from(port);
        let threshold = self.adaptive.policies[index].threshold;
        let lanes = &self.lanes[egress * self.width..][..self.width];
        let congested = lanes.iter().filter(|lane| {
            let buffer = u32::from(lane.dedicated) + u32::from(lane.shared);
            lane.waiting > 0 && lane.waiting * 100 >= threshold * buffer
        });
        let most = congested.max_by_key(|lane| lane.waiting)?;
        Some(self.store.get(most.queue.head).dlid)
    }

    /// Units that wait for a port.
    pub(super) fn load(&self, egress: usize) -> u32 {
        let lanes = &self.lanes[egress * self.width..][..self.width];
        lanes.iter().map(|lane| lane.waiting).sum()
    }

    fn move_route(&mut self, index: usize, lid: u32, port: u8) {
        let base = self.switches[index].base as usize;
        let load = self.load(base + usize::from(port));
        if let Some(to) = self.choose_port(index, lid, load) {
            self.set_route(index, lid, to);
        }
    }

    fn set_route(&mut self, index: usize, lid: u32, to: u8) {
        if let Some(route) = self.switches[index].routes.get_mut(lid as usize) {
            self.adaptive.policies[index].moved += u64::from(*route != to);
            *route = to;
        }
    }

    /// Another port of a LID's group, with less than `load` waiting.
    fn choose_port(&mut self, index: usize, lid: u32, load: u32) -> Option<u8> {
        let policy = &self.adaptive.policies[index];
        let group = usize::from(*policy.groups.get(lid as usize)?);
        let mask = policy.masks.get(group)?;
        let base = self.switches[index].base as usize;
        let members = (1..=self.switches[index].ports).filter(|port| {
            let bit = usize::from(port - 1);
            mask[bit / 64] & 1 << (bit % 64) != 0
        });
        let mut candidates: Vec<(u32, u8)> = members
            .filter(|port| self.ports[base + usize::from(*port)].up)
            .map(|port| (self.load(base + usize::from(port)), port))
            .filter(|(other, _)| *other < load)
            .collect();
        let least = candidates.iter().map(|(load, _)| *load).min()?;
        match policy.algorithm {
            Algorithm::Random => {}
            Algorithm::Greedy | Algorithm::GreedyRandom => {
                candidates.retain(|(load, _)| *load == least);
            }
        }
        let pick = match policy.algorithm {
            Algorithm::Greedy => 0,
            _ => self.adaptive.random[index].below(candidates.len() as u32),
        };
        candidates.get(pick as usize).map(|(_, port)| *port)
    }

    fn move_lost_routes(&mut self, index: usize) {
        let base = self.switches[index].base as usize;
        for lid in 0..self.switches[index].routes.len() {
            let route = self.switches[index].routes[lid];
            let lost =
                route != UNREACHABLE && route != 0 && !self.ports[base + usize::from(route)].up;
            if lost && let Some(to) = self.choose_port(index, lid as u32, u32::MAX) {
                self.set_route(index, lid as u32, to);
            }
        }
    }
}

fn read(registers: &SwitchRegisters) -> Policy {
    let info = registers.info();
    let enabled = info.ar_enable && !info.ar_pause;
    if !enabled {
        return Policy::default();
    }
    let threshold = match usize::from(info.ar_threshold) {
        0 => ADAPTIVE_THRESHOLD_DEFAULT,
        value => value.min(ADAPTIVE_THRESHOLDS.len()),
    };
    Policy {
        enabled,
        lost_only: info.ar_lost_routes_only,
        algorithm: Algorithm::of(info),
        period: ADAPTIVE_PERIOD << info.ar_frequency,
        threshold: ADAPTIVE_THRESHOLDS[threshold - 1],
        groups: groups(registers, info),
        masks: masks(registers, info),
        looks: false,
        moved: 0,
    }
}

/// The group of each LID.
pub(crate) fn groups(registers: &SwitchRegisters, info: &SwitchInfo) -> Vec<u8> {
    let blocks = 0..=info.linear_fdb_top / PortGroupFdb::LIDS;
    let blocks = blocks.map_while(|block| registers.port_group_fdb_block(block).ok());
    blocks.flatten().collect()
}

/// The ports of each group.
pub(crate) fn masks(registers: &SwitchRegisters, info: &SwitchInfo) -> Vec<Mask> {
    let blocks = u32::from(info.port_group_cap).div_ceil(PortGroupTable::GROUPS);
    let group = |group: u32| {
        let (block, place) = (
            group / PortGroupTable::GROUPS,
            group % PortGroupTable::GROUPS,
        );
        std::array::from_fn(|position| {
            let bytes = registers.port_group_block(position as u8, block as u8);
            let start = place as usize * 8;
            bytes.map_or(0, |bytes| {
                let word = bytes[start..start + 8].iter();
                word.fold(0, |word, byte| word << 8 | u64::from(*byte))
            })
        })
    };
    (0..blocks * PortGroupTable::GROUPS).map(group).collect()
}
