//! Loads of links as text and as JSON.

use serde_json::{Map, Value, json};
use weft_api::time::seconds;
use weft_api::v1;
use weft_fabric::text::count;

use super::columns::{self, Column, Table};
use super::data::key;
use super::page::{Page, Row, Target, end_name, first_parts};
use crate::args::SortBy;
use crate::at::as_json;
use crate::time::utc_of;

const GIGA: f64 = 1e9;
/// From this share of its rate on a link stands out.
const BUSY: f64 = 0.9;

const COLUMNS: [Column; 8] = [
    columns::name("LINK", 15),
    columns::number("%", 6),
    columns::number("GB/S", 6).from(56),
    columns::number("WAIT%", 5),
    columns::number("BACK %", 6),
    columns::number("GB/S", 6).from(64),
    columns::number("WAIT%", 5).from(64),
    columns::number("CONG", 5).from(72),
];

/// One link.
fn row(table: &Table, load: &v1::LinkLoad) -> Row {
    let (there, back) = (
        load.a_to_b.unwrap_or_default(),
        load.b_to_a.unwrap_or_default(),
    );
    let mut cells = vec![format!(
        "{} > {}",
        end_name(load.a.as_ref()),
        end_name(load.b.as_ref())
    )];
    cells.extend(way(&there));
    cells.extend(way(&back));
    let congestion = there.congestion.max(back.congestion).min(99_999);
    cells.push(congestion.to_string());
    let nodes = [&load.a, &load.b].map(|end| key(end.as_ref()).0);
    Row {
        alert: there.utilization >= BUSY,
        target: Some(Target::Pair(nodes[0], nodes[1])),
        json: link_json(load),
        ..table.row(&cells)
    }
}

fn way(way: &v1::LinkDirection) -> [String; 3] {
    let (used, waited) = (way.utilization * 100.0, way.wait * 100.0);
    let rate = way.bytes_per_second / GIGA;
    [
        format!("{used:.1}"),
        format!("{rate:.2}"),
        format!("{waited:.1}"),
    ]
}

/// The date and second at which a reading began.
fn began(loads: &v1::ListBusiestLinksResponse) -> String {
    let time = utc_of(loads.time);
    let time = time.split('.').next().unwrap_or_default();
    time.replace('T', " ")
}

/// Title of the links of a reading.
fn title(loads: &v1::ListBusiestLinksResponse, sort: SortBy, width: usize) -> String {
    let (image, column) = (loads.image, sort.name());
    let time = utc_of(loads.time);
    let seconds = seconds(loads.span);
    let links = format!("{} by {column}", count(loads.links, "link"));
    let title = match loads.attachment.is_none_or(|now| now.attached) {
        true if loads.moment.is_some() => {
            format!("PAST reading of {time}, {seconds:.1} s; {links}")
        }
        true => format!("Image {image} of {time}, {seconds:.1} s; {links}"),
        false => format!("NOT ATTACHED: the fabric is gone; image {image} of {time} is the last"),
    };
    match title.chars().count() <= width {
        true => title,
        false => heading(loads, &links, width),
    }
}

/// Title of a screen: what it shows, and of which reading, as far as there is room.
pub(super) fn heading(loads: &v1::ListBusiestLinksResponse, what: &str, width: usize) -> String {
    let time = utc_of(loads.time);
    let time = time.get(11..19).unwrap_or_default();
    let gone = loads.attachment.is_some_and(|now| !now.attached);
    let image = loads.image;
    let parts = [
        gone.then(|| "NOT ATTACHED".to_owned()),
        Some(what.to_owned()),
        Some(match loads.moment.is_some() {
            true => format!("PAST {} UTC", began(loads)),
            false => format!("image {image} of {time} UTC"),
        }),
    ];
    let mut parts: Vec<String> = parts.into_iter().flatten().collect();
    let long = parts.join("; ").chars().count() > width;
    if let Some(last) = parts.last_mut().filter(|_| long) {
        *last = match loads.moment.is_some() {
            true => format!("PAST {time}"),
            false => format!("image {image}"),
        };
    }
    first_parts(&parts, "; ", width)
}

/// The screen of links.
pub(super) fn page(loads: &v1::ListBusiestLinksResponse, sort: SortBy, width: usize) -> Page {
    let sort = sort.of_links().map_or(SortBy::Utilization, |_| sort);
    let table = Table::new(&COLUMNS, width);
    Page {
        title: title(loads, sort, width),
        head: table.head(),
        rows: loads.busiest.iter().map(|load| row(&table, load)).collect(),
    }
}

pub(super) fn json(loads: &v1::ListBusiestLinksResponse) -> Value {
    let links: Vec<Value> = loads.busiest.iter().map(link_json).collect();
    let mut shown = reading_json(loads);
    shown.insert("time".to_owned(), utc_of(loads.time).into());
    shown.insert("seconds".to_owned(), seconds(loads.span).into());
    shown.insert("links".to_owned(), loads.links.into());
    let attached = loads.attachment.is_none_or(|now| now.attached);
    shown.insert("attached".to_owned(), attached.into());
    shown.insert("busiest".to_owned(), links.into());
    Value::Object(shown)
}

/// Which reading is shown: the number of its image, or the moment of the past and when the reading began.
pub(super) fn reading_json(loads: &v1::ListBusiestLinksResponse) -> Map<String, Value> {
    let reading = match &loads.moment {
        None => vec![("image", json!(loads.image))],
        Some(moment) => vec![
            ("image", Value::Null),
            ("moment", as_json(moment)),
            ("time", utc_of(loads.time).into()),
        ],
    };
    let named = reading.into_iter();
    named
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
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
    fn rows_fit_the_terminal() {
        let loads = v1::ListBusiestLinksResponse {
            links: 1,
            busiest: vec![
                full("edge1", "core1"),
                full("a-switch-with-a-long-name", "another-such-switch"),
            ],
            ..v1::ListBusiestLinksResponse::default()
        };
        let page = super::page(&loads, SortBy::Wait, 80);
        assert_eq!(
            page.rows[0].text,
            "edge1:5 > core1:1                   100.0  12.50  25.0    0.0   0.00   0.0 99999"
        );
        assert!(page.rows[1].text.contains('…'), "{:?}", page.rows[1]);
        assert!(page.rows[1].whole.contains("another-such-switch:1"));
        assert!(page.title.ends_with("; 1 link by wait"), "{}", page.title);
        let narrow = super::page(&loads, SortBy::Wait, 40);
        assert_eq!(
            narrow.rows[0].text,
            "edge1:5 > core1:1     100.0  25.0    0.0"
        );
        assert_eq!(narrow.title, "1 link by wait; image 0 of 00:00:00 UTC");
    }
}
