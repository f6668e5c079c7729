//! Incast: all others send their bytes to the root at once.

use super::{Call, Collective, Member, Sequence};

/// All to one.
pub(super) struct Incast;

impl Collective for Incast {
    fn name(&self) -> &'static str {
        "incast"
    }

    fn act(&self, member: Member<'_>, call: Call, sequence: &mut Sequence) {
        let others = (0..member.count()).filter(|place| *place != call.root);
        match member.place() == call.root {
            true => sequence.together(others.map(|from| member.receive(from))),
            false => sequence.go(member.send(call.root, call.bytes)),
        }
    }
}
