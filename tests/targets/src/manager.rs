//! Any datagrams at the port of a subnet manager that is about to sweep: each with a length of two
//! bytes before it.

use weft_fabric::Tick;
use weft_manager::{Input, Manager, Output, Planner, Settings};
use weft_wire::packet::Packet;

/// Answers of the manager to one input, more than it can have to say.
const OUTPUTS_MAX: usize = 10_000;

/// Runs one input.
///
/// # Panics
/// When something is found.
pub fn run(input: &[u8]) {
    let mut manager = Manager::new(Settings::default(), None);
    manager.handle(Tick(0), Input::Tick);
    let mut rest = input;
    let mut now = 0;
    while let Some((len, after)) = rest.split_first_chunk::<2>() {
        let (mad, after) = after.split_at(usize::from(u16::from_be_bytes(*len)).min(after.len()));
        rest = after;
        now += 1_000_000;
        manager.handle(Tick(now), Input::Received(Packet::directed(mad.to_vec())));
        serve(&mut manager, Tick(now));
    }
}

/// Takes the manager's outputs, and makes the plans that it requests.
fn serve(manager: &mut Manager, now: Tick) {
    let mut planner = Planner::default();
    for _ in 0..OUTPUTS_MAX {
        match manager.poll() {
            Some(Output::Plan(input)) => planner.begin(now, input),
            Some(_) => {}
            None => match planner.ready(now) {
                Some(planned) => manager.handle(now, planned),
                None => return,
            },
        }
    }
    panic!("no end of outputs");
}
