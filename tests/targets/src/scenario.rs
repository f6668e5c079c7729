//! Any text as a scenario; a refusal has its line.

use weft_lab::experiment::Scenario;
use weft_lab::experiment::parse::CASES_MAX;

/// Runs one input.
///
/// # Panics
/// When something is found.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    match text.parse::<Scenario>() {
        Ok(scenario) => assert!((1..=CASES_MAX).contains(&scenario.cases.len())),
        Err(error) => assert!(error.line <= text.lines().count().max(1) && !error.what.is_empty()),
    }
}
