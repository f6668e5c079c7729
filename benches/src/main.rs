//! `weft-bench`: one subcommand per subject; each prints Markdown for `docs/research/benchmarks.md`.

use clap::{Parser, Subcommand};
use weft_benches::{
    Failure, bringup, config, counters, dataplane, fabrics, failover, intended, link_errors,
    managers, pm, quality, reports, routing, sa, serving, simulators, states, torus,
};

/// Measures Weft, and peers in the same run, and prints Markdown.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    subject: Subject,
}

#[derive(Debug, Subcommand)]
enum Subject {
    /// Routing and certificate, compared with OpenSM's ftree and with memset of the same tables.
    Routing(routing::Options),
    /// Congestion of the tables of each engine and of OpenSM's.
    Quality(quality::Options),
    /// Packets on a torus: tables of `dor` and `layered`, and of OpenSM's torus-2QoS.
    Torus(torus::Options),
    /// Bring-up and re-sweep of whole fabrics in this process.
    Bringup(bringup::Options),
    /// The vendor's manager and weftd on the same emulated fabric.
    Managers(managers::Options),
    /// Two managers, of which the master dies in several ways.
    Failover(failover::Options),
    /// Packets through a fat tree, on one core.
    Dataplane(dataplane::Options),
    /// Packets through a fat tree, compared with the simulators that `benches/fetch-simulators` builds.
    Simulators(simulators::Options),
    /// Path queries of all hosts at once, to the vendor's manager and to weftd.
    Sa(sa::Options),
    /// Response times of the manager of a large fabric, mainly while a plan is computed.
    Serving(serving::Options),
    /// Parsing and checking of opafm.xml.
    Config(config::Options),
    /// A fabric compared with its topology file.
    Intended(fabrics::TreeOptions),
    /// What rules for links with errors add to a reading of the counters.
    LinkErrors(fabrics::TreeOptions),
    /// Sweeps of performance management up to 27,648 hosts, and beside the vendor's manager.
    Pm(pm::Options),
    /// What running totals of port counters add to a reading of the counters.
    Counters(fabrics::TreeOptions),
    /// What recording states of the fabric takes, and reading one of the past.
    States(fabrics::TreeOptions),
    /// Reports on a snapshot file, beside the vendor's opareport.
    Reports(reports::Options),
}

fn main() -> Result<(), Failure> {
    match Cli::parse().subject {
        Subject::Routing(options) => routing::run(&options),
        Subject::Quality(options) => quality::run(&options),
        Subject::Torus(options) => torus::run(&options),
        Subject::Bringup(options) => bringup::run(&options),
        Subject::Managers(options) => managers::run(&options),
        Subject::Failover(options) => failover::run(&options),
        Subject::Dataplane(options) => dataplane::run(&options),
        Subject::Simulators(options) => simulators::run(&options),
        Subject::Sa(options) => sa::run(&options),
        Subject::Serving(options) => serving::run(&options),
        Subject::Config(options) => config::run(&options),
        Subject::Intended(options) => intended::run(&options),
        Subject::LinkErrors(options) => link_errors::run(&options),
        Subject::Pm(options) => pm::run(&options),
        Subject::Counters(options) => counters::run(&options),
        Subject::States(options) => states::run(&options),
        Subject::Reports(options) => reports::run(&options),
    }
}
