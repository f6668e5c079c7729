//! SMInfo, attribute 0x0020: state of a subnet manager.

use weft_state::State;

use crate::enums::SmState;
use crate::id::Guid;
use crate::layout::layout;

layout! {
    /// State of a subnet manager (`STL_SM_INFO`).
    pub struct SmInfo: 26, "STL_SM_INFO" {
        /// Port that it runs on.
        port_guid: Guid = u64 @ 0, "PortGUID";
        /// Key that subnet managers of one fabric share; 0 to strangers.
        sm_key: u64 = u64 @ 8, "SM_Key";
        /// Grows with each thing that it does.
        act_count: u32 = u32 @ 16, "ActCount";
        /// Seconds: as master, or since the master's last update.
        elapsed_time: u32 = u32 @ 20, "ElapsedTime";
        /// Priority at present.
        priority: u8 = u16 @ 24 [15:12], "u.s.Priority";
        /// Priority once it has become master.
        elevated_priority: u8 = u16 @ 24 [11:8], "u.s.ElevatedPriority";
        /// Priority to begin with.
        initial_priority: u8 = u16 @ 24 [7:4], "u.s.InitialPriority";
        /// State.
        sm_state_current: SmState = u16 @ 24 [3:0], "u.s.SMStateCurrent";
    }
}

/// Action of a Set(SMInfo): its attribute modifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, State)]
pub enum SmInfoControl {
    /// The master hands over to the receiver.
    Handover = 1,
    /// The receiver's handover is accepted.
    Acknowledge = 2,
    /// Stop taking part.
    Disable = 3,
    /// Become standby.
    Standby = 4,
    /// Start discovering.
    Discover = 5,
}

impl SmInfoControl {
    /// From the attribute modifier of a Set.
    pub fn from_modifier(modifier: u32) -> Option<Self> {
        match modifier {
            1 => Some(Self::Handover),
            2 => Some(Self::Acknowledge),
            3 => Some(Self::Disable),
            4 => Some(Self::Standby),
            5 => Some(Self::Discover),
            _ => None,
        }
    }
}
