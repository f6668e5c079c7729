//! Any bytes as a file of traffic, whose form the first one says; a refusal has the line that names the file.

use weft_lab::experiment::Scenario;

const FORMS: [&str; 5] = [
    "goal",
    "ti flops=1e9",
    "pairs",
    "matrix",
    "chakra ranks=2 flops=1e9",
];

/// Runs one input.
///
/// # Panics
/// When something is found.
pub fn run(input: &[u8]) {
    let Some((form, content)) = input.split_first() else {
        return;
    };
    let form = FORMS[usize::from(*form) % FORMS.len()];
    let text = format!("fabric one-switch:4\ntraffic file=a* format={form}\n");
    match Scenario::read(&text, |_| Ok(content.to_vec())) {
        Ok(scenario) => assert_eq!(scenario.cases.len(), 1),
        Err(error) => assert!(error.line == 2 && !error.what.is_empty()),
    }
}
