//! Any text as the description of a fabric; a parsed one is written back unchanged.

/// Runs one input.
///
/// # Panics
/// When something is found.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    if let Ok(spec) = text.parse::<weft_fabric::FabricSpec>() {
        assert_eq!(spec.to_string().parse(), Ok(spec));
    }
}
