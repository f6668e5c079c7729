//! Tags of packets and timers: a kind above, then a packet's stamp or a flow's number, and a
//! transfer or a flow's slot below.

/// A packet of a message.
pub(super) const DATA: u64 = 0;
/// Packet: the sender has a large message. Timer: the receiver has read that.
pub(super) const ANNOUNCE: u64 = 1;
/// Packet: the receiver requests a window. Timer: the sender has read that.
pub(super) const ASK: u64 = 2;
/// Packet: the receiver misses something. Timer: the sender has read that.
pub(super) const MISSING: u64 = 3;
/// Timer: the sender's side is ready.
pub(super) const START: u64 = 4;
/// Timer: the processor has written a packet.
pub(super) const WRITTEN: u64 = 5;
/// Timer: the receiver has the message.
pub(super) const FINISH: u64 = 6;
/// Timer: the receiver is to send a NAK.
pub(super) const COMPLAIN: u64 = 7;
/// Timer: a sender's timeout.
pub(super) const RESEND: u64 = 8;
/// Timer of the program.
pub(super) const PROGRAM: u64 = 9;
/// Packet: the sender queries progress. Timer: the receiver has read that.
pub(super) const CHECK: u64 = 10;

/// Timer: a rank has read that a window is full.
pub(super) const WINDOW: u64 = 11;
/// Timer: a kernel has made a packet.
pub(super) const MAKE: u64 = 12;
/// Timer: a processor has taken a packet out of a full receive queue.
pub(super) const DRAIN: u64 = 13;
/// Timer: a receiver has registered memory for a window.
pub(super) const REGISTER: u64 = 14;
/// Tags of packets by patterns; not a message's.
pub(super) const STREAMS: u64 = 15;

const SHIFT: u32 = 56;
/// Bits of a transfer or a slot.
const ID_BITS: u32 = 32;

/// Whether packets of a kind have a place in a flow; the others are answers and questions, which are
/// lost for good.
#[inline]
pub(super) fn has_place(kind: u64) -> bool {
    kind <= ASK
}

/// A packet's word, with the stamp of its flow.
#[inline]
pub(super) fn stamped(kind: u64, stamp: u64, id: u32) -> u64 {
    of(kind, stamp << ID_BITS | u64::from(id))
}

/// The stamp in the rest of a word.
#[inline]
pub(super) fn stamp(rest: u64) -> u64 {
    rest >> ID_BITS
}

/// A word of a kind.
pub(super) fn of(kind: u64, id: u64) -> u64 {
    kind << SHIFT | id
}

/// Kind and rest of a word.
#[inline]
pub(super) fn split(word: u64) -> (u64, u64) {
    (word >> SHIFT, word & ((1 << SHIFT) - 1))
}
