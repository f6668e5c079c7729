//! Oracles that share no code with the product.
//!
//! Each examines a [`FabricView`](crate::view::FabricView) and returns every breach, in words.

pub mod choices;
pub mod counters;
pub mod deadlock;
pub mod drained;
mod ends;
mod floods;
pub mod kept;
pub mod levels;
pub mod lids;
pub mod loops;
pub mod masters;
pub mod multicast;
pub mod names;
pub mod pairs;
pub mod partitions;
pub mod planned;
pub mod published;
pub mod quiet;
pub mod reach;
pub mod spared;
pub mod storm;
pub mod tables;
mod waits;

use std::fmt;

/// A rule that must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// I1: every connected pair of live ports is reachable, at the service levels in use and no others.
    Reachable,
    /// I2: no forwarding loop.
    LoopFree,
    /// I3: the channel-dependency graph has no cycle.
    DeadlockFree,
    /// I4: tables read back are the tables intended.
    TablesAsIntended,
    /// I5: LIDs are unique, aligned and stable.
    LidsInOrder,
    /// I6: no host reaches a partition that it does not belong to.
    Isolated,
    /// I7: one master in each connected fabric, and nobody else writes.
    OneMaster,
    /// I8: an unchanged fabric gets no Set.
    NoNeedlessSet,
    /// I9: converged in time after the last fault.
    Converged,
    /// I10: outstanding requests and datagrams a sweep are bounded.
    NoStorm,
    /// I11: counters that readers see never go back.
    CountersGoUp,
    /// I12: an event with a cause reports every change of nodes and cables.
    EventWithCause,
    /// I13: a manager that ends in the middle of writing leaves a fabric that keeps forwarding.
    KeepsForwarding,
    /// I14: what readers get is of one moment.
    ConsistentSnapshot,
    /// D1: nothing leads over a drained part.
    Drained,
    /// D2: pulling a drained part loses no route.
    Pulled,
    /// D3: what can be spared can be drained, and nothing else.
    Spared,
    /// P1: what was planned is in force, and a rollback brings back what was.
    AsPlanned,
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reachable => "I1 reachable",
            Self::LoopFree => "I2 loop-free",
            Self::DeadlockFree => "I3 deadlock-free",
            Self::TablesAsIntended => "I4 tables as intended",
            Self::LidsInOrder => "I5 LIDs in order",
            Self::Isolated => "I6 isolated",
            Self::OneMaster => "I7 one master",
            Self::NoNeedlessSet => "I8 no needless Set",
            Self::Converged => "I9 converged in time",
            Self::NoStorm => "I10 no storm",
            Self::CountersGoUp => "I11 counters go up",
            Self::EventWithCause => "I12 event with cause",
            Self::KeepsForwarding => "I13 keeps forwarding",
            Self::ConsistentSnapshot => "I14 consistent snapshot",
            Self::Drained => "D1 drained",
            Self::Pulled => "D2 pulled without loss",
            Self::Spared => "D3 only what can be spared",
            Self::AsPlanned => "P1 as planned",
        })
    }
}

/// A rule that was broken, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    /// The rule.
    pub invariant: Invariant,
    /// The observation.
    pub what: String,
}

impl Breach {
    /// A breach of a rule.
    pub fn new(invariant: Invariant, what: impl Into<String>) -> Self {
        Self {
            invariant,
            what: what.into(),
        }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.what)
    }
}
