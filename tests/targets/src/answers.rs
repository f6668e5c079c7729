//! What agents answer after a sweep to those that read cables and write congestion control, between
//! snapshots, other settings and time that passes.

/// Runs one input.
///
/// # Panics
/// When something is found.
pub fn run(input: &[u8]) {
    weft_manager::congestion::fuzz_answers(input);
}
