//! `weft-run`: runs a program written for a real HFI on a host of an emulated fabric.
#![warn(clippy::print_stdout, clippy::print_stderr)]

use std::ffi::OsString;
use std::io::{Write, stderr};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::{CommandFactory, Parser};
use weft_manual::Section;
use weft_transport::Address;

const LIBRARY: &str = "libweft_umad.so";

/// Run a program written for an Omni-Path HFI on a host of an emulated fabric
#[derive(Debug, Parser)]
#[command(name = "weft-run", version)]
struct Cli {
    /// Address of the emulator: unix:PATH or tcp:HOST:PORT
    #[arg(
        long,
        env = "WEFT_EMULATOR",
        value_name = "ADDRESS",
        default_value = "unix:/tmp/weft-emulator.sock"
    )]
    emulator: Address,
    /// The host: its name (node7) or the GUID of its HFI (0x0011750101000001); by default the first
    #[arg(long, env = "WEFT_HOST", value_name = "HOST")]
    host: Option<String>,
    /// Port number of its HFI
    #[arg(long, env = "WEFT_PORT", value_name = "N", default_value_t = 1)]
    port: u8,
    /// The preload library [default: libweft_umad.so beside this program or in ../lib/weft]
    #[arg(long, env = "WEFT_UMAD", value_name = "PATH")]
    library: Option<PathBuf>,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    program: Vec<OsString>,
}

fn main() -> ExitCode {
    if let Some(code) = weft_manual::write_if_asked(Cli::command(), Section::Commands) {
        return code;
    }
    let cli = Cli::parse();
    let Some(library) = cli.library.clone().or_else(find_library) else {
        let why = format!("{LIBRARY} is neither beside this program nor in ../lib/weft");
        return failed(&why);
    };
    let Some((program, arguments)) = cli.program.split_first() else {
        return ExitCode::FAILURE;
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("LD_PRELOAD", preload(library))
        .env("WEFT_EMULATOR", cli.emulator.to_string())
        .env("WEFT_PORT", cli.port.to_string());
    if let Some(host) = &cli.host {
        command.env("WEFT_HOST", host);
    }
    let error = command.exec();
    failed(&format!("{} cannot be run: {error}", program.display()))
}

fn failed(why: &str) -> ExitCode {
    // If standard error cannot be written, the exit code remains.
    let _ = writeln!(stderr(), "weft-run: {why}");
    ExitCode::FAILURE
}

/// Puts the library before anything that is preloaded already.
fn preload(library: PathBuf) -> OsString {
    let mut list = library.into_os_string();
    if let Some(before) = std::env::var_os("LD_PRELOAD").filter(|before| !before.is_empty()) {
        list.push(":");
        list.push(before);
    }
    list
}

fn find_library() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let beside = own.parent()?;
    let places = [beside.to_owned(), beside.join("../lib/weft")];
    let found = places.iter().map(|place| place.join(LIBRARY));
    found.into_iter().find(|path: &PathBuf| Path::exists(path))
}
