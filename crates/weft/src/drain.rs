//! `weft drain`, `weft undrain`, and the list of drains.

use std::process::ExitCode;

use serde_json::{Value, json};
use tonic::Code;
use weft_api::client::ClientError;
use weft_api::v1;
use weft_api::v1::drain_target::Target as Named;
use weft_api::v1::plan_routes_request::Change;
use weft_fabric::text::count;
use weft_fabric::{Guid, PortNum, PortRef, Snapshot};
use weft_report::point::NodeMatch;
use weft_report::{Point, Selection};

use crate::args::{Daemon, DrainArgs};
use crate::asked::label;
use crate::connect::{Effort, Session, connect};
use crate::error::CliError;
use crate::output;
use crate::report::{parse, select};
use crate::route::{apply, is_confirmed, plan, planned_json, summary};
use crate::unreported;

/// Plans of one command: a sweep may change the fabric between a plan and its order.
const PLANS_MAX: u32 = 5;

/// Whether to drain or undrain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Drain,
    Undrain,
}

/// A switch or a link.
pub(crate) struct Target {
    pub(crate) message: v1::DrainTarget,
    /// Name for users.
    name: String,
    /// It is in the fabric.
    present: bool,
}

pub(crate) async fn run(daemon: &Daemon, args: &DrainArgs, way: Way) -> Result<ExitCode, CliError> {
    let session = connect(daemon).await?;
    let target = target(&session, &args.point).await?;
    let change = match way {
        Way::Drain => Change::Drain(target.message),
        Way::Undrain => Change::Undrain(target.message),
    };
    let (planned, sweep) = carried_out(&session, change, args).await?;
    let Some(sweep) = sweep else {
        match args.json {
            true => output::json(&planned_json(&planned))?,
            false => output::text(summary(&planned))?,
        }
        return Ok(ExitCode::SUCCESS);
    };
    let now = drains(&session).await?;
    let mut found = now.drains.iter();
    let found = found.find(|drain| drain.target.as_ref() == Some(&target.message));
    let verdict = Verdict {
        target: &target,
        way,
        planned: &planned,
        sweep: &sweep,
        found,
        generation: now.generation,
    };
    verdict.tell(args.json)
}

/// Plans a change and, unless it is a dry run or changes nothing, carries it out; again where the fabric has changed
/// meanwhile.
async fn carried_out(
    session: &Session,
    change: Change,
    args: &DrainArgs,
) -> Result<(v1::PlanRoutesResponse, Option<v1::Sweep>), CliError> {
    let mut plans = 1;
    loop {
        let tried = plan_and_apply(session, change.clone(), args).await;
        match tried {
            Err(CliError::Client(ClientError::Refused(status)))
                if status.code() == Code::Aborted && plans < PLANS_MAX =>
            {
                plans += 1;
            }
            other => return other,
        }
    }
}

async fn plan_and_apply(
    session: &Session,
    change: Change,
    args: &DrainArgs,
) -> Result<(v1::PlanRoutesResponse, Option<v1::Sweep>), CliError> {
    let reason = &args.why.reason;
    let planned = plan(session, change, label(reason, "")).await?;
    let sweep = match planned.plan_id.filter(|_| !args.dry_run) {
        Some(id) => Some(apply(session, id, reason).await?),
        None => None,
    };
    Ok((planned, sweep))
}

/// Result of the command.
struct Verdict<'a> {
    target: &'a Target,
    way: Way,
    planned: &'a v1::PlanRoutesResponse,
    sweep: &'a v1::Sweep,
    /// The drain in force.
    found: Option<&'a v1::Drain>,
    generation: u64,
}

