//! Inputs and outputs of subnet administration.

use std::sync::Arc;

use weft_fabric::{MulticastGroup, Snapshot};
use weft_wire::packet::Packet;

use crate::cables::CableMemories;
use crate::congestion::CongestionHeld;
use crate::io::MulticastStorm;
use crate::multicast::MulticastLid;

/// Inputs of subnet administration.
#[derive(Debug, Clone)]
pub enum SaInput {
    /// The time has come that [`super::Sa::deadline`] named.
    Tick,
    /// A datagram of class 0x03 arrived at the manager's port.
    Received(Packet),
    /// The fabric as it is from now on.
    Published(Arc<Snapshot>),
    /// Cable memories.
    Cables(Arc<CableMemories>),
    /// Congestion control settings held by devices, from now on.
    Congestion(Arc<CongestionHeld>),
    /// This manager has become master, and earlier registrations are void, see
    /// [`crate::Output::RegistrationsLost`]: ports are asked to register again.
    RegistrationsLost {
        /// Number of these ports.
        asked: usize,
    },
    /// A notice for its subscribers, from [`crate::Output::Notice`]. Undecodable ones
    /// are dropped.
    Notice(Vec<u8>),
}

/// Outputs of subnet administration.
#[derive(Debug, Clone)]
pub enum SaOutput {
    /// Send a datagram from the manager's port.
    Send(Packet),
    /// Members of all multicast groups, in order of their LIDs: for the subnet manager.
    Multicast(Vec<MulticastLid>),
    /// All multicast groups with their members, in order of their GIDs: for readers.
    Groups(Arc<Vec<MulticastGroup>>),
    /// A port ends groups too often: for the subnet manager, as [`crate::Input::MulticastStorm`].
    Storm(MulticastStorm),
    /// The stored registrations are no longer valid. This must be recorded on stable storage before anything is
    /// sent that is output after it.
    Stale,
    /// Write this to stable storage, atomically: it counts again.
    Persist(Vec<u8>),
}
