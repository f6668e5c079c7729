//! Around a ring.

use super::{Member, Sequence};

/// So many steps: in each of them a block to the next member, and one from the member before. First its own block goes, then
/// the one before it. `bytes` are those of all blocks together.
pub(super) fn steps(member: Member<'_>, sequence: &mut Sequence, steps: u32, bytes: u64) {
    let count = member.count();
    if count < 2 {
        return;
    }
    let (to, from) = member.at_distance(1);
    for step in 0..steps {
        let block = (member.place() + count - step % count) % count;
        let bytes = member.block(block, bytes);
        sequence.together([member.send(to, bytes), member.receive(from)]);
    }
}
