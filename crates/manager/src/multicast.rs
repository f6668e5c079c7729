//! Multicast data shared by subnet administration and the subnet manager: members pass
//! from the one to the other as a value.

use serde::{Deserialize, Serialize};
use weft_fabric::{Guid, Lid};
use weft_state::State;
use weft_wire::enums::Mtu;

/// The members of one multicast LID, as the tables of the switches need them.
///
/// Several multicast GIDs may share a LID; then this is all of them together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct MulticastLid {
    /// The multicast LID, 0xF0000000 to 0xF0003FFE.
    pub mlid: Lid,
    /// Largest packet that members send.
    pub mtu: Mtu,
    /// Least static rate that the links of the tree must have, as InfiniBand's `RATE` encodes it.
    pub rate: u8,
    /// GUIDs of the ports that receive, in order, each once.
    pub receivers: Vec<Guid>,
    /// GUIDs of the ports that only send, in order, each once: their switches need a path to
    /// the tree.
    pub senders: Vec<Guid>,
}
