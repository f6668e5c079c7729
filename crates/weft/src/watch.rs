//! `weft watch`.

use std::process::ExitCode;

use serde_json::{Value, json};
use tokio_stream::StreamExt;
use weft_api::v1::{self, watch_response::Content};

use crate::args::{Daemon, Watch};
use crate::connect::connect;
use crate::error::CliError;
use crate::output;
use crate::sweep::{as_json, reason_name, summary};
use crate::time::utc;

pub(crate) async fn run(daemon: &Daemon, args: &Watch) -> Result<ExitCode, CliError> {
    let client = connect(daemon).await?;
    let resume_token = args.resume.clone().unwrap_or_default();
    let mut events = client
        .watch()
        .watch(v1::WatchRequest { resume_token })
        .await?
        .into_inner();
    let mut left = args.count.unwrap_or(u64::MAX);
    while left > 0 {
        let Some(event) = events.next().await else {
            return Err(CliError::Refused("the daemon ended the stream".to_owned()));
        };
        let event = event?;
        let counts = !matches!(event.content, Some(Content::Marker(_)) | None);
        match args.json {
            true => output::json_line(&line_json(&event))?,
            false => output::text(format_args!(
                "{} {}\n",
                utc(event.unix_time_ns),
                line(&event)
            ))?,
        }
        left -= u64::from(counts);
    }
    Ok(ExitCode::SUCCESS)
}

fn line(event: &v1::WatchResponse) -> String {
    let Some(content) = &event.content else {
        return "an event that this version of weft does not know".to_owned();
    };
    match content {
        Content::Marker(marker) if marker.gap => {
            format!(
                "watching from generation {}; earlier events are lost",
                event.generation
            )
        }
        Content::Marker(_) => format!("watching from generation {}", event.generation),
        Content::SweepStarted(started) => {
            format!(
                "sweep {} started ({})",
                started.number,
                reason_name(started.reason())
            )
        }
        Content::PhaseEntered(entered) => format!("sweep: {}", phase(entered)),
        Content::SweepEnded(sweep) => format!("sweep {}", summary(sweep)),
        Content::NodeAppeared(node) => format!("node appeared: {:#018x} {}", node.guid, node.name),
        Content::NodeVanished(node) => format!("node vanished: {:#018x} {}", node.guid, node.name),
        Content::LinkAppeared(link) => format!("link appeared: {}", ends(link)),
        Content::LinkVanished(link) => format!("link vanished: {}", ends(link)),
        Content::NodeSilent(node) => {
            format!(
                "node {:#018x} does not answer ({})",
                node.guid, node.attribute
            )
        }
        Content::DeviceFault(fault) => format!("device {:#018x}: {}", fault.guid, fault.what),
        Content::Trap(trap) => format!("trap from LID {:#06x}: {}", trap.lid, trap.what),
        Content::StateRefused(refused) => {
            format!("stored LIDs and drains refused: {}", refused.why)
        }
        Content::RoleChanged(role) => match role.master {
            0 => format!("the manager is {}: {}", role.role, role.why),
            master => format!(
                "the manager is {} for {master:#018x}: {}",
                role.role, role.why
            ),
        },
        Content::ConfigReloaded(reloaded) => format!("configuration: {}", reloaded.what),
    }
}

fn phase(entered: &v1::PhaseEntered) -> String {
    let name = entered
        .phase()
        .as_str_name()
        .trim_start_matches("SWEEP_PHASE_");
    name.to_lowercase()
}

fn ends(link: &v1::LinkEvent) -> String {
    let end = |id: &Option<v1::PortId>| {
        let id = id.unwrap_or_default();
        format!("{:#018x} port {}", id.node_guid, id.port)
    };
    format!("{} - {}", end(&link.a), end(&link.b))
}

fn line_json(event: &v1::WatchResponse) -> Value {
    let (name, data) = match &event.content {
        None => ("unknown", Value::Null),
        Some(content) => content_json(content),
    };
    json!({
        "event": name,
        "time": utc(event.unix_time_ns),
        "generation": event.generation,
        "resume_token": event.resume_token,
        "data": data,
    })
}

fn content_json(content: &Content) -> (&'static str, Value) {
    match content {
        Content::Marker(marker) => ("marker", json!({ "gap": marker.gap })),
        Content::SweepStarted(started) => {
            let reason = reason_name(started.reason());
            (
                "sweep_started",
                json!({ "number": started.number, "reason": reason }),
            )
        }
        Content::PhaseEntered(entered) => ("phase_entered", json!({ "phase": phase(entered) })),
        Content::SweepEnded(sweep) => ("sweep_ended", as_json(sweep)),
        Content::NodeAppeared(node) => ("node_appeared", node_json(node)),
        Content::NodeVanished(node) => ("node_vanished", node_json(node)),
        Content::LinkAppeared(link) => ("link_appeared", link_json(link)),
        Content::LinkVanished(link) => ("link_vanished", link_json(link)),
        Content::NodeSilent(node) => (
            "node_silent",
            json!({ "guid": guid(node.guid), "attribute": node.attribute }),
        ),
        Content::DeviceFault(fault) => (
            "device_fault",
            json!({ "guid": guid(fault.guid), "what": fault.what }),
        ),
        Content::Trap(trap) => ("trap", json!({ "lid": trap.lid, "what": trap.what })),
        Content::StateRefused(refused) => ("state_refused", json!({ "why": refused.why })),
        Content::RoleChanged(role) => (
            "role_changed",
            json!({ "role": role.role, "master": guid(role.master), "why": role.why }),
        ),
        Content::ConfigReloaded(reloaded) => {
            let data = json!({ "applied": reloaded.applied, "what": reloaded.what });
            ("config_reloaded", data)
        }
    }
}

fn guid(guid: u64) -> String {
    format!("{guid:#018x}")
}

fn node_json(node: &v1::NodeEvent) -> Value {
    json!({ "guid": guid(node.guid), "name": node.name })
}

fn link_json(link: &v1::LinkEvent) -> Value {
    let end = |id: &Option<v1::PortId>| {
        let id = id.unwrap_or_default();
        json!({ "guid": guid(id.node_guid), "port": id.port })
    };
    json!({ "a": end(&link.a), "b": end(&link.b) })
}
