//! `weft port list --disabled`.

use std::process::ExitCode;

use serde_json::{Value, json};
use weft_api::v1;

use crate::args::{Daemon, PortList};
use crate::connect::{Effort, Session, connect};
use crate::error::CliError;
use crate::output;
use crate::time::{utc_json, utc_of};

pub(super) async fn run(daemon: &Daemon, list: &PortList) -> Result<ExitCode, CliError> {
    let session = connect(daemon).await?;
    let ports = all(&session, list.point.as_deref().unwrap_or_default()).await?;
    if list.json {
        output::json(&ports.iter().map(as_json).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let text: String = match (list.csv, ports.is_empty()) {
        (true, _) => ports.iter().filter_map(csv_line).collect(),
        (false, true) => "no port is disabled\n".to_owned(),
        (false, false) => ports.iter().map(text_lines).collect(),
    };
    output::text(text)?;
    Ok(ExitCode::SUCCESS)
}

/// All disabled ports of a part of the fabric, page by page.
pub(super) async fn all(session: &Session, point: &str) -> Result<Vec<v1::DisabledPort>, CliError> {
    let mut request = v1::ListDisabledPortsRequest {
        point: point.to_owned(),
        ..v1::ListDisabledPortsRequest::default()
    };
    let mut ports = Vec::new();
    loop {
        let mut service = session.services(Effort::Look).ports();
        let listed = service.list_disabled_ports(request.clone());
        let listed = session.answer(Effort::Look, listed).await?;
        ports.extend(listed.ports);
        if listed.next_page_token.is_empty() {
            return Ok(ports);
        }
        request.page_token = listed.next_page_token;
    }
}

fn text_lines(port: &v1::DisabledPort) -> String {
    let state = match port.state() {
        v1::DisabledState::Off => "disabled",
        v1::DisabledState::Found => "disabled, not by this manager",
        v1::DisabledState::EnabledElsewhere => {
            "was disabled, is not any more: enabled by another tool, or reset"
        }
        v1::DisabledState::Gone => "disabled, its node is not in the fabric",
        v1::DisabledState::Unspecified => "unknown",
    };
    let far = port.far.as_ref();
    let far = far.map_or_else(String::new, |far| format!(" (to {})", name(far)));
    let near = port.port.as_ref().map_or_else(String::new, name);
    format!("{near}{far}: {state}\n{}", note(port))
}

/// When and by whom, and why, on lines of their own; empty where nothing of it is known.
fn note(port: &v1::DisabledPort) -> String {
    let mut parts = Vec::new();
    if port.disabled_time.is_some() {
        parts.push(format!("since {}", utc_of(port.disabled_time)));
    }
    match (&port.author[..], &port.peer[..]) {
        ("", "") => {}
        ("", peer) => parts.push(format!("from {peer}")),
        (author, "") => parts.push(format!("by {author}")),
        (author, peer) => parts.push(format!("by {author} from {peer}")),
    }
    let lines = [parts.join(" "), port.reason.clone()];
    let lines = lines.iter().filter(|line| !line.is_empty());
    lines.map(|line| format!("    {line}\n")).collect()
}

fn name(end: &v1::LinkEnd) -> String {
    let id = end.port.unwrap_or_default();
    match &end.node_name[..] {
        "" => format!("{:#018x} port {}", id.node_guid, id.port),
        name => format!("{name} port {}", id.port),
    }
}

/// A line as opadisableports writes it; none of a port that is not disabled any more.
fn csv_line(port: &v1::DisabledPort) -> Option<String> {
    if port.state() == v1::DisabledState::EnabledElsewhere {
        return None;
    }
    let near = port.port.as_ref()?;
    let far = port.far.as_ref();
    let far = far.map_or_else(|| ";;;".to_owned(), csv_end);
    let reason = match &port.reason[..] {
        "" => String::new(),
        reason => format!(";{}", reason.replace(';', ",")),
    };
    Some(format!("{};{far}{reason}\n", csv_end(near)))
}

fn csv_end(end: &v1::LinkEnd) -> String {
    let id = end.port.unwrap_or_default();
    let kind = match end.node_type() {
        v1::NodeType::Hfi => "FI",
        _ => "SW",
    };
    let name = end.node_name.replace(';', ",");
    format!("{:#018x};{};{kind};{name}", id.node_guid, id.port)
}

fn as_json(port: &v1::DisabledPort) -> Value {
    let state = port.state().as_str_name();
    json!({
        "port": end_json(port.port.as_ref()),
        "far": port.far.as_ref().map(|far| end_json(Some(far))),
        "state": state.trim_start_matches("DISABLED_STATE_").to_lowercase(),
        "reason": port.reason,
        "author": port.author,
        "peer": port.peer,
        "disabled": utc_json(port.disabled_time),
    })
}

fn end_json(end: Option<&v1::LinkEnd>) -> Value {
    let end = end.cloned().unwrap_or_default();
    let id = end.port.unwrap_or_default();
    json!({
        "guid": format!("{:#018x}", id.node_guid),
        "name": end.node_name,
        "port": id.port,
        "type": match end.node_type() {
            v1::NodeType::Hfi => Some("FI"),
            v1::NodeType::Switch => Some("SW"),
            v1::NodeType::Unspecified => None,
        },
    })
}
