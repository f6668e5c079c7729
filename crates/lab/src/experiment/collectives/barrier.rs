//! Barrier, by dissemination: in step k a word to the member at distance 2^k.

use super::{Call, Collective, Member, Sequence};

/// A barrier.
pub(in super::super) struct Barrier;

impl Collective for Barrier {
    fn name(&self) -> &'static str {
        "barrier"
    }

    fn act(&self, member: Member<'_>, _: Call, sequence: &mut Sequence) {
        let mut distance = 1;
        while distance < member.count() {
            let (to, from) = member.at_distance(distance);
            sequence.together([member.send(to, 0), member.receive(from)]);
            distance *= 2;
        }
    }
}
