//! `weft pm groups`.

use serde_json::{Map, Value, json};
use weft_api::v1;
use weft_fabric::text::count;

use super::{categories, table, title};
use crate::counters::image_json;
use crate::counters::units::{amount, bytes_of};
use crate::output::one_line;
use crate::style::Styles;

const TRAFFIC: [(&str, bool); 8] = [
    ("GROUP", false),
    ("TRAFFIC", false),
    ("PORTS", true),
    ("RATE/s", true),
    ("AVG", true),
    ("MIN", true),
    ("MAX", true),
    ("PKTS/s", true),
];
const ERRORS: [(&str, bool); 7] = [
    ("GROUP", false),
    ("INTEGRITY", true),
    ("CONGESTION", true),
    ("SMA CONG", true),
    ("BUBBLE", true),
    ("SECURITY", true),
    ("ROUTING", true),
];
/// Ports by their value as a share of the category's threshold.
const SHARES: [&str; 5] = ["0-25 %", "25-50 %", "50-75 %", "75-100 %", "100 %-"];

/// A direction of a group, its ports, and what they carry there.
type Part<'a> = (&'static str, u32, &'a v1::PerfGroupTraffic);

pub(super) fn text(listed: &v1::ListPerfGroupsResponse, styles: Styles) -> String {
    let title = title(listed.image.as_ref(), listed.attachment.as_ref());
    let groups = listed.groups.iter();
    let lines = groups.clone().flat_map(traffic).collect();
    let first = table(&TRAFFIC, lines, count(listed.groups.len(), "group"), styles);
    let errors = groups.map(errors).collect();
    let note = "Worst value of a port; behind it how many ports are over the threshold.";
    title + &first + "\n" + &table(&ERRORS, errors, note.to_owned(), styles)
}

/// Each group with its ports by use and by errors.
pub(super) fn details(listed: &v1::ListPerfGroupsResponse, styles: Styles) -> String {
    let groups = listed.groups.iter().map(|group| {
        let about = format!("{}\n", one_line(&group.name));
        let lines = traffic(group).collect();
        let note = format!("Links: {}", rates(group));
        let first = table(&TRAFFIC, lines, note, styles);
        let errors = vec![errors(group)];
        let note = "Worst value; behind it how many ports are over the threshold.";
        let second = table(&ERRORS, errors, note.to_owned(), styles);
        [
            about,
            first,
            used(group, styles),
            second,
            shares(group, styles),
        ]
        .join("\n")
    });
    let groups: Vec<String> = groups.collect();
    title(listed.image.as_ref(), listed.attachment.as_ref()) + &groups.join("\n")
}

/// What goes within a group, out of it and into it, where there is something that could.
fn parts(group: &v1::PerfGroup) -> Vec<Part<'_>> {
    let (inside, border) = (group.internal.as_ref(), group.external.as_ref());
    let sides = [
        ("inside", inside, inside.and_then(|side| side.sent.as_ref())),
        ("out", border, border.and_then(|side| side.sent.as_ref())),
        ("in", border, border.and_then(|side| side.received.as_ref())),
    ];
    let sides = sides.into_iter();
    let sides = sides.filter_map(|(name, side, carried)| Some((name, side?.ports, carried?)));
    sides.filter(|(_, ports, _)| *ports > 0).collect()
}

fn traffic(group: &v1::PerfGroup) -> impl Iterator<Item = (Vec<String>, bool)> {
    let rate = |mbytes: f64| bytes_of(mbytes * 1e6);
    let parts = parts(group).into_iter();
    parts.map(move |(name, ports, carried)| {
        let cells = vec![
            group.name.clone(),
            name.to_owned(),
            ports.to_string(),
            rate(carried.total_mbytes_per_second as f64),
            rate(carried.average_mbytes_per_second.into()),
            rate(carried.least_mbytes_per_second.into()),
            rate(carried.most_mbytes_per_second.into()),
            amount(carried.total_kpackets_per_second as f64 * 1e3),
        ];
        (cells, false)
    })
}

/// The worst value of each category, and the number of ports over its threshold.
fn errors(group: &v1::PerfGroup) -> (Vec<String>, bool) {
    let found = both(group);
    let (worst, over) = (most(&found), ports(&found, SHARES.len() - 1));
    let cells = worst.iter().zip(over).map(|((_, worst), over)| match over {
        0 => worst.to_string(),
        over => format!("{worst} ({over})"),
    });
    let cells = [group.name.clone()].into_iter().chain(cells);
    (cells.collect(), over.iter().any(|over| *over > 0))
}

fn both(group: &v1::PerfGroup) -> Vec<&v1::PerfGroupErrors> {
    let sides = [&group.internal, &group.external].into_iter().flatten();
    sides.filter_map(|side| side.errors.as_ref()).collect()
}