impl Verdict<'_> {
    fn is_good(&self) -> bool {
        let is_drained = self.found.is_some_and(|drain| drain.safe_to_pull);
        let as_asked = match self.way {
            Way::Drain => is_drained,
            Way::Undrain => self.found.is_none(),
        };
        as_asked && is_confirmed(self.sweep)
    }

    fn words(&self) -> String {
        let name = &self.target.name;
        let moved = moved(self.planned);
        match (self.way, self.is_good()) {
            (Way::Drain, true) => {
                format!("{name} is drained: {moved}nothing leads over it any more\nsafe to pull\n")
            }
            (Way::Undrain, true) if !self.target.present => format!(
                "{name} is no longer drained; it is not in the fabric, and data will go over it once it \
                 is back\n"
            ),
            (Way::Undrain, true) => format!("{name} is in use again: {moved}"),
            (_, false) => {
                let left = self.found.map_or(String::new(), |drain| left(drain) + "\n");
                let unfinished = self.sweep.unfinished.iter();
                let unfinished = unfinished.map(|what| format!("unfinished: {what}\n"));
                format!("{name}: not yet\n{left}{}", unfinished.collect::<String>())
            }
        }
    }

    fn tell(&self, json: bool) -> Result<ExitCode, CliError> {
        let words = self.words();
        let printed = match json {
            true => output::json(&json!({
                "name": self.target.name,
                "plan": planned_json(self.planned),
                "drain": self.found.map(as_json),
                "safe_to_pull": self.way == Way::Drain && self.is_good(),
                "unfinished": self.sweep.unfinished,
                "generation": self.generation,
            })),
            false => output::text(&words),
        };
        unreported::or_keep(printed, &words)?;
        Ok(ExitCode::from(u8::from(!self.is_good())))
    }
}

/// Describes how many routes a plan moves, and how many drop packets meanwhile; to the end of the line.
fn moved(planned: &v1::PlanRoutesResponse) -> String {
    let plan = planned.plan.as_ref();
    let (moved, dropping) = plan.map_or((0, 0), |plan| (plan.routes, plan.dropping));
    match dropping {
        0 => format!("{} moved\n", count(moved, "route")),
        _ => format!(
            "{} moved\n{dropping} of them dropped packets while they were rewritten\n",
            count(moved, "route")
        ),
    }
}

/// Describes the routes that still use it.
fn left(drain: &v1::Drain) -> String {
    format!(
        "{}, {} adaptive and {} multicast entries lead over it",
        count(drain.routes, "route"),
        drain.groups,
        drain.multicast
    )
}

/// Finds the switch or link that a point names. One that has been pulled can be named by
/// `nodeguid:GUID` alone.
pub(crate) async fn target(session: &Session, text: &str) -> Result<Target, CliError> {
    let point = parse(text)?;
    let snapshot = session.snapshot().await?;
    let absent = match &point {
        Point::Nodes(NodeMatch::Guid(guid)) => Some(Named::SwitchGuid(guid.0)),
        Point::NodePort(NodeMatch::Guid(guid), port) => Some(Named::Link(v1::PortId {
            node_guid: guid.0,
            port: u32::from(port.0),
        })),
        _ => None,
    };
    match (select(&snapshot, &point, text), absent) {
        (Ok(selection), _) => found(&snapshot, &selection, text),
        (Err(_), Some(named)) => Ok(Target {
            message: v1::DrainTarget {
                target: Some(named),
            },
            name: text.to_owned(),
            present: false,
        }),
        (Err(error), None) => pulled(session, &point).await?.ok_or(error),
    }
}

/// A drained switch or link of that name that is not in the fabric any more.
async fn pulled(session: &Session, point: &Point) -> Result<Option<Target>, CliError> {
    let (name, port) = match point {
        Point::Nodes(NodeMatch::Name(name)) => (name, None),
        Point::NodePort(NodeMatch::Name(name), port) => (name, Some(u32::from(port.0))),
        _ => return Ok(None),
    };
    let drains = drains(session).await?.drains.into_iter();
    let mut named = drains.filter(|drain| {
        let end = match drain.target.as_ref().and_then(|target| target.target) {
            Some(Named::Link(end)) => Some(end.port),
            _ => None,
        };
        !drain.present && drain.name == *name && end == port
    });
    Ok(named.next().and_then(|drain| {
        Some(Target {
            message: drain.target?,
            name: called(&drain),
            present: false,
        })
    }))
}

