//! Events as words of 64 bits: a kind, the place where it happens, and the rest by kind.

use super::Picos;

/// Kinds of events.
pub(super) mod kind {
    /// A packet's head is ready in a switch.
    pub(crate) const ARRIVE: u64 = 0;
    /// A packet has come to an HFI whole.
    pub(crate) const DELIVER: u64 = 1;
    /// Credits come back to a port.
    pub(crate) const CREDIT: u64 = 2;
    /// A port has sent its packet.
    pub(crate) const FREE: u64 = 3;
    /// An input queue's head has left.
    pub(crate) const ADVANCE: u64 = 4;
    /// A lifetime may be over.
    pub(crate) const LIFETIME: u64 = 5;
    /// A switch looks at its ports.
    pub(crate) const ADAPT: u64 = 6;
    /// A timer of the traffic.
    pub(crate) const TIMER: u64 = 7;
    /// A throttled sender recovers one step.
    pub(crate) const CALM: u64 = 8;
    /// A lane that was held back may send.
    pub(crate) const GATE: u64 = 9;
    /// The tail of a packet goes that may have been interrupted.
    pub(crate) const TAIL: u64 = 10;
    /// The tail of a packet will arrive later than announced.
    pub(crate) const LATE: u64 = 11;
    /// An HFI's port that has dropped its next packet takes another.
    pub(crate) const ROOM: u64 = 12;
    /// An HFI that took no packets takes the next one of its port's buffer.
    pub(crate) const TAKE: u64 = 13;
}

/// Bits below the kind; all of them are a traffic's timer.
const KIND_SHIFT: u32 = 60;
/// Bits below the place, which is a port's index or a switch's.
const REST_BITS: u32 = 29;
const PLACE_BITS: u32 = KIND_SHIFT - REST_BITS;

/// Maximum number of packets in flight, so that each one's number fits into an event with
/// room for copies: 16 GiB of them.
pub(super) const PACKETS_MAX: usize = 1 << (REST_BITS - 1);

/// An event of a device.
#[inline]
pub(super) fn code(kind: u64, place: u32, rest: u32) -> u64 {
    kind << KIND_SHIFT | u64::from(place) << REST_BITS | u64::from(rest)
}

/// A timer of the traffic, of whose tag the lower 60 bits count.
#[inline]
pub(super) fn timer(tag: u64) -> u64 {
    kind::TIMER << KIND_SHIFT | timer_tag(tag)
}

/// Credits that come back to a lane of a port.
#[inline]
pub(super) fn credit(port: u32, lane: u8, epoch: u8, units: u32) -> u64 {
    let rest = u32::from(lane) << 24 | u32::from(epoch) << 16 | units;
    code(kind::CREDIT, port, rest)
}

#[inline]
pub(super) fn kind_of(code: u64) -> u64 {
    code >> KIND_SHIFT
}

#[inline]
pub(super) fn place_of(code: u64) -> u32 {
    (code >> REST_BITS) as u32 & ((1 << PLACE_BITS) - 1)
}

#[inline]
pub(super) fn rest_of(code: u64) -> u32 {
    code as u32 & ((1 << REST_BITS) - 1)
}

#[inline]
pub(super) fn timer_tag(code: u64) -> u64 {
    code & ((1 << KIND_SHIFT) - 1)
}

/// Mixes an event's place with its time, so that no port is always the first of those of one
/// moment; mixing twice restores the value. Timers of one moment whose tags are below 2^29 keep one
/// rank, so they stay in order of entry.
#[inline]
pub(super) fn mix(at: Picos, code: u64) -> u64 {
    const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
    code ^ at.wrapping_mul(MIX) >> (64 - PLACE_BITS) << REST_BITS
}

/// The rank of a mixed event among those of its moment: by kind and place.
#[inline]
pub(super) fn rank(mixed: u64) -> u64 {
    mixed >> REST_BITS
}

/// Moment and rank of a mixed event among those of a span of less than 2^29 ps that does not cross
/// a multiple of it.
#[inline]
pub(super) fn moment_and_rank(at: Picos, mixed: u64) -> u64 {
    at << (64 - REST_BITS) | rank(mixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_gives_back_what_it_was_made_of() {
        let most = (1 << REST_BITS) - 1;
        for (what, place, rest) in [
            (kind::ARRIVE, 0, 0),
            (kind::GATE, (1 << PLACE_BITS) - 1, most),
            (kind::FREE, 77, 5),
        ] {
            let word = code(what, place, rest);
            assert_eq!(
                (kind_of(word), place_of(word), rest_of(word)),
                (what, place, rest)
            );
        }
        assert_eq!(timer_tag(timer(u64::MAX)), (1 << KIND_SHIFT) - 1);
        assert_eq!(kind_of(timer(u64::MAX)), kind::TIMER);
        let word = code(kind::FREE, 5, 6);
        assert_eq!(mix(1_234_567, mix(1_234_567, word)), word);
        assert_eq!(kind_of(mix(1_234_567, word)), kind::FREE);
        assert_eq!(rest_of(credit(9, 30, 255, 0xFFFF)), 30 << 24 | 0xFF_FFFF);
    }

    /// Each of two ports goes first about as often as the other.
    #[test]
    fn no_place_is_always_the_first() {
        for (one, other) in [(0, 1), (3, 40), (1_000, 1_001)] {
            let first = (0..10_000_u64).filter(|step| {
                let at = step * 640;
                let rank = |place| rank(mix(at, code(kind::ARRIVE, place, 0)));
                rank(one) < rank(other)
            });
            let first = first.count();
            assert!(first.abs_diff(5_000) < 300, "{one} and {other}: {first}");
        }
    }
}
