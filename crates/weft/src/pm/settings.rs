//! Settings of the performance manager, for people and as JSON.

use serde_json::{Map, Value, json};
use weft_api::time::{Duration, ns, seconds};
use weft_api::v1;

use super::categories;
use crate::output::one_line;

/// Width of a name.
const NAME: usize = 22;

/// Each setting with its value, short enough for a narrow terminal.
pub(crate) fn facts(settings: &v1::GetPerfConfigResponse) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("Interval", span(settings.interval)),
        ("Images", settings.total_images.to_string()),
        ("Frozen images", settings.frozen_images.to_string()),
        ("Frozen for", span(settings.frozen_lease)),
        ("Clients", settings.max_clients.to_string()),
        ("Read hosts", yes(settings.hfis)),
        ("Read lanes", yes(settings.lanes)),
        ("Read error details", yes(settings.error_info)),
    ];
    facts.extend(thresholds(settings));
    let weights = settings.integrity_weights.as_ref();
    facts.extend(percent("Integrity weights:", integrity(weights)));
    let weights = settings.congestion_weights.as_ref();
    facts.extend(percent("Congestion weights:", congestion(weights)));
    facts.extend(clearing(settings.clearing.unwrap_or_default()));
    facts.extend(requests(settings.requests.unwrap_or_default()));
    let groups = settings.groups.iter();
    facts.extend(groups.map(|name| ("Group", one_line(name))));
    facts
}

/// A line for each setting.
pub(super) fn text(settings: &v1::GetPerfConfigResponse) -> String {
    let lines = facts(settings).into_iter();
    let lines = lines.map(|(name, value)| format!("{name:<NAME$}{value}"));
    let lines = lines.map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}

/// Times are in seconds, weights in percent.
pub(super) fn json(settings: &v1::GetPerfConfigResponse) -> Value {
    let clearing = settings.clearing.unwrap_or_default();
    let requests = settings.requests.unwrap_or_default();
    json!({
        "interval_seconds": seconds(settings.interval),
        "total_images": settings.total_images,
        "frozen_images": settings.frozen_images,
        "frozen_lease_seconds": seconds(settings.frozen_lease),
        "max_clients": settings.max_clients,
        "hfis": settings.hfis,
        "lanes": settings.lanes,
        "error_info": settings.error_info,
        "thresholds": members(categories(settings.thresholds.as_ref())),
        "threshold_messages": members(categories(settings.threshold_messages.as_ref())),
        "integrity_weights": members(integrity(settings.integrity_weights.as_ref())),
        "congestion_weights": members(congestion(settings.congestion_weights.as_ref())),
        "clearing": {
            "eighths": clearing.eighths,
            "data": clearing.data,
            "wide": clearing.wide,
            "medium": clearing.medium,
            "narrow": clearing.narrow,
        },
        "requests": {
            "attempts": requests.attempts,
            "timeout_seconds": seconds(requests.timeout),
            "first_timeout_seconds": seconds(requests.first_timeout),
            "nodes": requests.nodes,
            "per_node": requests.per_node,
        },
        "groups": settings.groups,
    })
}

/// From which value a category is told, and of how many ports a sweep.
fn thresholds(settings: &v1::GetPerfConfigResponse) -> Vec<(&'static str, String)> {
    let names = [
        "Integrity from",
        "Congestion from",
        "SMA congestion from",
        "Bubble from",
        "Security from",
        "Routing from",
    ];
    let from = categories(settings.thresholds.as_ref());
    let told = categories(settings.threshold_messages.as_ref());
    let values = from.iter().zip(told);
    let values = values.map(|((_, from), (_, told))| format!("{from}, tell {told}"));
    names.into_iter().zip(values).collect()
}

fn integrity(weights: Option<&v1::IntegrityWeights>) -> [(&'static str, u32); 9] {
    let weights = weights.copied().unwrap_or_default();
    [
        (
            "local_link_integrity_errors",
            weights.local_link_integrity_errors,
        ),
        ("rcv_errors", weights.rcv_errors),
        (
            "excessive_buffer_overruns",
            weights.excessive_buffer_overruns,
        ),
        ("link_error_recovery", weights.link_error_recovery),
        ("link_downed", weights.link_downed),
        ("uncorrectable_errors", weights.uncorrectable_errors),
        ("fm_config_errors", weights.fm_config_errors),
        ("link_quality", weights.link_quality),
        ("lanes_down", weights.lanes_down),
    ]
}

fn congestion(weights: Option<&v1::CongestionWeights>) -> [(&'static str, u32); 6] {
    let weights = weights.copied().unwrap_or_default();
    [
        ("xmit_wait", weights.xmit_wait),
        ("sw_port_congestion", weights.sw_port_congestion),
        ("rcv_fecn", weights.rcv_fecn),
        ("rcv_becn", weights.rcv_becn),
        ("xmit_time_cong", weights.xmit_time_cong),
        ("mark_fecn", weights.mark_fecn),
    ]
}

/// A heading, then each weight.
fn percent<const N: usize>(
    heading: &'static str,
    weights: [(&'static str, u32); N],
) -> impl Iterator<Item = (&'static str, String)> {
    let weights = weights.map(|(name, percent)| (short(name), format!("{percent} %")));
    [(heading, String::new())].into_iter().chain(weights)
}

/// A counter's name in the columns of a narrow terminal.
fn short(name: &'static str) -> &'static str {
    match name {
        "local_link_integrity_errors" => "  link integrity",
        "rcv_errors" => "  receive errors",
        "excessive_buffer_overruns" => "  buffer overruns",
        "link_error_recovery" => "  link recoveries",
        "link_downed" => "  link downed",
        "uncorrectable_errors" => "  uncorrectable",
        "fm_config_errors" => "  FM configuration",
        "link_quality" => "  link quality",
        "lanes_down" => "  lanes down",
        "xmit_wait" => "  waits to send",
        "sw_port_congestion" => "  port congestion",
        "rcv_fecn" => "  FECN received",
        "rcv_becn" => "  BECN received",
        "xmit_time_cong" => "  time congested",
        "mark_fecn" => "  FECN marked",
        other => other,
    }
}

fn clearing(clearing: v1::CounterClearing) -> [(&'static str, String); 5] {
    let from = match clearing.eighths {
        0 => "any value".to_owned(),
        eighths => format!("{eighths}/8 of the range"),
    };
    [
        ("Clear from", from),
        ("Clear data", yes(clearing.data)),
        ("Clear 64 bits", yes(clearing.wide)),
        ("Clear 32 bits", yes(clearing.medium)),
        ("Clear 8 bits", yes(clearing.narrow)),
    ]
}

fn requests(requests: v1::PerfRequests) -> [(&'static str, String); 5] {
    [
        ("Attempts", requests.attempts.to_string()),
        ("Timeout", span(requests.timeout)),
        ("First timeout", span(requests.first_timeout)),
        ("Nodes at a time", requests.nodes.to_string()),
        ("Requests to a node", requests.per_node.to_string()),
    ]
}

fn members<const N: usize>(values: [(&'static str, u32); N]) -> Value {
    let members = values.map(|(name, value)| (name.to_owned(), value.into()));
    Value::Object(Map::from_iter(members))
}

/// `10 s`, `250 ms`.
fn span(time: Option<Duration>) -> String {
    match ns(time) {
        ns if ns % 1_000_000_000 == 0 => format!("{} s", ns / 1_000_000_000),
        ns => format!("{} ms", ns as f64 / 1e6),
    }
}

fn yes(is: bool) -> String {
    match is {
        true => "yes".to_owned(),
        false => "no".to_owned(),
    }
}
