//! Changes of ports: what is asked for, and by whom.

use serde::{Deserialize, Serialize};
use weft_fabric::text::is_hidden;
use weft_fabric::{Guid, PortNum, Tick};
use weft_state::State;
use weft_wire::enums::{LinkSpeed, LinkWidth};

use super::CommandError;

/// Most bytes of the reason for a change.
pub const REASON_MAX: usize = 200;
/// Most bytes of each name of who asks for it.
pub const AUTHOR_MAX: usize = 100;

/// An order to change a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortOrder {
    /// The node.
    pub node: Guid,
    /// One of its external ports, or an HFI's port.
    pub port: PortNum,
    /// The action.
    pub action: PortAction,
    /// Also where a part of the fabric is cut off. The manager's own link is left alone all the same.
    pub force: bool,
    /// Why, and who asks for it.
    pub note: PortNote,
}

impl PortOrder {
    /// An order without a note, not to cut anything off.
    pub fn new((node, port): (Guid, PortNum), action: PortAction) -> Self {
        Self {
            node,
            port,
            action,
            force: false,
            note: PortNote::default(),
        }
    }
}

/// Why a port is changed, and who asks for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct PortNote {
    /// The reason, at most [`REASON_MAX`] bytes; may be empty.
    pub reason: String,
    /// Who asks, as he says himself, at most [`AUTHOR_MAX`] bytes; may be empty.
    pub author: String,
    /// From where: the address of the client, at most [`AUTHOR_MAX`] bytes; may be empty.
    pub peer: String,
}

impl PortNote {
    /// Whether its words are short enough, and without characters that act on a terminal.
    ///
    /// # Errors
    /// [`CommandError::Reason`], [`CommandError::Author`].
    pub fn check(&self) -> Result<(), CommandError> {
        let fits = |text: &str, most: usize| text.len() <= most && !text.contains(is_hidden);
        match (
            fits(&self.reason, REASON_MAX),
            fits(&self.author, AUTHOR_MAX) && fits(&self.peer, AUTHOR_MAX),
        ) {
            (false, _) => Err(CommandError::Reason),
            (true, false) => Err(CommandError::Author),
            (true, true) => Ok(()),
        }
    }
}

/// Actions on a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub enum PortAction {
    /// Switch it off; it stays off until it is enabled.
    Disable,
    /// Let it come up again.
    Enable,
    /// Take its link down once: it trains again. Of a port that is down, nothing changes.
    Bounce,
    /// Switch its beacon on or off.
    Led(bool),
    /// Enable other widths or speeds; a link that is up trains again with them.
    Link(LinkChange),
}

/// Widths and speeds that a port is to enable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct LinkChange {
    /// LinkWidth.Enabled, none to leave it.
    pub width: Option<LinkWidth>,
    /// LinkSpeed.Enabled, none to leave it.
    pub speed: Option<LinkSpeed>,
}

/// A port that is switched off, or was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisabledPort {
    /// The port, at which it was done.
    pub port: PortSide,
    /// The other end of its cable, where that is known.
    pub far: Option<PortSide>,
    /// What it is now.
    pub state: DisabledState,
    /// Why, by whom, and when; none of a port that this manager has not switched off, or of which it kept no note.
    pub noted: Option<(PortNote, Tick)>,
}

/// A port, and what is known of its node, which may be out of the fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortSide {
    /// NodeGUID and port.
    pub end: (Guid, PortNum),
    /// Name of the node, empty where it is not known.
    pub name: String,
    /// The node is a switch.
    pub is_switch: bool,
}

/// What has become of a port that was switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisabledState {
    /// It is off.
    Off,
    /// It is off, and not by this manager.
    Found,
    /// It is not off any more, and not by this manager.
    EnabledElsewhere,
    /// Its node is not in the fabric.
    Gone,
}
