//! `weft-emulator`: an emulated fabric as a process of its own.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod cli;

use std::io::{IsTerminal, Write, stderr};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use weft_fabric::text::for_terminal;
use weft_manual::Section;

use cli::{Cli, Command};

fn main() -> ExitCode {
    if let Some(code) = weft_manual::write_if_asked(Cli::command(), Section::Commands) {
        return code;
    }
    let cli = Cli::parse();
    tracing_subscriber::fmt()
        .with_writer(stderr)
        .with_ansi(stderr().is_terminal())
        // A failure of standard error cannot be reported there, and must not end the emulator.
        .log_internal_errors(false)
        .with_env_filter(cli.log.clone())
        .init();
    // One thread for sockets and fabric: between two threads a datagram would wait to be woken.
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    let done = runtime.block_on(async {
        match cli.command {
            Some(Command::Ctl(ctl)) => cli::ctl::run(ctl).await,
            None => cli::run::run(cli.run).await,
        }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn failed(error: &dyn std::fmt::Display) -> ExitCode {
    // If standard error cannot be written, the exit code remains.
    let _ = writeln!(
        stderr(),
        "weft-emulator: {}",
        for_terminal(&error.to_string())
    );
    ExitCode::FAILURE
}
