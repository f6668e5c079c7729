//! Many datagrams, one after the other, for the agents of an emulated fabric.

/// Runs one input.
///
/// # Panics
/// When something is found.
pub fn run(input: &[u8]) {
    weft_emulator::fuzz::fuzz_conversation(input);
}
