//! Performance management of a node (class 0x04): counters and error information. The payload
//! starts right after the common header.

pub mod counter;
pub mod counters;
pub mod entries;
pub mod error_info;
pub mod port_status;
pub mod select;

pub use counter::{Counter, VlCounter};
pub use counters::{
    DataPortCounters, DataPortCountersHeader, ErrorPortCounters, ErrorPortCountersHeader,
    LINK_ERROR_RECOVERY_SHIFT, LOCAL_LINK_INTEGRITY_SHIFT, VlDataCounters, VlErrorCounters,
    resolution_shift,
};
pub use entries::{Entries, Entry};
pub use error_info::{ErrorInfoHeader, ErrorInfoSelectMask, PortErrorInfo};
pub use port_status::{ClearPortStatus, PortStatus, PortStatusReq, VlStatus};
pub use select::{CounterSelectMask, PortMask, VlCounterSelectMask, vls};

/// Attributes of the class (`STL_PM_ATTRIB_ID_*`).
pub mod attribute {
    /// Capabilities of the agent.
    pub const CLASS_PORT_INFO: u16 = 0x0001;
    /// All counters of a port.
    pub const PORT_STATUS: u16 = 0x0040;
    /// Clears counters.
    pub const CLEAR_PORT_STATUS: u16 = 0x0041;
    /// Data counters of ports.
    pub const DATA_PORT_COUNTERS: u16 = 0x0042;
    /// Error counters of ports.
    pub const ERROR_PORT_COUNTERS: u16 = 0x0043;
    /// Error information of ports.
    pub const ERROR_INFO: u16 = 0x0044;
}

/// Status codes of the class.
pub mod status {
    /// The answer would not fit into one datagram.
    pub const REQUEST_TOO_LARGE: u16 = 0x0100;
    /// The number of blocks contradicts the port mask.
    pub const NUMBER_OF_BLOCKS_INCONSISTENT: u16 = 0x0200;
    /// The agent failed.
    pub const OPERATION_FAILED: u16 = 0x0300;
}

/// Most bytes of payload in a datagram of the class.
pub const PAYLOAD_MAX: usize = 2024;
