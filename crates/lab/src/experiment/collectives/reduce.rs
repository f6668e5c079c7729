//! Reduction to a root: all bytes up a binomial tree.

use super::{Call, Collective, Member, Sequence, tree};

/// A reduction to a root.
pub(in super::super) struct Reduce;

impl Collective for Reduce {
    fn name(&self) -> &'static str {
        "reduce"
    }

    fn act(&self, member: Member<'_>, call: Call, sequence: &mut Sequence) {
        tree::up(member, sequence, call.root, |_| call.bytes);
    }
}
