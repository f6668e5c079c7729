//! Gathering by all: each member's bytes go round a ring.

use super::{Call, Collective, Member, Sequence, ring};

/// Gathering by all.
pub(in super::super) struct AllGather;

impl Collective for AllGather {
    fn name(&self) -> &'static str {
        "allgather"
    }

    fn act(&self, member: Member<'_>, call: Call, sequence: &mut Sequence) {
        let all = call.bytes.saturating_mul(u64::from(member.count()));
        ring::steps(member, sequence, member.count() - 1, all);
    }
}
