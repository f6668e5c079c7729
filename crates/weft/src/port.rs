//! `weft port`.

mod change;
mod file;
mod list;

use std::process::ExitCode;

use weft_api::v1;
use weft_fabric::{PortRef, Snapshot};
use weft_report::{NodeMatch, Point, Selection};

use crate::args::{Args, Daemon, OnOff, PortArgs, PortChoice, PortCommand};
use crate::connect::{Session, connect};
use crate::error::CliError;
use crate::port_show;
use crate::report::{parse, select};
use change::{Change, Target};

pub(crate) async fn run(all: &Args, command: &PortCommand) -> Result<ExitCode, CliError> {
    let daemon = &all.daemon;
    use v1::PortAction as Action;
    let (action, args) = match command {
        PortCommand::Show(args) => return port_show::run(all, args).await,
        PortCommand::Disable(args) => (Action::Disable, args),
        PortCommand::Enable(args) => (Action::Enable, args),
        PortCommand::Bounce(args) => (Action::Bounce, args),
        PortCommand::Led(led) => match led.to {
            OnOff::On => (Action::LedOn, &led.ports),
            OnOff::Off => (Action::LedOff, &led.ports),
        },
        PortCommand::Link(link) => {
            let settings = v1::LinkSettings {
                width_enabled: link.width.unwrap_or_default(),
                speed_enabled: link.speed.unwrap_or_default(),
            };
            return change(daemon, Action::SetLink, &link.ports, Some(settings)).await;
        }
        PortCommand::List(list) => return list::run(daemon, list).await,
    };
    change(daemon, action, args, None).await
}

async fn change(
    daemon: &Daemon,
    action: v1::PortAction,
    args: &PortArgs,
    link: Option<v1::LinkSettings>,
) -> Result<ExitCode, CliError> {
    // A file is read first: nothing is asked for if something in it is wrong.
    let lines = args.choice.from.as_deref().map(file::read).transpose()?;
    let session = connect(daemon).await?;
    let ports = match lines {
        Some(lines) => file::ports(&session, &lines, action).await?,
        None => chosen(&session, &args.choice, action).await?,
    };
    let change = Change {
        session: &session,
        action,
        link,
        args,
    };
    change.all(ports).await
}

/// The ports that the command line names.
async fn chosen(
    session: &Session,
    choice: &PortChoice,
    action: v1::PortAction,
) -> Result<Vec<Target>, CliError> {
    let point = choice.point.as_deref().unwrap_or_default();
    let ports = match resolve(session, point, choice.all).await {
        Err(error @ CliError::NotFound { .. }) if action == v1::PortAction::Enable => {
            disabled(session, point, choice.all, error).await?
        }
        ports => ports?,
    };
    let target = |(port, name)| Target {
        port,
        name,
        reason: String::new(),
    };
    Ok(ports.into_iter().map(target).collect())
}

/// The disabled ports of a node that is not in the fabric: an HFI goes with its only link. Where there are none it is
/// `error` that counts.
async fn disabled(
    session: &Session,
    text: &str,
    all: bool,
    error: CliError,
) -> Result<Vec<Named>, CliError> {
    let (name, number) = match parse(text)? {
        Point::Nodes(NodeMatch::Name(name)) => (name, None),
        Point::NodePort(NodeMatch::Name(name), number) => (name, Some(u32::from(number.0))),
        _ => return Err(error),
    };
    let is_it = |end: &v1::LinkEnd| {
        let port = end.port.map(|id| id.port);
        end.node_name == name && (number.is_none() || number == port)
    };
    let listed = list::all(session, "").await?.into_iter();
    let ports = listed.filter(|port| port.port.iter().chain(&port.far).any(is_it));
    let ports = ports.filter_map(|port| {
        let end = port.port?;
        Some((end.port?, end.node_name))
    });
    let ports: Vec<Named> = ports.collect();
    match ports.len() {
        0 => Err(error),
        1 => Ok(ports),
        _ if all => Ok(ports),
        count => Err(several(text, count)),
    }
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
        count => Err(several(point, count)),
    }
}

fn several(point: &str, count: usize) -> CliError {
    CliError::Usage(format!(
        "'{point}' names {count} ports; add ':port:NUMBER' for one, or --all for all of them"
    ))
}
