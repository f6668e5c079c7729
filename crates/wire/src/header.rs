//! The header that all management datagrams share, and the two of subnet management.

use crate::id::Lid;
use crate::layout::layout;

layout! {
    /// The first 24 bytes of every management datagram (`MAD_COMMON`).
    pub struct MadHeader: 24, "MAD_COMMON" {
        /// 0x80 for Omni-Path, 0x01 for InfiniBand.
        base_version: u8 = u8 @ 0, "BaseVersion";
        /// Management class, see [`class`].
        mgmt_class: u8 = u8 @ 1, "MgmtClass";
        /// 0x80 for Omni-Path; InfiniBand: 1, or 2 for the SA.
        class_version: u8 = u8 @ 2, "ClassVersion";
        /// Method with its response bit, see [`method`].
        method: u8 = u8 @ 3, "mr.AsReg8";
        /// Status; in a directed route its top bit says that the datagram is on its way back.
        status: u16 = u16 @ 4, "u.NS.Status.AsReg16";
        /// Directed route: hops done. Zero in other classes.
        hop_pointer: u8 = u8 @ 6, "u.DR.HopPointer";
        /// Directed route: hops to do. Zero in other classes.
        hop_count: u8 = u8 @ 7, "u.DR.HopCount";
        /// Chosen by the requester and echoed.
        transaction_id: u64 = u64 @ 8, "TransactionID";
        /// What is read or written.
        attribute_id: u16 = u16 @ 16, "AttributeID";
        /// Which part of it: ports, blocks, counts.
        attribute_modifier: u32 = u32 @ 20, "AttributeModifier";
    }
}

layout! {
    /// What follows [`MadHeader`] in a directed-route SMP (`DRStlSmp_t` after its common part).
    pub struct DirectedRouteHeader: 152, "DRStlSmp_t" {
        /// The key that protects the port's settings.
        m_key: u64 = u64 @ 0, "M_Key";
        /// Where the directed part starts; permissive when it starts at the sender.
        dr_slid: Lid = u32 @ 8, "DrSLID";
        /// Where it ends; permissive when the receiver is at its end.
        dr_dlid: Lid = u32 @ 12, "DrDLID";
        /// Egress ports on the way, from index 1.
        initial_path: [u8; 64] = block @ 16, "InitPath";
        /// Ingress ports, filled on the way, from index 1.
        return_path: [u8; 64] = block @ 80, "RetPath";
    }
}