fn found(snapshot: &Snapshot, selection: &Selection, text: &str) -> Result<Target, CliError> {
    let topology = &snapshot.topology;
    let name_of = |node| {
        topology
            .node(node)
            .map_or_else(String::new, |node| node.name())
    };
    let guid_of = |node| topology.node(node).map_or(Guid(0), |node| node.guid());
    let named = |named, name| {
        let target = Some(named);
        let message = v1::DrainTarget { target };
        Ok(Target {
            message,
            name,
            present: true,
        })
    };
    match selection {
        Selection::Nodes(nodes) if nodes.len() == 1 => {
            named(Named::SwitchGuid(guid_of(nodes[0]).0), name_of(nodes[0]))
        }
        Selection::Ports(ports) if ports.len() == 1 && ports[0].port != PortNum(0) => {
            let near = ports[0];
            // Stored under the end with the lower GUID and port. A link that is not between switches
            // is refused with the name of the end that was given.
            let is_switch = |end: &PortRef| topology.switch_index(end.node).is_some();
            let far = topology.peer(near);
            let far = far.filter(|far| is_switch(far) && is_switch(&near));
            let key = |end: &PortRef| (guid_of(end.node), end.port);
            let ends = [Some(near), far].into_iter().flatten();
            let end = ends.min_by_key(key).unwrap_or(near);
            let port_id = v1::PortId {
                node_guid: guid_of(end.node).0,
                port: u32::from(end.port.0),
            };
            let name = format!("the link at port {} of {}", near.port, name_of(near.node));
            named(Named::Link(port_id), name)
        }
        _ => Err(CliError::Usage(format!(
            "'{text}' names neither one switch nor one port; expected 'node:NAME' or \
             'node:NAME:port:NUMBER'"
        ))),
    }
}

async fn drains(session: &Session) -> Result<v1::ListDrainsResponse, CliError> {
    let mut service = session.services(Effort::Look).routes();
    let listed = service.list_drains(v1::ListDrainsRequest {});
    session.answer(Effort::Look, listed).await
}

/// `weft route drains`.
pub(crate) async fn list(session: &Session, json: bool) -> Result<ExitCode, CliError> {
    let listed = drains(session).await?;
    if json {
        output::json(&listed.drains.iter().map(as_json).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let lines = listed.drains.iter().map(line);
    let text = match listed.drains.is_empty() {
        true => "nothing is drained\n".to_owned(),
        false => lines.collect(),
    };
    output::text(text)?;
    Ok(ExitCode::SUCCESS)
}

/// Name of the drained part.
fn called(drain: &v1::Drain) -> String {
    let named = drain.target.as_ref().and_then(|target| target.target);
    let name = |guid: u64| match drain.name.as_str() {
        "" => Guid(guid).to_string(),
        name => name.to_owned(),
    };
    match named {
        Some(Named::SwitchGuid(guid)) => name(guid),
        Some(Named::Link(end)) => format!("port {} of {}", end.port, name(end.node_guid)),
        None => String::new(),
    }
}

fn line(drain: &v1::Drain) -> String {
    let name = called(drain);
    let state = match (drain.present, drain.safe_to_pull) {
        (false, _) => "not in the fabric".to_owned(),
        (true, true) => "safe to pull".to_owned(),
        (true, false) => left(drain),
    };
    format!("{name}: {state}\n")
}

fn as_json(drain: &v1::Drain) -> Value {
    let named = drain
        .target
        .as_ref()
        .and_then(|target| target.target.as_ref());
    let (node, port) = match named {
        Some(Named::SwitchGuid(guid)) => (*guid, None),
        Some(Named::Link(end)) => (end.node_guid, Some(end.port)),
        None => (0, None),
    };
    json!({
        "name": drain.name,
        "node_guid": Guid(node).to_string(),
        "port": port,
        "present": drain.present,
        "routes": drain.routes,
        "groups": drain.groups,
        "multicast": drain.multicast,
        "safe_to_pull": drain.safe_to_pull,
    })
}
