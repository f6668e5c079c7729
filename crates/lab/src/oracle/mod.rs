//! Judges of a fabric that share no code with what they judge.
//!
//! Each looks at a [`FabricView`](crate::view::FabricView) and returns every breach that it sees, in words.

pub mod choices;
pub mod deadlock;
pub mod drained;
pub mod lids;
pub mod multicast;
pub mod partitions;
pub mod reach;
pub mod tables;

use std::fmt;

/// A rule that must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// I1: every connected pair of live ports is reachable.
    Reachable,
    /// I2: no forwarding loop.
    LoopFree,
    /// I3: the channel-dependency graph has no cycle.
    DeadlockFree,
    /// I4: tables read back are the tables intended.
    TablesAsIntended,
    /// I5: LIDs are unique, aligned and stable.
    LidsInOrder,
    /// I6: nobody reaches a partition that it is not in.
    Isolated,
    /// I7: one master in each connected fabric, and nobody else writes.
    OneMaster,
    /// I8: an unchanged fabric gets no Set.
    NoNeedlessSet,
    /// I9: converged in time after the last fault.
    Converged,
    /// I10: outstanding requests and datagrams a sweep are bounded.
    NoStorm,
    /// I11: nothing leads over what is called drained, and pulling it loses no route.
    Drained,
    /// I12: what can be spared can be drained, and nothing else.
    Spared,
    /// I13: what was planned is in force, and a rollback brings back what was.
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
            Self::Drained => "I11 drained",
            Self::Spared => "I12 only what can be spared",
            Self::AsPlanned => "I13 as planned",
        })
    }
}

/// A rule that was broken, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    /// The rule.
    pub invariant: Invariant,
    /// What was seen.
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
