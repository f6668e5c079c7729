//! Objections of the certificate.

use std::fmt;

use thiserror::Error;
use weft_fabric::{Lid, NodeId, PortNum, PortRef};

/// One step of a route: leaving a switch through a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    /// The switch.
    pub switch: NodeId,
    /// The port through which the packet leaves it.
    pub egress: PortNum,
}

/// A directed link whose buffers wait for those of the next one in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Channel {
    /// The end that sends.
    pub from: PortRef,
    /// The end that receives.
    pub to: PortRef,
    /// A LID whose route leaves `to`'s switch into the next link of the cycle.
    pub lid: Lid,
}

/// Why a packet does not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drop {
    /// The table has no entry, although there is a connection.
    NoEntry,
    /// The entry names a port without a working link.
    DeadPort(PortNum),
    /// The entry leads to an end port that has another LID.
    WrongEndPort(PortRef),
}

/// One thing wrong with the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// A forwarding loop.
    Loop {
        /// The destination.
        lid: Lid,
        /// The steps of the loop, from its smallest switch on; the last leads to the first.
        hops: Vec<Hop>,
    },
    /// A destination that a switch has cables to, but no route.
    Dropped {
        /// The destination.
        lid: Lid,
        /// Start of the route.
        from: NodeId,
        /// The switch that drops.
        at: NodeId,
        /// Why.
        why: Drop,
    },
    /// Links whose buffers can wait for each other for ever.
    CreditCycle {
        /// The links in order; the last waits for the first.
        channels: Vec<Channel>,
    },
    /// Two end ports answer to one LID.
    LidShared {
        /// The LID.
        lid: Lid,
        /// One port.
        first: PortRef,
        /// The other.
        second: PortRef,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loop { lid, hops } => {
                write!(f, "forwarding loop for LID {lid}:")?;
                hops.iter().try_for_each(|hop| {
                    write!(f, " node {} port {} ->", hop.switch.0, hop.egress)
                })?;
                write!(f, " again")
            }
            Self::Dropped { lid, from, at, why } => {
                write!(
                    f,
                    "LID {lid} from node {}: dropped at node {}: ",
                    from.0, at.0
                )?;
                match why {
                    Drop::NoEntry => write!(f, "no table entry"),
                    Drop::DeadPort(port) => write!(f, "port {port} has no working link"),
                    Drop::WrongEndPort(end) => write!(
                        f,
                        "port {} of node {} has another LID",
                        end.port, end.node.0
                    ),
                }
            }
            Self::CreditCycle { channels } => {
                write!(f, "credit cycle:")?;
                channels.iter().try_for_each(|channel| {
                    let Channel { from, to, lid } = channel;
                    write!(
                        f,
                        " node {} port {} to node {} port {} (LID {lid}) ->",
                        from.node.0, from.port, to.node.0, to.port
                    )
                })?;
                write!(f, " again")
            }
            Self::LidShared { lid, first, second } => write!(
                f,
                "LID {lid} is at port {} of node {} and at port {} of node {}",
                first.port, first.node.0, second.port, second.node.0
            ),
        }
    }
}

/// Tables that may not be published, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{} finding(s), first: {}", findings.len(), findings.first().map(ToString::to_string).unwrap_or_default())]
pub struct Refusal {
    /// At least one, at most [`Refusal::LIMIT`].
    pub findings: Vec<Finding>,
}

impl Refusal {
    /// Most findings that are listed.
    pub const LIMIT: usize = 64;

    pub(super) fn new(mut findings: Vec<Finding>) -> Self {
        findings.truncate(Self::LIMIT);
        Self { findings }
    }
}
