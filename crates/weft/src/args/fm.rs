//! `weft fm`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;

use super::guid;

#[derive(Debug, Subcommand)]
pub(crate) enum FmCommand {
    /// Show the log level, the pause of sweeps, and the priority.
    Show {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show or set the log level, until the daemon restarts.
    LogLevel {
        /// error, warn, info, debug, trace, module=level pairs with commas, or default for that of the start.
        #[arg(value_name = "LEVEL")]
        level: Option<String>,
    },
    /// Pause sweeps: changes of the fabric are not acted upon until they are resumed.
    Pause {
        /// Time after which they resume by themselves, at most 24h.
        #[arg(long = "for", value_name = "DURATION", default_value = "10m", value_parser = crate::time::parse)]
        time: Duration,
    },
    /// End the pause of sweeps, with a sweep.
    Resume,
    /// Drop back from the elevated priority to the normal one, so that a better manager takes over again.
    RestorePriority,
    /// Print counts of datagrams, queries and sweeps.
    Counters {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// Set them to 0; what is printed are the counts before.
        #[arg(long)]
        reset: bool,
    },
    /// Test links between switches with packets that circle.
    #[command(subcommand)]
    LoopTest(LoopTestCommand),
    /// Write the state of the manager, without keys, as JSON.
    Dump {
        /// The file, `-` for standard output.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum LoopTestCommand {
    /// Start it: sweeps write loops into the forwarding tables, packets circle in them.
    Start {
        /// With few loops of up to four links, which trees need, and packets that are injected once.
        #[arg(long)]
        fast: bool,
        /// Packets for each loop: 0 to 10.
        #[arg(long, value_name = "COUNT", default_value_t = 1)]
        packets: u32,
    },
    /// Stop it: a sweep takes the loops out of the tables, which ends the packets.
    Stop,
    /// Inject more packets.
    Inject {
        /// Packets for each loop: 1 to 10.
        #[arg(value_name = "COUNT", default_value_t = 1, conflicts_with = "at")]
        packets: u32,
        /// As many as last, only into the loops through this switch: its NodeGUID, 0x0011750102000001.
        #[arg(long, value_name = "GUID", value_parser = guid)]
        at: Option<u64>,
    },
    /// Change its settings.
    Set {
        /// Most links of a loop: 2 to 4.
        #[arg(long, value_name = "LINKS")]
        path_length: Option<u32>,
        /// Loops that each link is in in fast mode: 1 to 64.
        #[arg(long, value_name = "LOOPS")]
        redundancy: Option<u32>,
        /// Whether each sweep injects packets.
        #[arg(long, value_name = "BOOL")]
        each_sweep: Option<bool>,
        /// Fast mode from the next start on.
        #[arg(long, value_name = "BOOL")]
        fast: Option<bool>,
    },
    /// Show it: settings, loops, and the links with errors.
    Show {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// Most loops to print.
        #[arg(long, value_name = "COUNT", default_value_t = 0)]
        loops: u32,
    },
}
