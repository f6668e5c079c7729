//! `--as-of`.

/// Back to a moment.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct AsOf {
    /// Back to what was decided then: engine and settings of routes, drains, and ports switched off by order. A moment as for
    /// --at: '2026-11-23 03:12', '-2h', sweep:4711, generation:12.
    #[arg(
        long,
        group = "change",
        value_name = "TIME",
        allow_hyphen_values = true
    )]
    pub(crate) as_of: Option<String>,
}
