//! Every host sends to every other one.

use rayon::prelude::*;

use super::PARTS;
use super::view::{Host, View};

/// Receivers that are followed by one task.
const TASK: usize = 256;

/// Flows on links when every host sends to every other one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AllToAll {
    /// Flows on the busiest link.
    pub worst: f64,
    /// Flows on a link, the mean of all working links between switches.
    pub mean: f64,
    /// Standard deviation of flows on a link.
    pub deviation: f64,
    /// Lower bound for the busiest link with any tables: the flows that must leave a switch
    /// or enter it, divided by its links, at the worst switch.
    pub bound: f64,
    /// Congestion risk: the most flows that no shared sender or receiver holds back anyway, the
    /// lesser of distinct senders and distinct receivers over a link.
    pub risk: u32,
}

impl AllToAll {
    /// The busiest link as a multiple of the bound; 1 where nothing passes between switches.
    pub fn over_bound(&self) -> f64 {
        match self.bound > 0.0 {
            true => self.worst / self.bound,
            false => 1.0,
        }
    }
}

/// Loads caused by some of the receivers.
struct Loads {
    /// Parts of flows, by link.
    parts: Vec<u64>,
    /// Distinct receivers, by link.
    receivers: Vec<u32>,
    /// Switches with senders, one bit each, by link.
    leaves: Vec<u64>,
    unroutable: u64,
}

/// What all flows together cause.
pub(super) struct Followed {
    pub(super) summary: AllToAll,
    /// Pairs without a route.
    pub(super) unroutable: u64,
    /// Flows, by link.
    pub(super) flows: Vec<f64>,
}

/// Follows all of them.
pub(super) fn assess(view: &View<'_>) -> Followed {
    let senders = Senders::new(view);
    let tasks = view.hosts.par_chunks(TASK);
    let empty = || senders.no_loads(view);
    let one = |mut loads: Loads, hosts: &[Host]| {
        senders.add(view, hosts, &mut loads);
        loads
    };
    let loads = tasks.fold(empty, one).reduce(empty, Loads::merge);
    Followed {
        summary: senders.summary(view, &loads),
        unroutable: loads.unroutable,
        flows: loads.parts.iter().map(|parts| flows(*parts)).collect(),
    }
}

fn flows(parts: u64) -> f64 {
    parts as f64 / f64::from(PARTS)
}

/// Hosts of each switch that has some.
struct Senders {
    /// The switch and the number.
    leaves: Vec<(u32, u32)>,
    /// Words of a set of such switches.
    words: usize,
}

impl Senders {
    fn new(view: &View<'_>) -> Self {
        let mut count = vec![0u32; view.switches()];
        view.hosts
            .iter()
            .for_each(|host| count[host.leaf as usize] += 1);
        let leaves = (0u32..).zip(count).filter(|(_, hosts)| *hosts > 0);
        let leaves: Vec<(u32, u32)> = leaves.collect();
        Self {
            words: leaves.len().div_ceil(64),
            leaves,
        }
    }

    fn no_loads(&self, view: &View<'_>) -> Loads {
        Loads {
            parts: vec![0; view.links()],
            receivers: vec![0; view.links()],
            leaves: vec![0; view.links() * self.words],
            unroutable: 0,
        }
    }

    fn add(&self, view: &View<'_>, hosts: &[Host], loads: &mut Loads) {
        let mut links = Vec::new();
        let mut seen = vec![u32::MAX; view.links()];
        for (number, host) in (0u32..).zip(hosts) {
            for (index, &(leaf, senders)) in self.leaves.iter().enumerate() {
                links.clear();
                let mut lids = host.lid..host.lid + host.lids;
                if !lids.all(|lid| view.follow(leaf, lid, host, &mut links)) {
                    let others = senders - u32::from(leaf == host.leaf);
                    loads.unroutable += u64::from(others);
                    continue;
                }
                for &link in &links {
                    let link = link as usize;
                    loads.parts[link] += u64::from(host.share() * senders);
                    loads.leaves[link * self.words + index / 64] |= 1 << (index % 64);
                    loads.receivers[link] += u32::from(seen[link] != number);
                    seen[link] = number;
                }
            }
        }
    }

    fn summary(&self, view: &View<'_>, loads: &Loads) -> AllToAll {
        let links: Vec<usize> = (0..view.links())
            .filter(|link| view.is_link(*link))
            .collect();
        let flows = |link: &usize| flows(loads.parts[*link]);
        let count = links.len().max(1) as f64;
        let mean = links.iter().map(flows).sum::<f64>() / count;
        let squares = links.iter().map(|link| (flows(link) - mean).powi(2));
        let risks = links.iter().map(|&link| self.risk(loads, link));
        AllToAll {
            worst: links.iter().map(flows).fold(0.0, f64::max),
            mean,
            deviation: (squares.sum::<f64>() / count).sqrt(),
            bound: self.bound(view),
            risk: risks.max().unwrap_or(0),
        }
    }

    fn risk(&self, loads: &Loads, link: usize) -> u32 {
        let set = &loads.leaves[link * self.words..][..self.words];
        let inside = |index: &usize| set[index / 64] >> (index % 64) & 1 == 1;
        let senders = (0..self.leaves.len()).filter(inside);
        let senders: u32 = senders.map(|index| self.leaves[index].1).sum();
        senders.min(loads.receivers[link])
    }

    fn bound(&self, view: &View<'_>) -> f64 {
        let all: u32 = self.leaves.iter().map(|leaf| leaf.1).sum();
        let each = self.leaves.iter().map(|&(leaf, hosts)| {
            let crossing = u64::from(hosts) * u64::from(all - hosts);
            crossing as f64 / view.degree(leaf).max(1) as f64
        });
        each.fold(0.0, f64::max)
    }
}

impl Loads {
    fn merge(mut self, other: Self) -> Self {
        let pairs = self.parts.iter_mut().zip(other.parts);
        pairs.for_each(|(parts, more)| *parts += more);
        let pairs = self.receivers.iter_mut().zip(other.receivers);
        pairs.for_each(|(receivers, more)| *receivers += more);
        let pairs = self.leaves.iter_mut().zip(other.leaves);
        pairs.for_each(|(leaves, more)| *leaves |= more);
        self.unroutable += other.unroutable;
        self
    }
}
