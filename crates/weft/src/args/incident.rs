//! `weft incident`.

#[derive(Debug, clap::Subcommand)]
pub(crate) enum IncidentCommand {
    /// Save what is recorded since the daemon's start, up to now.
    Save(IncidentSave),
    /// List what is saved, the oldest first.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct IncidentSave {
    /// Why, in your words.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
