//! `weft vf`.

use std::path::PathBuf;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum VfCommand {
    /// List them: key, service levels, limits, share of the bandwidth, numbers of members.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List the end ports of a virtual fabric, and the device groups that make them members.
    Members {
        /// The virtual fabric's name.
        name: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say whether packets of one end port reach another: by which keys, on which levels and lanes, by which
    /// registers; or why not. Exit code 1 if they do not.
    Check {
        /// The port that sends: a point such as 'node:node1 hfi1_0'.
        #[arg(value_name = "A")]
        source: String,
        /// The port that is to receive.
        #[arg(value_name = "B")]
        destination: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show what another configuration would change: virtual fabrics, their members, and keys. Nothing changes.
    Plan {
        /// The file; `-` is standard input.
        file: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}
