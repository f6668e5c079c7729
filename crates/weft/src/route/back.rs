//! What a way back to a moment changes besides routes, and ports that a plan has switched.

use serde_json::{Value, json};
use weft_api::v1;
use weft_fabric::text::{count, count_and};

use crate::at;

/// Parts of one kind that are printed at most.
const SHOWN_MAX: usize = 20;

/// In lines.
pub(super) fn lines(back: &v1::WayBack) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(
        back.moment
            .as_ref()
            .map(|shown| format!("back to {}", at::words(shown))),
    );
    let settings = back.settings.iter();
    lines.extend(settings.map(|one| format!("{}: {} -> {}", one.element, one.before, one.after)));
    let drains = back.drains.iter().map(|one| {
        let does = if one.drained { "drain" } else { "undrain" };
        format!("{does} {}", named(one.part.as_ref()))
    });
    lines.extend(first(drains, back.drains.len()));
    let ports = back.ports.iter().map(port);
    lines.extend(first(ports, back.port_count as usize));
    let gone = back.ports_gone.iter().map(|port| {
        let port = named(Some(port));
        format!("{port} was switched off then and is not in the fabric any more")
    });
    lines.extend(first(gone, back.ports_gone.len()));
    let same = lines.len() <= 1;
    lines.extend(
        same.then(|| "settings of routes, drains and disabled ports are as they were".to_owned()),
    );
    lines.extend(nodes("gone since", &back.nodes_gone, back.nodes_gone_count));
    lines.extend(nodes("new since", &back.nodes_new, back.nodes_new_count));
    let (gone, new) = (back.links_gone_count, back.links_new_count);
    let links = (gone, new) != (0, 0);
    lines.extend(links.then(|| format!("{} gone since, {new} new", count(gone, "link"))));
    lines
}

fn port(one: &v1::PortBack) -> String {
    let does = if one.disabled { "disable" } else { "enable" };
    let told = [&one.reason, &one.author].map(String::as_str);
    let told = match told {
        ["", ""] => String::new(),
        ["", author] => format!(" (disabled by {author})"),
        [reason, ""] => format!(" ({reason})"),
        [reason, author] => format!(" ({reason}; {author})"),
    };
    format!("{does} {}{told}", named(one.port.as_ref()))
}

fn nodes(what: &str, nodes: &[v1::NodeName], all: u32) -> Option<String> {
    let names = nodes
        .iter()
        .take(SHOWN_MAX)
        .map(|node| match node.name.as_str() {
            "" => format!("{:#018x}", node.guid),
            name => name.to_owned(),
        });
    let names = names.collect::<Vec<_>>().join(", ");
    let more = all as usize > nodes.len().min(SHOWN_MAX);
    let more = if more { ", ..." } else { "" };
    (all > 0).then(|| format!("{} {what}: {names}{more}", count(all, "node")))
}

/// The first lines, and how many more there are.
fn first(lines: impl Iterator<Item = String>, all: usize) -> Vec<String> {
    let mut shown: Vec<String> = lines.take(SHOWN_MAX).collect();
    let more = all - shown.len();
    shown.extend((more > 0).then(|| format!("... and {more} more, which --json has")));
    shown
}

/// How many routes are not as they were then.
pub(super) fn unlike(unlike: u64) -> String {
    match unlike {
        0 => "all routes of then that are still possible are as they were".to_owned(),
        unlike => format!(
            "{} not as then: the fabric or its other settings are others",
            count_and(unlike, "route", ["is", "are"])
        ),
    }
}

/// Ports that a plan has switched, in lines.
pub(super) fn switched(ports: &v1::PortsSwitched) -> Vec<String> {
    let failed = ports.failed.iter().map(|one| {
        let does = if one.disabled { "disabled" } else { "enabled" };
        format!("not {does}: {}: {}", named(one.port.as_ref()), one.why)
    });
    let done = (ports.count > 0).then(|| format!("{} switched", count(ports.count, "port")));
    done.into_iter().chain(failed).collect()
}

/// As JSON.
pub(super) fn as_json(back: &v1::WayBack) -> Value {
    let settings = back.settings.iter();
    let settings = settings
        .map(|one| json!({ "element": one.element, "before": one.before, "after": one.after }));
    let drains = back
        .drains
        .iter()
        .map(|one| json!({ "part": port_json(one.part.as_ref()), "drained": one.drained }));
    let ports = back.ports.iter().map(|one| {
        json!({
            "port": port_json(one.port.as_ref()),
            "disabled": one.disabled,
            "reason": one.reason,
            "author": one.author,
        })
    });
    let gone = back.ports_gone.iter().map(|port| port_json(Some(port)));
    let nodes = |nodes: &[v1::NodeName]| -> Vec<Value> {
        let node = |node: &v1::NodeName| json!({ "node_guid": format!("{:#018x}", node.guid), "name": node.name });
        nodes.iter().map(node).collect()
    };
    json!({
        "moment": back.moment.as_ref().map(at::as_json),
        "settings": settings.collect::<Vec<_>>(),
        "drains": drains.collect::<Vec<_>>(),
        "ports": ports.collect::<Vec<_>>(),
        "port_count": back.port_count,
        "ports_gone": gone.collect::<Vec<_>>(),
        "nodes_gone": nodes(&back.nodes_gone),
        "nodes_gone_count": back.nodes_gone_count,
        "nodes_new": nodes(&back.nodes_new),
        "nodes_new_count": back.nodes_new_count,
        "links_gone_count": back.links_gone_count,
        "links_new_count": back.links_new_count,
    })
}

/// Ports that a plan has switched, as JSON.
pub(super) fn switched_json(ports: &v1::PortsSwitched) -> Value {
    let failed = ports.failed.iter().map(|one| {
        json!({
            "port": port_json(one.port.as_ref()),
            "disabled": one.disabled,
            "why": one.why,
        })
    });
    json!({ "count": ports.count, "failed": failed.collect::<Vec<_>>() })
}

fn port_json(named: Option<&v1::NamedPort>) -> Value {
    let (guid, port, name) = parts(named);
    json!({ "node_guid": format!("{guid:#018x}"), "node_name": name, "port": port })
}

fn parts(named: Option<&v1::NamedPort>) -> (u64, u32, &str) {
    let port = named.and_then(|named| named.port).unwrap_or_default();
    let name = named.map_or("", |named| named.node_name.as_str());
    (port.node_guid, port.port, name)
}

/// `edge1:3`, or the node alone for port 0.
fn named(named: Option<&v1::NamedPort>) -> String {
    let (guid, port, name) = parts(named);
    let name = match name {
        "" => format!("{guid:#018x}"),
        name => name.to_owned(),
    };
    match port {
        0 => name,
        port => format!("{name}:{port}"),
    }
}
