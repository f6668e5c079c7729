//! CableInfo, attribute 0x0032: a cable's memory.

use crate::layout::layout;

layout! {
    /// Up to 64 bytes of a cable's memory (`STL_CABLE_INFO`).
    pub struct CableInfo: 64, "STL_CABLE_INFO" {
        /// The bytes; those beyond the requested length are 0.
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
