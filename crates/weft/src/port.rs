//! `weft port`.

use std::process::ExitCode;

use weft_api::client::Client;
use weft_api::v1;
use weft_fabric::{PortRef, Snapshot};
use weft_report::Selection;

use crate::args::{Daemon, PortArgs, PortCommand};
use crate::connect::connect;
use crate::error::CliError;
use crate::output;
use crate::report::{parse, select};

pub(crate) async fn run(daemon: &Daemon, command: &PortCommand) -> Result<ExitCode, CliError> {
    let (action, verb, args) = match command {
        PortCommand::Disable(args) => (v1::PortAction::Disable, "disable", args),
        PortCommand::Enable(args) => (v1::PortAction::Enable, "enable", args),
    };
    let point = parse(&args.point)?;
    let client = connect(daemon).await?;
    let snapshot = client.snapshot().await?;
    let selection = select(&snapshot, &point, &args.point)?;
    let ports = wanted(&snapshot, &selection, args)?;
    let mut failed = None;
    for at in ports {
        let changed = change(&client, &snapshot, at, (action, verb), args.dry_run).await;
        if let Some(before) = changed.err().and_then(|error| failed.replace(error)) {
            eprintln!("weft: {before}");
        }
    }
    failed.map_or(Ok(ExitCode::SUCCESS), Err)
}

/// The ports that the point names, one unless several were asked for.
fn wanted(
    snapshot: &Snapshot,
    selection: &Selection,
    args: &PortArgs,
) -> Result<Vec<PortRef>, CliError> {
    let mut ports = selection.end_ports(snapshot);
    ports.retain(|at| at.port.0 != 0);
    match ports.len() {
        0 => Err(CliError::Usage(format!(
            "'{}' names no port that has a link; add ':port:NUMBER'",
            args.point
        ))),
        1 => Ok(ports),
        _ if args.all => Ok(ports),
        count => Err(CliError::Usage(format!(
            "'{}' names {count} ports; add ':port:NUMBER' for one, or --all for all of them",
            args.point
        ))),
    }
}

async fn change(
    client: &Client,
    snapshot: &Snapshot,
    at: PortRef,
    (action, verb): (v1::PortAction, &str),
    dry_run: bool,
) -> Result<(), CliError> {
    let node = snapshot.topology.node(at.node);
    let name = node.map_or_else(String::new, |node| node.name().to_string());
    let request = v1::SetPortStateRequest {
        port: weft_api::port_id(&snapshot.topology, at),
        action: action.into(),
        validate_only: dry_run,
    };
    client.ports().set_port_state(request).await?;
    let port = at.port;
    match dry_run {
        true => output::text(format_args!("would {verb} port {port} of {name}\n")),
        false => output::text(format_args!("{verb}d port {port} of {name}\n")),
    }
}
