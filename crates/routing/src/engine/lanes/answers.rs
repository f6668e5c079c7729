//! Lanes in which answers close no credit cycle either. A program that answers on the service level of
//! the request sends in the lane of its own LID, to the requester.
//!
//! Routes stay as they are placed; only lanes are reassigned. The LIDs on a switch share a lane. It
//! holds all routes to them, and the routes from their switch to everybody. Switches are taken one by one, each
//! into the first lane in which that closes no cycle, in another order until one has room for all.

use rayon::prelude::*;

use super::{NO_LINK, Placing, Waits};

/// Steps from one switch to the next, in orders that are tried one after the other.
const STEPS: [usize; 12] = [1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31];

/// Pairs from which on one order is tried: all take too long.
const LARGE: usize = 1 << 22;

/// Channels, each of which waits for another one.
type Pairs = Vec<(u32, u32)>;

impl Placing<'_> {
    /// Moves LIDs of HFIs to other lanes if answers close a cycle in theirs, and close none in others.
    pub(crate) fn cover_answers(&mut self) {
        let homes = (0..self.network.len()).filter(|at| !self.network.hfis(*at).is_empty());
        let homes: Vec<usize> = homes.collect();
        let used = self.lanes.iter().filter(|lane| !lane.pairs().is_empty());
        // In one lane, answers take routes that are there.
        if used.count() < 2 {
            return;
        }
        let answered: Vec<Pairs> = homes.par_iter().map(|home| self.answered(*home)).collect();
        if self.are_answers_covered(&homes, &answered) {
            return;
        }
        let homed = homes.par_iter().zip(answered);
        let waits =
            homed.map(|(home, answered)| without_repeats([self.asked(*home), answered].concat()));
        let waits: Vec<Pairs> = waits.collect();
        let tries = match waits.iter().map(Vec::len).sum::<usize>() {
            0..LARGE => STEPS.len(),
            _ => 1,
        };
        let orders = STEPS
            .into_iter()
            .filter(|step| is_coprime(*step, homes.len()));
        let mut dealt = orders.take(tries).map(|step| self.deal(&waits, step));
        let Some((lanes, places)) = dealt.find_map(|dealt| dealt) else {
            return;
        };
        self.lanes = lanes;
        for (home, lane) in homes.into_iter().zip(places) {
            let lids = self.network.hfis(home).iter().flat_map(|end| end.entries());
            lids.for_each(|lid| self.lane_of[lid] = lane);
        }
    }

    /// Whether answers close no cycle in the lanes as they are.
    fn are_answers_covered(&self, homes: &[usize], answered: &[Pairs]) -> bool {
        let mut lanes = self.lanes.clone();
        homes.iter().zip(answered).all(|(home, answered)| {
            let lids = self.network.hfis(*home).iter().flat_map(|end| end.lids());
            let mut own: Vec<usize> = lids.map(|lid| self.lane(lid)).collect();
            own.sort_unstable();
            own.dedup();
            own.into_iter().all(|lane| add(&mut lanes[lane], answered))
        })
    }

    /// Deals switches out to lanes, `step` apart from each other; the lane of each, if there is one.
    fn deal(&self, waits: &[Pairs], step: usize) -> Option<(Vec<Waits>, Vec<u8>)> {
        let mut lanes = vec![Waits::new(self.channels.len()); self.lanes.len()];
        let mut places = vec![0; waits.len()];
        for home in (0..waits.len()).map(|index| index * step % waits.len()) {
            let lane = lanes.iter_mut().position(|lane| {
                let mark = lane.mark();
                let fits = add(lane, &waits[home]);
                if !fits {
                    lane.undo(mark);
                }
                fits
            })?;
            places[home] = lane as u8;
        }
        Some((lanes, places))
    }

    /// Dependencies of all routes to the HFIs on a switch.
    fn asked(&self, home: usize) -> Pairs {
        let mut pairs = Vec::new();
        let mut seen = vec![usize::MAX; self.channels.len()];
        let lids = self.network.hfis(home).iter().flat_map(|end| end.entries());
        for lid in lids {
            for from in 0..self.network.len() {
                if !self.network.hfis(from).is_empty() {
                    self.walk(from, lid, &mut pairs, |channel| {
                        std::mem::replace(&mut seen[channel as usize], lid) == lid
                    });
                }
            }
        }
        without_repeats(pairs)
    }

    /// Dependencies of the routes from a switch to all HFIs.
    fn answered(&self, home: usize) -> Pairs {
        let mut pairs = Vec::new();
        for to in (0..self.network.len()).filter(|to| *to != home) {
            let lids = self.network.hfis(to).iter().flat_map(|end| end.entries());
            lids.for_each(|lid| self.walk(home, lid, &mut pairs, |_| false));
        }
        without_repeats(pairs)
    }

    /// Follows a LID from a switch up to a channel that is `known`.
    fn walk(&self, from: usize, lid: usize, pairs: &mut Pairs, mut known: impl FnMut(u32) -> bool) {
        let (mut at, mut before) = (from, NO_LINK);
        for _ in 0..self.network.len() {
            let egress = self.network.egress(at);
            let port = self.rows[at][lid];
            let Ok(index) = egress.binary_search_by(|link| link.port.cmp(&port)) else {
                return;
            };
            let link = self.balance.first()[at] + index as u32;
            let channel = match before {
                NO_LINK => self.channels.entered(link),
                _ => self.channels.onward(before, link),
            };
            if before != NO_LINK {
                pairs.push((before, channel));
            }
            if known(channel) {
                return;
            }
            (at, before) = (egress[index].to as usize, channel);
        }
    }
}

/// Adds all pairs; false where that closes a cycle.
fn add(lane: &mut Waits, pairs: &[(u32, u32)]) -> bool {
    pairs.iter().all(|(link, next)| lane.add(*link, *next))
}

fn without_repeats(mut pairs: Pairs) -> Pairs {
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

fn is_coprime(a: usize, b: usize) -> bool {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a == 1
}
