//! The command line.

mod vf;

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Parser, Subcommand, ValueEnum};

pub(crate) use vf::VfCommand;

const AFTER: &str = "\
Exit codes: 0 done; 1 refused, not found, errors in a configuration, differences of a fabric, or a port that is not \
reached; 2 wrong usage; \
3 no daemon answers; 4 a file cannot be read or written; 5 timeout, of the daemon or of a device.";

const DRAIN: &str = "\
Prints \"safe to pull\" once every switch has confirmed tables in which nothing leads there; a drained \
switch is still managed over one of its links. If a part of the fabric would be cut off, the command \
is refused. A drain lasts until it is undone.";

const TOP: &str = "\
The direction of a link that carries more comes first: share of the link's rate, GB/s with headers, and \
share of time in which data waited for credits; then the other direction, and the performance manager's \
category congestion.\n\n\
Keys: u utilization, g GB/s, w wait, c congestion: sort order; arrows and page keys \
scroll; q quits. If the output is not a terminal, one table is printed.";

const TRAFFIC: &str = "\
Patterns: pairs node1:node5 node2:node6; permutation seed=7; shift by=3; uniform; hotspot to=node1 \
percent=50. Name a host without its HFI, or by the HFI's GUID (0x...).";

const PLAN: &str = "\
Prints how many switches, blocks and routes would change, what is proved about the new routes, and how \
many flows would meet on the busiest link: if every host sends to every other, in shifts (host i to \
host i + k), and in random permutations. Nothing changes before `weft route apply PLAN`, which is \
refused if the fabric has changed since.";

const DISPERSION: &str = "\
Without points: every pair of a switch with hosts and a host on another switch, counted by LIDs of the \
host, disjoint shortest paths in the cabling, and disjoint paths that its LIDs use; if there are \
more pairs than --pairs, that many are chosen at random. With -S and -D: the path of every LID between \
two points, and the links and switches that several of them cross.";

/// The command-line client of weftd, the Weft fabric manager.
#[derive(Debug, Parser)]
#[command(version, after_help = AFTER)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) daemon: Daemon,
    /// Colours; auto: on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// Connection to the daemon.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Daemon")]
pub(crate) struct Daemon {
    /// Address of the daemon: http://HOST:PORT, or https://HOST:PORT with --tls-ca.
    #[arg(
        long,
        global = true,
        env = "WEFT_ADDRESS",
        value_name = "URL",
        default_value_t = format!("http://127.0.0.1:{}", weft_api::DEFAULT_PORT)
    )]
    pub(crate) address: String,
    /// CA of the daemon's certificate, PEM.
    #[arg(long, global = true, env = "WEFT_TLS_CA", value_name = "FILE")]
    pub(crate) tls_ca: Option<PathBuf>,
    /// The client's own certificate, PEM, if the daemon requires one.
    #[arg(
        long,
        global = true,
        env = "WEFT_TLS_CERT",
        value_name = "FILE",
        requires = "tls_key"
    )]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The key of that certificate, PEM.
    #[arg(
        long,
        global = true,
        env = "WEFT_TLS_KEY",
        value_name = "FILE",
        requires = "tls_cert"
    )]
    pub(crate) tls_key: Option<PathBuf>,
    /// Name in the daemon's certificate, if it differs from the address's host.
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) tls_domain: Option<String>,
    /// Timeout of each call, such as 500ms, 10s, 5m. Default: 10s for data that the daemon has,
    /// 60s for the whole fabric or a port change, 15m for routes and sweeps.
    #[arg(
        long,
        global = true,
        env = "WEFT_TIMEOUT",
        value_name = "DURATION",
        value_parser = crate::time::parse
    )]
    pub(crate) timeout: Option<Duration>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print a report in opareport's layout, or as JSON.
    #[command(subcommand)]
    Report(Report),
    /// Show or export the fabric.
    #[command(subcommand)]
    Fabric(Fabric),
    /// Compare the fabric with what it should be.
    #[command(subcommand)]
    Check(Check),
    /// Save the fabric as it is, to compare it with later.
    #[command(subcommand)]
    Baseline(BaselineCommand),
    /// Request a sweep.
    Sweep(Sweep),
    /// Control the manager while it runs: log level, pause of sweeps, priority, counters, dump.
    #[command(subcommand)]
    Fm(FmCommand),
    /// Disable or enable ports.
    #[command(subcommand)]
    Port(PortCommand),
    /// Show ports whose links went down too often, leave out others, and let them be used again.
    #[command(subcommand)]
    Quarantine(QuarantineCommand),
    /// Show virtual fabrics, their members, and whether one port reaches another.
    #[command(subcommand)]
    Vf(VfCommand),
    /// Plan, apply and undo changes of routes.
    #[command(subcommand)]
    Route(RouteCommand),
    /// Move all data off a switch or link, so that it can be pulled.
    #[command(after_help = DRAIN)]
    Drain(DrainArgs),
    /// Let data use a drained switch or link again.
    Undrain(DrainArgs),
    /// Print events as they happen.
    Watch(Watch),
    /// Show the busiest links, updated with every reading of the counters.
    #[command(after_help = TOP)]
    Top(Top),
    /// Change an emulated fabric.
    #[command(subcommand)]
    Emulator(Emulator),
    /// Check and show configurations.
    #[command(subcommand)]
    Config(Config),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Report {
    /// Every HFI, switch and subnet manager.
    Nodes(Focused),
    /// Every link.
    Links(Focused),
    /// Every system (a chassis or a card) with its nodes.
    Comps(Focused),
    /// The port that answers to each LID.
    Lids(Focused),
    /// The linear forwarding table of every switch.
    Linear(Focused),
    /// The path from one point to another, hop by hop.
    Route(Route),
    /// Disjoint paths among the LIDs of each host.
    #[command(after_help = DISPERSION)]
    Dispersion(Dispersion),
}

