//! Inputs and outputs of the performance manager.

use std::sync::Arc;

use weft_fabric::{Guid, PortNum, Snapshot};
use weft_wire::packet::Packet;
use weft_wire::pm::PortErrorInfo;

use super::clearing::{ClearOrder, ClearOutcome};
use super::image::{Image, ImageName};
use super::kept::Kept;

/// Inputs of the performance manager.
#[derive(Debug, Clone)]
pub enum PmInput {
    /// The time has come that [`super::Pm::deadline`] named.
    Tick,
    /// Current time in seconds since 1970. Passed in at the start and whenever the clock was set.
    WallClock {
        /// Seconds since 1970.
        unix_s: u64,
    },
    /// A new state of the fabric; this manager is the fabric's master.
    Published(Arc<Snapshot>),
    /// This manager is no longer the master: nothing is read any more, and queries are answered
    /// with "unavailable" until the next [`PmInput::Published`].
    StandBy,
    /// A datagram arrived at the manager's port: an answer of an agent (class 0x04) or a query of
    /// a client (class 0x32).
    Received(Packet),
    /// Images are on the disk, the oldest first, all newer than those that were told before. One that has the last name
    /// takes that one's place: it has grown.
    Kept(Vec<Kept>),
    /// Images are no longer on the disk.
    Removed(Vec<ImageName>),
    /// The answer to each [`PmOutput::Recall`], or [`PmInput::RecallRefused`].
    Recalled {
        /// The image.
        name: ImageName,
        /// None where it cannot be read.
        image: Option<Arc<Image>>,
    },
    /// An image cannot be read now, because too much is to be read already: those who asked are told to come again.
    RecallRefused(ImageName),
    /// Somebody wants counters set to zero; [`PmOutput::Cleared`] tells when that is done.
    Clear(ClearOrder),
}

/// Outputs of the performance manager.
#[derive(Debug, Clone)]
pub enum PmOutput {
    /// Send a datagram from the manager's port.
    Send(Packet),
    /// A sweep is done; its results, for all readers.
    Image(Arc<Image>),
    /// A client asks about an image that is on the disk: read it, without keeping the manager waiting, and answer with
    /// [`PmInput::Recalled`].
    Recall(ImageName),
    /// What came of [`PmInput::Clear`], after the image.
    Cleared(ClearOutcome),
    /// Something happened that people want to know.
    Event(PmEvent),
}

/// One end of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortName {
    /// GUID of the node.
    pub node: Guid,
    /// Name of its node.
    pub name: String,
    /// The port.
    pub port: PortNum,
}

/// Something that people want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PmEvent {
    /// A sweep is done.
    SweepEnded(PmReport),
    /// An agent did not answer, or not with the requested data.
    NodeFailed {
        /// GUID of its node.
        node: Guid,
        /// Name of its node.
        name: String,
        /// The request.
        request: &'static str,
        /// Its status, none when it did not answer.
        status: Option<u16>,
    },
    /// Another client cleared counters.
    ClearedByOthers(PortName),
    /// A category of trouble went over its threshold.
    ThresholdExceeded {
        /// The port.
        port: PortName,
        /// The other end of its link.
        neighbor: Option<PortName>,
        /// The category.
        category: &'static str,
        /// Its value in this sweep.
        value: u32,
        /// The threshold.
        threshold: u32,
        /// Details of the port's last errors, if reported.
        error_info: Option<Box<PortErrorInfo>>,
    },
}

/// Report of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PmReport {
    /// Number of the sweep, from 1.
    pub number: u64,
    /// Nanoseconds that it took.
    pub elapsed_ns: u64,
    /// Datagrams sent, retries included.
    pub sent: u64,
    /// Datagrams sent again.
    pub retries: u64,
    /// Ports that were read.
    pub ports: u32,
    /// Ports without a reading for want of a proper answer.
    pub failed_ports: u32,
    /// Agents that they belong to.
    pub failed_nodes: u32,
    /// Ports at which the manager set counters to zero.
    pub cleared: u32,
}
