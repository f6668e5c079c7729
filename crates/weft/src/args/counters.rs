//! `weft counters` and `weft port show`.

use clap::ArgGroup;

use super::At;

pub(crate) const COUNTERS: &str = "\
Totals since the daemon read a port first, or what the device had then; they go on where somebody clears the device's \
counters. Data is in bytes, with headers; a line below a port names its other counters that are not 0. Of a single port all \
counters are listed.";

#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("form")))]
pub(crate) struct Counters {
    /// Only these ports: a point such as 'node:edge1:port:3', 'nodepat:edge*', nodetype:FI.
    #[arg(short = 'F', long, value_name = "POINT")]
    pub(crate) focus: Option<String>,
    /// Also the counters of each virtual lane.
    #[arg(long)]
    pub(crate) per_lane: bool,
    /// Also those of each virtual fabric: of the lanes that it uses.
    #[arg(long)]
    pub(crate) per_vf: bool,
    /// Show increases a second over the last reading, not totals.
    #[arg(long)]
    pub(crate) rate: bool,
    /// Only ports with errors.
    #[arg(long)]
    pub(crate) only_errors: bool,
    /// Only these counters, by their names in JSON, such as xmit_data,rcv_errors.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) counters: Vec<String>,
    /// Go on with each reading of the counters.
    #[arg(long, conflicts_with = "at")]
    pub(crate) watch: bool,
    /// Stop after this many readings.
    #[arg(long, value_name = "READINGS", requires = "watch")]
    pub(crate) count: Option<u64>,
    #[command(flatten)]
    pub(crate) at: At,
    /// Counters of the past, from this time: as for `weft log`. A single port is listed point by point.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, conflicts_with_all = ["watch", "per_lane", "per_vf", "only_errors", "at"])]
    pub(crate) from: Option<String>,
    /// Up to this time; now by default.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, conflicts_with_all = ["watch", "per_lane", "per_vf", "only_errors", "at"])]
    pub(crate) to: Option<String>,
    /// The last reading of each step, such as 1m; by default a step of the past that makes about 60 points.
    #[arg(long, value_name = "DURATION", value_parser = crate::time::parse, requires = "from")]
    pub(crate) step: Option<std::time::Duration>,
    /// Print JSON; with --watch one object a line.
    #[arg(long, group = "form")]
    pub(crate) json: bool,
    /// Print CSV: a line for each port, lane and virtual fabric.
    #[arg(long, group = "form")]
    pub(crate) csv: bool,
}

impl Counters {
    /// Whether the past is asked for.
    pub(crate) fn is_past(&self) -> bool {
        self.from.is_some() || self.to.is_some()
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct PortShow {
    /// The port: a point such as 'node:edge1:port:3'.
    #[arg(value_name = "POINT")]
    pub(crate) point: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
