//! Orders of ports: what they are compared by.

use weft_api::v1;

use crate::args::SortBy;

/// Bytes of a flit.
const FLIT: f64 = 8.0;

/// What ports are sorted by.
pub(super) use crate::args::SortBy as Order;

/// All of them, as the key `o` goes through them.
pub(super) const ALL: [Order; 10] = [
    SortBy::Utilization,
    SortBy::Data,
    SortBy::Packets,
    SortBy::Wait,
    SortBy::Congestion,
    SortBy::Integrity,
    SortBy::SmaCongestion,
    SortBy::Bubble,
    SortBy::Security,
    SortBy::Routing,
];
/// The performance manager's categories.
pub(super) const CATEGORIES: [Order; 6] = [
    SortBy::Integrity,
    SortBy::Congestion,
    SortBy::SmaCongestion,
    SortBy::Bubble,
    SortBy::Security,
    SortBy::Routing,
];

impl SortBy {
    /// Its name in titles.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Utilization => "utilization",
            Self::Data => "GB/s",
            Self::Wait => "wait",
            Self::Congestion => "congestion",
            Self::Packets => "packets",
            Self::Integrity => "integrity",
            Self::SmaCongestion => "SMA congestion",
            Self::Bubble => "bubble",
            Self::Security => "security",
            Self::Routing => "routing",
        }
    }

    /// The order of a key.
    pub(super) fn of_key(key: char) -> Option<Self> {
        Some(match key {
            'u' => Self::Utilization,
            'g' => Self::Data,
            'k' => Self::Packets,
            'w' => Self::Wait,
            'c' => Self::Congestion,
            'i' => Self::Integrity,
            'm' => Self::SmaCongestion,
            'b' => Self::Bubble,
            'x' => Self::Security,
            'r' => Self::Routing,
            _ => return None,
        })
    }

    /// Whether the daemon sorts links by it.
    pub(super) fn of_links(self) -> Option<v1::LinkOrder> {
        Some(match self {
            Self::Utilization => v1::LinkOrder::Utilization,
            Self::Data => v1::LinkOrder::Data,
            Self::Wait => v1::LinkOrder::Wait,
            Self::Congestion => v1::LinkOrder::Congestion,
            _ => return None,
        })
    }

    /// Its value at a port: percent of the rate that it sends, bytes, packets or waits of its last reading a second,
    /// or the category's.
    pub(super) fn value(self, port: &v1::PortCounters) -> f64 {
        let rates = port.rates.unwrap_or_default();
        let sent = rates.xmit_data.unwrap_or_default() * FLIT;
        let found = port.categories.unwrap_or_default();
        match self {
            Self::Utilization => percent(sent, port),
            Self::Data => sent,
            Self::Packets => rates.xmit_pkts.unwrap_or_default(),
            Self::Wait => rates.xmit_wait.unwrap_or_default(),
            Self::Integrity => found.integrity.into(),
            Self::Congestion => found.congestion.into(),
            Self::SmaCongestion => found.sma_congestion.into(),
            Self::Bubble => found.bubble.into(),
            Self::Security => found.security.into(),
            Self::Routing => found.routing.into(),
        }
    }
}

/// The sum, which is 0 and not -0 where there is nothing.
pub(super) fn total(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |sum, value| sum + value)
}

/// Percent of its rate that a port receives, and flits a second.
pub(super) fn received(port: &v1::PortCounters) -> (f64, f64) {
    let flits = port
        .rates
        .and_then(|rates| rates.rcv_data)
        .unwrap_or_default();
    (percent(flits * FLIT, port), flits)
}

/// Percent of a port's rate that bytes a second are.
fn percent(bytes: f64, port: &v1::PortCounters) -> f64 {
    match port.rate_gbps > 0.0 {
        true => bytes * 8.0 / port.rate_gbps / 1e7,
        false => 0.0,
    }
}
