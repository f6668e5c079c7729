//! The file of rules for links with errors: a file of Weft's own beside the configuration.

use std::path::PathBuf;

use tracing::info;
use weft_config::Finding;
use weft_config::link_rules::{Action, LinkRules, check_link_rules};

use crate::config::{Unusable, Usable, read_at_most, refused};

/// The largest file of rules, in bytes.
const FILE_MAX: u64 = 1 << 20;

/// The file that the command line names, if any.
#[derive(Debug, Clone)]
pub(crate) struct LinkRulesFile(pub(crate) Option<PathBuf>);

impl LinkRulesFile {
    /// Reads the file and makes settings with its rules; without a file no rule is applied. Returns what was found in
    /// it too.
    pub(crate) fn apply(
        &self,
        make: impl FnOnce(LinkRules) -> Result<Usable, Unusable>,
    ) -> (Result<Usable, Unusable>, Vec<Finding>) {
        let Some(path) = &self.0 else {
            return (make(LinkRules::default()), Vec::new());
        };
        let name = path.display().to_string();
        let bytes = match read_at_most(path, FILE_MAX) {
            Ok(bytes) => bytes,
            Err(why) => {
                let why = format!("link rules {name}: {why}");
                return (Err(Unusable::Refused(why)), Vec::new());
            }
        };
        let checked = check_link_rules(bytes, &name);
        let made = match checked.rules {
            Some(rules) => make(rules),
            None => {
                let what = format!("the file of link rules {name}");
                let why = refused(&what, checked.findings.iter());
                Err(Unusable::Refused(why))
            }
        };
        (made, checked.findings)
    }
}

/// Logs which rules are in force, or that none is any more.
pub(crate) fn log_rules(rules: Option<&LinkRules>) {
    let Some(rules) = rules else {
        info!(
            event = "link_rules",
            "no rule for links with errors is applied"
        );
        return;
    };
    let word = |action| match action {
        Action::Off => "off",
        Action::DryRun => "dry-run",
        Action::Quarantine => "quarantine",
    };
    let symbol_errors = word(rules.symbol_errors.action);
    let discards = word(rules.discards.action);
    let link_quality = word(rules.link_quality.action);
    info!(
        event = "link_rules",
        symbol_errors,
        discards,
        link_quality,
        most_per_hour = rules.bounds.most_per_hour,
        most_at_once = rules.bounds.most_at_once,
        hosts = %rules.bounds.hosts,
        "rules for links with errors: symbol errors {symbol_errors}, discards {discards}, link quality {link_quality}"
    );
}
