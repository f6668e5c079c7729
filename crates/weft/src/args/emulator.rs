//! `weft emulator`.

use clap::{ArgGroup, Subcommand};

const TRAFFIC: &str = "\
Patterns: pairs node1:node5 node2:node6; permutation seed=7; shift by=3; uniform; hotspot to=node1 \
percent=50. Name a host without its HFI, or by the HFI's GUID (0x...).";

pub(super) const EMULATOR: &str = "\
Faults are caused with `weft-emulator ctl --connect unix:PATH`; weftd's log names the path (option --control of weftd).";

#[derive(Debug, Subcommand)]
pub(crate) enum Emulator {
    /// Start, stop and list traffic between hosts.
    #[command(subcommand)]
    Traffic(Traffic),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Traffic {
    /// Start traffic that runs until it is stopped.
    #[command(after_help = TRAFFIC)]
    Start(TrafficStart),
    /// List running jobs and their throughput.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Stop traffic.
    Stop(TrafficStop),
}

#[derive(Debug, clap::Args)]
pub(crate) struct TrafficStart {
    /// Name of the job.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Pattern of senders and receivers.
    #[arg(value_name = "PATTERN", required = true, num_args = 1..)]
    pub(crate) pattern: Vec<String>,
    /// Limit for each sender, percent of a link.
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0, value_parser = percent)]
    pub(crate) rate: f64,
    /// Payload of a packet, bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 8192,
        value_parser = clap::value_parser!(u32).range(8..=10_240))]
    pub(crate) payload: u32,
    /// Why, for the record of changes: at most 200 bytes.
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) reason: String,
}

#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("which").required(true)))]
pub(crate) struct TrafficStop {
    /// Name of the job.
    #[arg(value_name = "NAME", group = "which")]
    pub(crate) name: Option<String>,
    /// Stop all jobs.
    #[arg(long, group = "which")]
    pub(crate) all: bool,
    /// Why, for the record of changes: at most 200 bytes.
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) reason: String,
}

/// A number above 0, up to 100.
fn percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim_end_matches('%').parse().ok();
    let number = number.filter(|number| *number > 0.0 && *number <= 100.0);
    number.ok_or_else(|| "a number over 0, up to 100".to_owned())
}
