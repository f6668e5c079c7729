//! The paths to one destination switch: candidates of every switch, farthest switches first.

use std::cmp::Reverse;

use crate::network::{Egress, Network};

const FAR: u32 = u32::MAX;

/// Candidates of all switches towards one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ways {
    /// Switches that get there, the farthest first, and the end of each one's candidates.
    order: Vec<(u32, u32)>,
    /// Indices into [`Network::egress`].
    links: Vec<u16>,
    /// Number of switches with HFIs that reach it, and the sum of their costs.
    senders: (u32, u64),
}

impl Ways {
    /// From the distance of each switch, [`u32::MAX`] for none, and a test of its links. Each link
    /// that passes must lead to a switch that is nearer.
    pub(crate) fn new(
        network: &Network,
        distance: &[u32],
        is_way: impl Fn(usize, &Egress) -> bool,
    ) -> Self {
        let reached = (0..network.len()).filter(|at| !matches!(distance[*at], 0 | FAR));
        let mut order: Vec<usize> = reached.collect();
        order.sort_by_key(|at| (Reverse(distance[*at]), *at));
        let mut ways = Self {
            senders: senders(network, distance),
            ..Self::default()
        };
        for from in order {
            let links = network.egress(from).iter().enumerate();
            let ways_on = links.filter(|(_, link)| is_way(from, link));
            ways.links.extend(ways_on.map(|(index, _)| index as u16));
            ways.order.push((from as u32, ways.links.len() as u32));
        }
        ways
    }

    /// The switches with their candidates, the farthest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, &[u16])> {
        (0..self.order.len()).map(|index| {
            let start = index
                .checked_sub(1)
                .map_or(0, |before| self.order[before].1);
            let (from, end) = self.order[index];
            let links = &self.links[start as usize..end as usize];
            (from as usize, links)
        })
    }

    /// Whether these reach from all HFIs that `other` reaches from.
    pub(crate) fn is_whole(&self, other: &Self) -> bool {
        self.senders.0 == other.senders.0
    }

    /// Whether these are longer than `other` for some HFI.
    pub(crate) fn is_longer(&self, other: &Self) -> bool {
        self.senders.1 > other.senders.1
    }

    /// The paths of [`Self::new`], and from switches without a distance those of least cost to one that
    /// has one, of these not over switches that are `avoided` where there are others.
    pub(crate) fn with_detours(
        network: &Network,
        distance: &[u32],
        is_way: impl Fn(usize, &Egress) -> bool,
        avoided: impl Fn(usize) -> bool,
    ) -> Self {
        let all = spread(network, distance.to_vec(), |from, _| distance[from] == FAR);
        let is_least = |from: usize, link: &Egress| {
            all[link.to as usize].checked_add(link.cost.max(1).into()) == Some(all[from])
        };
        let avoids = |link: &Egress| avoided(link.to as usize);
        let has_other = |from: usize| {
            let mut links = network.egress(from).iter();
            links.any(|link| is_least(from, link) && !avoids(link))
        };
        Self::new(network, &all, |from, link| match distance[from] {
            FAR => is_least(from, link) && (!avoids(link) || !has_other(from)),
            _ => is_way(from, link),
        })
    }

    /// All paths of least cost.
    pub(crate) fn shortest(network: &Network, target: usize) -> Self {
        let distance = spread(network, only(network, target), |_, _| true);
        Self::new(network, &distance, |from, link| {
            let far = distance[link.to as usize];
            far != FAR && far + u32::from(link.cost) == distance[from]
        })
    }

    /// The paths of least cost among those that go up first and then down by `rank`. Switches without
    /// one use the nearest switch that has one: they can send there, but no other switch over them.
    pub(crate) fn up_down(network: &Network, rank: &[u32], target: usize) -> Self {
        let is_down = |from: usize, link: &Egress| rank[link.to as usize] < rank[from];
        let down = spread(network, only(network, target), is_down);
        let mut legal = down.clone();
        let mut from_above: Vec<usize> = (0..network.len()).collect();
        from_above.sort_by_key(|at| Reverse(rank[*at]));
        for from in from_above.into_iter().filter(|at| down[*at] == FAR) {
            let up = network.egress(from).iter();
            let up = up.filter(|link| !is_down(from, link) && legal[link.to as usize] != FAR);
            let costs = up.map(|link| legal[link.to as usize] + u32::from(link.cost));
            legal[from] = costs.min().unwrap_or(FAR);
        }
        let all = spread(network, legal.clone(), |from, _| legal[from] == FAR);
        let ways = Self::new(network, &all, |from, link| {
            let is_legal = is_down(from, link) == (down[from] != FAR);
            let far = if down[from] == FAR { &all } else { &down }[link.to as usize];
            (is_legal || legal[from] == FAR)
                && far != FAR
                && far + u32::from(link.cost) == all[from]
        });
        Self {
            senders: senders(network, &legal),
            ..ways
        }
    }
}

/// Switches with HFIs that have a distance, and the sum of these.
fn senders(network: &Network, distance: &[u32]) -> (u32, u64) {
    let senders = (0..network.len()).filter(|at| network.senders(*at) > 0);
    let far = senders.map(|at| distance[at]).filter(|far| *far != FAR);
    far.fold((0, 0), |(count, sum), far| {
        (count + 1, sum + u64::from(far))
    })
}

/// The distance of one switch from itself.
fn only(network: &Network, target: usize) -> Vec<u32> {
    let mut distance = vec![FAR; network.len()];
    distance[target] = 0;
    distance
}

/// Least costs over some of the links to the switches whose distances are given.
fn spread(
    network: &Network,
    mut distance: Vec<u32>,
    allowed: impl Fn(usize, &Egress) -> bool,
) -> Vec<u32> {
    // By distance, with switches that have been found nearer since.
    let mut waves: Vec<Vec<u32>> = Vec::new();
    let push = |waves: &mut Vec<Vec<u32>>, far: u32, at: u32| {
        let far = far as usize;
        waves.resize_with(waves.len().max(far + 1), Vec::new);
        waves[far].push(at);
    };
    let known = (0..network.len() as u32).filter(|at| distance[*at as usize] != FAR);
    known.for_each(|at| push(&mut waves, distance[at as usize], at));
    let mut far = 0;
    while (far as usize) < waves.len() {
        for at in std::mem::take(&mut waves[far as usize]) {
            if distance[at as usize] != far {
                continue;
            }
            // Cables have both directions at equal cost.
            for link in network.egress(at as usize) {
                let back = Egress { to: at, ..*link };
                let total = far + u32::from(link.cost.max(1));
                let from = link.to as usize;
                if total < distance[from] && allowed(from, &back) {
                    distance[from] = total;
                    push(&mut waves, total, link.to);
                }
            }
        }
        far += 1;
    }
    distance
}
