//! Inputs of subnet administration.

use std::sync::Arc;

use weft_fabric::CableMemories;
use weft_manager::SaSettings;
use weft_manager::congestion::CongestionHeld;
use weft_manager::dbsync::Inherited;
use weft_state::State;
use weft_wire::packet::Packet;

use crate::checkpoint::Checkpoint;

/// An input of subnet administration.
#[derive(Debug, Clone)]
pub enum SaWhat {
    /// A deadline.
    Tick,
    /// A datagram.
    Received(Packet),
    /// The manager's snapshot of this number; 0 is a fabric that is not known.
    Published(u64),
    /// A rare input.
    Call(Box<SaCall>),
    /// The state with which its row begins.
    Checkpoint(Checkpoint),
}

impl SaWhat {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Tick => "sa-tick",
            Self::Received(_) => "sa-received",
            Self::Published(_) => "sa-published",
            Self::Call(call) => call.name(),
            Self::Checkpoint(_) => "sa-checkpoint",
        }
    }
}

/// A rare input, which only the code reads that wrote it.
#[derive(Debug, Clone, State)]
pub enum SaCall {
    /// [`weft_manager::SaInput::Cables`].
    Cables(Arc<CableMemories>),
    /// [`weft_manager::SaInput::Congestion`].
    Congestion(Arc<CongestionHeld>),
    /// [`weft_manager::SaInput::RegistrationsLost`].
    RegistrationsLost(usize),
    /// [`weft_manager::SaInput::Notice`].
    Notice(Vec<u8>),
    /// Other settings.
    Reconfigure(Box<SaSettings>),
    /// A master's registrations.
    Inherit(Box<Inherited>),
    /// The groups are told.
    TellGroups,
}

impl SaCall {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Cables(_) => "sa-cables",
            Self::Congestion(_) => "sa-congestion",
            Self::RegistrationsLost(_) => "sa-registrations-lost",
            Self::Notice(_) => "sa-notice",
            Self::Reconfigure(_) => "sa-reconfigure",
            Self::Inherit(_) => "sa-inherit",
            Self::TellGroups => "sa-tell-groups",
        }
    }
}
