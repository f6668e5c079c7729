//! What happened in each interval of a case's time.

use weft_dataplane::packets::Picos;

/// A case's time in intervals.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Intervals {
    /// When the first begins, then when each ends; since the case's own traffic began.
    pub moments: Vec<Picos>,
    /// The whole fabric in each.
    pub fabric: Vec<FabricInterval>,
    /// The case's own traffic, and each named job, in each.
    pub jobs: Vec<JobIntervals>,
    /// The links that the case keeps.
    pub links: Vec<LinkIntervals>,
}

impl Intervals {
    /// Beginning and end of each.
    pub fn spans(&self) -> impl Iterator<Item = (Picos, Picos)> + '_ {
        let ends = self.moments.iter().skip(1);
        self.moments.iter().copied().zip(ends.copied())
    }
}

/// Packets in an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FabricInterval {
    /// Arrived.
    pub delivered: u64,
    /// Dropped.
    pub lost: u64,
    /// Links crossed.
    pub hops: u64,
    /// On their way at its end.
    pub in_flight: u64,
}

/// What came of a job's messages, or packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobIntervals {
    /// Its name; none for the case's own traffic.
    pub job: Option<String>,
    /// In each interval.
    pub came: Vec<Came>,
}

/// Messages that have come, or packets of a pattern.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Came {
    /// Their number.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Came {
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            count: self.count.saturating_sub(before.count),
            bytes: self.bytes.saturating_sub(before.bytes),
        }
    }
}

/// A link in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkIntervals {
    /// Sending node and port.
    pub from: String,
    /// Receiving node and port.
    pub to: String,
    /// Percentage of its capacity in each interval.
    pub percent: Vec<f64>,
}
