//! `weft vf`.

mod changed;
mod check;
mod list;
mod members;
mod plan;

pub(crate) use changed::{changed_json, changed_text};
pub(crate) use plan::plan_text;

use std::process::ExitCode;

use crate::args::{Daemon, VfCommand};
use crate::connect::connect;
use crate::error::CliError;

pub(crate) async fn run(daemon: &Daemon, command: &VfCommand) -> Result<ExitCode, CliError> {
    let session = connect(daemon).await?;
    match command {
        VfCommand::List { json } => list::run(&session, *json).await,
        VfCommand::Members { name, json } => members::run(&session, name, *json).await,
        VfCommand::Check {
            source,
            destination,
            json,
        } => check::run(&session, (source, destination), *json).await,
        VfCommand::Plan { file, json } => plan::run(&session, file, *json).await,
    }
}

/// A limit; 0 is none.
fn limit(value: u32) -> String {
    match value {
        0 => "-".to_owned(),
        value => value.to_string(),
    }
}

/// A rate in Mb/s as opafm.xml has it; 0 is none.
fn rate(mbps: u32) -> String {
    match mbps {
        0 => "-".to_owned(),
        mbps => format!("{}g", f64::from(mbps) / 1_000.0),
    }
}

/// `full` or `limited`.
fn membership(full: bool) -> &'static str {
    match full {
        true => "full",
        false => "limited",
    }
}
