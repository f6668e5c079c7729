//! Any bytes as an opafm.xml.

/// Runs one input.
///
/// # Panics
/// When something is found.
pub fn run(input: &[u8]) {
    let checked = weft_config::check(input, "opafm.xml");
    assert_eq!(checked.config.is_none(), checked.errors().next().is_some());
}
