//! `weft why`.

pub(crate) const WHY: &str = "\
SUBJECT is 'route' with two ends, such as 'weft why route node1 node2': the last sweep that changed the way; 'port:POINT', such \
as port:edge1:3 or port:node:edge1:port:3: the last change of it; or 'event:ID', as `weft who` prints it. The change comes \
first, then what it comes from: tables, links, sweep, traps, and whoever or whatever is behind them.";

/// What is to be explained.
#[derive(Debug, clap::Args)]
pub(crate) struct WhyArgs {
    /// route, port:POINT or event:ID.
    #[arg(value_name = "SUBJECT")]
    pub(crate) subject: String,
    /// With route, its two ends: points such as 'lid:7', or names of nodes.
    #[arg(value_name = "END", num_args = 0..=2)]
    pub(crate) ends: Vec<String>,
    /// Only what happened up to this time; now by default.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) to: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
