//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Parser, Subcommand, ValueEnum};

const AFTER: &str = "\
Exit codes: 0 done; 1 refused, not found, or findings in a configuration; 2 wrong usage; \
3 no daemon answers; 4 a file cannot be read or written; 5 no answer in time, of the daemon or of a device.";

const DRAIN: &str = "\
Says \"safe to pull\" once every switch has confirmed tables in which nothing leads there; a drained \
switch is still managed over one of its links. What cannot do without the switch or link is not cut \
off: then the command is refused. A drain lasts until it is undone.";

const TOP: &str = "\
Of each link the way that carries more comes first: share of the link's rate, GB/s with headers, and \
share of the time in which data waited for credits; then the way back, and the performance manager's \
category congestion.\n\n\
Keys: u utilization, g GB/s, w wait, c congestion: what links are sorted by; arrows and page keys \
scroll; q ends it. Where the output is no terminal, one table is printed.";

const TRAFFIC: &str = "\
Patterns: pairs node1:node5 node2:node6; permutation seed=7; shift by=3; uniform; hotspot to=node1 \
percent=50. A host is named as it is called, without its HFI, or by the HFI's GUID (0x...).";

const PLAN: &str = "\
Prints how many switches, blocks and routes would change, what is proved of the new routes, and how \
many flows would meet on the busiest link: when every host sends to every other, in shifts (host i to \
host i + k), and in random permutations. Nothing changes before `weft route apply PLAN`, which is \
refused when the fabric has changed since.";

const DISPERSION: &str = "\
Without points: every pair of a switch with hosts and a host at another one, counted by LIDs of the \
host, disjoint paths that the cables allow on fewest hops, and disjoint paths that its LIDs take; of \
more pairs than --pairs, so many are chosen at random. With -S and -D: the path of every LID between \
two points, and the links and switches that several of them pass.";

/// The command-line client of weftd, the Weft fabric manager.
#[derive(Debug, Parser)]
#[command(version, after_help = AFTER)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) daemon: Daemon,
    /// Colours: on a terminal, and not where NO_COLOR is set, unless told otherwise.
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

/// Where the daemon is.
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
    /// Authority that signed the daemon's certificate, PEM.
    #[arg(long, global = true, env = "WEFT_TLS_CA", value_name = "FILE")]
    pub(crate) tls_ca: Option<PathBuf>,
    /// The client's own certificate, PEM, where the daemon asks for one.
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
    /// Name in the daemon's certificate, where it is not the address's host.
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) tls_domain: Option<String>,
    /// Longest time for each answer of the daemon, such as 500ms, 10s, 5m. Without it: 10s for what the
    /// daemon knows, 60s for the whole fabric or a change of a port, 15m for routes and sweeps.
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
    /// Ask for a sweep.
    Sweep(Sweep),
    /// Switch ports off, or let them come up again.
    #[command(subcommand)]
    Port(PortCommand),
    /// Plan changes of routes, carry them out and undo them.
    #[command(subcommand)]
    Route(RouteCommand),
    /// Take all data off a switch or link, so that it can be pulled.
    #[command(after_help = DRAIN)]
    Drain(DrainArgs),
    /// Let data go over a drained switch or link again.
    Undrain(DrainArgs),
    /// Print what happens, as it happens.
    Watch(Watch),
    /// Show the busiest links, again with every reading of the counters.
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
    /// Who answers to which LID.
    Lids(Focused),
    /// The linear forwarding table of every switch.
    Linear(Focused),
    /// The way from one point to another, hop by hop.
    Route(Route),
    /// How many of the paths to the LIDs of a host share no link and no switch.
    #[command(after_help = DISPERSION)]
    Dispersion(Dispersion),
}

/// Options of every report.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Common {
    /// How much to say: 0 counts, 1 brief, 2 as usual, 3 details.
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
    /// Only this part of the fabric: a point such as lid:3, 'nodepat:edge*', portstate:down.
    #[arg(short = 'F', long, value_name = "POINT")]
    pub(crate) focus: Option<String>,
    /// Do not say what the focus is.
    #[arg(short = 'Q', long)]
    pub(crate) quietfocus: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Route {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Where packets start: a point such as 'node:node1 hfi1_0'.
    #[arg(short = 'S', long, value_name = "POINT", default_value = "sm")]
    pub(crate) src: String,
    /// Where they shall arrive.
    #[arg(short = 'D', long, value_name = "POINT")]
    pub(crate) dest: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Dispersion {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Only from here: a point such as 'node:node1 hfi1_0'.
    #[arg(short = 'S', long, value_name = "POINT", requires = "dest")]
    pub(crate) src: Option<String>,
    /// Only to there.
    #[arg(short = 'D', long, value_name = "POINT", requires = "src")]
    pub(crate) dest: Option<String>,
    /// Look at no more pairs than this.
    #[arg(
        long,
        value_name = "PAIRS",
        conflicts_with = "src",
        default_value_t = weft_report::SAMPLE,
        value_parser = clap::value_parser!(u64).range(1..=weft_report::MAX_SAMPLE)
    )]
    pub(crate) pairs: u64,
    /// Chooses the pairs where they are not all.
    #[arg(long, value_name = "SEED", conflicts_with = "src", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Fabric {
    /// How many of everything there is, and how the last sweep went.
    Show {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write the fabric as a file for other tools.
    Export(Export),
}

