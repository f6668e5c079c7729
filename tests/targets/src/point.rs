//! Any text as a point of a report.

use weft_report::Point;

/// Runs one input.
///
/// # Panics
/// When something is found.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let no_files = &|_: &str| Err("no files here".to_owned());
    if let Err(error) = Point::parse(text, no_files) {
        assert!(!error.to_string().is_empty());
    }
}
