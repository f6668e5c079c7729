//! Inputs of subnet administration.

use std::sync::Arc;

use weft_fabric::CableMemories;
use weft_manager::SaSettings;
use weft_manager::congestion::CongestionHeld;
use weft_manager::dbsync::Inherited;
use weft_state::State;
use weft_wire::packet::Packet;

use crate::checkpoint::Checkpoint;
use crate::recorder::{CHUNK_TAIL, SA_RESTS};

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
    /// No input: none is recorded from here on, until its row begins again with its state.
    Rests(SaRest),
}

/// Why its inputs are not recorded for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaRest {
    /// They have used their share of a file.
    Share,
    /// The disk is slow: what room is left is for the manager's.
    Disk,
}

impl SaRest {
    /// By its number in a recording.
    pub(crate) fn of(number: u8) -> Option<Self> {
        [Self::Share, Self::Disk]
            .into_iter()
            .find(|rest| rest.number() == number)
    }

    fn number(self) -> u8 {
        match self {
            Self::Share => 1,
            Self::Disk => 2,
        }
    }

    /// Why, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Share => "its inputs have used their share of the file",
            Self::Disk => "the disk is slow",
        }
    }

    /// The chunk that says so in a recording.
    pub fn chunk(self) -> Vec<u8> {
        let no_time = 0;
        let mut chunk = vec![0, SA_RESTS, no_time, self.number()];
        // No output is compared.
        chunk.resize(chunk.len() + size_of::<u16>() + CHUNK_TAIL, 0);
        chunk
    }
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
            Self::Rests(_) => "sa-rests",
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
