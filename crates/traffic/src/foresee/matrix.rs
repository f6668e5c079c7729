//! Who sends how much to whom, estimated from what links carry.
//!
//! What each host sends and receives is counted, who gets it is not. Among all matrices that give what the links carry by
//! the routes, that one is taken which is nearest to proportional ("gravity": to each host as much as it receives of all),
//! in the sense of relative entropy: every link in turn scales the pairs that cross it to its load, over and over
//! (iterative proportional fitting, as in tomogravity by Zhang and others, 2003). A link that carries nothing rules out
//! all pairs that would cross it.
//!
//! How good that is, is told by links that were left out: each quarter of the links between switches is computed from the
//! other three.

use weft_fabric::PortRef;

use super::ways::{Fabric, PAIRS_MAX, Ports, Ways};
use super::{NoForecast, Stop};

/// Rounds over all links, at most; ends earlier when nothing changes any more.
const ROUNDS: usize = 60;
/// Rounds where links are left out.
const TRIAL_ROUNDS: usize = 20;
/// Parts of the links between switches that are left out in turn.
const FOLDS: usize = 4;
/// Difference of a link's load, as a part of it, that does not count any more.
const SAME: f64 = 1e-3;
/// Share of its rate below which a host counts as silent: management alone.
const SILENT: f64 = 1e-6;

/// Two ends, and bytes a second that one sends to the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// A host's port.
    pub from: PortRef,
    /// Another one.
    pub to: PortRef,
    /// Bytes a second on the link.
    pub rate: f64,
}

/// What links carry, by the number of the sending port.
#[derive(Debug, Clone, Default)]
pub struct Traffic {
    /// Bytes a second; none where it is not known.
    pub loads: Vec<Option<f64>>,
    /// Share of the time in which the port had data to send and no credits.
    pub waits: Vec<f64>,
}

/// How far an estimate can be trusted: of links between switches that were left out, by how much their computed load
/// differs from that counted.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Doubt {
    /// Directions of links that were compared.
    pub links: usize,
    /// The middle of the differences, as a share of the link's rate.
    pub median: f64,
    /// The largest one.
    pub worst: f64,
    /// All differences together, as a part of all loads.
    pub of_all: f64,
    /// The same where no link is left out: what the matrix does not explain.
    pub unexplained: f64,
}

/// An estimate.
pub(super) struct Estimate {
    pub(super) pairs: Vec<Pair>,
    pub(super) doubt: Doubt,
}

/// Estimates the traffic of pairs.
pub(super) fn estimate(
    fabric: Fabric<'_>,
    ports: &Ports,
    traffic: &Traffic,
    stop: Stop<'_>,
) -> Result<Estimate, NoForecast> {
    let mut pairs = proportional(fabric, ports, traffic)?;
    let ways = Ways::of(fabric, ports, &pairs, stop)?;
    let crossing = Crossing::new(&ways, ports.len());
    let prior: Vec<f64> = pairs.iter().map(|pair| pair.rate).collect();
    let fitted = crossing.fit(&ways, &prior, &traffic.loads, ROUNDS, stop)?;
    let doubt = Trial {
        fabric,
        ports,
        ways: &ways,
        crossing: &crossing,
        prior: &prior,
        traffic,
    }
    .doubt(&fitted, stop)?;
    for (pair, rate) in pairs.iter_mut().zip(fitted) {
        pair.rate = rate;
    }
    pairs.retain(|pair| pair.rate > 0.0);
    Ok(Estimate { pairs, doubt })
}

/// Everybody sends to everybody, as much as he sends and the other receives.
fn proportional(
    fabric: Fabric<'_>,
    ports: &Ports,
    traffic: &Traffic,
) -> Result<Vec<Pair>, NoForecast> {
    let topology = fabric.topology;
    let load = |at: PortRef| {
        let number = ports.number(at)?;
        traffic.loads.get(number).copied().flatten()
    };
    let loud = |at: PortRef, load: f64| {
        let rate = crate::link::capacity(topology, at).unwrap_or(f64::MAX);
        load > rate * SILENT
    };
    let (mut senders, mut receivers) = (Vec::new(), Vec::new());
    for (at, lid, _) in topology.end_ports() {
        if topology.switch_index(at.node).is_some() || !lid.is_unicast() {
            continue;
        }
        let Some(switch) = topology.peer(at) else {
            continue;
        };
        senders.extend(
            load(at)
                .filter(|load| loud(at, *load))
                .map(|load| (at, load)),
        );
        let received = load(switch).filter(|load| loud(switch, *load));
        receivers.extend(received.map(|load| (at, load)));
    }
    let count = senders.len().saturating_mul(receivers.len());
    if count > PAIRS_MAX {
        return Err(NoForecast::Pairs(count));
    }
    let all: f64 = receivers.iter().map(|(_, load)| load).sum();
    let pairs = senders.iter().flat_map(|(from, sent)| {
        let others = receivers.iter().filter(move |(to, _)| to != from);
        others.map(move |(to, received)| Pair {
            from: *from,
            to: *to,
            rate: sent * received / all.max(f64::MIN_POSITIVE),
        })
    });
    Ok(pairs.collect())
}

