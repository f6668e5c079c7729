//! `weft who`.

pub(crate) const WHO: &str = "\
OBJECT is a point, such as 'node:edge1', 'node:edge1:port:3' or 'lid:7', or 'edge1' and 'edge1:3'; 'plan:7', a route plan or a \
drain; or 'vf:NAME', a virtual fabric. Changes at the other end of a link count as well. Of a node that is gone, give its \
name or 'nodeguid:GUID'.\n\n\
What people asked for is from the record of changes, as `weft audit` has it; what the manager did or found by itself is \
from the events of the past, as `weft log` has them.";

/// What was changed, and when.
#[derive(Debug, clap::Args)]
pub(crate) struct Who {
    /// A point, plan:NUMBER or vf:NAME; everything by default.
    #[arg(value_name = "OBJECT")]
    pub(crate) object: Option<String>,
    /// From this time, such as '03:10' or -2h; all that is kept by default.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// Up to this time; now by default.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) to: Option<String>,
    /// Most changes, 1 to 1000: the newest.
    #[arg(
        long,
        value_name = "CHANGES",
        default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    pub(crate) limit: u32,
    /// Print one JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,
}
