//! Gathering: up a binomial tree each member's bytes, with those of all below it (MPICH's `gather_intra_binomial.c`).

use super::{Call, Collective, Member, Sequence, tree};

/// Gathering at a root.
pub(in super::super) struct Gather;

impl Collective for Gather {
    fn name(&self) -> &'static str {
        "gather"
    }

    fn act(&self, member: Member<'_>, call: Call, sequence: &mut Sequence) {
        tree::up(member, sequence, call.root, |below| {
            call.bytes
                .saturating_mul(u64::from(below.end - below.start))
        });
    }
}
