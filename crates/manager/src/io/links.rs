//! Links that are told of: their ends, why one carries no data, errors, and what a topology file has instead.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use weft_fabric::admission::Defects;
use weft_fabric::intended::Faults;
use weft_fabric::text::count;
use weft_fabric::{Guid, PortNum};
use weft_state::State;
use weft_wire::enums::PortState;

use crate::link_errors::{ErrorRule, LinkExcess};

/// One end of a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct LinkEnd {
    /// GUID of the node.
    pub node: Guid,
    /// Name of the node.
    pub name: String,
    /// The port.
    pub port: PortNum,
}

impl fmt::Display for LinkEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port {} of {} ({})", self.port, self.name, self.node)
    }
}

/// A link that is up and carries no data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct UnusedLink {
    /// One end.
    pub a: LinkEnd,
    /// The other.
    pub b: LinkEnd,
    /// Why it carries none.
    pub reason: UnusedReason,
}

/// A port whose link is not to be used for the time being.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BarredPort {
    /// The port.
    pub port: LinkEnd,
    /// Held back, or in quarantine.
    pub reason: UnusedReason,
    /// Losses of its link within `WindowSize`.
    pub losses: u32,
    /// How long this has been so.
    pub since: Duration,
    /// Time until it ends, if the link is not lost again; none where an operator ends it, or another cable.
    pub left: Option<Duration>,
    /// The operator's words where it was put into quarantine by hand; what is wrong where it is not as the topology
    /// file has it, leads to a device that is not let into the fabric, or has too many errors.
    pub comment: String,
    /// What is done about its errors, where the link breaks a rule for them.
    pub errors: Option<ErrorEntry>,
}

/// What is done about a link that breaks a rule for links with errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorEntry {
    /// The other end of the link.
    pub far: LinkEnd,
    /// What is done.
    pub standing: Standing,
}

/// What is done about a link that breaks a rule for links with errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub enum Standing {
    /// It is out of use.
    Isolated,
    /// It would be out of use with the action `quarantine`.
    DryRun,
    /// It stays in use.
    Spared(Spared),
}

/// Why a link stays in use although it breaks a rule for links with errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Error, State)]
pub enum Spared {
    /// It is the manager's own.
    #[error("it is the manager's own link")]
    OwnLink,
    /// A host would be cut off, and that is not allowed, or not at this time.
    #[error("a host would be cut off, which Hosts does not allow now")]
    Host,
    /// A part of the fabric would be cut off, or only be reached over links that are not to be used.
    #[error("it is the last path to a part of the fabric")]
    LastPath,
    /// As many links have been taken out of use in the last hour as may be.
    #[error("{most} links were taken out of use within an hour, which is the most (MostPerHour)")]
    PerHour {
        /// That number.
        most: u32,
    },
    /// As many links are out of use as may be.
    #[error("{most} links are out of use, which is the most (MostAtOnce)")]
    AtOnce {
        /// That number.
        most: u32,
    },
}

/// A link that breaks a rule for links with errors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct LinkErrors {
    /// The end that tells.
    pub a: LinkEnd,
    /// The other end.
    pub b: LinkEnd,
    /// What was measured.
    pub excess: LinkExcess,
    /// What is done about it.
    pub standing: Standing,
    /// For how long it is out of use; zero where it stays in use.
    pub hold: Duration,
    /// How often that has happened in a row, from 1; 0 where it stays in use.
    pub offences: u32,
}

impl fmt::Display for LinkErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { a, b, excess, .. } = self;
        write!(f, "the link from {a} to {b} has errors: {excess}")
    }
}

