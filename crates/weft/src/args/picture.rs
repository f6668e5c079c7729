//! Pictures, and routes.

use std::path::PathBuf;

use clap::ArgGroup;

use super::At;

/// `weft fabric export`.
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("format").required(true)))]
#[command(group(ArgGroup::new("picture").args(["svg", "dot"])))]
pub(crate) struct Export {
    /// XML that `opareport -X` reads.
    #[arg(long, group = "format")]
    pub(crate) snapshot: bool,
    /// The topology file that `weft check topology`, PreDefinedTopology and `opareport -T` compare with.
    #[arg(long, group = "format")]
    pub(crate) topology: bool,
    /// Text in the format of ibnetdiscover.
    #[arg(long, group = "format")]
    pub(crate) ibnetdiscover: bool,
    /// A picture for browsers and printers: switches by tiers, each with a count of its hosts, parallel links as one line.
    #[arg(long, group = "format")]
    pub(crate) svg: bool,
    /// The same picture for Graphviz.
    #[arg(long, group = "format")]
    pub(crate) dot: bool,
    /// In a picture: hosts one by one, up to 512, in place of their counts.
    #[arg(long, requires = "picture")]
    pub(crate) hosts: bool,
    /// In a picture: the route from one host to another, with the alternatives that switches and other LIDs have.
    #[arg(long, requires = "picture", num_args = 2, value_names = ["FROM", "TO"])]
    pub(crate) route: Option<Vec<String>>,
    /// In a picture: the utilization of links as colour and width, from the last reading of the port counters.
    #[arg(long, requires = "picture", conflicts_with = "at")]
    pub(crate) load: bool,
    /// With --snapshot: tables of ports too (partition keys, maps of service levels and channels, arbitration, buffers), as
    /// `opareport -V`. They are most of such a file.
    #[arg(short = 'V', long, requires = "snapshot")]
    pub(crate) port_tables: bool,
    #[command(flatten)]
    pub(crate) at: At,
    /// Write to a file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// `weft route show`.
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("format").args(["svg", "json"])))]
pub(crate) struct RouteShow {
    /// Source of packets: a host's name, or a point such as lid:3.
    #[arg(value_name = "FROM")]
    pub(crate) from: String,
    /// Destination of packets.
    #[arg(value_name = "TO")]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) at: At,
    /// Draw it in a picture of the fabric.
    #[arg(long)]
    pub(crate) svg: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// With --svg: write to a file instead of standard output.
    #[arg(short, long, value_name = "FILE", requires = "svg")]
    pub(crate) output: Option<PathBuf>,
}