/// The pairs that cross each port's link.
struct Crossing {
    pairs: Vec<u32>,
    ends: Vec<usize>,
}

impl Crossing {
    fn new(ways: &Ways, ports: usize) -> Self {
        let mut counts = vec![0_usize; ports + 1];
        for pair in 0..ways.len() {
            for link in ways.links(pair).0 {
                counts[*link as usize + 1] += 1;
            }
        }
        for port in 0..ports {
            counts[port + 1] += counts[port];
        }
        let (mut next, mut pairs) = (counts.clone(), vec![0; counts[ports]]);
        for pair in 0..ways.len() {
            for link in ways.links(pair).0 {
                pairs[next[*link as usize]] = pair as u32;
                next[*link as usize] += 1;
            }
        }
        Self {
            pairs,
            ends: counts,
        }
    }

    fn of(&self, port: usize) -> &[u32] {
        &self.pairs[self.ends[port]..self.ends[port + 1]]
    }

    /// Scales pairs to the loads of links, link by link.
    fn fit(
        &self,
        ways: &Ways,
        prior: &[f64],
        loads: &[Option<f64>],
        rounds: usize,
        stop: Stop<'_>,
    ) -> Result<Vec<f64>, NoForecast> {
        let mut rates = prior.to_vec();
        for _ in 0..rounds {
            if stop() {
                return Err(NoForecast::Stopped);
            }
            let mut worst: f64 = 0.0;
            for (port, load) in loads.iter().enumerate() {
                let (Some(load), crossing) = (load, self.of(port)) else {
                    continue;
                };
                let part = |pair: u32| ways.links(pair as usize).1;
                let computed: f64 = crossing
                    .iter()
                    .map(|pair| rates[*pair as usize] * part(*pair))
                    .sum();
                if computed <= 0.0 {
                    continue;
                }
                let factor = load / computed;
                worst = worst.max((factor - 1.0).abs());
                for pair in crossing {
                    let part = part(*pair);
                    let of_pair = if part == 1.0 {
                        factor
                    } else {
                        factor.powf(part)
                    };
                    rates[*pair as usize] *= of_pair;
                }
            }
            if worst < SAME {
                break;
            }
        }
        Ok(rates)
    }
}

/// Links between switches are left out in turn.
struct Trial<'a> {
    fabric: Fabric<'a>,
    ports: &'a Ports,
    ways: &'a Ways,
    crossing: &'a Crossing,
    prior: &'a [f64],
    traffic: &'a Traffic,
}

impl Trial<'_> {
    fn doubt(&self, fitted: &[f64], stop: Stop<'_>) -> Result<Doubt, NoForecast> {
        let capacities = self.ports.capacities(self.fabric.topology);
        let inner = self.inner();
        let unexplained = {
            let computed = self.ways.loads(fitted, self.ports.len());
            self.differences(&inner, &computed)
        };
        let (mut shares, mut differ, mut all) = (Vec::new(), 0.0, 0.0);
        for fold in 0..FOLDS {
            let out: Vec<usize> = inner.iter().copied().skip(fold).step_by(FOLDS).collect();
            let mut loads = self.traffic.loads.clone();
            out.iter().for_each(|port| loads[*port] = None);
            let rates = self
                .crossing
                .fit(self.ways, self.prior, &loads, TRIAL_ROUNDS, stop)?;
            let computed = self.ways.loads(&rates, self.ports.len());
            for port in out {
                let counted = self.traffic.loads[port].unwrap_or(0.0);
                let difference = (computed[port] - counted).abs();
                differ += difference;
                all += counted;
                shares.push(difference / capacities[port].max(1.0));
            }
        }
        shares.sort_by(f64::total_cmp);
        Ok(Doubt {
            links: shares.len(),
            median: shares.get(shares.len() / 2).copied().unwrap_or(0.0),
            worst: shares.last().copied().unwrap_or(0.0),
            of_all: part(differ, all),
            unexplained,
        })
    }

    /// Ports of switches to switches whose load is known.
    fn inner(&self) -> Vec<usize> {
        let topology = self.fabric.topology;
        let is_inner = |port: &usize| {
            let at = self.ports.at(*port);
            let peer = topology.peer(at);
            let is_switch = |at: PortRef| topology.switch_index(at.node).is_some();
            self.traffic.loads.get(*port).copied().flatten().is_some()
                && is_switch(at)
                && peer.is_some_and(is_switch)
        };
        (0..self.ports.len()).filter(is_inner).collect()
    }

    fn differences(&self, inner: &[usize], computed: &[f64]) -> f64 {
        let (mut differ, mut all) = (0.0, 0.0);
        for port in inner {
            let counted = self.traffic.loads[*port].unwrap_or(0.0);
            differ += (computed[*port] - counted).abs();
            all += counted;
        }
        part(differ, all)
    }
}

fn part(differ: f64, all: f64) -> f64 {
    if all > 0.0 { differ / all } else { 0.0 }
}
