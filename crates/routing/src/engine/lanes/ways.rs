//! The ways to one destination switch: candidates of every switch, farthest switches first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::network::{Egress, Network};

const FAR: u32 = u32::MAX;

/// Candidates of all switches towards one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ways {
    /// Switches that get there, the farthest first, and the end of each one's candidates.
    order: Vec<(u32, u32)>,
    /// Indices into [`Network::egress`].
    links: Vec<u16>,
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
        let mut ways = Self::default();
        for from in order {
            let links = network.egress(from).iter().enumerate();
            let ways_on = links.filter(|(_, link)| is_way(from, link));
            ways.links.extend(ways_on.map(|(index, _)| index as u16));
            ways.order.push((from as u32, ways.links.len() as u32));
        }
        ways
    }

    /// The switches with their candidates, the farthest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &[u16])> {
        let starts = std::iter::once(0).chain(self.order.iter().map(|(_, end)| *end));
        let ranges = self.order.iter().zip(starts);
        ranges.map(|((from, end), start)| {
            let links = &self.links[start as usize..*end as usize];
            (*from as usize, links)
        })
    }

    /// All ways of least cost.
    pub(crate) fn shortest(network: &Network, target: usize) -> Self {
        let distance = distances(network, target, |_, _| true);
        Self::new(network, &distance, |from, link| {
            let far = distance[link.to as usize];
            far != FAR && far + u32::from(link.cost) == distance[from]
        })
    }

    /// The ways of least cost among those that go up first and then down by `rank`.
    pub(crate) fn up_down(network: &Network, rank: &[u32], target: usize) -> Self {
        let is_down = |from: usize, link: &Egress| rank[link.to as usize] < rank[from];
        let down = distances(network, target, is_down);
        let mut legal = down.clone();
        let mut from_above: Vec<usize> = (0..network.len()).collect();
        from_above.sort_by_key(|at| Reverse(rank[*at]));
        for from in from_above.into_iter().filter(|at| down[*at] == FAR) {
            let up = network.egress(from).iter();
            let up = up.filter(|link| !is_down(from, link) && legal[link.to as usize] != FAR);
            let costs = up.map(|link| legal[link.to as usize] + u32::from(link.cost));
            legal[from] = costs.min().unwrap_or(FAR);
        }
        Self::new(network, &legal, |from, link| {
            let far = if down[from] == FAR { &legal } else { &down }[link.to as usize];
            is_down(from, link) == (down[from] != FAR)
                && far != FAR
                && far + u32::from(link.cost) == legal[from]
        })
    }
}

/// Least costs to a switch over some of the links.
fn distances(
    network: &Network,
    target: usize,
    allowed: impl Fn(usize, &Egress) -> bool,
) -> Vec<u32> {
    let mut distance = vec![FAR; network.len()];
    distance[target] = 0;
    let mut queue = BinaryHeap::from([Reverse((0u32, target))]);
    while let Some(Reverse((far, at))) = queue.pop() {
        if far > distance[at] {
            continue;
        }
        // Cables run both ways and cost the same both ways.
        for link in network.egress(at) {
            let from = link.to as usize;
            let back = Egress {
                to: at as u32,
                ..*link
            };
            let total = far + u32::from(link.cost.max(1));
            if total < distance[from] && allowed(from, &back) {
                distance[from] = total;
                queue.push(Reverse((total, from)));
            }
        }
    }
    distance
}
