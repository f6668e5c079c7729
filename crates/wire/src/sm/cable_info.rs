//! CableInfo, attribute 0x0032: what a cable says of itself.

use crate::layout::layout;

layout! {
    /// Up to 64 bytes of a cable's memory (`STL_CABLE_INFO`).
    pub struct CableInfo: 64, "STL_CABLE_INFO" {
        /// The bytes; what lies beyond the length asked for is 0.
        data: [u8; 64] = block @ 0, "Data";
    }
}

impl CableInfo {
    /// Bytes of a page; a read stays inside one.
    pub const PAGE_LEN: u16 = 128;
    /// Highest address.
    pub const MAX_ADDRESS: u16 = 4095;
    /// Longest read.
    pub const MAX_LEN: u8 = 64;
}
