//! The command line.

mod as_of;
mod at;
mod audit;
mod clear;
mod counters;
mod diff;
mod emulator;
mod extent;
mod fm;
mod health;
mod history;
mod incident;
mod job;
mod opareport;
mod operation;
mod picture;
mod pm;
mod port;
mod quarantine;
mod replace;
mod report;
mod slurm;
mod support;
mod top;
mod vf;
mod web;
mod what_if;
mod who;
mod why;

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Parser, Subcommand, ValueEnum};

pub(crate) use as_of::AsOf;
pub(crate) use at::At;
pub(crate) use audit::{AuditCommand, AuditList, AuditVerify};
pub(crate) use clear::Cleared;
use counters::COUNTERS;
pub(crate) use counters::{Counters, PortShow};
use diff::DIFF;
pub(crate) use diff::Diff;
pub(crate) use emulator::{Emulator, Traffic, TrafficStart};
pub(crate) use fm::{FmCommand, LoopTestCommand};
use health::HEALTH;
pub(crate) use health::{Health, HealthCommand};
use history::LOG;
pub(crate) use history::{PastLog, ShowHistory};
pub(crate) use incident::{IncidentCommand, IncidentSave};
use job::JOB;
pub(crate) use job::{JobCommand, JobSlow};
use operation::OPERATION;
pub(crate) use operation::{OperationCommand, Why};
pub(crate) use picture::{Export, RouteShow};
use pm::PM;
pub(crate) use pm::{PmCommand, PmPorts};
pub(crate) use port::{OnOff, PortArgs, PortChoice, PortLed, PortLink, PortList};
pub(crate) use quarantine::{QuarantineAdd, QuarantineCommand};
use replace::REPLACE;
pub(crate) use replace::{Replace, ReplaceCommand};
pub(crate) use report::{NONE, Report, SNAPSHOT};
pub(crate) use slurm::{SlurmCommand, SlurmFormat, SlurmPlugin, SlurmTopologyArgs};
pub(crate) use support::Support;
pub(crate) use top::{ScreenName, SortBy, Top};
pub(crate) use vf::VfCommand;
use web::WEB;
pub(crate) use web::Web;
use what_if::WHAT_IF;
pub(crate) use what_if::{WhatIfArgs, WhatIfCommand};
use who::WHO;
pub(crate) use who::Who;
use why::WHY;
pub(crate) use why::WhyArgs;

const AFTER: &str = "\
Exit codes: 0 done; 1 refused, not found, errors in a configuration, differences of a fabric, or a port that is not \
reached; 2 wrong usage; \
3 no daemon answers; 4 a file cannot be read or written; 5 timeout, of the daemon or of a device; 10, 11 `weft health` is yellow, red; \
12 it is that of a standby.";

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

const PLAN: &str = "\
Prints how many switches, blocks and routes would change, what is proved about the new routes, and how \
many flows would meet on the busiest link: if every host sends to every other, in shifts (host i to \
host i + k), and in random permutations. Nothing changes before `weft route apply PLAN`, which is \
refused if the fabric has changed since.";

