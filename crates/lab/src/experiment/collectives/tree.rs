//! Binomial trees.

use std::ops::Range;

use super::{Member, Sequence};

/// Up a tree to its root. `bytes` are what a member sends for all places, counted from the root, from its own on that are
/// below it.
pub(super) fn up(
    member: Member<'_>,
    sequence: &mut Sequence,
    root: u32,
    bytes: impl Fn(Range<u32>) -> u64,
) {
    let (count, place) = (member.count(), after(member, root));
    let at = |place: u32| (place + root) % count;
    let mut bit = 1;
    while bit < count && place & bit == 0 {
        if place + bit < count {
            sequence.go(member.receive(at(place + bit)));
        }
        bit *= 2;
    }
    if place != 0 {
        let below = place..(place + bit).min(count);
        sequence.go(member.send(at(place - bit), bytes(below)));
    }
}

/// Down the same tree from its root; `bytes` are what goes to a member for all places from its own on that are below it.
pub(super) fn down(
    member: Member<'_>,
    sequence: &mut Sequence,
    root: u32,
    bytes: impl Fn(Range<u32>) -> u64,
) {
    let (count, place) = (member.count(), after(member, root));
    let at = |place: u32| (place + root) % count;
    let mut bit = 1;
    while bit < count && place & bit == 0 {
        bit *= 2;
    }
    if place != 0 {
        sequence.go(member.receive(at(place - bit)));
    }
    while bit > 1 {
        bit /= 2;
        let other = place + bit;
        if other < count {
            let below = other..(other + bit).min(count);
            sequence.go(member.send(at(other), bytes(below)));
        }
    }
}

/// A member's place counted from a root.
fn after(member: Member<'_>, root: u32) -> u32 {
    (member.place() + member.count() - root) % member.count()
}