#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("format").required(true)))]
pub(crate) struct Export {
    /// XML that `opareport -X` reads.
    #[arg(long, group = "format")]
    pub(crate) snapshot: bool,
    /// Text as ibnetdiscover prints it.
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
    /// Wait until it has ended, and say how it went.
    #[arg(long, conflicts_with = "list")]
    pub(crate) wait: bool,
    /// List the last sweeps instead.
    #[arg(long)]
    pub(crate) list: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PortCommand {
    /// Switch off; the port stays off until it is enabled.
    Disable(PortArgs),
    /// Let the port come up again.
    Enable(PortArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct PortArgs {
    /// The port: a point such as 'node:edge1:port:3'.
    #[arg(value_name = "POINT")]
    pub(crate) point: String,
    /// Do it to all ports that the point names, also if they are several.
    #[arg(long)]
    pub(crate) all: bool,
    /// Only say what would be done.
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RouteCommand {
    /// Say what a change would do.
    #[command(after_help = PLAN)]
    Plan(PlanArgs),
    /// Carry a plan out, and wait until the fabric has it.
    Apply {
        /// Its number.
        #[arg(value_name = "PLAN")]
        plan: u64,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Undo the plan that was carried out last, and wait until the fabric has it.
    Rollback {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List what is drained, and what still leads there.
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
    /// Another engine, as <RoutingAlgorithm> names it.
    #[arg(long, group = "change", value_name = "NAME")]
    pub(crate) engine: Option<String>,
    /// Take data off a switch ('node:core1') or a link between switches ('node:core1:port:3').
    #[arg(long, group = "change", value_name = "POINT")]
    pub(crate) drain: Option<String>,
    /// Let data go over a drained switch or link again.
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
    /// Only say what would be done.
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Watch {
    /// Print one JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Go on after this token, the resume_token of a JSON line.
    #[arg(long, value_name = "TOKEN")]
    pub(crate) resume: Option<String>,
    /// Stop after so many events.
    #[arg(long, value_name = "EVENTS")]
    pub(crate) count: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Top {
    /// Print a table of the last reading, and leave.
    #[arg(long)]
    pub(crate) once: bool,
    /// Print JSON of the last reading, and leave.
    #[arg(long)]
    pub(crate) json: bool,
    /// What links are sorted by.
    #[arg(long, value_enum, value_name = "COLUMN", default_value_t = SortBy::Utilization)]
    pub(crate) sort: SortBy,
    /// Print so many links, up to 1000.
    #[arg(short = 'n', long, value_name = "LINKS", default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) links: u32,
}

/// What links are sorted by; the way that has more of it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortBy {
    Utilization,
    Data,
    Wait,
    Congestion,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Emulator {
    /// Let hosts send to each other.
    #[command(subcommand)]
    Traffic(Traffic),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Traffic {
    /// Start traffic that goes on until it is stopped.
    #[command(after_help = TRAFFIC)]
    Start(TrafficStart),
    /// List what is running, and what it gets.
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
    /// What to call it.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Who sends to whom.
    #[arg(value_name = "PATTERN", required = true, num_args = 1..)]
    pub(crate) pattern: Vec<String>,
    /// What each sender sends at most, percent of a link.
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0, value_parser = percent)]
    pub(crate) rate: f64,
    /// Bytes of payload of a packet.
    #[arg(long, value_name = "BYTES", default_value_t = 8192,
        value_parser = clap::value_parser!(u32).range(8..=10_240))]
    pub(crate) payload: u32,
}

#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("which").required(true)))]
pub(crate) struct TrafficStop {
    /// The name that it was started with.
    #[arg(value_name = "NAME", group = "which")]
    pub(crate) name: Option<String>,
    /// Everything that is running.
    #[arg(long, group = "which")]
    pub(crate) all: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Check an opafm.xml and print everything that is wrong with it; needs no daemon.
    Check {
        /// The file; `-` is standard input.
        file: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the configuration with every default and inherited value written out.
    Show {
        /// Say that this, and not the file as it is, is meant.
        #[arg(long, required = true)]
        effective: bool,
        /// A file to show instead of what the daemon runs with; needs no daemon.
        file: Option<PathBuf>,
    },
    /// Have the daemon read its configuration again.
    Reload {
        /// Only say what is wrong with it.
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
}

/// A number over 0, up to 100.
fn percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim_end_matches('%').parse().ok();
    let number = number.filter(|number| *number > 0.0 && *number <= 100.0);
    number.ok_or_else(|| "a number over 0, up to 100".to_owned())
}
