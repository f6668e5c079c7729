//! The state of the manager as one JSON document, for those who look for the cause of a problem.
//!
//! It has no keys: what it shows has passed the mask of keys before. It is bounded: at most [`NODES_MAX`] nodes,
//! [`LINKS_MAX`] links and the last [`EVENTS_MAX`] events; what is left out is counted.

use serde_json::{Value, json};
use tokio::sync::mpsc;
use weft_api::time::{known, known_s};
use weft_fabric::{PortRef, Snapshot};
use weft_manager::sm::replacements::Replacement;
use weft_manager::{BarredPort, Standing};

use crate::control::{Control, Refusal};
use crate::counters::Scope;
use crate::event_hub::{EventHub, unix_time_ns};
use crate::request::{Replacing, Request, told};

/// Most nodes of a dump.
const NODES_MAX: usize = 65_536;
/// Most links of a dump.
const LINKS_MAX: usize = 262_144;
/// Most events of a dump.
const EVENTS_MAX: usize = 1024;

/// Where the state is read.
pub(crate) struct Sources<'a> {
    pub(crate) hub: &'a EventHub,
    pub(crate) control: &'a Control,
    pub(crate) engine: &'a mpsc::Sender<Request>,
    pub(crate) connected_to: &'a str,
}

/// The document, in UTF-8.
///
/// # Errors
/// [`Refusal::Busy`], [`Refusal::Stopping`], [`Refusal::Failed`].
pub(crate) async fn dump(sources: Sources<'_>) -> Result<Vec<u8>, Refusal> {
    let quarantine = told(sources.engine, Request::Quarantine).await?;
    let drains = told(sources.engine, Request::Drains).await?;
    let list = |told| Request::Replacing(Replacing::List(told));
    let (offers, replacements) = told(sources.engine, list).await?;
    let mut document = daemon(&sources);
    let parts = [
        ("quarantine", quarantine.iter().map(barred).collect()),
        ("drains", json!(drains)),
        ("replacement_offers", json!(offers)),
        ("replacements", replacements.iter().map(replaced).collect()),
        ("sweeps", sweeps(sources.hub)),
        ("events", events(sources.hub)),
        ("fabric", fabric(&sources.hub.snapshot())),
    ];
    for (name, part) in parts {
        document[name] = part;
    }
    let text = serde_json::to_vec(&document);
    let mut text = text.map_err(|error| Refusal::Failed(error.to_string()))?;
    text.push(b'\n');
    Ok(text)
}

fn daemon(sources: &Sources<'_>) -> Value {
    let Sources { hub, control, .. } = sources;
    let (config, status, attachment) = (hub.config(), hub.status(), hub.attachment());
    let counted = hub.counters().read(&status, Scope::All);
    json!({
        "format": "weft-dump 1",
        "version": env!("CARGO_PKG_VERSION"),
        "time": utc(unix_time_ns()),
        "instance": config.instance,
        "connected_to": sources.connected_to,
        "attached": attachment.attached,
        "attached_since": utc(attachment.since_unix_ns),
        "config_file": control.file(),
        "config": config.effective,
        "planned": &*hub.planned(),
        "log_level": control.log_level(),
        "status": *status,
        "counters": counted.counts,
        "counters_since": utc(counted.since_unix_ns),
    })
}

fn barred(port: &BarredPort) -> Value {
    json!({
        "node": port.port.node.to_string(),
        "name": port.port.name,
        "port": port.port.port.0,
        "reason": port.reason.to_string(),
        "losses": port.losses,
        "since_ns": port.since.as_nanos() as u64,
        "left_ns": port.left.map(|left| left.as_nanos() as u64),
        "comment": port.comment,
        "in_use": port.errors.as_ref().map(|errors| errors.standing != Standing::Isolated),
    })
}

fn replaced(one: &Replacement) -> Value {
    json!({
        "old": one.old.to_string(),
        "new": one.new.to_string(),
        "name": one.new_name,
        "since_ns": one.since.as_nanos() as u64,
        "reason": one.reason,
        "old_is_back": one.old_is_back,
    })
}

/// The remembered sweeps, the newest first.
fn sweeps(hub: &EventHub) -> Value {
    let sweeps: Vec<_> = hub.journal().sweeps().cloned().collect();
    sweeps.iter().map(|sweep| json!(**sweep)).collect()
}

fn events(hub: &EventHub) -> Value {
    let last = hub.journal().sequence();
    let events = hub.subscribe(Some(last.saturating_sub(EVENTS_MAX as u64)));
    let events = events.missed.iter().map(|event| {
        json!({
            "sequence": event.sequence,
            "time": utc(event.unix_time_ns),
            "generation": event.generation,
            "event": format!("{:?}", event.content),
        })
    });
    events.collect()
}

fn fabric(snapshot: &Snapshot) -> Value {
    let topology = &snapshot.topology;
    let nodes: Vec<Value> = topology
        .nodes()
        .take(NODES_MAX)
        .map(|(_, node)| {
            let ports = node.ports().map(|(port, held)| {
                json!([
                    port.0,
                    held.info.lid.0,
                    held.info.port_state.to_string(),
                    held.info.phys_state.to_string()
                ])
            });
            json!({
                "guid": node.guid().to_string(),
                "name": node.name(),
                "switch": node.is_switch(),
                "ports": ports.collect::<Vec<_>>(),
            })
        })
        .collect();
    let end = |at: PortRef| {
        let guid = topology.node(at.node).map(|node| node.guid().to_string());
        json!([guid, at.port.0])
    };
    let links = topology.links().take(LINKS_MAX);
    let links: Vec<Value> = links.map(|(a, b)| json!([end(a), end(b)])).collect();
    json!({
        "generation": snapshot.generation,
        "time": known_s(snapshot.unix_time).map(|time| time.to_string()),
        "nodes_left_out": topology.len() - nodes.len(),
        "links_left_out": topology.links().count() - links.len(),
        "port_columns": ["port", "lid", "state", "physical_state"],
        "nodes": nodes,
        "links": links,
    })
}

/// A time as other output has it (RFC 3339); none for 0.
fn utc(unix_ns: u64) -> Option<String> {
    known(unix_ns).map(|time| time.to_string())
}
