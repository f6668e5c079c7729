//! Patterns in which every host sends to at most one other and receives from at most one.

use rayon::prelude::*;

use super::PARTS;
use super::random::Random;
use super::view::View;

/// Result of several patterns of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pattern {
    /// Number of patterns examined.
    pub patterns: u32,
    /// Flows on the busiest link of the worst pattern.
    pub worst: f64,
    /// Flows on the busiest link, the mean of all patterns.
    pub mean: f64,
    /// Flows on the busiest link, the median of all patterns.
    pub median: f64,
    /// Throughput of a flow, the mean over all flows of all patterns: 1 is the rate of a host's link.
    pub bandwidth: f64,
}

/// Result of one pattern.
#[derive(Debug, Clone, Copy)]
struct One {
    /// Parts of flows on the busiest link.
    worst: u32,
    bandwidth: f64,
}

/// Every shift, or that many of them, evenly spaced.
pub(super) fn shifts(view: &View<'_>, limit: u32) -> Pattern {
    let hosts = view.hosts.len() as u32;
    let all = hosts.saturating_sub(1);
    let count = all.min(limit);
    run(view, count, |number, pairs| {
        let shift = 1 + (u64::from(number) * u64::from(all) / u64::from(count)) as u32;
        pairs.extend((0..hosts).map(|from| (from, (from + shift) % hosts)));
    })
}

/// Random permutations.
pub(super) fn permutations(view: &View<'_>, count: u32, seed: u64) -> Pattern {
    run(view, count, |number, pairs| {
        let mut to: Vec<u32> = (0..view.hosts.len() as u32).collect();
        Random::new(seed, number).shuffle(&mut to);
        pairs.extend((0u32..).zip(to).filter(|(from, to)| from != to));
    })
}

/// Random halves of the hosts, the first one sending to the second.
pub(super) fn bisections(view: &View<'_>, count: u32, seed: u64) -> Pattern {
    run(view, count, |number, pairs| {
        let mut order: Vec<u32> = (0..view.hosts.len() as u32).collect();
        Random::new(!seed, number).shuffle(&mut order);
        let (from, to) = order.split_at(order.len() / 2);
        pairs.extend(from.iter().copied().zip(to.iter().copied()));
    })
}

/// One pattern, whose pairs are places among the hosts.
pub(super) fn single(view: &View<'_>, pairs: Vec<(u32, u32)>) -> Pattern {
    let mut scratch = Scratch::new(view);
    scratch.pairs = pairs;
    summary(&[scratch.run(view)])
}

/// Runs patterns on all cores.
fn run(view: &View<'_>, count: u32, make: impl Fn(u32, &mut Vec<(u32, u32)>) + Sync) -> Pattern {
    let all = (0..count).into_par_iter().map_init(
        || Scratch::new(view),
        |scratch, number| {
            scratch.pairs.clear();
            make(number, &mut scratch.pairs);
            scratch.run(view)
        },
    );
    summary(&all.collect::<Vec<One>>())
}

fn summary(all: &[One]) -> Pattern {
    let mut worst: Vec<u32> = all.iter().map(|one| one.worst).collect();
    worst.sort_unstable();
    let Some(last) = worst.last() else {
        return Pattern::default();
    };
    let flows = |parts: u32| f64::from(parts) / f64::from(PARTS);
    let count = all.len() as f64;
    Pattern {
        patterns: all.len() as u32,
        worst: flows(*last),
        mean: worst.iter().copied().map(flows).sum::<f64>() / count,
        median: flows(worst[worst.len() / 2]),
        bandwidth: all.iter().map(|one| one.bandwidth).sum::<f64>() / count,
    }
}

/// Buffers of a task from one pattern to the next.
struct Scratch {
    /// Senders and receivers.
    pairs: Vec<(u32, u32)>,
    /// Links of all routes, one after the other.
    links: Vec<u32>,
    /// End of each route in `links`, and its parts of a flow.
    routes: Vec<(u32, u32)>,
    /// Parts of flows, by link; zero between patterns.
    parts: Vec<u32>,
}

impl Scratch {
    fn new(view: &View<'_>) -> Self {
        Self {
            pairs: Vec::new(),
            links: Vec::new(),
            routes: Vec::new(),
            parts: vec![0; view.links()],
        }
    }

    fn run(&mut self, view: &View<'_>) -> One {
        self.links.clear();
        self.routes.clear();
        for &(from, to) in &self.pairs {
            let (from, to) = (view.hosts[from as usize].leaf, &view.hosts[to as usize]);
            for lid in to.lid..to.lid + to.lids {
                let start = self.links.len();
                if view.follow(from, lid, to, &mut self.links) {
                    let route = &self.links[start..];
                    route
                        .iter()
                        .for_each(|link| self.parts[*link as usize] += to.share());
                    self.routes.push((self.links.len() as u32, to.share()));
                }
            }
        }
        let one = self.judge();
        self.links
            .iter()
            .for_each(|link| self.parts[*link as usize] = 0);
        one
    }

    fn judge(&self) -> One {
        let (mut start, mut worst, mut bandwidth) = (0, 0, 0.0);
        for &(end, share) in &self.routes {
            let route = &self.links[start..end as usize];
            let busiest = route.iter().map(|link| self.parts[*link as usize]).max();
            let busiest = busiest.unwrap_or(0);
            worst = worst.max(busiest);
            // Its sender's own link carries the whole flow.
            bandwidth += f64::from(share) / f64::from(busiest.max(PARTS));
            start = end as usize;
        }
        One {
            worst,
            bandwidth: bandwidth / self.pairs.len().max(1) as f64,
        }
    }
}
