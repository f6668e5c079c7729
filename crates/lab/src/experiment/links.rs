//! Loads of links while a case runs, and their registers.

use std::fmt;

use weft_dataplane::counters::Counter;
use weft_dataplane::packets::Picos;
use weft_dataplane::{Network, PortIndex};

/// Links of `links on`, and those that are printed.
pub const SHOWN: usize = 8;
/// A link with a lower load, percent, that dropped nothing is not among the busiest.
const LEAST: f64 = 1.0;

/// Links that a case keeps, each direction by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// None.
    Off,
    /// So many of the busiest.
    Busiest(usize),
    /// All, idle ones too.
    All,
}

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

impl LinkUse {
    /// Whether it is printed.
    pub(super) fn is_shown(&self) -> bool {
        is_busy(self.percent, self.xmit_discards)
    }
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

impl Links {
    /// The links that are kept, by the times in which ports have sent in a span of time, the busiest first; each with its
    /// sending port.
    pub(super) fn chosen(
        self,
        network: &Network,
        sent: impl Iterator<Item = (PortIndex, Picos)>,
        span: Picos,
    ) -> Vec<(PortIndex, LinkUse)> {
        let span = span.max(1) as f64;
        let discards = |port: PortIndex| network.counter(port, Counter::XmitDiscards);
        let mut all: Vec<(PortIndex, f64)> = sent
            .map(|(port, time)| (port, 100.0 * time as f64 / span))
            .collect();
        all.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        match self {
            Self::Off => all.clear(),
            Self::Busiest(count) => {
                all.retain(|(port, percent)| is_busy(*percent, discards(*port)));
                all.truncate(count);
            }
            Self::All => {}
        }
        let told = |(port, percent)| {
            let link = LinkUse {
                from: name(network, port),
                to: name(network, network.peer(port)?),
                percent,
                xmit_wait: network.counter(port, Counter::XmitWait),
                xmit_discards: discards(port),
            };
            Some((port, link))
        };
        all.into_iter().filter_map(told).collect()
    }
}

fn is_busy(percent: f64, discards: u64) -> bool {
    percent >= LEAST || discards > 0
}

fn name(network: &Network, port: PortIndex) -> String {
    let device = network.device_at(network.node_of(port));
    let number = network.number_of(port);
    format!("{} port {}", device.description.text(), number.0)
}
