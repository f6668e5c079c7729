//! Lanes that wait for each other's credits and will do so until a lifetime ends.

use weft_fabric::Vl;

use super::lane::Lane;
use super::simulation::Simulation;
use super::transmit::units;
use crate::network::{NONE, PortIndex};

/// An egress lane: port and virtual lane.
type Ends = Vec<(PortIndex, Vl)>;

impl Simulation {
    /// The egress lanes of a deadlock, in a circle: each waits for buffer space that is held by
    /// packets that wait for the next one. None when every lane that waits will get its credits.
    pub fn deadlock(&self) -> Option<Ends> {
        Waits::of(std::iter::once(self)).deadlock()
    }

    /// Whether a lane has something to send and not the credits for it.
    fn lacks_credits(&self, at: usize) -> bool {
        let (index, lane) = (at / self.width, at % self.width);
        let port = &self.ports[index];
        let waits = port.waiting & !port.lossy & 1 << lane != 0;
        waits && !self.has_credits(port, index, lane)
    }

    /// Units held by packets behind the head of an input queue: they wait for the same resource.
    fn held_behind(&self, input: usize, upstream: usize) -> u32 {
        let behind = self.packets_of(self.inputs[input].behind);
        let flits = behind.map(|id| self.store.get(id).flits);
        flits.map(|flits| units(flits, &self.ports[upstream])).sum()
    }
}

/// Graph of waiting lanes. Lanes are numbered as in a simulation.
pub(super) struct Waits {
    /// Lanes of each port.
    width: usize,
    /// Whether a lane waits for credits; in the end, whether it always will.
    stuck: Vec<bool>,
    /// For each lane its limit of the buffer behind it, of a port's shared space together,
    /// and the need of its first packet if it lacks that.
    lanes: Vec<Lane>,
    shared_limits: Vec<u32>,
    wanted: Vec<u32>,
    /// Units of the buffer behind each lane that packets hold which wait for another egress lane, by
    /// that lane.
    holders: Vec<Vec<(usize, u32)>>,
}

impl Waits {
    /// Current state in all parts of a simulation; each knows only its own lanes.
    pub(super) fn of<'a>(parts: impl Iterator<Item = &'a Simulation>) -> Self {
        let mut waits = Self {
            width: 1,
            stuck: Vec::new(),
            lanes: Vec::new(),
            shared_limits: Vec::new(),
            wanted: Vec::new(),
            holders: Vec::new(),
        };
        parts.for_each(|part| waits.add(part));
        waits
    }

    fn add(&mut self, part: &Simulation) {
        let lanes = part.lanes.len();
        self.width = part.width.max(1);
        self.stuck.resize(lanes, false);
        self.lanes.clone_from(&part.lanes);
        let limits = part.ports.iter().map(|port| u32::from(port.shared_limit));
        self.shared_limits = limits.collect();
        self.wanted.resize(lanes, 0);
        self.holders.resize(lanes, Vec::new());
        for (at, lane) in part.lanes.iter().enumerate() {
            if part.lacks_credits(at) {
                self.stuck[at] = true;
                let flits = part.store.get(lane.queue.head).flits;
                self.wanted[at] = units(flits, &part.ports[at / self.width]);
            }
            part.waiting_in(at)
                .for_each(|id| self.add_holder(part, at, id));
        }
    }

    /// A packet that waits for the lane `at`.
    fn add_holder(&mut self, part: &Simulation, at: usize, id: u32) {
        let packet = part.store.get(id);
        if packet.ingress == NONE {
            return;
        }
        let upstream = part.ports[packet.ingress as usize].peer as usize;
        let behind = upstream * self.width + usize::from(packet.lane);
        let input = packet.ingress as usize * self.width + usize::from(packet.lane);
        let units = units(packet.flits, &part.ports[upstream]);
        let more = part.held_behind(input, upstream);
        add(&mut self.holders[behind], at, units + more);
    }

    /// See [`Simulation::deadlock`].
    pub(super) fn deadlock(mut self) -> Option<Ends> {
        // Credits that are in flight, or held by moving packets, will free a lane; its packets
        // move then, and so on.
        loop {
            let freed: Vec<usize> = (0..self.stuck.len())
                .filter(|at| self.stuck[*at] && !self.stays(*at))
                .collect();
            if freed.is_empty() {
                break;
            }
            freed.into_iter().for_each(|at| self.stuck[at] = false);
        }
        let first = self.stuck.iter().position(|stuck| *stuck)?;
        Some(self.circle(first))
    }

    /// Whether a lane lacks credits even when all have come back but those of packets that are stuck.
    fn stays(&self, at: usize) -> bool {
        let index = at / self.width;
        let lanes = index * self.width..(index + 1) * self.width;
        let shared = |lane: usize| self.lanes[lane].shared_by(self.held(lane));
        let shared = (lanes.map(shared).sum(), self.shared_limits[index]);
        !self.lanes[at].may_take(self.wanted[at], self.held(at), shared)
    }

    /// Units of the buffer behind a lane that stuck packets hold.
    fn held(&self, at: usize) -> u32 {
        let held = self.holders[at].iter().filter(|(by, _)| self.stuck[*by]);
        held.map(|(_, units)| units).sum()
    }

    fn circle(&self, first: usize) -> Ends {
        let mut way: Vec<usize> = vec![first];
        let start = loop {
            let at = way.last().copied().unwrap_or(first);
            let Some(next) = self.next(at) else { break 0 };
            if let Some(start) = way.iter().position(|at| *at == next) {
                break start;
            }
            way.push(next);
        };
        let name = |at: &usize| {
            let port = PortIndex((at / self.width) as u32);
            (port, Vl((at % self.width) as u8))
        };
        way[start..].iter().map(name).collect()
    }

    /// A lane that a stuck one waits for.
    fn next(&self, at: usize) -> Option<usize> {
        let index = at / self.width;
        let mut lanes = std::iter::once(at).chain(index * self.width..(index + 1) * self.width);
        lanes.find_map(|lane| {
            let mut by = self.holders[lane].iter().map(|(by, _)| *by);
            by.find(|by| self.stuck[*by])
        })
    }
}

fn add(held: &mut Vec<(usize, u32)>, by: usize, units: u32) {
    match held.iter_mut().find(|(other, _)| *other == by) {
        Some((_, sum)) => *sum += units,
        None => held.push((by, units)),
    }
}
