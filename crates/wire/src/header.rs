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
        /// Status; in a directed route its top bit marks the return path.
        status: u16 = u16 @ 4, "u.NS.Status.AsReg16";
        /// Directed route: hops done. Zero in other classes.
        hop_pointer: u8 = u8 @ 6, "u.DR.HopPointer";
        /// Directed route: hops to do. Zero in other classes.
        hop_count: u8 = u8 @ 7, "u.DR.HopCount";
        /// Chosen by the requester and echoed.
        transaction_id: u64 = u64 @ 8, "TransactionID";
        /// Attribute to read or write.
        attribute_id: u16 = u16 @ 16, "AttributeID";
        /// Part of the attribute: ports, blocks, counts.
        attribute_modifier: u32 = u32 @ 20, "AttributeModifier";
    }
}

layout! {
    /// Fields after [`MadHeader`] in a directed-route SMP (`DRStlSmp_t` after its common part).
    pub struct DirectedRouteHeader: 152, "DRStlSmp_t" {
        /// The key that protects the port's settings.
        m_key: u64 = u64 @ 0, "M_Key";
        /// Start of the directed part; permissive if that is the sender.
        dr_slid: Lid = u32 @ 8, "DrSLID";
        /// End of the directed part; permissive if that is the receiver.
        dr_dlid: Lid = u32 @ 12, "DrDLID";
        /// Egress ports of the path, from index 1.
        initial_path: [u8; 64] = block @ 16, "InitPath";
        /// Ingress ports, filled in along the path, from index 1.
        return_path: [u8; 64] = block @ 80, "RetPath";
    }
}

/// Management classes (`MCLASS_*`).
pub mod class {
    /// Subnet management, LID-routed.
    pub const SM_LID_ROUTED: u8 = 0x01;
    /// Subnet administration.
    pub const SUBN_ADM: u8 = 0x03;
    /// Performance management of a node.
    pub const PERF: u8 = 0x04;
    /// The fabric executive's class.
    pub const FE: u8 = 0x30;
    /// Exchange between subnet managers.
    pub const SM_DBSYNC: u8 = 0x31;
    /// Performance administration.
    pub const PA: u8 = 0x32;
    /// Subnet management, directed route.
    pub const SM_DIRECTED_ROUTE: u8 = 0x81;

    /// Whether the class is one of the two of subnet management.
    #[inline]
    pub const fn is_sm(class: u8) -> bool {
        matches!(class, SM_LID_ROUTED | SM_DIRECTED_ROUTE)
    }
}

/// Methods (`MMTHD_*`, `SUBN_ADM_*`).
pub mod method {
    /// The response bit.
    pub const RESPONSE: u8 = 0x80;
    /// Read.
    pub const GET: u8 = 0x01;
    /// Write, answered with the resulting value.
    pub const SET: u8 = 0x02;
    /// A datagram without an answer.
    pub const SEND: u8 = 0x03;
    /// Unsolicited notice from an agent.
    pub const TRAP: u8 = 0x05;
    /// A notice forwarded to a subscriber.
    pub const REPORT: u8 = 0x06;
    /// Makes an agent stop repeating a trap.
    pub const TRAP_REPRESS: u8 = 0x07;
    /// SA: read every record that matches.
    pub const GET_TABLE: u8 = 0x12;
    /// SA: the path from one port to another.
    pub const GET_TRACE_TABLE: u8 = 0x13;
    /// SA: a query with a table of its own.
    pub const GET_MULTI: u8 = 0x14;
    /// SA: remove a record.
    pub const DELETE: u8 = 0x15;
    /// Answer to [`GET`] and [`SET`].
    pub const GET_RESP: u8 = GET | RESPONSE;
    /// Answer to [`REPORT`].
    pub const REPORT_RESP: u8 = REPORT | RESPONSE;

    /// Whether a datagram with this method answers another one. TrapRepress does, though it lacks
    /// the bit.
    #[inline]
    pub const fn is_response(method: u8) -> bool {
        method & RESPONSE != 0 || method == TRAP_REPRESS
    }
}

/// Status codes of all classes (`MAD_STATUS_*`) and the mark of a directed route's return path.
pub mod status {
    /// Done.
    pub const OK: u16 = 0x0000;
    /// The agent is busy, the request was dropped.
    pub const BUSY: u16 = 0x0001;
    /// The agent is elsewhere.
    pub const REDIRECT: u16 = 0x0002;
    /// Base or class version not supported.
    pub const UNSUPPORTED_CLASS_OR_VERSION: u16 = 0x0004;
    /// Method not supported.
    pub const UNSUPPORTED_METHOD: u16 = 0x0008;
    /// Attribute not supported with that method.
    pub const UNSUPPORTED_METHOD_ATTRIB: u16 = 0x000C;
    /// A field, or the attribute modifier, has a value that is not allowed.
    pub const INVALID_ATTRIB: u16 = 0x001C;
    /// Directed route: returning to the requester.
    pub const DIRECTION: u16 = 0x8000;

    /// The status without the directed route's direction bit.
    #[inline]
    pub const fn code(status: u16) -> u16 {
        status & !DIRECTION
    }
}

/// Base and class versions.
pub mod version {
    /// Omni-Path, base version and version of all its classes (`STL_BASE_VERSION`).
    pub const OPA: u8 = 0x80;
    /// InfiniBand's base version, and the version of its subnet and performance management.
    pub const IB: u8 = 0x01;
    /// Version of InfiniBand's subnet administration.
    pub const IB_SA: u8 = 0x02;
}
