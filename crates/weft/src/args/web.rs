//! `weft web`.

#[derive(Debug, clap::Args)]
pub(crate) struct Web {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
