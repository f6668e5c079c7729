//! Any bytes from a socket of the emulator.

/// Runs one input.
///
/// # Panics
/// When something is found.
pub fn run(input: &[u8]) {
    weft_transport::frame::fuzz_frames(input);
}
