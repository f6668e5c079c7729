//! One member's part in a collective.

use weft_dataplane::traffic::mpi::Operation;

/// How a collective is called, by all members alike.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Call {
    /// Bytes: each collective says of what.
    pub bytes: u64,
    /// The place of the member that is its root, if it has one.
    pub root: u32,
    /// What it draws at random, it draws by this.
    pub seed: u64,
}

/// One of those that take part.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    /// The ranks of all, in order.
    members: &'a [u32],
    place: u32,
    tag: u32,
}

impl<'a> Member<'a> {
    /// The member at a place among these ranks; the tag tells this call apart from others.
    pub(in super::super) fn new(members: &'a [u32], place: u32, tag: u32) -> Self {
        Self {
            members,
            place,
            tag,
        }
    }

    /// Its place: 0 to [`Self::count`] - 1.
    pub fn place(self) -> u32 {
        self.place
    }

    /// Number of members.
    pub fn count(self) -> u32 {
        self.members.len() as u32
    }

    /// A message to the member at a place, which is there.
    pub fn send(self, to: u32, bytes: u64) -> Operation {
        let (to, tag) = (self.members[to as usize], self.tag);
        Operation::Send { to, bytes, tag }
    }

    /// The next message of the member at a place.
    pub fn receive(self, from: u32) -> Operation {
        let (from, tag) = (self.members[from as usize], self.tag);
        Operation::Receive { from, tag }
    }

    /// The places at a distance after and before its own, around the circle of all.
    pub fn at_distance(self, distance: u32) -> (u32, u32) {
        let count = self.count();
        let distance = distance % count;
        (
            (self.place + distance) % count,
            (self.place + count - distance) % count,
        )
    }

    /// Bytes of the block of a place, of `bytes` in all: as even as they can be.
    pub fn block(self, place: u32, bytes: u64) -> u64 {
        let part = |place: u32| {
            let end = u128::from(bytes) * u128::from(place) / u128::from(self.count());
            end as u64
        };
        part(place + 1) - part(place)
    }
}
