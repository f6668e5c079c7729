//! `weft report`.

use std::path::PathBuf;

use clap::ArgGroup;
use clap::builder::PossibleValuesParser;

use weft_report::{GROUPS, REPORTS};

use super::At;
use super::clear::Clear;
use super::extent::Shown;
use super::opareport::OfOpareport;

/// Which reports, and of which part of the fabric.
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("format").args(["json", "xml", "plain"])))]
pub(crate) struct Report {
    /// Reports, in any order; they are listed below.
    #[arg(
        value_name = "NAME",
        hide_possible_values = true,
        required_unless_present = "output",
        value_parser = PossibleValuesParser::new(names())
    )]
    pub(crate) names: Vec<String>,
    /// A report, as opareport has it; may be given several times.
    #[arg(
        short,
        long,
        value_name = "NAME",
        hide_possible_values = true,
        value_parser = PossibleValuesParser::new(names())
    )]
    pub(crate) output: Vec<String>,
    /// Level of detail: 0 counts, 1 brief, 2 normal, 3 and more details: what cables say of themselves, with -V and -s also
    /// tables and counters of ports.
    #[arg(short, long, default_value_t = 2, value_name = "LEVEL")]
    pub(crate) detail: u8,
    /// Limit the report to this part of the fabric: a point such as lid:3, 'nodepat:edge*', portstate:down.
    #[arg(short = 'F', long, value_name = "POINT")]
    pub(crate) focus: Option<String>,
    /// Leave out the description of the focus.
    #[arg(short = 'Q', long)]
    pub(crate) quietfocus: bool,
    /// Source of packets: a point such as 'node:node1 hfi1_0'. Default: sm.
    #[arg(short = 'S', long, value_name = "POINT", requires = "dest")]
    pub(crate) src: Option<String>,
    /// Destination of packets; the report 'route' needs one.
    #[arg(short = 'D', long, value_name = "POINT")]
    pub(crate) dest: Option<String>,
    /// A topology file: the reports verify… compare with it, and others tell its labels, lengths and details of cables, and
    /// its details of nodes and ports; `-` is standard input.
    #[arg(short = 'T', long, value_name = "FILE")]
    pub(crate) topology: Option<PathBuf>,
    /// Thresholds of the report 'errors', a file in the form of the vendor's opamon.conf; `-` is standard input. Default:
    /// /etc/opa/opamon.conf if that is there, else the same values.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// In the report 'errors' and with -C and -a, take the ports of the focus alone, not the other ends of their links.
    #[arg(short = 'L', long, requires = "focus")]
    pub(crate) limit: bool,
    /// Show in the report 'errors' what ports count from now on: read the counters, wait for so many seconds and for the next
    /// reading, and take the difference. Nothing is cleared.
    #[arg(
        short,
        long,
        value_name = "SECONDS",
        conflicts_with_all = ["snapshot", "at"],
        value_parser = clap::value_parser!(u64).range(1..=86_400)
    )]
    pub(crate) interval: Option<u64>,
    /// Show what ports have counted since this time, from the daemon's history: '-2h', '12:30', '2026-11-23 03:12'.
    #[arg(
        short,
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        conflicts_with_all = ["snapshot", "interval"]
    )]
    pub(crate) begin: Option<String>,
    /// Show what ports had counted up to this time; with --begin, between the two.
    #[arg(
        short,
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        conflicts_with_all = ["snapshot", "interval"]
    )]
    pub(crate) end: Option<String>,
    /// Read the counters of ports, for nodes, links and their like with -d 5 and more, and for snapshot.
    #[arg(short, long)]
    pub(crate) stats: bool,
    /// Read the tables of ports (service levels and channels, arbitration, partition keys), for nodes with -d 4 and more and
    /// comps with -d 5 and more, and for snapshot.
    #[arg(short = 'V', long = "vltables")]
    pub(crate) vl_tables: bool,
    /// Show no names of nodes: all are the same text.
    #[arg(short = 'N', long)]
    pub(crate) noname: bool,
    #[command(flatten)]
    pub(crate) shown: Shown,
    #[command(flatten)]
    pub(crate) clear: Clear,
    #[command(flatten)]
    pub(crate) of_opareport: OfOpareport,
    /// Most pairs that are looked at.
    #[arg(
        long,
        value_name = "COUNT",
        conflicts_with = "dest",
        value_parser = clap::value_parser!(u64).range(1..=weft_report::MAX_SAMPLE)
    )]
    pub(crate) pairs: Option<u64>,
    /// Random seed for the choice of pairs. Default: 1.
    #[arg(long, value_name = "SEED", conflicts_with = "dest")]
    pub(crate) seed: Option<u64>,
    /// Print JSON; several reports are an object with their names.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print XML as opareport does.
    #[arg(short = 'x', long)]
    pub(crate) xml: bool,
    /// Print a short table for people, with both ends of a link by name; of links, slowlinks, otherports, verifylinks, nodes and
    /// lids.
    #[arg(long)]
    pub(crate) plain: bool,
    #[command(flatten)]
    pub(crate) at: At,
    /// Read the fabric from an opareport snapshot instead of the daemon; `-` is standard input.
    #[arg(
        short = 'X',
        long,
        visible_alias = "infile",
        value_name = "FILE",
        conflicts_with = "at"
    )]
    pub(crate) snapshot: Option<PathBuf>,
}

impl Report {
    /// Whether a report compares with the topology file.
    pub(crate) fn compares(&self) -> bool {
        let mut names = self.names.iter().chain(&self.output);
        names.any(|name| name.starts_with("verify"))
    }
}

/// The report that is a file of the whole fabric.
pub(crate) const SNAPSHOT: &str = "snapshot";

/// No report, for a call that has counters set to zero.
pub(crate) const NONE: &str = "none";

/// Names of reports and of groups of them.
fn names() -> impl Iterator<Item = &'static str> {
    let groups = GROUPS.iter().map(|(name, _)| *name);
    let reports = REPORTS.iter().map(|kind| kind.name);
    reports.chain([SNAPSHOT, NONE]).chain(groups)
}

/// The reports, for the help.
pub(super) fn about() -> String {
    let widest = REPORTS.iter().map(|kind| kind.name.len()).max();
    let width = widest.unwrap_or(0);
    let mut text = "Reports:\n".to_owned();
    for kind in REPORTS {
        text += &format!("  {:width$}  {}\n", kind.name, kind.about);
    }
    text += &format!("  {SNAPSHOT:width$}  The fabric as a file for opareport -X and --snapshot\n");
    text += &format!("  {NONE:width$}  No report, for -C and -a alone\n");
    text += "\nSeveral reports:\n";
    for (name, reports) in GROUPS {
        text += &format!("  {name:width$}  {}\n", reports.join(", "));
    }
    text + "\n\
        errors shows the daemon's totals, which go on where somebody clears the devices' counters (see `weft counters`), and \
        after -C what was counted since.\n\n\
        dispersion counts, for every pair of a switch with hosts and a host on another switch, disjoint shortest \
        paths in the cabling and disjoint paths that the host's LIDs use; if there are more pairs than --pairs, that \
        many are chosen at random. With -S and -D: the path of every LID between two points, and the links and \
        switches that several of them cross."
}
