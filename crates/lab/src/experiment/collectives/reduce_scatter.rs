//! Reduction of which each member gets a block: the first half of the way of [`AllReduce`](super::AllReduce).

use super::{Call, Collective, Member, Sequence, ring};

/// A reduction of which each has a block.
pub(in super::super) struct ReduceScatter;

impl Collective for ReduceScatter {
    fn name(&self) -> &'static str {
        "reduce-scatter"
    }

    fn act(&self, member: Member<'_>, call: Call, sequence: &mut Sequence) {
        ring::steps(member, sequence, member.count() - 1, call.bytes);
    }
}
