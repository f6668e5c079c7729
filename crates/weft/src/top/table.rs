//! Loads of links as text and as JSON.

use serde_json::{Value, json};
use weft_api::time::seconds;
use weft_api::v1;

use super::data::key;
use super::page::{Page, Row, Target, cut, end_name};
use crate::args::SortBy;
use crate::time::utc_of;

const GIGA: f64 = 1e9;
/// Width of the first column; a longer name is cut.
const LINK: usize = 33;
/// From this share of its rate on a link stands out.
const BUSY: f64 = 0.9;

/// Column headings.
pub(super) fn head() -> String {
    format!(
        "{:<LINK$} {:>6} {:>6} {:>5} {:>6} {:>6} {:>5} {:>5}",
        "LINK", "%", "GB/S", "WAIT%", "BACK %", "GB/S", "WAIT%", "CONG"
    )
}

/// One link.
pub(super) fn row(load: &v1::LinkLoad) -> String {
    let (there, back) = (
        load.a_to_b.unwrap_or_default(),
        load.b_to_a.unwrap_or_default(),
    );
    let link = format!(
        "{} > {}",
        end_name(load.a.as_ref()),
        end_name(load.b.as_ref())
    );
    format!(
        "{:<LINK$} {} {} {:>5}",
        cut(&link, LINK),
        way(&there),
        way(&back),
        there.congestion.max(back.congestion).min(99_999)
    )
}

fn way(way: &v1::LinkDirection) -> String {
    let (used, waited) = (way.utilization * 100.0, way.wait * 100.0);
    let rate = way.bytes_per_second / GIGA;
    format!("{used:>6.1} {rate:>6.2} {waited:>5.1}")
}

/// Title of a reading.
pub(super) fn title(loads: &v1::ListBusiestLinksResponse, sort: SortBy) -> String {
    let column = sort.name();
    let time = utc_of(loads.time);
    let seconds = seconds(loads.span);
    if loads.attachment.is_some_and(|now| !now.attached) {
        let image = loads.image;
        return format!("NOT ATTACHED: the fabric is gone; image {image} of {time} is the last");
    }
    format!(
        "Image {} of {time}, {seconds:.1} s; {} links by {column}",
        loads.image, loads.links
    )
}

/// Title of a screen: what it shows, and of which reading.
pub(super) fn heading(loads: &v1::ListBusiestLinksResponse, what: &str) -> String {
    let time = utc_of(loads.time);
    let time = time.get(11..19).unwrap_or_default();
    match loads.attachment.is_none_or(|now| now.attached) {
        true => format!("{what}; image {} of {time} UTC", loads.image),
        false => format!("NOT ATTACHED; {what}; image {} of {time} UTC", loads.image),
    }
}

/// The screen of links.
pub(super) fn page(loads: &v1::ListBusiestLinksResponse, sort: SortBy) -> Page {
    let sort = sort.of_links().map_or(SortBy::Utilization, |_| sort);
    let row = |load: &v1::LinkLoad| Row {
        text: row(load),
        alert: load.a_to_b.is_some_and(|way| way.utilization >= BUSY),
        target: Some(Target::Port(key(load.a.as_ref()))),
        json: link_json(load),
    };
    Page {
        title: title(loads, sort),
        head: head(),
        rows: loads.busiest.iter().map(row).collect(),
    }
}

pub(super) fn text(loads: &v1::ListBusiestLinksResponse, sort: SortBy) -> String {
    let rows = loads.busiest.iter().map(row);
    let lines: Vec<String> = [title(loads, sort), head()]
        .into_iter()
        .chain(rows)
        .collect();
    lines.join("\n") + "\n"
}

pub(super) fn json(loads: &v1::ListBusiestLinksResponse) -> Value {
    let links: Vec<Value> = loads.busiest.iter().map(link_json).collect();
    json!({
        "image": loads.image,
        "time": utc_of(loads.time),
        "seconds": seconds(loads.span),
        "links": loads.links,
        "attached": loads.attachment.is_none_or(|now| now.attached),
        "busiest": links,
    })
}

fn link_json(load: &v1::LinkLoad) -> Value {
    let end = |end: &Option<v1::LinkEnd>| {
        let end = end.clone().unwrap_or_default();
        let port = end.port.unwrap_or_default();
        json!({
            "guid": format!("{:#018x}", port.node_guid),
            "port": port.port,
            "name": end.node_name,
            "switch": end.node_type() == v1::NodeType::Switch,
        })
    };
    let way = |way: &Option<v1::LinkDirection>| {
        let way = way.unwrap_or_default();
        json!({
            "utilization_percent": way.utilization * 100.0,
            "gb_per_second": way.bytes_per_second / GIGA,
            "packets_per_second": way.packets_per_second,
            "wait_percent": way.wait * 100.0,
            "discards": way.discards,
            "congestion": way.congestion,
        })
    };
    json!({
        "a": end(&load.a),
        "b": end(&load.b),
        "a_to_b": way(&load.a_to_b),
        "b_to_a": way(&load.b_to_a),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A link that is full in one direction.
    pub(crate) fn full(from: &str, to: &str) -> v1::LinkLoad {
        let end = |name: &str, port| v1::LinkEnd {
            port: Some(v1::PortId { node_guid: 1, port }),
            node_type: v1::NodeType::Switch.into(),
            node_name: name.to_owned(),
        };
        v1::LinkLoad {
            a: Some(end(from, 5)),
            b: Some(end(to, 1)),
            a_to_b: Some(v1::LinkDirection {
                bytes_per_second: 12.5e9,
                utilization: 1.0,
                wait: 0.25,
                congestion: 123_456_789,
                ..v1::LinkDirection::default()
            }),
            b_to_a: None,
        }
    }

    #[test]
    fn rows_fit_a_terminal_of_80_columns() {
        let short = row(&full("edge1", "core1"));
        assert_eq!(
            short,
            "edge1:5 > core1:1                  100.0  12.50  25.0    0.0   0.00   0.0 99999"
        );
        let long = row(&full("a-switch-with-a-long-name", "another-such-switch"));
        assert!(long.contains('…'), "{long}");
        for line in [head(), short, long] {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
