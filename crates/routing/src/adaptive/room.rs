//! Selects the groups of a switch that has room for fewer than it has sets.
//!
//! A LID may use any group inside its set. The value of a selection is the
//! number of LIDs times the ports that each can choose from besides its first one. The best selection
//! is a hard problem (facility location); taking the group that adds most each time comes within
//! 1 − 1/e of it.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use weft_fabric::PortMask;

/// Heaviest sets that may become groups as they are, for each group that there is room for; the
/// rest only use others' groups.
const WHOLE_MAX: usize = 2;

/// Number of heaviest sets whose pairwise intersections are candidates.
const MERGED_MAX: usize = 16;

/// A set of ports and its number of LIDs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demand {
    pub(super) ports: PortMask,
    pub(super) lids: u64,
}

impl Demand {
    /// Value of a group of its own.
    pub(super) fn worth(&self) -> u64 {
        self.lids * u64::from(self.ports.len() - 1)
    }

    /// Whether all ports of a group are in its set.
    fn holds(&self, group: &PortMask) -> bool {
        *group & self.ports == *group
    }
}

/// The groups to hold, at most `room`, for sets in order of worth, the greatest first.
pub(super) fn groups(demands: &[Demand], room: usize) -> Vec<PortMask> {
    let heaviest = demands.iter().take(room).map(|demand| demand.ports);
    let heaviest: Vec<PortMask> = heaviest.collect();
    if demands.len() <= room {
        return heaviest;
    }
    let greedy = greedy(demands, room);
    match worth(demands, &greedy) > worth(demands, &heaviest) {
        true => greedy,
        false => heaviest,
    }
}

/// The largest group inside a set, of equal ones the first.
pub(super) fn largest_inside(demand: &Demand, groups: &[PortMask]) -> Option<usize> {
    let inside = groups.iter().enumerate();
    let inside = inside.filter(|(_, group)| demand.holds(group));
    inside
        .max_by_key(|(index, group)| (group.len(), Reverse(*index)))
        .map(|(index, _)| index)
}

fn worth(demands: &[Demand], groups: &[PortMask]) -> u64 {
    let each = demands.iter().map(|demand| {
        let group = largest_inside(demand, groups);
        group.map_or(0, |group| {
            demand.lids * u64::from(groups[group].len().saturating_sub(1))
        })
    });
    each.sum()
}

/// Takes the group that adds most each time. The gain of a group only shrinks while others are
/// taken, so a group with an up-to-date gain that is still the greatest need not be compared again.
fn greedy(demands: &[Demand], room: usize) -> Vec<PortMask> {
    let all: Vec<Candidate> = candidates(demands, room)
        .map(|ports| Candidate::new(ports, demands))
        .collect();
    let mut choice = vec![0u64; demands.len()];
    let all_add = all.iter().enumerate();
    let mut queue: BinaryHeap<(u64, Reverse<usize>)> = all_add
        .map(|(index, group)| (group.adds(demands, &choice), Reverse(index)))
        .collect();
    let mut taken = Vec::new();
    while let Some((_, Reverse(index))) = queue.pop().filter(|_| taken.len() < room) {
        let group = &all[index];
        let fresh = (group.adds(demands, &choice), Reverse(index));
        if queue.peek().is_some_and(|next| *next > fresh) {
            queue.push(fresh);
            continue;
        }
        if fresh.0 == 0 {
            break;
        }
        for user in &group.users {
            let choice = &mut choice[*user as usize];
            *choice = (*choice).max(group.choice());
        }
        taken.push(group.ports);
    }
    taken
}

/// A candidate for a group.
struct Candidate {
    ports: PortMask,
    /// The sets that it lies inside.
    users: Vec<u32>,
}

impl Candidate {
    fn new(ports: PortMask, demands: &[Demand]) -> Self {
        let users = (0u32..).zip(demands);
        let users = users.filter(|(_, demand)| demand.holds(&ports));
        Self {
            ports,
            users: users.map(|(index, _)| index).collect(),
        }
    }

