//! VLArbitration, attribute 0x0018: the order in which lanes send.

use crate::id::Vl;
use crate::layout::layout;

layout! {
    /// Amount of data that a VL sends in its turn (`STL_VLARB_TABLE_ELEMENT`).
    pub struct VlArbElement: 2, "STL_VLARB_TABLE_ELEMENT" {
        /// The virtual lane.
        vl: Vl = u8 @ 0 [4:0], "s.VL";
        /// In units of 64 bytes; with 0 the element is skipped.
        weight: u8 = u8 @ 1, "Weight";
    }
}

layout! {
    /// The low, high or preempt section of a port's table (`STL_VLARB_TABLE`).
    pub struct VlArbTable: 256, "STL_VLARB_TABLE" {
        /// Turns in order; the port's capabilities give the number that counts.
        elements: [VlArbElement; 128] = block @ 0, "Elements";
    }
}

layout! {
    /// The preemption matrix of a port (`STL_VLARB_TABLE`, section 3).
    pub struct VlArbMatrix: 256, "STL_VLARB_TABLE" {
        /// For each VL the VLs whose packets its own may preempt, one bit each.
        matrix: [u32; 32] = block @ 0, "Matrix";
    }
}

/// The sections of a port's table (`STL_VLARB_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VlArbSection {
    /// Low-priority elements.
    Low = 0,
    /// High-priority elements.
    High = 1,
    /// Preempting elements.
    Preempt = 2,
    /// Preemption matrix.
    Matrix = 3,
}
