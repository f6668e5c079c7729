//! The RMPP header and its codes.

use crate::layout::layout;

layout! {
    /// Fields after the common header in classes whose messages may have several segments
    /// (`RMPP_HEADER`).
    pub struct RmppHeader: 12, "RMPP_HEADER" {
        /// 1.
        rmpp_version: u8 = u8 @ 0, "RmppVersion";
        /// See [`kind`].
        rmpp_type: u8 = u8 @ 1, "RmppType";
        /// Longest time to the answer: 4.096 µs × 2^value; 31 for unknown.
        r_resp_time: u8 = u8 @ 2 [7:3], "RmppFlags.s.RRespTime";
        /// The last segment.
        last: bool = u8 @ 2 [2:2], "RmppFlags.s.LastPkt";
        /// The first segment.
        first: bool = u8 @ 2 [1:1], "RmppFlags.s.FirstPkt";
        /// The header is in use.
        active: bool = u8 @ 2 [0:0], "RmppFlags.s.Active";
        /// 0, or why a transfer was stopped: see [`status`].
        rmpp_status: u8 = u8 @ 3, "RmppStatus";
        /// DATA: number of the segment from 1. ACK: last one received in order.
        segment_num: u32 = u32 @ 4, "u1.SegmentNum";
        /// DATA: in the first segment bytes of all, in the last bytes of this one, class headers
        /// included. ACK: last segment that may be sent.
        payload_len: u32 = u32 @ 8, "u2.PayloadLen";
    }
}

/// The version that is spoken.
pub const VERSION: u8 = 1;

/// Types of RMPP datagrams.
pub mod kind {
    /// The datagram is a message of its own.
    pub const NONE: u8 = 0;
    /// A segment.
    pub const DATA: u8 = 1;
    /// Acknowledges segments and opens the window.
    pub const ACK: u8 = 2;
    /// The receiver has had enough.
    pub const STOP: u8 = 3;
    /// Something is wrong.
    pub const ABORT: u8 = 4;
}

/// Why a transfer was stopped.
pub mod status {
    /// No resources; the only code of a STOP.
    pub const RESOURCES_EXHAUSTED: u8 = 1;
    /// It took too long.
    pub const TOTAL_TIME_TOO_LONG: u8 = 118;
    /// The last segment's flag and its length contradict each other.
    pub const INCONSISTENT_LAST: u8 = 119;
    /// The first segment's flag and its number contradict each other.
    pub const INCONSISTENT_FIRST: u8 = 120;
    /// Unknown type.
    pub const BAD_TYPE: u8 = 121;
    /// The window ends before what was acknowledged.
    pub const WINDOW_TOO_SMALL: u8 = 122;
    /// More segments than were sent, or than the length covers.
    pub const SEGMENT_TOO_BIG: u8 = 123;
    /// A code that the type may not have.
    pub const ILLEGAL_STATUS: u8 = 124;
    /// Unknown version.
    pub const UNSUPPORTED_VERSION: u8 = 125;
    /// Too many retries.
    pub const TOO_MANY_RETRIES: u8 = 126;
    /// Another reason.
    pub const UNSPECIFIED: u8 = 127;
}
