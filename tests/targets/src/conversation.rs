//! Many datagrams, one after the other, for the agents of an emulated fabric; each is a big-endian
//! u16, its length, and its bytes.

use weft_fabric::Lid;

use crate::one_switch::{send, small_fabric};

/// Runs one input.
///
/// # Panics
/// When an agent does, or an answer is longer than a datagram.
pub fn run(mut bytes: &[u8]) {
    let Some((mut emulator, host)) = small_fabric() else {
        return;
    };
    while let Some(([high, low], rest)) = bytes.split_first_chunk() {
        let len = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
        let (mad, rest) = rest.split_at(len);
        send(&mut emulator, host, Lid::PERMISSIVE, mad);
        bytes = rest;
    }
}
