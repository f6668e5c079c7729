//! `weft-bench`: one subcommand a subject, each prints Markdown for `docs/benchmarks.md`.

use clap::{Parser, Subcommand};
use weft_benches::{
    Failure, bringup, config, dataplane, managers, quality, routing, sa, serving, simulators,
};

/// Measures Weft, beside a peer in the same run where there is one, and prints Markdown.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    subject: Subject,
}

#[derive(Debug, Subcommand)]
enum Subject {
    /// Routing and certificate, beside OpenSM's ftree and beside memset of the same tables.
    Routing(routing::Options),
    /// Congestion of the tables of each engine and of OpenSM's.
    Quality(quality::Options),
    /// Bring-up and re-sweep of whole fabrics in this process.
    Bringup(bringup::Options),
    /// The vendor's manager and weftd on the same emulated fabric.
    Managers(managers::Options),
    /// Packets through a fat tree, on one core.
    Dataplane(dataplane::Options),
    /// Packets through a fat tree, beside simulators that `benches/fetch-simulators` has built.
    Simulators(simulators::Options),
    /// Paths that all hosts ask for at once, of the vendor's manager and of weftd.
    Sa(sa::Options),
    /// How long others wait for a manager of a large fabric, while a plan is computed above all.
    Serving(serving::Options),
    /// opafm.xml parsed and checked.
    Config(config::Options),
}

fn main() -> Result<(), Failure> {
    match Cli::parse().subject {
        Subject::Routing(options) => routing::run(&options),
        Subject::Quality(options) => quality::run(&options),
        Subject::Bringup(options) => bringup::run(&options),
        Subject::Managers(options) => managers::run(&options),
        Subject::Dataplane(options) => dataplane::run(&options),
        Subject::Simulators(options) => simulators::run(&options),
        Subject::Sa(options) => sa::run(&options),
        Subject::Serving(options) => serving::run(&options),
        Subject::Config(options) => config::run(&options),
    }
}
