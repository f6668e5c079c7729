//! Lanes that wait for each other's credits and will do so until a lifetime ends.

use weft_fabric::Vl;

use super::simulation::Simulation;
use super::transmit::units;
use crate::network::{NONE, PortIndex};

impl Simulation {
    /// The egress lanes of a deadlock, in a circle: each waits for buffer space that is held by
    /// packets that wait for the next one. None when every lane that waits will get its credits.
    pub fn deadlock(&self) -> Option<Vec<(PortIndex, Vl)>> {
        let mut stuck: Vec<bool> = (0..self.lanes.len())
            .map(|at| self.lacks_credits(at))
            .collect();
        let holders = self.holders();
        // Credits that are on their way, or held by what moves, will free a lane; what that lane
        // holds moves then, and so on.
        loop {
            let freed: Vec<usize> = (0..stuck.len())
                .filter(|at| stuck[*at] && !self.stays(*at, &holders, &stuck))
                .collect();
            if freed.is_empty() {
                break;
            }
            freed.into_iter().for_each(|at| stuck[at] = false);
        }
        let first = stuck.iter().position(|stuck| *stuck)?;
        Some(self.circle(first, &holders, &stuck))
    }

    /// Whether a lane has something to send and not the credits for it.
    fn lacks_credits(&self, at: usize) -> bool {
        let (index, lane) = (at / self.width, at % self.width);
        let port = &self.ports[index];
        port.waiting & 1 << lane != 0 && !self.has_credits(port, index, lane)
    }

    /// For each egress lane: the units of the buffer behind it that packets hold which wait for
    /// another egress lane, by that lane.
    fn holders(&self) -> Vec<Vec<(usize, u32)>> {
        let mut holders: Vec<Vec<(usize, u32)>> = vec![Vec::new(); self.lanes.len()];
        for (at, lane) in self.lanes.iter().enumerate() {
            let mut id = lane.queue.head;
            while id != NONE {
                let packet = self.store.get(id);
                if packet.ingress != NONE {
                    let upstream = self.ports[packet.ingress as usize].peer as usize;
                    let units = units(packet.flits, &self.ports[upstream]);
                    let behind = upstream * self.width + usize::from(packet.lane);
                    add(&mut holders[behind], at, units);
                    let input = packet.ingress as usize * self.width + usize::from(packet.lane);
                    let more = self.held_behind(input, upstream);
                    add(&mut holders[behind], at, more);
                }
                id = packet.next;
            }
        }
        holders
    }

    /// Units that packets behind the head of an input queue hold: they wait for what it waits for.
    fn held_behind(&self, input: usize, upstream: usize) -> u32 {
        let (mut id, mut held) = (self.inputs[input].behind.head, 0);
        while id != NONE {
            let packet = self.store.get(id);
            held += units(packet.flits, &self.ports[upstream]);
            id = packet.next;
        }
        held
    }

    /// Whether all of the buffer behind a lane that is not free is held by packets that are stuck.
    fn stays(&self, at: usize, holders: &[Vec<(usize, u32)>], stuck: &[bool]) -> bool {
        let index = at / self.width;
        let lanes = index * self.width..(index + 1) * self.width;
        lanes.into_iter().all(|other| {
            let held = holders[other].iter().filter(|(by, _)| stuck[*by]);
            held.map(|(_, units)| units).sum::<u32>() == self.lanes[other].used
        })
    }

    fn circle(
        &self,
        first: usize,
        holders: &[Vec<(usize, u32)>],
        stuck: &[bool],
    ) -> Vec<(PortIndex, Vl)> {
        let mut way: Vec<usize> = vec![first];
        let start = loop {
            let at = way.last().copied().unwrap_or(first);
            let index = at / self.width;
            let mut lanes = std::iter::once(at).chain(index * self.width..(index + 1) * self.width);
            let next = lanes.find_map(|lane| {
                let mut by = holders[lane].iter().map(|(by, _)| *by);
                by.find(|by| stuck[*by])
            });
            let Some(next) = next else { break 0 };
            if let Some(start) = way.iter().position(|at| *at == next) {
                break start;
            }
            way.push(next);
        };
        let name = |at: &usize| {
            let port = PortIndex((at / self.width) as u32);
            (port, Self::vl(*at, self.width))
        };
        way[start..].iter().map(name).collect()
    }
}

fn add(held: &mut Vec<(usize, u32)>, by: usize, units: u32) {
    match held.iter_mut().find(|(other, _)| *other == by) {
        Some((_, sum)) => *sum += units,
        None => held.push((by, units)),
    }
}
