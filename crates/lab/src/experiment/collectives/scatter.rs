//! Scattering: down a binomial tree to each member its block of all bytes, with those of all below it (MPICH's
//! `scatter_intra_binomial.c`).

use super::{Call, Collective, Member, Sequence, tree};

/// Scattering from a root.
pub(in super::super) struct Scatter;

impl Collective for Scatter {
    fn name(&self) -> &'static str {
        "scatter"
    }

    fn act(&self, member: Member<'_>, call: Call, sequence: &mut Sequence) {
        let at = |place: u32| (place + call.root) % member.count();
        tree::down(member, sequence, call.root, |below| {
            below.map(|place| member.block(at(place), call.bytes)).sum()
        });
    }
}
