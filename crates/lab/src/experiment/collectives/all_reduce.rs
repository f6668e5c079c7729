//! Reduction to all, around a ring: each block of the bytes is reduced on its way, then goes round once more (Patarasu and
//! Yuan 2009; NCCL's ring). Reducing itself takes no time here.

use super::{Call, Collective, Member, Sequence, ring};

/// A reduction to all.
pub(in super::super) struct AllReduce;

impl Collective for AllReduce {
    fn name(&self) -> &'static str {
        "allreduce"
    }

    fn act(&self, member: Member<'_>, call: Call, sequence: &mut Sequence) {
        ring::steps(member, sequence, 2 * (member.count() - 1), call.bytes);
    }
}
