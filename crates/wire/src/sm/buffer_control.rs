//! BufferControlTable, attribute 0x008A: how much of the neighbour's buffer each VL may use.

use crate::layout::layout;

layout! {
    /// Limits of one VL, in the neighbour's allocation units (`STL_BUFFER_CONTROL_TABLE.VL`).
    pub struct VlBufferLimits: 4, "STL_BUFFER_CONTROL_TABLE.VL[0]" {
        /// Space of its own.
        tx_dedicated_limit: u16 = u16 @ 0, "TxDedicatedLimit";
        /// Most of the shared space that it may take.
        tx_shared_limit: u16 = u16 @ 2, "TxSharedLimit";
    }
}

layout! {
    /// Limits of a port (`STL_BUFFER_CONTROL_TABLE`). In a datagram with several, each starts 136
    /// bytes after the one before.
    pub struct BufferControlTable: 132, "STL_BUFFER_CONTROL_TABLE" {
        /// Shared space, in the neighbour's allocation units.
        tx_overall_shared_limit: u16 = u16 @ 2, "TxOverallSharedLimit";
        /// Limits of each VL.
        vl: [VlBufferLimits; 32] = block @ 4, "VL";
    }
}
