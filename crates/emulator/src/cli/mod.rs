//! The command line.

mod cables;
mod change;
pub(crate) mod ctl;
mod fields;
mod keys;
mod named;
pub(crate) mod run;
mod traffic;
mod training;

use clap::{Args, Parser, Subcommand};
use weft_fabric::generate::{FabricSpec, fabrics};
use weft_fabric::powered_on;
use weft_transport::Address;

/// An emulated Omni-Path fabric: switches and HFIs that answer management datagrams.
#[derive(Debug, Parser)]
#[command(
    name = "weft-emulator",
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) run: Run,
    /// Log level on stderr: error, warn, info, debug, trace, or filters of them
    #[arg(long, global = true, value_name = "LEVEL", default_value = "info")]
    pub(crate) log: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Change a running fabric
    Ctl(ctl::Ctl),
}

/// Options of a running fabric.
#[derive(Debug, Args)]
pub(crate) struct Run {
    #[arg(required = true, value_name = "FABRIC", help = format!("The fabric: {}", fabrics()))]
    fabric: Option<FabricSpec>,
    /// Address to listen on: unix:PATH or tcp:HOST:PORT
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = weft_emulator::server::DEFAULT_ADDRESS
    )]
    listen: Address,
    /// Allow an address that other machines can reach: whoever connects controls the fabric
    #[arg(long)]
    allow_remote: bool,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Time that each agent takes for a request: 200us, 1ms
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = nanoseconds)]
    latency: u64,
    /// Latency of each link for datagrams: 100ns
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = nanoseconds)]
    hop_latency: u64,
    /// Ports support packet interleaving, so that a manager may enable preemption
    #[arg(long)]
    interleave: bool,
    /// Number of hosts, from the first, that may manage the fabric: switches tell all others that they may not
    #[arg(long, value_name = "N", default_value_t = powered_on::MANAGERS)]
    managers: usize,
    #[command(flatten)]
    transit: fields::TransitFields,
    /// Maximum extra delay of a datagram: 1ms
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = nanoseconds)]
    delay: u64,
}

/// Largest accepted duration, nanoseconds: an hour.
const TIME_MAX_NS: u64 = 3_600_000_000_000;

/// Parses a duration to nanoseconds: a whole number with the unit ns, us, ms or s; 0 needs none.
pub(crate) fn nanoseconds(text: &str) -> Result<u64, String> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let scale = match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "" if number == "0" => 1,
        _ => return Err("a whole number with ns, us, ms or s".to_owned()),
    };
    let number: Option<u64> = number.parse().ok();
    let time = number.and_then(|number| number.checked_mul(scale));
    time.filter(|time| *time <= TIME_MAX_NS)
        .ok_or("a time up to 3600s".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let cases = [
            ("0", Some(0)),
            ("7ns", Some(7)),
            ("200us", Some(200_000)),
            ("3ms", Some(3_000_000)),
            ("3600s", Some(TIME_MAX_NS)),
            ("3601s", None),
            ("5", None),
            ("ms", None),
            ("-1ms", None),
            ("99999999999999999999s", None),
        ];
        for (text, expected) in cases {
            assert_eq!(nanoseconds(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
