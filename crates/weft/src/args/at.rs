//! `--at`.

/// Which moment.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct At {
    /// The fabric as it was then, which the daemon keeps: '2026-11-23 03:12', '03:12', '-2h', or sweep:4711 for the end of
    /// a sweep. A line on standard error says which moment is shown.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) at: Option<String>,
}
