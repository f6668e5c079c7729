//! Any datagrams at the port of a performance manager in the midst of a sweep: answers of agents
//! and queries of clients, each with a length of two bytes before it.

/// Runs one input.
///
/// # Panics
/// When something is found.
pub fn run(input: &[u8]) {
    weft_manager::pm::fuzz_pa(input);
}
