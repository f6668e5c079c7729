//! What goes into subnet administration and what comes out of it.

use std::sync::Arc;

use weft_fabric::Snapshot;
use weft_wire::packet::Packet;

use crate::cables::CableMemories;
use crate::congestion::CongestionHeld;
use crate::multicast::MulticastLid;

/// What subnet administration is told.
#[derive(Debug, Clone)]
pub enum SaInput {
    /// The time has come that [`super::Sa::deadline`] named.
    Tick,
    /// A datagram of class 0x03 arrived at the manager's port.
    Received(Packet),
    /// The fabric as it is from now on.
    Published(Arc<Snapshot>),
    /// What cables say of themselves.
    Cables(Arc<CableMemories>),
    /// What devices hold of congestion control, from now on.
    Congestion(Arc<CongestionHeld>),
    /// This manager has become master, and what was registered before does not count, as
    /// [`crate::Output::RegistrationsLost`] says: so many ports are asked to register again.
    RegistrationsLost {
        /// How many.
        asked: usize,
    },
    /// A notice for those who subscribed to it, as [`crate::Output::Notice`] gives it. What cannot be
    /// read is dropped.
    Notice(Vec<u8>),
}

/// What subnet administration wants done.
#[derive(Debug, Clone)]
pub enum SaOutput {
    /// Send a datagram from the manager's port.
    Send(Packet),
    /// Who is in which multicast group, all groups, in order of their LIDs: for the subnet manager.
    Multicast(Vec<MulticastLid>),
    /// What was stored does not count any more. This must be so, on stable storage, before anything is
    /// sent that comes out after it.
    Stale,
    /// Write this to stable storage, atomically: it counts again.
    Persist(Vec<u8>),
}
