//! `weftd`, the fabric manager daemon.

mod applied;
mod args;
mod config;
mod counted;
mod engine;
mod error;
mod fabric;
mod grpc;
mod hub;
mod logging;
mod metrics;
mod narrate;
mod notify;
mod once;
mod open;
mod plans;
mod queries;
mod reload;
mod run;
mod stopping;
mod store;
mod switchboard;
mod tls;

use std::process::ExitCode;

use clap::Parser;

use args::Args;
use error::DaemonError;

fn main() -> ExitCode {
    let args = Args::parse();
    match start(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("weftd: {error}");
            notify::failed(&error.to_string());
            ExitCode::from(error.exit_code())
        }
    }
}

fn start(args: &Args) -> Result<(), DaemonError> {
    logging::init(args.log, &args.log_level)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| DaemonError::Manager(error.to_string()))?;
    runtime.block_on(run::run(args))
}