fn most(found: &[&v1::PerfGroupErrors]) -> [(&'static str, u32); 6] {
    let mut worst = categories(None);
    for side in found {
        let side = categories(side.most.as_ref());
        worst
            .iter_mut()
            .zip(side)
            .for_each(|(worst, side)| worst.1 = worst.1.max(side.1));
    }
    worst
}

/// Ports in a share of the threshold, by category.
fn ports(found: &[&v1::PerfGroupErrors], share: usize) -> [u32; 6] {
    let mut ports = [0_u32; 6];
    for side in found {
        let side = categories(side.ports.get(share));
        ports
            .iter_mut()
            .zip(side)
            .for_each(|(ports, side)| *ports = ports.saturating_add(side.1));
    }
    ports
}

/// Number of ports by use, without lines that have none.
fn used(group: &v1::PerfGroup, styles: Styles) -> String {
    let parts = parts(group);
    let mut titles = vec![("USED %", false)];
    titles.extend(parts.iter().map(|(name, _, _)| (*name, true)));
    let lines = (0..10_usize).filter_map(|bin| {
        let ports = parts.iter();
        let ports: Vec<u32> = ports
            .map(|(_, _, carried)| carried.ports_by_utilization.get(bin).copied().unwrap_or(0))
            .collect();
        let cells = [format!("{}-{}", bin * 10, bin * 10 + 10)].into_iter();
        let shown = cells.chain(ports.iter().map(u32::to_string)).collect();
        ports
            .iter()
            .any(|ports| *ports > 0)
            .then_some((shown, false))
    });
    let unknown = |of: fn(&v1::PerfGroupTraffic) -> u32| {
        let counts = parts.iter().map(|(_, _, carried)| of(carried));
        counts.max().unwrap_or(0)
    };
    let note = format!(
        "Ports by the share of their rate that they use; no answer: {}, neighbor unknown: {}",
        unknown(|carried| carried.failed_ports),
        unknown(|carried| carried.ports_without_neighbor)
    );
    table(&titles, lines.collect(), note, styles)
}

/// Number of ports by their errors.
fn shares(group: &v1::PerfGroup, styles: Styles) -> String {
    let mut titles = ERRORS;
    titles[0].0 = "THRESHOLD";
    let found = both(group);
    let lines = SHARES.iter().enumerate().map(|(share, name)| {
        let ports = ports(&found, share).map(|ports| ports.to_string());
        let cells = [(*name).to_owned()].into_iter().chain(ports).collect();
        (cells, false)
    });
    let note = "Ports by their value as a share of the threshold.";
    table(&titles, lines.collect(), note.to_owned(), styles)
}

/// `100 Gb/s`, `50 to 100 Gb/s`.
fn rates(group: &v1::PerfGroup) -> String {
    let sides = [&group.internal, &group.external].into_iter().flatten();
    let (mut least, mut most) = (f64::MAX, 0.0_f64);
    for side in sides.filter(|side| side.most_gbps > 0.0) {
        least = least.min(side.least_gbps);
        most = most.max(side.most_gbps);
    }
    match most {
        0.0 => "none".to_owned(),
        most if most == least => format!("{most} Gb/s"),
        most => format!("{least} to {most} Gb/s"),
    }
}

pub(super) fn json(listed: &v1::ListPerfGroupsResponse) -> Value {
    let mut value = image_json(&listed.image.unwrap_or_default());
    value["attached"] = listed.attachment.is_none_or(|now| now.attached).into();
    value["groups"] = listed.groups.iter().map(group_json).collect();
    value
}

fn group_json(group: &v1::PerfGroup) -> Value {
    json!({
        "name": group.name,
        "built_in": group.built_in,
        "internal": group.internal.as_ref().map(side_json),
        "external": group.external.as_ref().map(side_json),
    })
}

fn side_json(side: &v1::PerfGroupSide) -> Value {
    let errors = side.errors.as_ref();
    let ports = errors.map(|errors| errors.ports.iter().map(|ports| members(Some(ports))));
    json!({
        "ports": side.ports,
        "sent": side.sent.as_ref().map(traffic_json),
        "received": side.received.as_ref().map(traffic_json),
        "most": members(errors.and_then(|errors| errors.most.as_ref())),
        "ports_by_threshold": ports.map(Iterator::collect::<Vec<_>>),
        "most_utilization_permille": errors.map(|errors| errors.most_utilization_permille),
        "most_discards_permille": errors.map(|errors| errors.most_discards_permille),
        "most_gbps": side.most_gbps,
        "least_gbps": side.least_gbps,
    })
}

fn traffic_json(carried: &v1::PerfGroupTraffic) -> Value {
    json!({
        "total_mbytes_per_second": carried.total_mbytes_per_second,
        "average_mbytes_per_second": carried.average_mbytes_per_second,
        "least_mbytes_per_second": carried.least_mbytes_per_second,
        "most_mbytes_per_second": carried.most_mbytes_per_second,
        "total_kpackets_per_second": carried.total_kpackets_per_second,
        "average_kpackets_per_second": carried.average_kpackets_per_second,
        "least_kpackets_per_second": carried.least_kpackets_per_second,
        "most_kpackets_per_second": carried.most_kpackets_per_second,
        "ports_by_utilization": carried.ports_by_utilization,
        "failed_ports": carried.failed_ports,
        "ports_without_neighbor": carried.ports_without_neighbor,
    })
}

fn members(values: Option<&v1::CounterCategories>) -> Value {
    let members = categories(values).map(|(name, value)| (name.to_owned(), value.into()));
    Value::Object(Map::from_iter(members))
}
