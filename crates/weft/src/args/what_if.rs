//! `weft what-if`.

use std::path::PathBuf;

use clap::{ArgGroup, Subcommand};

use super::At;

pub(crate) const WHAT_IF: &str = "\
Nothing changes. The traffic is estimated from the counters of the last reading (who sends to whom is not counted), and \
a line says how well that explains what links carry; --traffic FILE gives it instead. Routes are those that \
`weft route plan` would make.\n\n\
Examples:
  weft what-if drain core1
  weft what-if fault edge1:5 core2
  weft what-if plan --engine dmodc
  weft what-if config new.xml --at '03:12'";

#[derive(Debug, Subcommand)]
pub(crate) enum WhatIfCommand {
    /// If data moved off a switch or a link.
    Drain {
        /// A switch ('core1'), or a link between switches by either end ('core1:3').
        #[arg(value_name = "POINT")]
        point: String,
        #[command(flatten)]
        with: WhatIfArgs,
    },
    /// If links were lost: all of a switch or a host, or single ones.
    Fault {
        /// Nodes ('core1'), ports ('edge1:3') or points.
        #[arg(value_name = "POINT", required = true)]
        points: Vec<String>,
        #[command(flatten)]
        with: WhatIfArgs,
    },
    /// If routes were planned otherwise, as with `weft route plan`.
    #[command(group(ArgGroup::new("change").required(true)))]
    Plan {
        /// Another engine, by its name in <RoutingAlgorithm>.
        #[arg(long, group = "change", value_name = "NAME")]
        engine: Option<String>,
        /// Data uses a drained switch or link again.
        #[arg(long, group = "change", value_name = "POINT")]
        undrain: Option<String>,
        #[command(flatten)]
        with: WhatIfArgs,
    },
    /// If another opafm.xml were in force.
    Config {
        /// The file; `-` is standard input.
        file: PathBuf,
        #[command(flatten)]
        with: WhatIfArgs,
    },
}

/// What all of them take.
#[derive(Debug, clap::Args)]
pub(crate) struct WhatIfArgs {
    #[command(flatten)]
    pub(crate) at: At,
    /// What hosts want to send, instead of an estimate: lines FROM,TO,GB/s, hosts by their names; `#` begins a comment,
    /// `-` is standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) traffic: Option<PathBuf>,
    /// Most links, and most hosts, that are printed: 1 to 10000.
    #[arg(
        long,
        value_name = "LINKS",
        default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    pub(crate) limit: u32,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
