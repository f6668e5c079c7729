//! Findings about a configuration.

use weft_config::{Finding, Rule, Severity};

use crate::v1;

impl From<Finding> for v1::Finding {
    fn from(finding: Finding) -> Self {
        let severity = match finding.severity {
            Severity::Error => v1::Severity::Error,
            Severity::Warning => v1::Severity::Warning,
        };
        Self {
            severity: severity.into(),
            line: finding.line,
            path: finding.path,
            message: finding.message,
            allowed: finding.allowed,
            rule: rule_name(finding.rule),
        }
    }
}

/// A rule's name as messages and JSON carry it: `unknown-element`.
pub fn rule_name(rule: Rule) -> String {
    let mut name = String::new();
    for char in format!("{rule:?}").chars() {
        if char.is_ascii_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(char.to_ascii_lowercase());
    }
    name
}
