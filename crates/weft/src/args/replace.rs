//! `weft replace`.

use clap::Subcommand;

use super::guid;

/// `weft replace`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Replace {
    #[command(subcommand)]
    pub(crate) command: Option<ReplaceCommand>,
    /// NodeGUID of the HFI that is gone; without it, as `list`.
    #[arg(value_name = "OLD", value_parser = guid)]
    pub(crate) old: Option<u64>,
    /// NodeGUID of the one in its place; that which is recognised if it is omitted.
    #[arg(value_name = "NEW", value_parser = guid)]
    pub(crate) new: Option<u64>,
    /// Only print what would be done.
    #[arg(short = 'n', long, requires = "old")]
    pub(crate) dry_run: bool,
    /// Why, for those who list it: at most 200 bytes.
    #[arg(long, value_name = "TEXT", default_value = "", requires = "old")]
    pub(crate) reason: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReplaceCommand {
    /// List replacements that are recognised, and those in force.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Let an HFI count for itself only; it keeps the LID.
    Remove {
        /// NodeGUID of the old HFI, or of the new one.
        #[arg(value_name = "GUID", value_parser = guid)]
        guid: u64,
    },
}

pub(super) const REPLACE: &str = "Examples:
  weft replace                                          what is recognised, with the command that confirms it
  weft replace -n 0x0011750101000003                    what would be done
  weft replace 0x0011750101000003 --reason 'RMA 4711'
  weft replace 0x0011750101000003 0x00117501010000ff    where none is recognised
  weft replace remove 0x0011750101000003";
