//! `weft pm`.

use super::SortBy;

pub(crate) const PM: &str = "\
Groups are All, HFIs, SWs and those of <PmPortGroups> in the configuration. Traffic is inside where both ends of a link \
are in the group, out and in where one is. Everything is of the last reading of the counters; nothing is sent to the \
fabric.";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum PmCommand {
    /// List groups of ports: what they carry, and how bad their errors are.
    Groups {
        /// Only these, with ports by use and by errors.
        #[arg(value_name = "GROUP")]
        names: Vec<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List the ports of a group with their neighbours, traffic and errors.
    Ports(PmPorts),
    /// Show the settings of the performance manager.
    Config {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct PmPorts {
    /// The group's name.
    pub(crate) group: String,
    /// Only these ports: a point such as 'node:edge1'.
    #[arg(short = 'F', long, value_name = "POINT")]
    pub(crate) focus: Option<String>,
    /// Highest first by this, not in order of GUID and port.
    #[arg(long, value_enum, value_name = "COLUMN")]
    pub(crate) sort: Option<SortBy>,
    /// With --sort the lowest first.
    #[arg(long, requires = "sort")]
    pub(crate) lowest: bool,
    /// Number of ports to print; all by default.
    #[arg(short = 'n', long, value_name = "PORTS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) number: Option<u32>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