/// The command-line client of weftd, the Weft fabric manager.
#[derive(Debug, Parser)]
#[command(version, after_help = AFTER)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) daemon: Daemon,
    /// Colours; auto: on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
    /// Print at once also what is longer than the terminal, which otherwise goes through $PAGER, or less: reports, the page
    /// of health, logs, a port, differences.
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
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
    /// Address of the daemon: unix:/PATH, http://HOST:PORT, or https://HOST:PORT with --tls-ca. Default:
    /// unix:/run/weft/api.sock if that exists, else http://127.0.0.1:9313.
    #[arg(long, global = true, env = "WEFT_ADDRESS", value_name = "URL")]
    pub(crate) address: Option<String>,
    /// Instance (element Fm) of opafm.xml, from 0: that of the daemon on this host to ask, in place of an address, or
    /// that of the file to explain.
    #[arg(
        long,
        global = true,
        env = "WEFT_INSTANCE",
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(..=i64::from(weft_api::LAST_INSTANCE))
    )]
    pub(crate) instance: Option<u16>,
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
    /// Print reports in opareport's layout, as JSON or as XML.
    #[command(after_help = report::about())]
    Report(Box<Report>),
    /// Show or export the fabric.
    #[command(subcommand)]
    Fabric(Fabric),
    /// Print one page of what is wrong, with the command to run next.
    #[command(after_help = HEALTH)]
    Health(Health),
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
    /// Collect what is needed to look for the cause of a problem into one archive, without keys.
    #[command(after_help = support::AFTER)]
    Support(Support),
    /// Show, disable, enable, bounce or mark ports, set widths and speeds, list what is disabled.
    #[command(subcommand)]
    Port(PortCommand),
    /// Show ports whose links went down too often or have errors, leave out others, and let them be used again.
    #[command(subcommand)]
    Quarantine(QuarantineCommand),
    /// Let an HFI take the place of one that is gone: its LID, its groups, its place in the topology file.
    #[command(after_help = REPLACE)]
    Replace(Replace),
    /// Show virtual fabrics, their members, and whether one port reaches another.
    #[command(subcommand)]
    Vf(VfCommand),
    /// Plan, apply and undo changes of routes.
    #[command(subcommand)]
    Route(RouteCommand),
    /// List, show, cancel and wait for plans, drains and sweeps.
    #[command(subcommand, after_help = OPERATION)]
    Operation(OperationCommand),
    /// Move all data off a switch or link, so that it can be pulled.
    #[command(after_help = DRAIN)]
    Drain(DrainArgs),
    /// Let data use a drained switch or link again.
    Undrain(DrainArgs),
    /// Tell what a change would do to the traffic that there is: links that fill, hosts that lose bandwidth. Nothing changes.
    #[command(subcommand, after_help = WHAT_IF)]
    WhatIf(WhatIfCommand),
    /// Print the address of the page that shows the fabric in a browser, or a link that lets one in.
    #[command(after_help = WEB)]
    Web(Web),
    /// Print events as they happen.
    Watch(Watch),
    /// Print events of the past.
    #[command(after_help = LOG)]
    Log(PastLog),
    /// List changes that were asked for, with who and why, and check that record.
    #[command(subcommand, after_help = LOG)]
    Audit(AuditCommand),
    /// Print who or what changed a part of the fabric, the newest first: when, from where, why, with what outcome.
    #[command(after_help = WHO)]
    Who(Who),
    /// Print what a change comes from: of a way between two hosts, of a port, or of an event.
    #[command(after_help = WHY)]
    Why(WhyArgs),
    /// Ask what the fabric did to a job: the links that its hosts used, and what made it slower.
    #[command(subcommand, after_help = JOB)]
    Job(JobCommand),
    /// Save and list copies of the recording of the subnet manager's inputs, which `weft-lab replay` runs again.
    #[command(subcommand)]
    Incident(IncidentCommand),
    /// Print what differs between two moments: nodes, links, LIDs and routes.
    #[command(after_help = DIFF)]
    Diff(Diff),
    /// Show what is kept of the past: counters, events and states of the fabric, from when to when.
    History(ShowHistory),
    /// Show the busiest links, updated with every reading of the counters.
    #[command(after_help = TOP)]
    Top(Top),
    /// Show counters of ports: totals that go on where a device's are cleared, or rates.
    #[command(after_help = COUNTERS)]
    Counters(Counters),
    /// Show groups of ports of the performance manager, and its settings.
    #[command(subcommand, after_help = PM)]
    Pm(PmCommand),
    /// Change an emulated fabric.
    #[command(subcommand, after_help = emulator::EMULATOR)]
    Emulator(Emulator),
    /// Check and show configurations.
    #[command(subcommand)]
    Config(Config),
    /// Tell Slurm where its nodes are.
    #[command(subcommand)]
    Slurm(SlurmCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Fabric {
    /// Print counts of nodes, links and ports, and the last sweep.
    Show {
        #[command(flatten)]
        at: At,
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
pub(crate) struct Sweep {
    /// Wait for its end and print its report.
    #[arg(long, conflicts_with = "list")]
    pub(crate) wait: bool,
    /// List recent sweeps instead.
    #[arg(long)]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) why: Why,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PortCommand {
    /// Show all that is known of a port: link, neighbour, quarantine, drain, counters.
    Show(PortShow),
    /// Disable ports until they are enabled.
    #[command(after_help = port::DISABLE)]
    Disable(PortArgs),
    /// Enable disabled ports.
    Enable(PortArgs),
    /// Take the links of ports down once, so that they train again.
    Bounce(PortArgs),
    /// Switch the beacons of ports on or off.
    Led(PortLed),
    /// Enable other widths or speeds of links, which train again with them.
    #[command(after_help = port::LINK)]
    Link(PortLink),
    /// List ports that are disabled: why, since when and by whom.
    List(PortList),
}

#[derive(Debug, Subcommand)]
pub(crate) enum RouteCommand {
    /// Show the way of packets from one port to another, with its alternatives.
    Show(RouteShow),
    /// Preview a change.
    #[command(after_help = PLAN)]
    Plan(PlanArgs),
    /// Apply a plan and wait until it is in force.
    Apply {
        /// Number of the plan.
        #[arg(value_name = "PLAN")]
        plan: u64,
        #[command(flatten)]
        why: Why,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Undo the last applied plan and wait until that is in force.
    Rollback {
        /// Number of the plan to undo: refused where another one was applied since.
        #[arg(value_name = "PLAN", value_parser = clap::value_parser!(u64).range(1..))]
        plan: Option<u64>,
        #[command(flatten)]
        why: Why,
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
    /// Adaptive routing on or off; everything else stays.
    #[arg(long, group = "change", value_name = "STATE")]
    pub(crate) adaptive: Option<OnOff>,
    /// Congestion with which adaptive routing moves a route, 1 (100 %) to 7 (55 %).
    #[arg(long, requires = "adaptive", value_parser = clap::value_parser!(u8).range(1..=7))]
    pub(crate) threshold: Option<u8>,
    /// Move data off a switch ('node:core1') or a link between switches ('node:core1:port:3').
    #[arg(long, group = "change", value_name = "POINT")]
    pub(crate) drain: Option<String>,
    /// Let data use a drained switch or link again.
    #[arg(long, group = "change", value_name = "POINT")]
    pub(crate) undrain: Option<String>,
    #[command(flatten)]
    pub(crate) back: AsOf,
    /// Identity of the operation, to find it again with `weft operation`: lower-case letters, digits, '-', '_', '.'.
    #[arg(long, value_name = "NAME", default_value = "")]
    pub(crate) operation: String,
    #[command(flatten)]
    pub(crate) why: Why,
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
    #[command(flatten)]
    pub(crate) why: Why,
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
    /// Only events of this kind, such as node_vanished: "event" of a JSON line. May be given more than once.
    #[arg(long = "kind", value_name = "KIND")]
    pub(crate) kinds: Vec<String>,
    /// Stop after this many events.
    #[arg(long, value_name = "EVENTS")]
    pub(crate) count: Option<u64>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Check an opafm.xml and print all findings; needs no daemon.
    Check {
        /// The file; `-` is standard input.
        file: PathBuf,
        /// The file has rules for links with errors, as for `weftd --link-rules`.
        #[arg(long)]
        link_rules: bool,
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

/// A GUID that is not 0.
fn guid(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x");
    let value = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    value
        .filter(|value| *value != 0)
        .ok_or("expected 0x and up to 16 hexadecimal digits, not 0".to_owned())
}
