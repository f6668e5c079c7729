//! What of a fabric's data `weft report` shows.

/// All that is known, or what is the same after a restart.
#[derive(Debug, clap::Args)]
pub(crate) struct Shown {
    /// Leave out what a restart changes: LIDs, counters, tables of ports, states of subnet managers. Text has x in their place.
    #[arg(short = 'P', long, conflicts_with_all = ["json", "plain"])]
    persist: bool,
    /// Leave out what software sets as well, so that what devices are made as remains.
    #[arg(short = 'H', long, conflicts_with_all = ["json", "plain"])]
    hard: bool,
}

impl Shown {
    /// What is shown.
    pub(crate) fn extent(&self) -> weft_report::Extent {
        match (self.persist, self.hard) {
            (false, false) => weft_report::Extent::All,
            (true, false) => weft_report::Extent::Lasting,
            (_, true) => weft_report::Extent::Hardware,
        }
    }
}
