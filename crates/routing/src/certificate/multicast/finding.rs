//! Objections of the certificate of multicast tables.

use std::fmt;

use thiserror::Error;
use weft_fabric::{Lid, NodeId, PortNum, PortRef};

/// One thing wrong with multicast tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MulticastFinding {
    /// The cables of a group close a circle.
    Circle {
        /// The group.
        mlid: Lid,
        /// A switch on it.
        switch: NodeId,
    },
    /// A row has a port that leads nowhere.
    DeadPort {
        /// The group.
        mlid: Lid,
        /// The switch.
        switch: NodeId,
        /// Its port.
        port: PortNum,
    },
    /// A row leads to an end port that is no receiver.
    Stranger {
        /// The group.
        mlid: Lid,
        /// The end port.
        port: PortRef,
    },
    /// The switch of a receiver does not send to it.
    NotDelivered {
        /// The group.
        mlid: Lid,
        /// The receiver.
        port: PortRef,
    },
    /// A switch does not send over a cable beyond which there is a receiver.
    NotForwarded {
        /// The group.
        mlid: Lid,
        /// The switch.
        switch: NodeId,
        /// Its port.
        port: PortNum,
    },
    /// Members that links could join are in trees apart.
    Apart {
        /// The group.
        mlid: Lid,
        /// A switch in one tree.
        first: NodeId,
        /// A switch in the other.
        second: NodeId,
    },
    /// A link or a switch cannot carry the group.
    TooSmall {
        /// The group.
        mlid: Lid,
        /// The switch.
        switch: NodeId,
        /// Its port.
        port: PortNum,
    },
    /// A row for which there is no group.
    NoGroup {
        /// The LID.
        mlid: Lid,
        /// The switch.
        switch: NodeId,
    },
}

impl fmt::Display for MulticastFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Circle { mlid, switch } => {
                write!(f, "LID {mlid} runs in a circle through node {}", switch.0)
            }
            Self::DeadPort { mlid, switch, port } => {
                write!(
                    f,
                    "LID {mlid}: port {port} of node {} leads nowhere",
                    switch.0
                )
            }
            Self::Stranger { mlid, port } => write!(
                f,
                "LID {mlid} goes to port {} of node {}, which is no member",
                port.port, port.node.0
            ),
            Self::NotDelivered { mlid, port } => write!(
                f,
                "LID {mlid} does not go to its member at port {} of node {}",
                port.port, port.node.0
            ),
            Self::NotForwarded { mlid, switch, port } => write!(
                f,
                "LID {mlid} does not leave node {} through port {port}, beyond which it has members",
                switch.0
            ),
            Self::Apart {
                mlid,
                first,
                second,
            } => write!(
                f,
                "LID {mlid} has members at nodes {} and {} that do not reach each other",
                first.0, second.0
            ),
            Self::TooSmall { mlid, switch, port } => write!(
                f,
                "LID {mlid} leaves node {} through port {port}, which cannot carry it",
                switch.0
            ),
            Self::NoGroup { mlid, switch } => {
                write!(
                    f,
                    "node {} has a row for LID {mlid}, which has no group",
                    switch.0
                )
            }
        }
    }
}

/// Multicast tables that may not be published, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("multicast: {} finding(s), first: {}", findings.len(), findings.first().map(ToString::to_string).unwrap_or_default())]
pub struct MulticastRefusal {
    /// At least one, at most [`MulticastRefusal::LIMIT`].
    pub findings: Vec<MulticastFinding>,
}

impl MulticastRefusal {
    /// Most findings that are listed.
    pub const LIMIT: usize = 64;

    pub(super) fn new(mut findings: Vec<MulticastFinding>) -> Self {
        findings.truncate(Self::LIMIT);
        Self { findings }
    }
}
