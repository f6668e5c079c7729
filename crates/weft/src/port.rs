//! `weft port`.

use std::process::ExitCode;

use weft_api::v1;
use weft_fabric::{PortRef, Snapshot};
use weft_report::{NodeMatch, Point, Selection};

use crate::args::{Daemon, PortCommand};
use crate::connect::{Effort, Session, connect};
use crate::error::CliError;
use crate::output;
use crate::report::{parse, select};
use crate::unreported;

pub(crate) async fn run(daemon: &Daemon, command: &PortCommand) -> Result<ExitCode, CliError> {
    let (action, verb, args) = match command {
        PortCommand::Disable(args) => (v1::PortAction::Disable, "disable", args),
        PortCommand::Enable(args) => (v1::PortAction::Enable, "enable", args),
        PortCommand::Bounce(args) => (v1::PortAction::Bounce, "bounce", args),
    };
    let session = connect(daemon).await?;
    let ports = resolve(&session, &args.point, args.all).await?;
    let change = Change {
        session: &session,
        action,
        verb,
        dry_run: args.dry_run,
    };
    change.all(&ports).await
}

/// A port, and what its node is called.
pub(crate) type Named = (v1::PortId, String);

/// The ports that a point names; with `all` there may be several.
pub(crate) async fn resolve(
    session: &Session,
    text: &str,
    all: bool,
) -> Result<Vec<Named>, CliError> {
    let point = parse(text)?;
    let snapshot = session.snapshot().await?;
    if let Some(port) = absent(&snapshot, &point) {
        return Ok(vec![port]);
    }
    let selection = select(&snapshot, &point, text)?;
    let ports = wanted(&snapshot, &selection, text, all)?.into_iter();
    Ok(ports.filter_map(|at| named(&snapshot, at)).collect())
}

/// The port of a node that is not in the fabric, where the point names it by GUID and number: a port
/// that was switched off may have taken its node with it.
fn absent(snapshot: &Snapshot, point: &Point) -> Option<Named> {
    let Point::NodePort(NodeMatch::Guid(guid), port) = point else {
        return None;
    };
    let id = v1::PortId {
        node_guid: guid.0,
        port: port.0.into(),
    };
    let absent = snapshot.topology.find(*guid).is_none();
    absent.then(|| (id, guid.to_string()))
}

fn named(snapshot: &Snapshot, at: PortRef) -> Option<Named> {
    let name = snapshot.topology.node(at.node)?.name();
    Some((weft_api::port_id(&snapshot.topology, at)?, name))
}

/// The ports that the point names; a single one unless `all` is given.
fn wanted(
    snapshot: &Snapshot,
    selection: &Selection,
    point: &str,
    all: bool,
) -> Result<Vec<PortRef>, CliError> {
    let mut ports = selection.end_ports(snapshot);
    ports.retain(|at| at.port.0 != 0);
    match ports.len() {
        0 => Err(CliError::Usage(format!(
            "'{point}' names no port that has a link; add ':port:NUMBER'"
        ))),
        1 => Ok(ports),
        _ if all => Ok(ports),
        count => Err(CliError::Usage(format!(
            "'{point}' names {count} ports; add ':port:NUMBER' for one, or --all for all of them"
        ))),
    }
}

/// A change of ports, one after the other.
struct Change<'a> {
    session: &'a Session,
    action: v1::PortAction,
    verb: &'static str,
    dry_run: bool,
}

impl Change<'_> {
    /// Changes the ports; failures are reported, the last of them as the result. Stops
    /// if the output cannot be written.
    async fn all(&self, ports: &[Named]) -> Result<ExitCode, CliError> {
        let mut failed = None;
        let mut done = String::new();
        for (named, left) in ports.iter().zip((0..ports.len()).rev()) {
            match self.one(named).await {
                Ok(line) => {
                    done += &line;
                    let printed = output::text(&line);
                    match self.dry_run {
                        true => printed?,
                        false => {
                            let all = format!("{done}{left} more ports were left alone\n");
                            unreported::or_keep(printed, &all)?;
                        }
                    }
                }
                Err(error) => {
                    if let Some(before) = failed.replace(error) {
                        output::complain("weft: ", &before);
                    }
                }
            }
        }
        failed.map_or(Ok(ExitCode::SUCCESS), Err)
    }

    /// Changes a port; returns what was done.
    async fn one(&self, (at, name): &Named) -> Result<String, CliError> {
        let request = v1::SetPortStateRequest {
            port: Some(*at),
            action: self.action.into(),
            validate_only: self.dry_run,
        };
        let mut service = self.session.services(Effort::Work).ports();
        let changed = service.set_port_state(request);
        self.session.answer(Effort::Work, changed).await?;
        let (verb, port) = (self.verb, at.port);
        Ok(match self.dry_run {
            true => format!("would {verb} port {port} of {name}\n"),
            false => format!("{verb}d port {port} of {name}\n"),
        })
    }
}
