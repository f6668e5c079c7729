//! Any bytes as an opafm.xml, and as a file of link rules.

/// Runs one input.
///
/// # Panics
/// When something is found.
pub fn run(input: &[u8]) {
    let checked = weft_config::check(input, "opafm.xml");
    assert_eq!(checked.config.is_none(), checked.errors().next().is_some());
    let checked = weft_config::link_rules::check_link_rules(input, "link-rules.xml");
    assert_eq!(checked.rules.is_none(), !checked.findings.is_empty());
}
