//! `weft`, the command-line client of `weftd`.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod baseline;
mod check;
mod config;
mod connect;
mod drain;
mod emulator;
mod error;
mod fabric;
mod fm;
mod output;
mod port;
mod progress;
mod quarantine;
mod report;
mod route;
mod style;
mod sweep;
mod time;
mod top;
mod unreported;
mod vf;
mod watch;

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use error::CliError;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
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
        Command::Report(command) => report::run(&args.daemon, command).await,
        Command::Fabric(command) => fabric::run(&args.daemon, command).await,
        Command::Check(command) => check::run(&args.daemon, command).await,
        Command::Baseline(command) => baseline::run(&args.daemon, command).await,
        Command::Sweep(command) => sweep::run(&args.daemon, command).await,
        Command::Fm(command) => fm::run(&args.daemon, command).await,
        Command::Port(command) => port::run(&args.daemon, command).await,
        Command::Quarantine(command) => quarantine::run(&args.daemon, command).await,
        Command::Route(command) => route::run(args, command).await,
        Command::Drain(command) => drain::run(&args.daemon, command, drain::Way::Drain).await,
        Command::Undrain(command) => drain::run(&args.daemon, command, drain::Way::Undrain).await,
        Command::Vf(command) => vf::run(&args.daemon, command).await,
        Command::Watch(command) => watch::run(&args.daemon, command).await,
        Command::Top(command) => top::run(args, command).await,
        Command::Emulator(command) => emulator::run(&args.daemon, command).await,
        Command::Config(command) => config::run(args, command).await,
    }
}
