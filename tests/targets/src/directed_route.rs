//! Any bytes as a directed-route packet that wanders from node to node: it arrives or is dropped,
//! in no more steps than it may have hops, and keeps its length.

use weft_wire::id::PortNum;
use weft_wire::smp::{Hop, MAX_HOPS, advance};

/// Runs one input.
///
/// # Panics
/// When something is found.
pub fn run(input: &[u8]) {
    let Some((ingress, mad)) = input.split_first() else {
        return;
    };
    let mut mad = mad.to_vec();
    let len = mad.len();
    let mut steps = 0;
    while let Hop::Forward(port) = advance(&mut mad, PortNum(ingress.wrapping_add(steps)), true) {
        steps += 1;
        assert!(
            usize::from(steps) <= MAX_HOPS + 1,
            "still on its way by port {port}"
        );
    }
    assert_eq!(mad.len(), len);
}
