//! Inputs other than datagrams, deadlines and plans: they are rare, and written as JSON.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use weft_fabric::{Guid, PortNum};
use weft_manager::link_errors::LinkExcess;
use weft_manager::sm::Told;
use weft_manager::sm::loop_test::LoopTestOrder;
use weft_manager::sm::quarantine::QuarantineOrder;
use weft_manager::sm::replacements::ReplacementOrder;
use weft_manager::sm::reroute::{Arrangement, Condition};
use weft_manager::{Command, MulticastLid, MulticastStorm, Settings};

/// A rare input.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[allow(
    clippy::large_enum_variant,
    reason = "one at a time, between a file and a call"
)]
pub enum Call {
    /// The manager is made: the first input of a recording, and no other.
    Create {
        /// Its settings.
        settings: Settings,
        /// What is stored of an earlier manager.
        stored: Option<Vec<u8>>,
    },
    /// [`weft_manager::Input::Command`].
    Command {
        /// Its number.
        id: u64,
        /// The command.
        command: Command,
    },
    /// [`weft_manager::Input::Multicast`].
    Multicast(Vec<MulticastLid>),
    /// [`weft_manager::Input::CopiedFrom`].
    CopiedFrom(Option<Guid>),
    /// [`weft_manager::Input::MulticastStorm`].
    MulticastStorm(MulticastStorm),
    /// [`weft_manager::Input::LinkErrors`].
    LinkErrors(Vec<LinkExcess>),
    /// [`weft_manager::Input::Detached`].
    Detached,
    /// Other settings.
    Reconfigure(Settings),
    /// An arrangement is put in force.
    Adopt {
        /// When it is.
        condition: Condition,
        /// The arrangement.
        wanted: Arrangement,
    },
    /// A port is put in quarantine.
    Quarantine {
        /// Its node and number.
        end: (Guid, PortNum),
        /// The order.
        order: QuarantineOrder,
    },
    /// A port's quarantine ends.
    Release {
        /// Its node and number.
        end: (Guid, PortNum),
    },
    /// An order to the loop test.
    LoopTest(LoopTestOrder),
    /// Sweeps pause for this time.
    Pause(Duration),
    /// The pause ends.
    Resume,
    /// The normal priority counts again.
    RestorePriority,
    /// An HFI is put in the place of another.
    Replace(ReplacementOrder),
    /// An HFI counts for itself again.
    EndReplacement(Guid),
    /// A standby is told something of its master.
    Tell(Told),
}

impl Call {
    /// Its name, as a filter of steps has it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Command { .. } => "command",
            Self::Multicast(_) => "multicast",
            Self::CopiedFrom(_) => "copied from",
            Self::MulticastStorm(_) => "multicast-storm",
            Self::LinkErrors(_) => "link-errors",
            Self::Detached => "detached",
            Self::Reconfigure(_) => "reconfigure",
            Self::Adopt { .. } => "adopt",
            Self::Quarantine { .. } => "quarantine",
            Self::Release { .. } => "release",
            Self::LoopTest(_) => "loop-test",
            Self::Pause(_) => "pause",
            Self::Resume => "resume",
            Self::RestorePriority => "restore-priority",
            Self::Replace(_) => "replace",
            Self::EndReplacement(_) => "end-replacement",
            Self::Tell(_) => "tell",
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "call_tests.rs"]
mod tests;
