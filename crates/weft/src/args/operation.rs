//! `weft operation`, and what other commands say about the operation that they begin.

use std::time::Duration;

use clap::Subcommand;

pub(super) const OPERATION: &str = "\
A change of routes is one operation from its plan to the end of the sweep that applies it; so are a drain, a roll-back, \
and a sweep that was asked for. It goes on when its client has gone, and is found here again. The daemon remembers the \
last 128.";

#[derive(Debug, Subcommand)]
pub(crate) enum OperationCommand {
    /// List operations, the newest first.
    List {
        /// Only those that are being planned or applied.
        #[arg(long)]
        running: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show one with all that is known of it.
    Show {
        /// Its identity, such as op-17.
        #[arg(value_name = "OPERATION")]
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Cancel one that is being planned, or a plan that is not applied. Refused once it is being applied.
    Cancel {
        /// Its identity, such as op-17.
        #[arg(value_name = "OPERATION")]
        id: String,
        #[command(flatten)]
        why: Why,
    },
    /// Wait until nothing of it is under way. Exit code 1 if it failed or was cancelled.
    Wait {
        /// Its identity, such as op-17.
        #[arg(value_name = "OPERATION")]
        id: String,
        /// For how long at most, such as 90s; exit code 5 after that.
        #[arg(long = "for", value_name = "DURATION", default_value = "15m",
            value_parser = crate::time::parse)]
        limit: Duration,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Why an operation is begun or cancelled.
#[derive(Debug, clap::Args)]
pub(crate) struct Why {
    /// Why, for those who list operations: at most 200 bytes.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,
}
