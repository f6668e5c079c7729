//! `weft log` and `weft history`.

pub(crate) const LOG: &str = "\
Times are in the local time zone: '2026-11-23 03:12', '2026-11-23', '03:12' for the last time that it was so late, '-2h' for \
two hours ago (s, m, h, d, w), 'now', or RFC 3339 with a zone, such as 2026-11-23T03:12:00Z.";

#[derive(Debug, clap::Args)]
pub(crate) struct PastLog {
    /// From this time; an hour before --to by default.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// Up to this time; now by default.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) to: Option<String>,
    /// Only this kind, such as link_vanished; may be given several times.
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Vec<String>,
    /// Only of this node, by name or GUID; may be given several times.
    #[arg(long, value_name = "NODE")]
    pub(crate) node: Vec<String>,
    /// Print one JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ShowHistory {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
