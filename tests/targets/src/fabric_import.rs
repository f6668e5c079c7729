//! Any bytes as an ibnetdiscover dump or an opareport snapshot.

/// Runs one input.
///
/// # Panics
/// When something is found.
pub fn run(input: &[u8]) {
    if let Err(error) = weft_fabric::import::import_fabric(input) {
        assert!(!error.what.is_empty() && !error.allowed.is_empty());
    }
}
