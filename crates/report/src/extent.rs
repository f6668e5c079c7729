//! What of a fabric's data reports show: all, or only what is the same after a restart of it.

use std::fmt::Display;

/// Data that text and XML show, as `opareport -P` and `-H`. JSON always holds everything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Extent {
    /// All.
    #[default]
    All,
    /// What outlasts a restart of devices and managers (`-P`): no LIDs, counters, tables and states of subnet managers.
    Lasting,
    /// What devices are made as (`-H`): nothing either that software sets.
    Hardware,
}

impl Extent {
    /// Whether it has what a restart changes.
    pub(crate) fn has_passing(self) -> bool {
        self == Self::All
    }

    /// Whether it has what software sets.
    pub(crate) fn has_settings(self) -> bool {
        self != Self::Hardware
    }

    /// A text that a restart changes, or what stands for it.
    pub(crate) fn passing(self, text: impl Display, hidden: &str) -> String {
        shown(self.has_passing(), text, hidden)
    }

    /// A text that software sets, or what stands for it.
    pub(crate) fn setting(self, text: impl Display, hidden: &str) -> String {
        shown(self.has_settings(), text, hidden)
    }
}

fn shown(is_shown: bool, text: impl Display, hidden: &str) -> String {
    match is_shown {
        true => text.to_string(),
        false => hidden.to_owned(),
    }
}

/// The line in place of a report of which nothing lasts.
pub(crate) const SKIPPED: &str = "Report skipped: -H or -P option specified";
