//! Totals and events as rows.

use std::sync::Arc;

use serde_json::Value;
use weft_api::event_json;
use weft_history::{EventRow, PortKey, PortRow, PortValues};
use weft_manager::port_totals::PortTotals;

use crate::event_hub::Stamped;

/// Kinds that the log has as warnings.
const WARNINGS: [&str; 26] = [
    "node_vanished",
    "link_vanished",
    "node_silent",
    "device_fault",
    "promise_broken",
    "state_refused",
    "link_unused",
    "link_has_errors",
    "port_quarantined",
    "trap_storm",
    "multicast_storm",
    "threshold_exceeded",
    "traps_suppressed",
    "requests_dropped",
    "topology_fault",
    "topology_faults_untold",
    "device_refused",
    "link_isolated",
    "link_isolation_dry_run",
    "link_spared",
    "sweeps_paused",
    "replacement_recognised",
    "history_unwritten",
    "attachment_changed",
    "role_changed",
    "health_changed",
];

/// Time of an image in milliseconds since 1970, and its ports in order.
pub(super) fn port_rows(totals: &PortTotals) -> (i64, Vec<PortRow>) {
    let Some(image) = totals.image() else {
        return (0, Vec::new());
    };
    let roster = &image.roster;
    let mut name: (u32, Arc<str>) = (u32::MAX, Arc::from(""));
    let mut rows = Vec::with_capacity(roster.ports.len());
    for (place, port) in roster.ports.iter().enumerate() {
        let Some(total) = totals.port(place) else {
            continue;
        };
        let member = roster.member_of(port);
        if name.0 != port.member {
            let node = roster.snapshot.topology.node(member.node);
            let node = node.map(weft_fabric::Node::name).unwrap_or_default();
            name = (port.member, Arc::from(node));
        }
        rows.push(PortRow {
            key: PortKey {
                guid: member.guid.0,
                port: port.number.0,
            },
            name: Arc::clone(&name.1),
            values: PortValues {
                totals: total.counters,
                link_quality: image.known_quality(place),
            },
        });
    }
    rows.sort_unstable_by_key(|row| row.key);
    rows.dedup_by_key(|row| row.key);
    let time_ms = i64::try_from(image.unix_time)
        .unwrap_or(0)
        .saturating_mul(1000);
    (time_ms, rows)
}

/// An event as a row; none for steps within a sweep.
pub(super) fn event_row(run: u64, event: &Stamped) -> Option<EventRow> {
    let (kind, body) = event_json(&event.content)?;
    if kind == "phase_entered" {
        return None;
    }
    let about = About::of(&body);
    let severity = match WARNINGS.contains(&kind.as_str()) {
        true => "warn",
        false => "info",
    };
    Some(EventRow {
        time_ms: (event.unix_time_ns / 1_000_000) as i64,
        run,
        sequence: event.sequence,
        message: message(&kind, &body),
        guid: about.guid,
        name: about.name,
        port: about.port,
        severity: severity.to_owned(),
        body: body.to_string(),
        kind,
    })
}

/// What an event is about: the first node and port that it names.
#[derive(Debug, Default)]
struct About {
    guid: u64,
    name: String,
    port: u8,
}

impl About {
    fn of(body: &Value) -> Self {
        let mut about = Self::default();
        about.visit(body);
        about
    }

    fn visit(&mut self, value: &Value) {
        let Value::Object(fields) = value else {
            return;
        };
        // Numbers of 64 bits are strings in the JSON of protobuf.
        let number = |value: &Value| match value {
            Value::String(text) => text.parse().ok(),
            other => other.as_u64(),
        };
        for (field, value) in fields {
            match field.as_str() {
                "guid" | "node_guid" if self.guid == 0 => {
                    self.guid = number(value).unwrap_or_default();
                }
                "name" | "node_name" | "a_name" if self.name.is_empty() => {
                    self.name = value.as_str().unwrap_or_default().to_owned();
                }
                "port" if self.port == 0 && !value.is_object() => {
                    self.port = number(value)
                        .and_then(|port| port.try_into().ok())
                        .unwrap_or_default();
                }
                _ => {}
            }
        }
        for part in ["port", "a", "node"] {
            fields
                .get(part)
                .into_iter()
                .for_each(|value| self.visit(value));
        }
    }
}

/// An event in words: its kind, the ends that it names and what it says.
fn message(kind: &str, body: &Value) -> String {
    let text = |field: &str| {
        body.get(field)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    let about = About::of(body);
    let mut words = vec![kind.replace('_', " ")];
    if !about.name.is_empty() {
        words.push(match about.port {
            0 => about.name,
            port => format!("{}:{port}", about.name),
        });
    }
    if let Some(name) = text("b_name") {
        let other = body.get("b").map(About::of).unwrap_or_default();
        words.push(format!("{name}:{}", other.port));
    }
    let says = [
        "what",
        "why",
        "reason",
        "comment",
        "attribute",
        "category",
        "role",
    ];
    words.extend(says.into_iter().filter_map(text).map(str::to_owned));
    words.join(", ")
}