/// Why a link carries no data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Error, State)]
pub enum UnusedReason {
    /// WidthPolicy refuses it.
    #[error("it came up with {}, WidthPolicy asks for {least}", count(.lanes, "lane"))]
    Width {
        /// Lanes with which it came up.
        lanes: u32,
        /// Lanes required by the policy.
        least: u32,
    },
    /// SpeedPolicy refuses it.
    #[error("its lanes came up at {mbps} Mb/s, SpeedPolicy asks for {least}")]
    Speed {
        /// Rate of a lane, Mb/s.
        mbps: u32,
        /// Rate required by the policy, Mb/s.
        least: u32,
    },
    /// MaxDroppedLanes refuses it.
    #[error("it has lost {}, MaxDroppedLanes allows {most}", count(.lost, "lane"))]
    LostLanes {
        /// Lanes lost since it came up.
        lost: u32,
        /// Lanes that it may lose.
        most: u32,
    },
    /// It goes down again and again: used again after a while without a loss.
    #[error("it went down {} lately: it is used again after a while without a loss", count(.losses, "time"))]
    HeldBack {
        /// Losses within WindowSize when it was held back.
        losses: u32,
    },
    /// It went down so often that its port is in quarantine.
    #[error("it went down {} within WindowSize: its port is in quarantine", count(.losses, "time"))]
    Quarantined {
        /// Losses within WindowSize when the quarantine began.
        losses: u32,
    },
    /// Its port is in quarantine by an operator's order.
    #[error("its port was put into quarantine by hand")]
    QuarantinedByHand,
    /// It breaks a rule for links with errors.
    #[error("its {rule} break a rule for links with errors: it is in quarantine")]
    Errors {
        /// The rule.
        rule: ErrorRule,
    },
    /// It is not as the file of PreDefinedTopology has it.
    #[error("it is not as the topology file has it: {faults}")]
    Unintended {
        /// What differs at its far end.
        faults: Faults,
    },
    /// Only links lead to it that are not as the file of PreDefinedTopology has them.
    #[error("only links lead to it that are not as the topology file has them")]
    Behind,
    /// One of its nodes has no LID, as the topology file has none for it that is free.
    #[error("the topology file has no LID for one of its nodes that is free")]
    NoLid,
    /// The device behind it is not let into the fabric.
    #[error("it leads to a device that is not let into the fabric: {defects}")]
    Refused {
        /// What is wrong with the device.
        defects: Defects,
    },
    /// A port stays in Init or Armed although the manager has set it to Active.
    #[error("a port stays in state {state}")]
    Inactive {
        /// State of the end that is further from Active.
        state: PortState,
    },
}

impl UnusedReason {
    /// Whether a port is in quarantine, not only held back.
    pub fn is_quarantine(&self) -> bool {
        matches!(
            self,
            Self::Quarantined { .. }
                | Self::QuarantinedByHand
                | Self::Errors { .. }
                | Self::Unintended { .. }
                | Self::Refused { .. }
        )
    }
}

/// A link or node that is not as the topology file has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct TopologyFault {
    /// The end nearer to the manager; none for the manager's own node.
    pub trusted: Option<LinkEnd>,
    /// The other end, which is judged.
    pub found: LinkEnd,
    /// What differs.
    pub faults: Faults,
    /// That of it for which the link is in quarantine.
    pub enforced: Faults,
    /// What the file has at the other end; none for a link that it lacks.
    pub expected: Option<ExpectedNode>,
    /// The HFI there that is gone, where another one that the file lacks is in its place.
    pub replaces: Option<Guid>,
}

/// A node of the topology file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct ExpectedNode {
    /// NodeDesc, or its GUID where the file has none.
    pub name: String,
    /// NodeGUID, none where the file has none.
    pub guid: Option<Guid>,
    /// Line in the file, from 1.
    pub line: u64,
}

impl fmt::Display for TopologyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (found, faults) = (&self.found, self.faults);
        let Some(trusted) = &self.trusted else {
            return write!(
                f,
                "the manager's own node {} ({}) is not among the managers of the topology file: {faults}",
                found.name, found.node
            );
        };
        write!(
            f,
            "{found} is connected to {trusted}; the topology file has "
        )?;
        match &self.expected {
            None => f.write_str("no such link")?,
            Some(ExpectedNode { name, guid, line }) => {
                let guid = guid.map_or_else(String::new, |guid| format!(" ({guid})"));
                write!(f, "{name}{guid} there, line {line}: {faults}")?;
            }
        }
        match self.replaces {
            Some(old) => write!(f, "; if it is a new HFI in its place: weft replace {old}"),
            None => Ok(()),
        }
    }
}
