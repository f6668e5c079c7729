//! `weft health`.

use std::time::Duration;

use clap::Subcommand;

use super::At;

pub(crate) const HEALTH: &str = "\
Key figures with a colour each, then findings, the most costly first: what is wrong and where, since when, which hosts \
feel it, and the command to run next. One cause is one finding. What was up in two sweeps at least a minute apart is \
remembered, and missed when it is gone, until `weft health forget`, a topology file that lacks it, a saved baseline, or \
30 days later (`weftd --remember`).\n\n\
Exit codes, besides those of all commands: 0 green, 10 yellow, 11 red, 12 green where this \
manager is not the master and knows nothing of the fabric.";

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Health {
    #[command(subcommand)]
    pub(crate) command: Option<HealthCommand>,
    /// Print all findings, those too that are only told, and the thresholds of the figures.
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON.
    #[arg(long, conflicts_with = "csv")]
    pub(crate) json: bool,
    /// Print comma-separated values: one line for each figure and finding.
    #[arg(long)]
    pub(crate) csv: bool,
    /// Print the page again and again, every 5s if no time is given, until interrupted.
    #[arg(
        long,
        value_name = "DURATION",
        num_args = 0..=1,
        default_missing_value = "5s",
        value_parser = crate::time::parse,
        conflicts_with_all = ["json", "csv"]
    )]
    pub(crate) watch: Option<Duration>,
    #[command(flatten)]
    pub(crate) at: At,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HealthCommand {
    /// Stop missing nodes and links that are gone for good.
    Forget {
        /// What is gone: nodeguid:GUID or node:NAME with all links, or one port of it, such as 'node:edge1:port:3'.
        #[arg(value_name = "POINT")]
        point: String,
        /// Only print what would be forgotten.
        #[arg(short = 'n', long)]
        dry_run: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}
