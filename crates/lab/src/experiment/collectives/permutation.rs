//! A permutation drawn by the seed: each member sends its bytes to one other, and gets those of one other.

use weft_dataplane::packets::Random;
use weft_dataplane::traffic::Pattern;

use super::{Call, Collective, Member, Sequence};

/// A random permutation.
pub(super) struct Permutation;

impl Collective for Permutation {
    fn name(&self) -> &'static str {
        "permutation"
    }

    fn act(&self, member: Member<'_>, call: Call, sequence: &mut Sequence) {
        let mut random = Random::new(call.seed);
        let Pattern::Permutation(to) = Pattern::random_permutation(member.count(), &mut random)
        else {
            return;
        };
        let from = to.iter().position(|to| *to == member.place());
        let (to, from) = (to[member.place() as usize], from.unwrap_or(0) as u32);
        sequence.together([member.send(to, call.bytes), member.receive(from)]);
    }

    /// Each member draws all of it.
    fn ranks_max(&self) -> u32 {
        4_096
    }
}
