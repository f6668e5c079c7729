//! What links carry while a case runs.

use std::fmt;

use weft_dataplane::packets::{MILLI, Picos, Shards, Simulation};
use weft_dataplane::{Network, PortIndex};

/// Time between two looks at first.
const INTERVAL: Picos = MILLI;
/// Most looks that are kept: then every other one is dropped and the interval doubled.
const LOOKS_MAX: usize = 64;
/// Links that are shown.
const SHOWN: usize = 8;

/// How much a link carried in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkUse {
    /// Sending node and port.
    pub from: String,
    /// Receiving node and port.
    pub to: String,
    /// Percent of what it can carry.
    pub percent: f64,
}

impl fmt::Display for LinkUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:5.1} %  {} → {}", self.percent, self.from, self.to)
    }
}

/// Where a port's traffic can be seen.
pub(super) trait Carried {
    /// The time.
    fn now(&self) -> Picos;
    /// Flits that a port has sent.
    fn flits_sent(&self, at: PortIndex) -> u64;
    /// Time of one.
    fn flit_time(&self, at: PortIndex) -> Picos;
}

impl Carried for Simulation {
    fn now(&self) -> Picos {
        self.now()
    }

    fn flits_sent(&self, at: PortIndex) -> u64 {
        self.flits_sent(at)
    }

    fn flit_time(&self, at: PortIndex) -> Picos {
        self.flit_time(at)
    }
}

impl<T> Carried for Shards<T> {
    fn now(&self) -> Picos {
        self.now()
    }

    fn flits_sent(&self, at: PortIndex) -> u64 {
        self.flits_sent(at)
    }

    fn flit_time(&self, at: PortIndex) -> Picos {
        self.flit_time(at)
    }
}

/// Counters of all ports at several moments.
#[derive(Debug, Clone)]
pub(super) struct Watch {
    on: bool,
    interval: Picos,
    looks: Vec<(Picos, Vec<u64>)>,
}

impl Watch {
    pub(super) fn new(on: bool) -> Self {
        Self {
            on,
            interval: INTERVAL,
            looks: Vec::new(),
        }
    }

    /// When to look next.
    pub(super) fn next(&self, simulation: &Simulation) -> Picos {
        if self.on {
            simulation.now().saturating_add(self.interval)
        } else {
            Picos::MAX
        }
    }

    pub(super) fn look(&mut self, simulation: &impl Carried, network: &Network, at: Picos) {
        if !self.on {
            return;
        }
        if self.looks.len() == LOOKS_MAX {
            let mut keep = false;
            self.looks.retain(|_| {
                keep = !keep;
                keep
            });
            self.interval *= 2;
        }
        let counts = ports(network).map(|port| simulation.flits_sent(port));
        self.looks.push((at, counts.collect()));
    }

    /// The links that carried most since the look nearest to half of the run.
    pub(super) fn busiest(&self, network: &Network, simulation: &impl Carried) -> Vec<LinkUse> {
        let half = simulation.now() / 2;
        let look = self.looks.iter().min_by_key(|(at, _)| at.abs_diff(half));
        let Some((since, before)) = look else {
            return Vec::new();
        };
        let span = (simulation.now() - since).max(1) as f64;
        let mut uses: Vec<(f64, PortIndex)> = ports(network)
            .zip(before)
            .map(|(port, before)| {
                let flits = simulation.flits_sent(port) - before;
                (
                    100.0 * (flits * simulation.flit_time(port)) as f64 / span,
                    port,
                )
            })
            .filter(|(percent, _)| *percent >= 1.0)
            .collect();
        uses.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        uses.truncate(SHOWN);
        let named = uses.into_iter().filter_map(|(percent, port)| {
            Some(LinkUse {
                from: name(network, port),
                to: name(network, network.peer(port)?),
                percent,
            })
        });
        named.collect()
    }
}

fn ports(network: &Network) -> impl Iterator<Item = PortIndex> + '_ {
    let devices = network.devices();
    devices.flat_map(|(_, device)| device.ports().map(|(_, port)| port))
}

fn name(network: &Network, port: PortIndex) -> String {
    let device = network.device_at(network.node_of(port));
    let number = network.number_of(port);
    format!("{} port {}", device.description.text(), number.0)
}
