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
    let node = Node::of(member, root);
    for child in node.children() {
        sequence.go(member.receive(node.at(child.start)));
    }
    if let Some(parent) = node.parent() {
        sequence.go(member.send(parent, bytes(node.below(node.place, node.reach))));
    }
}

/// Down the same tree from its root; `bytes` are what goes to a member for all places from its own on that are below it.
pub(super) fn down(
    member: Member<'_>,
    sequence: &mut Sequence,
    root: u32,
    bytes: impl Fn(Range<u32>) -> u64,
) {
    let node = Node::of(member, root);
    if let Some(parent) = node.parent() {
        sequence.go(member.receive(parent));
    }
    for child in node.children().rev() {
        sequence.go(member.send(node.at(child.start), bytes(child)));
    }
}

/// A member's place in a tree; places are counted from the root.
struct Node {
    place: u32,
    root: u32,
    /// Number of places.
    count: u32,
    /// Places that a tree of this member can have, a power of two: how far its parent is.
    reach: u32,
}

impl Node {
    fn of(member: Member<'_>, root: u32) -> Self {
        let count = member.count();
        let place = (member.place() + count - root) % count;
        let mut reach = 1;
        while reach < count && place & reach == 0 {
            reach *= 2;
        }
        Self {
            place,
            root,
            count,
            reach,
        }
    }

    /// The member at a place.
    fn at(&self, place: u32) -> u32 {
        (place + self.root) % self.count
    }

    fn parent(&self) -> Option<u32> {
        (self.place != 0).then(|| self.at(self.place - self.reach))
    }

    /// A place and those below it.
    fn below(&self, place: u32, reach: u32) -> Range<u32> {
        place..(place + reach).min(self.count)
    }

    /// The places of each child and what is below it, the nearest first.
    fn children(&self) -> impl DoubleEndedIterator<Item = Range<u32>> + '_ {
        let reaches = (0..self.reach.ilog2()).map(|bit| 1 << bit);
        let children = reaches.map(|reach| self.below(self.place + reach, reach));
        children.filter(|child| child.start < self.count)
    }
}
