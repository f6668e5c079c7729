//! Any bytes as a datagram: dumped, and when they are a subnet management packet, answered.

use weft_wire::dump::{dump, summary};
use weft_wire::smp::{SmpView, respond};

/// Runs one input.
///
/// # Panics
/// When something is found.
pub fn run(mad: &[u8]) {
    let text = dump(mad);
    assert!(text.starts_with(&summary(mad)));
    let Ok(request) = SmpView::parse(mad) else {
        return;
    };
    let mut answer = Vec::new();
    respond(&request, 0, request.payload, &mut answer);
    let read = SmpView::parse(&answer).expect("an answer can be read");
    assert!(read.payload.starts_with(request.payload));
    assert_eq!(read.header.transaction_id, request.header.transaction_id);
}
