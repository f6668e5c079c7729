//! All to all: in step k the bytes to the member at distance k.

use super::{Call, Collective, Member, Sequence};

/// All to all.
pub(in super::super) struct Alltoall;

impl Collective for Alltoall {
    fn name(&self) -> &'static str {
        "alltoall"
    }

    fn act(&self, member: Member<'_>, call: Call, sequence: &mut Sequence) {
        for distance in 1..member.count() {
            let (to, from) = member.at_distance(distance);
            sequence.together([member.send(to, call.bytes), member.receive(from)]);
        }
    }
}
