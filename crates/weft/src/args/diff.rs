//! `weft diff`.

pub(crate) const DIFF: &str = "\
BEFORE and AFTER are moments, as --at has them ('2026-11-23 03:12', '03:12', '-2h', sweep:4711), 'now', or files of \
`weft fabric export --snapshot` or `opareport -o snapshot`. A file with no routes shows no moved ones.\n\n\
Exit codes, besides those of all commands: 0 nothing differs, 1 something does.";

/// Which fabrics are compared.
#[derive(Debug, clap::Args)]
pub(crate) struct Diff {
    /// A moment or a file.
    #[arg(value_name = "BEFORE", allow_hyphen_values = true)]
    pub(crate) before: String,
    /// A moment or a file.
    #[arg(
        value_name = "AFTER",
        default_value = "now",
        allow_hyphen_values = true
    )]
    pub(crate) after: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
