//! `weft quarantine`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum QuarantineCommand {
    /// List them, with the reason and the time left.
    List {
        /// Only links with an end in it: a point such as 'node:edge1'.
        #[arg(value_name = "POINT")]
        point: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say how often a link went down and when, and what routes do with it.
    Why {
        /// Either end of the link: a point such as 'node:edge1:port:3'.
        #[arg(value_name = "POINT")]
        point: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Leave a link out of routes until it is released.
    Add(QuarantineAdd),
    /// Let a link be used again at once, and forget its losses.
    Release {
        /// Either end of the link: a point such as 'node:edge1:port:3'.
        #[arg(value_name = "POINT")]
        point: String,
        /// Why, for the record of changes: at most 200 bytes.
        #[arg(
            long,
            default_value = "",
            hide_default_value = true,
            value_name = "TEXT"
        )]
        reason: String,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct QuarantineAdd {
    /// Either end of the link: a point such as 'node:edge1:port:3'.
    #[arg(value_name = "POINT")]
    pub(crate) point: String,
    /// Why, for those who list it: at most 200 bytes.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,
    /// Also where a host is cut off.
    #[arg(long)]
    pub(crate) force: bool,
    /// Only print what would be done, and what is refused.
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
}