/// Options of every report.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Common {
    /// Level of detail: 0 counts, 1 brief, 2 normal, 3 details.
    #[arg(short, long, default_value_t = 2, value_name = "LEVEL")]
    pub(crate) detail: u8,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Read the fabric from an opareport snapshot instead of the daemon; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) snapshot: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Focused {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Limit the report to this part of the fabric: a point such as lid:3, 'nodepat:edge*', portstate:down.
    #[arg(short = 'F', long, value_name = "POINT")]
    pub(crate) focus: Option<String>,
    /// Exclude the focus instead.
    #[arg(short = 'Q', long)]
    pub(crate) quietfocus: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Route {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Source of packets: a point such as 'node:node1 hfi1_0'.
    #[arg(short = 'S', long, value_name = "POINT", default_value = "sm")]
    pub(crate) src: String,
    /// Destination of packets.
    #[arg(short = 'D', long, value_name = "POINT")]
    pub(crate) dest: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Dispersion {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Only from this source: a point such as 'node:node1 hfi1_0'.
    #[arg(short = 'S', long, value_name = "POINT", requires = "dest")]
    pub(crate) src: Option<String>,
    /// Only to this destination.
    #[arg(short = 'D', long, value_name = "POINT", requires = "src")]
    pub(crate) dest: Option<String>,
    /// Maximum number of pairs to examine.
    #[arg(
        long,
        value_name = "PAIRS",
        conflicts_with = "src",
        default_value_t = weft_report::SAMPLE,
        value_parser = clap::value_parser!(u64).range(1..=weft_report::MAX_SAMPLE)
    )]
    pub(crate) pairs: u64,
    /// Random seed for the choice of pairs.
    #[arg(long, value_name = "SEED", conflicts_with = "src", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Fabric {
    /// Print counts of nodes, links and ports, and the last sweep.
    Show {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write the fabric to a file for other tools.
    Export(Export),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Check {
    /// List what differs from a topology file or a baseline: nodes and links that are missing, unexpected, moved, swapped or
    /// replaced. Exit code 1 if anything does.
    ///
    /// Without a file or a baseline: whether the fabric is a clean fat tree, with what most switches have taken for right.
    #[command(group(ArgGroup::new("intended")))]
    Topology {
        /// A file of `weft fabric export --topology` or `opareport -o topology -x`; `-` is standard input.
        #[arg(long, value_name = "FILE", group = "intended")]
        against: Option<PathBuf>,
        /// A baseline that was saved with `weft baseline save`.
        #[arg(long, value_name = "NAME", group = "intended")]
        baseline: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum BaselineCommand {
    /// Save the fabric as it is; the daemon keeps it.
    Save {
        /// 1 to 64 letters, digits, '-', '_' and '.'.
        name: String,
        /// Replace an earlier baseline of this name.
        #[arg(long)]
        replace: bool,
    },
    /// Show all baselines.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove a baseline.
    Remove {
        /// Its name.
        name: String,
    },
}

#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("format").required(true)))]
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
    /// Graphviz.
    #[arg(long, group = "format")]
    pub(crate) dot: bool,
    /// Write to a file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Sweep {
    /// Wait for its end and print its report.
    #[arg(long, conflicts_with = "list")]
    pub(crate) wait: bool,
    /// List recent sweeps instead.
    #[arg(long)]
    pub(crate) list: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

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
    /// Write the state of the manager, without keys, as JSON.
    Dump {
        /// The file, `-` for standard output.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum QuarantineCommand {
    /// List them, with the reason and the time left.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say how often a link went down and when, and what routes do with it.
    Why {
        /// Either end of the link: a point such as 'node:edge1:port:3'.
        #[arg(value_name = "POINT")]
        point: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Leave a link out of routes until it is released.
    Add(QuarantineAdd),
    /// Let a link be used again at once, and forget its losses.
    Release {
        /// Either end of the link: a point such as 'node:edge1:port:3'.
        #[arg(value_name = "POINT")]
        point: String,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct QuarantineAdd {
    /// Either end of the link: a point such as 'node:edge1:port:3'.
    #[arg(value_name = "POINT")]
    pub(crate) point: String,
    /// Why, for those who list it: at most 200 bytes.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,
    /// Also where a host is cut off.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PortCommand {
    /// Disable a port until it is enabled.
    Disable(PortArgs),
    /// Enable a disabled port.
    Enable(PortArgs),
    /// Take a port's link down once, so that it trains again.
    Bounce(PortArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct PortArgs {
    /// The port: a point such as 'node:edge1:port:3'.
    #[arg(value_name = "POINT")]
    pub(crate) point: String,
    /// Apply to all ports of the point, even if there are several.
    #[arg(long)]
    pub(crate) all: bool,
    /// Only print what would be done.
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RouteCommand {
    /// Preview a change.
    #[command(after_help = PLAN)]
    Plan(PlanArgs),
    /// Apply a plan and wait until it is in force.
    Apply {
        /// Number of the plan.
        #[arg(value_name = "PLAN")]
        plan: u64,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Undo the last applied plan and wait until that is in force.
    Rollback {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List drains in force, with the routes that still use the drained parts.
    Drains {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("change").required(true)))]
pub(crate) struct PlanArgs {
    /// Another configuration, `-` for standard input.
    #[arg(long, group = "change", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Another engine, by its name in <RoutingAlgorithm>.
    #[arg(long, group = "change", value_name = "NAME")]
    pub(crate) engine: Option<String>,
    /// Move data off a switch ('node:core1') or a link between switches ('node:core1:port:3').
    #[arg(long, group = "change", value_name = "POINT")]
    pub(crate) drain: Option<String>,
    /// Let data use a drained switch or link again.
    #[arg(long, group = "change", value_name = "POINT")]
    pub(crate) undrain: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DrainArgs {
    /// A switch ('node:core1'), or a link between switches by either end ('node:core1:port:3').
    #[arg(value_name = "POINT")]
    pub(crate) point: String,
    /// Only print what would be done.
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Watch {
    /// Print one JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Continue after this token, the resume_token of a JSON line.
    #[arg(long, value_name = "TOKEN")]
    pub(crate) resume: Option<String>,
    /// Stop after this many events.
    #[arg(long, value_name = "EVENTS")]
    pub(crate) count: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Top {
    /// Print a table of the last reading and exit.
    #[arg(long)]
    pub(crate) once: bool,
    /// Print JSON of the last reading and exit.
    #[arg(long)]
    pub(crate) json: bool,
    /// Sort order of links.
    #[arg(long, value_enum, value_name = "COLUMN", default_value_t = SortBy::Utilization)]
    pub(crate) sort: SortBy,
    /// Number of links, up to 1000.
    #[arg(short = 'n', long, value_name = "LINKS", default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) links: u32,
}

/// Sort order of links; the direction with the higher value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortBy {
    Utilization,
    Data,
    Wait,
    Congestion,
}

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
}

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Check an opafm.xml and print all findings; needs no daemon.
    Check {
        /// The file; `-` is standard input.
        file: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the configuration with every default and inherited value written out.
    Show {
        /// Required: print effective values, not the file's text.
        #[arg(long, required = true)]
        effective: bool,
        /// A file to show instead of the daemon's configuration; needs no daemon.
        file: Option<PathBuf>,
    },
    /// Print what an element of opafm.xml means, and its value in a file; needs no daemon.
    Explain {
        /// The tag, or the end of its path, such as `Sm/HoqLife`.
        element: String,
        /// A file to take the value from; `-` is standard input.
        file: Option<PathBuf>,
        /// The instance (`Fm`) of the file, counted from 0.
        #[arg(long, default_value_t = 0, value_name = "N", requires = "file")]
        instance: usize,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Have the daemon read its configuration again.
    Reload {
        /// Only print findings.
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
}

/// A number above 0, up to 100.
fn percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim_end_matches('%').parse().ok();
    let number = number.filter(|number| *number > 0.0 && *number <= 100.0);
    number.ok_or_else(|| "a number over 0, up to 100".to_owned())
}
