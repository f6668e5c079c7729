//! `weftd`, the fabric manager daemon.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod access;
mod administration;
mod args;
mod attachment;
mod audit;
mod baselines;
mod black_box;
mod changes;
mod clears;
mod clock;
mod config;
mod control;
mod counters;
mod dbsync_log;
mod dump;
mod engine;
mod error;
mod etcd;
mod event;
mod event_hub;
mod event_log;
mod exposition;
mod fabric;
mod fencing;
mod grpc;
mod health;
mod heartbeat;
mod history;
mod job;
mod kept_images;
mod link_rules;
mod listen;
mod logging;
mod loop_test;
mod mad_dispatch;
mod metrics;
mod metrics_server;
mod names;
mod notify;
mod once_report;
mod opafmcmd;
mod operations;
mod otlp;
mod page;
mod panics;
mod pause_reminder;
mod peer;
mod places;
mod planner;
mod pm_log;
mod port_counters;
mod port_metrics;
mod query_thread;
mod registrations;
mod remote_write;
mod request;
mod route_settings;
mod run;
mod secret_file;
mod shares;
mod startup;
mod stopping;
mod store;
mod supervisor;
mod this_host;
mod tls;
mod trap_limiter;
mod unix_socket;
mod what_if;

use std::io::{Write, stderr};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use weft_fabric::text::for_terminal;
use weft_manual::Section;

use args::{Args, Command};
use error::DaemonError;
use startup::First;

fn main() -> ExitCode {
    if let Some(code) = weft_manual::write_if_asked(Args::command(), Section::Daemons) {
        return code;
    }
    let args = Args::parse();
    let done = match &args.command {
        Some(Command::Access(command)) => command.run(),
        None => start(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error cannot be written, the exit code remains.
            let _ = writeln!(stderr(), "weftd: {}", for_terminal(&error.to_string()));
            notify::failed(&error.to_string());
            ExitCode::from(error.exit_code())
        }
    }
}

fn start(args: &Args) -> Result<(), DaemonError> {
    let config = config::Source::new(args)?;
    let loaded = config.load()?;
    let log = logging::init(args, &loaded.log_settings())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| DaemonError::Manager(error.to_string()))?;
    runtime.block_on(run::run(
        args,
        First {
            config,
            loaded,
            log,
        },
    ))
}