    /// Number of ports to choose from besides one.
    fn choice(&self) -> u64 {
        u64::from(self.ports.len() - 1)
    }

    /// Gain over the current selection of the sets.
    fn adds(&self, demands: &[Demand], choice: &[u64]) -> u64 {
        let gain = |user: &u32| {
            let more = self.choice().saturating_sub(choice[*user as usize]);
            demands[*user as usize].lids * more
        };
        self.users.iter().map(gain).sum()
    }
}

/// Sets, and intersections of pairs of them, each once.
fn candidates(demands: &[Demand], room: usize) -> impl Iterator<Item = PortMask> {
    let mut seen = BTreeSet::new();
    let whole = demands.iter().take(room * WHOLE_MAX);
    let whole = whole.map(|demand| demand.ports);
    let heavy = &demands[..demands.len().min(MERGED_MAX)];
    let pairs = heavy.iter().enumerate();
    let pairs = pairs.flat_map(|(index, a)| heavy[..index].iter().map(|b| a.ports & b.ports));
    let all = whole.chain(pairs.filter(|ports| ports.len() > 1));
    all.filter(move |ports| seen.insert(*ports))
}

#[cfg(test)]
mod tests {
    use weft_fabric::PortNum;

    use super::*;

    fn mask(bits: u64) -> PortMask {
        let ports = (0..8).filter(|port| bits >> port & 1 == 1);
        ports.map(|port| PortNum(port + 1)).collect()
    }

    fn sorted(sets: impl IntoIterator<Item = (u64, u64)>) -> Vec<Demand> {
        let demand = |(bits, lids)| Demand {
            ports: mask(bits),
            lids,
        };
        let mut demands: Vec<Demand> = sets.into_iter().map(demand).collect();
        demands.sort_by_key(|demand| Reverse(demand.worth()));
        demands
    }

    #[test]
    fn alike_sets_are_merged_into_what_they_have_in_common() {
        // Each alone adds 3 · 10, the intersection of all 3 · 2 · 10.
        let demands = sorted([(0b1111_0001, 10), (0b0111_0010, 10), (0b0111_0100, 10)]);
        assert_eq!(groups(&demands, 1), [mask(0b0111_0000)]);
        assert_eq!(groups(&demands, 3).len(), 3);
    }

    #[test]
    fn it_comes_near_the_best_choice_and_is_never_worse_than_the_heaviest_sets() {
        let mut state = 11u64;
        let mut merged = 0;
        for _ in 0..300 {
            let mut next = || {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                state >> 40
            };
            let sets = [(); 6].map(|()| (next() & 0xFF, 1 + next() % 20));
            let demands = sorted(sets.into_iter().filter(|(bits, _)| bits.count_ones() > 1));
            for room in 1..3 {
                let own = groups(&demands, room);
                assert!(own.len() <= room);
                let worth_of = |groups: &[PortMask]| worth(&demands, groups);
                let all: Vec<PortMask> = (0..256).map(mask).filter(|set| set.len() > 1).collect();
                let one = all.iter().map(|a| worth_of(&[*a])).max();
                let two = || {
                    all.iter()
                        .flat_map(|a| all.iter().map(|b| worth_of(&[*a, *b])))
                };
                let best = if room == 1 { one } else { two().max() }.unwrap_or(0);
                let heaviest: Vec<PortMask> = demands
                    .iter()
                    .take(room)
                    .map(|demand| demand.ports)
                    .collect();
                let worth = worth_of(&own);
                assert!(worth >= worth_of(&heaviest));
                assert!(worth * 100 >= best * 63, "{worth} of {best}: {demands:?}");
                merged += u32::from(worth > worth_of(&heaviest));
            }
            if merged > 20 {
                return;
            }
        }
        panic!("only {merged} were merged");
    }
}
