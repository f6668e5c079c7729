//! `weft`, the command-line client of `weftd`.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod asked;
mod at;
mod audit;
mod baseline;
mod changes;
mod check;
mod config;
mod connect;
mod counters;
mod diff;
mod download;
mod drain;
mod emulator;
mod error;
mod errors;
mod fabric;
mod fm;
mod health;
mod incident;
mod job;
mod layout;
mod loop_test;
mod mandate;
mod moment;
mod operation;
mod output;
mod pager;
mod past;
mod peers;
mod picture;
mod pm;
mod port;
mod port_show;
mod progress;
mod quarantine;
mod replace;
mod report;
mod route;
mod slurm;
mod sparkline;
mod style;
mod support;
mod sweep;
mod time;
mod top;
mod unreported;
mod vf;
mod watch;
mod web;
mod what_if;

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use weft_manual::Section;

use args::{Args, Command};
use error::CliError;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    if let Some(code) = weft_manual::write_if_asked(Args::command(), Section::Commands) {
        return code;
    }
    let args = Args::parse();
    unreported::say_last();
    match run(&args).await {
        Ok(code) => code,
        // The reader of the output has gone; that is not an error.
        Err(CliError::Output(error)) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let lead = style::Styles::stderr(args.color).paint(style::ERROR, "weft:");
            output::complain(&format!("{lead} "), &error);
            ExitCode::from(error.exit_code())
        }
    }
}

async fn run(args: &Args) -> Result<ExitCode, CliError> {
    match &args.command {
        Command::Report(command) => report::run(args, command).await,
        Command::Fabric(command) => fabric::run(&args.daemon, command).await,
        Command::Health(command) => health::run(args, command).await,
        Command::Check(command) => check::run(&args.daemon, command).await,
        Command::Baseline(command) => baseline::run(&args.daemon, command).await,
        Command::Sweep(command) => sweep::run(&args.daemon, command).await,
        Command::Fm(command) => fm::run(&args.daemon, command).await,
        Command::Port(command) => port::run(args, command).await,
        Command::Support(command) => support::run(&args.daemon, command).await,
        Command::Quarantine(command) => quarantine::run(&args.daemon, command).await,
        Command::Replace(command) => replace::run(&args.daemon, command).await,
        Command::Pm(command) => pm::run(args, command).await,
        Command::Route(command) => route::run(args, command).await,
        Command::Operation(command) => operation::run(&args.daemon, command).await,
        Command::Drain(command) => drain::run(&args.daemon, command, drain::Way::Drain).await,
        Command::Undrain(command) => drain::run(&args.daemon, command, drain::Way::Undrain).await,
        Command::Vf(command) => vf::run(&args.daemon, command).await,
        Command::WhatIf(command) => what_if::run(args, command).await,
        Command::Web(command) => web::run(&args.daemon, command).await,
        Command::Watch(command) => watch::run(&args.daemon, command).await,
        Command::Top(command) => top::run(args, command).await,
        Command::Log(command) => past::log(args, command).await,
        Command::Audit(command) => audit::run(args, command).await,
        Command::Incident(command) => incident::run(&args.daemon, command).await,
        Command::Job(command) => job::run(args, command).await,
        Command::Why(command) => changes::why(args, command).await,
        Command::Who(command) => changes::who(args, command).await,
        Command::Diff(command) => diff::run(args, command).await,
        Command::History(command) => past::kept(&args.daemon, command).await,
        Command::Counters(command) if command.is_past() => {
            past::counters(&args.daemon, command).await
        }
        Command::Counters(command) => counters::run(&args.daemon, command).await,
        Command::Emulator(command) => emulator::run(&args.daemon, command).await,
        Command::Config(command) => config::run(args, command).await,
        Command::Slurm(command) => slurm::run(&args.daemon, command).await,
    }
}
