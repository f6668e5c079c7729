//! `weft job`.

use clap::{ArgGroup, Subcommand};

pub(crate) const JOB: &str = "\
NODES is a list of hosts as Slurm has them, such as 'node[1-64,70]', or a point such as 'nodepat:node1*'; several may be \
given.\n\n\
Examples:
  weft job slow 'node[1-64]' --from '03:05' --to '03:20'
  weft job slow --job 4711           nodes and times from Slurm's accounting";

#[derive(Debug, Subcommand)]
pub(crate) enum JobCommand {
    /// Print what made a job slow: links that were full, lost, slower or had errors while it ran, the dearest first.
    ///
    /// The links are those that its hosts used by the routes of then: on all LIDs and all ports of adaptive groups. What they
    /// did is compared with the same hours of up to seven earlier days, or with the time before the job.
    Slow(JobSlow),
}

/// Which job.
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("which").required(true)))]
pub(crate) struct JobSlow {
    /// Its hosts.
    #[arg(value_name = "NODES", group = "which", num_args = 1..)]
    pub(crate) nodes: Vec<String>,
    /// Its number in Slurm: sacct tells hosts, beginning and end.
    #[arg(long, value_name = "ID", group = "which")]
    pub(crate) job: Option<String>,
    /// Its beginning, such as '03:10' or -2h; an hour before its end by default.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// Its end; now by default.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) to: Option<String>,
    /// Print all links that it used, not only the first.
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
