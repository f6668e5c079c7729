//! `weft pm ports`.

use serde_json::{Value, json};
use weft_api::v1;
use weft_fabric::text::count;

use super::{categories, table, title};
use crate::args::{PmPorts, SortBy};
use crate::counters::image_json;
use crate::counters::units::{amount, bytes_of};
use crate::style::Styles;

const COLUMNS: [(&str, bool); 8] = [
    ("PORT", false),
    ("LID", true),
    ("NEIGHBOR", false),
    ("SIDE", false),
    ("%", true),
    ("SENT/s", true),
    ("PKTS/s", true),
    ("ERRORS", false),
];

/// Sorts ports and leaves those that are wanted.
pub(super) fn choose(ports: &mut Vec<v1::GroupPort>, asked: &PmPorts) {
    if let Some(order) = asked.sort {
        ports.sort_by(|a, b| {
            let rising = value(order, a).total_cmp(&value(order, b));
            if asked.lowest {
                rising
            } else {
                rising.reverse()
            }
        });
    }
    ports.truncate(asked.number.map_or(usize::MAX, |number| number as usize));
}

fn value(order: SortBy, port: &v1::GroupPort) -> f64 {
    let sent = port.sent.unwrap_or_default();
    let found = port.categories.unwrap_or_default();
    match order {
        SortBy::Utilization => sent.utilization,
        SortBy::Data => sent.bytes_per_second,
        SortBy::Packets => sent.packets_per_second,
        SortBy::Wait => sent.wait,
        SortBy::Integrity => found.integrity.into(),
        SortBy::Congestion => found.congestion.into(),
        SortBy::SmaCongestion => found.sma_congestion.into(),
        SortBy::Bubble => found.bubble.into(),
        SortBy::Security => found.security.into(),
        SortBy::Routing => found.routing.into(),
    }
}

pub(super) fn text(listed: &v1::ListGroupPortsResponse, styles: Styles) -> String {
    let title = title(listed.image.as_ref(), listed.attachment.as_ref());
    let rows = listed.ports.iter().map(row).collect();
    let ports = count(listed.ports.len(), "port");
    title + &table(&COLUMNS, rows, ports, styles)
}

fn row(port: &v1::GroupPort) -> (Vec<String>, bool) {
    let sent = port.sent.unwrap_or_default();
    let found = categories(port.categories.as_ref());
    let found = found.iter().filter(|(_, value)| *value > 0);
    let found: Vec<String> = found
        .map(|(name, value)| format!("{} {value}", name.replace('_', " ")))
        .collect();
    let errors = match port.reading() {
        v1::CounterReading::Done => found.join(", "),
        v1::CounterReading::Failed => "no answer".to_owned(),
        _ => "not read".to_owned(),
    };
    let cells = vec![
        end(port.port.as_ref()),
        port.lid.to_string(),
        end(port.neighbor.as_ref()),
        if port.internal { "inside" } else { "border" }.to_owned(),
        format!("{:.1}", sent.utilization * 100.0),
        bytes_of(sent.bytes_per_second),
        amount(sent.packets_per_second),
        errors.clone(),
    ];
    (cells, !errors.is_empty())
}

/// A node's name without that of its HFI, and the port.
fn end(end: Option<&v1::LinkEnd>) -> String {
    let Some(end) = end else {
        return "-".to_owned();
    };
    let port = end.port.unwrap_or_default();
    match end.node_name.split(' ').next().unwrap_or_default() {
        "" => format!("{:#018x}:{}", port.node_guid, port.port),
        name => format!("{name}:{}", port.port),
    }
}

pub(super) fn json(listed: &v1::ListGroupPortsResponse) -> Value {
    let mut value = image_json(&listed.image.unwrap_or_default());
    value["attached"] = listed.attachment.is_none_or(|now| now.attached).into();
    value["ports"] = listed.ports.iter().map(port_json).collect();
    value
}

fn port_json(port: &v1::GroupPort) -> Value {
    let sent = port.sent.unwrap_or_default();
    let reading = match port.reading() {
        v1::CounterReading::Done => "done",
        v1::CounterReading::Failed => "failed",
        _ => "skipped",
    };
    let found = categories(port.categories.as_ref());
    json!({
        "port": crate::counters::end_json(port.port.as_ref()),
        "neighbor": crate::counters::end_json(port.neighbor.as_ref()),
        "lid": port.lid,
        "internal": port.internal,
        "reading": reading,
        "rate_gbps": port.rate_gbps,
        "link_quality": port.link_quality,
        "utilization_percent": sent.utilization * 100.0,
        "bytes_per_second": sent.bytes_per_second,
        "packets_per_second": sent.packets_per_second,
        "wait_percent": sent.wait * 100.0,
        "discards": sent.discards,
        "categories": Value::Object(found.map(|(name, value)| (name.to_owned(), value.into())).into_iter().collect()),
    })
}
