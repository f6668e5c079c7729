//! Broadcast: all bytes down a binomial tree.

use super::{Call, Collective, Member, Sequence, tree};

/// A broadcast.
pub(in super::super) struct Bcast;

impl Collective for Bcast {
    fn name(&self) -> &'static str {
        "bcast"
    }

    fn act(&self, member: Member<'_>, call: Call, sequence: &mut Sequence) {
        tree::down(member, sequence, call.root, |_| call.bytes);
    }
}
