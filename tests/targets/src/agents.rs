//! Any bytes as a datagram for the agents of an emulated fabric, as a directed route and by LID.

use weft_fabric::Lid;

use crate::one_switch::{send, small_fabric};

/// Runs one input.
///
/// # Panics
/// When an agent does, or an answer is longer than a datagram.
pub fn run(mad: &[u8]) {
    let Some((mut emulator, host)) = small_fabric() else {
        return;
    };
    for dlid in [Lid::PERMISSIVE, Lid(1), Lid(2)] {
        send(&mut emulator, host, dlid, mad);
    }
}
