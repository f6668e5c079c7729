//! `weft-lab` with a collective of its own; docs/research/experiments.md shows it.

use weft_lab::experiment::Registry;
use weft_lab::experiment::collectives::{Call, Collective, Member, Sequence};

/// Bytes from each member to the next one, around the ring of all.
struct Shift;

impl Collective for Shift {
    fn name(&self) -> &'static str {
        "shift-by-one"
    }

    fn act(&self, member: Member<'_>, call: Call, sequence: &mut Sequence) {
        let (to, from) = member.at_distance(1);
        sequence.together([member.send(to, call.bytes), member.receive(from)]);
    }
}

fn main() -> std::process::ExitCode {
    weft_lab::main_with(&Registry::default().with_collective(Shift))
}
