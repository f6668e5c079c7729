//! Clients of subnet administration that send any datagrams: queries, registrations, segments and
//! ACKs, between notices, sweeps and time that passes.

/// Runs one input.
///
/// # Panics
/// When something is found.
pub fn run(input: &[u8]) {
    weft_manager::sa::fuzz_sa(input);
}
