//! Counters that `weft report` has set to zero after the reports.

/// Whether and which counters are to begin at zero.
#[derive(Debug, clap::Args)]
pub(crate) struct Clear {
    /// After the reports, have devices set counters to zero, at the ports of the focus and at the other ends of their links
    /// (with -L, not there): those with a threshold. Reports count from there on; what `weft counters` shows goes on.
    #[arg(short = 'C', long, conflicts_with_all = ["snapshot", "at"])]
    clear: bool,
    /// The same of all counters.
    #[arg(short = 'a', long = "clearall", conflicts_with_all = ["snapshot", "at"])]
    clear_all: bool,
    /// Why counters are set to zero, for the record of changes.
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "TEXT"
    )]
    pub(crate) reason: String,
}

/// Counters that are set to zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cleared {
    /// Those with a threshold.
    Thresholds,
    /// Every one.
    All,
}

impl Clear {
    /// None where nothing is set to zero.
    pub(crate) fn wanted(&self) -> Option<Cleared> {
        match (self.clear, self.clear_all) {
            (false, false) => None,
            (true, false) => Some(Cleared::Thresholds),
            (_, true) => Some(Cleared::All),
        }
    }
}
