//! Loads of links while a case runs, and their registers.

use std::fmt;

use weft_dataplane::counters::Counter;
use weft_dataplane::packets::{MILLI, Picos};
use weft_dataplane::{Network, PortIndex};

use super::managed::{Managed, Packets};

/// Time between two looks at first.
const INTERVAL: Picos = MILLI;
/// Most looks that are kept: then every other one is dropped and the interval doubled.
const LOOKS_MAX: usize = 64;
/// Links that are shown.
const SHOWN: usize = 8;

/// Load of a link in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkUse {
    /// Sending node and port.
    pub from: String,
    /// Receiving node and port.
    pub to: String,
    /// Percentage of its capacity.
    pub percent: f64,
    /// XmitWait of the sending port at the end.
    pub xmit_wait: u64,
    /// XmitDiscards, packets.
    pub xmit_discards: u64,
}

impl fmt::Display for LinkUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:5.1} %  {} → {}", self.percent, self.from, self.to)?;
        let counts = [
            ("XmitWait", self.xmit_wait),
            ("XmitDiscards", self.xmit_discards),
        ];
        for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            write!(f, ", {name} {count}")?;
        }
        Ok(())
    }
}

/// Times in which ports have sent, at several moments.
#[derive(Debug, Clone)]
pub(super) struct Watch {
    /// All ports, empty if links are not measured.
    ports: Vec<PortIndex>,
    interval: Picos,
    due: Picos,
    looks: Vec<(Picos, Vec<Picos>)>,
}

impl Watch {
    pub(super) fn new(network: &Network, on: bool) -> Self {
        Self {
            ports: ports(network).filter(|_| on).collect(),
            interval: INTERVAL,
            due: if on { 0 } else { Picos::MAX },
            looks: Vec::new(),
        }
    }

    /// When to look next.
    pub(super) fn next(&self) -> Picos {
        self.due
    }

    pub(super) fn look(&mut self, packets: &impl Packets, at: Picos) {
        if self.ports.is_empty() {
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
        self.due = at.saturating_add(self.interval);
        let times = self.ports.iter().map(|port| packets.link_time(*port));
        self.looks.push((at, times.collect()));
    }

    /// The links that carried most since the look nearest to half of the run, then those that dropped
    /// something.
    pub(super) fn busiest(
        &self,
        packets: &mut impl Packets,
        managed: &mut Managed,
    ) -> Vec<LinkUse> {
        packets.settle(managed.network_mut());
        let network = managed.network();
        let half = packets.now() / 2;
        let look = self.looks.iter().min_by_key(|(at, _)| at.abs_diff(half));
        let Some((since, before)) = look else {
            return Vec::new();
        };
        let span = packets.now().saturating_sub(*since).max(1) as f64;
        let percent = |(port, before): (&PortIndex, &Picos)| {
            let time = packets.link_time(*port) - before;
            (100.0 * time as f64 / span, *port)
        };
        let discards = |port: PortIndex| network.counter(port, Counter::XmitDiscards);
        let uses = self.ports.iter().zip(before).map(percent);
        let shown = |(percent, port): &(f64, PortIndex)| *percent >= 1.0 || discards(*port) > 0;
        let mut uses: Vec<(f64, PortIndex)> = uses.filter(shown).collect();
        uses.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        uses.truncate(SHOWN);
        let told = |(percent, port)| {
            Some(LinkUse {
                from: name(network, port),
                to: name(network, network.peer(port)?),
                percent,
                xmit_wait: network.counter(port, Counter::XmitWait),
                xmit_discards: discards(port),
            })
        };
        uses.into_iter().filter_map(told).collect()
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
