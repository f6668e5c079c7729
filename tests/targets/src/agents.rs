//! Any bytes as a datagram for the agents of an emulated fabric.

/// Runs one input.
///
/// # Panics
/// When something is found.
pub fn run(input: &[u8]) {
    weft_emulator::fuzz::fuzz_agents(input);
}
