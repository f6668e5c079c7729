//! All links between two nodes.

use serde_json::json;
use weft_api::v1;
use weft_fabric::text::count;
use weft_wire::pm::Counter;

use crate::counters::units::{amount, bytes};
use crate::counters::value;
use crate::top::columns::{self, Column, Table};
use crate::top::data::{Data, key};
use crate::top::order::{Order, total};
use crate::top::page::{Page, Row, Target, cut, node_name};
use crate::top::state::State;
use crate::top::table;

const COLUMNS: [Column; 9] = [
    columns::text("PORTS", 9),
    columns::number("%", 5),
    columns::number("SENT/s", 8).from(60),
    columns::number("BACK%", 5),
    columns::number("SENT/s", 8).from(60),
    columns::number("ERRORS", 7),
    columns::text("STATE", 9),
    columns::number("RATE", 5).from(72),
    columns::number("QUALITY", 7).from(80),
];

/// A link between the two, from the first.
struct Link<'a> {
    ports: [u32; 2],
    /// What its ends have counted, where they were read.
    ends: [Option<&'a v1::PortCounters>; 2],
    state: String,
}

pub(super) fn page(state: &State, data: &Data, (from, to): (u64, u64)) -> Page {
    let links = links(data, from, to);
    let names = [from, to].map(|node| name(data, node));
    let room = state.width.saturating_sub(" and : 99 links".len()) / 2;
    let what = format!(
        "{} and {}: {}",
        cut(&names[0], room),
        cut(&names[1], room),
        count(links.len(), "link")
    );
    let table = Table::new(&COLUMNS, state.width);
    let mut rows = vec![sum(&table, state, &links)];
    rows.extend(links.iter().map(|link| row(&table, state, link, from)));
    if links.is_empty() {
        rows = Row::sentence("there is no link between them now", state.width);
    }
    Page {
        title: table::heading(&data.loads, &what, state.width),
        head: table.head(),
        rows,
    }
}

/// The links between two nodes by the ports of the first.
fn links(data: &Data, from: u64, to: u64) -> Vec<Link<'_>> {
    let counted = |node, port| {
        let mut ports = data.ports.iter();
        ports.find(|counted| key(counted.port.as_ref()) == (node, port))
    };
    let found = |node, port| {
        let mut ports = data.links.iter();
        ports.find(|found| {
            let id = found.id.unwrap_or_default();
            (id.node_guid, id.port) == (node, port)
        })
    };
    let link = |port: &v1::Port| {
        let (id, far) = (port.id?, port.neighbor?);
        ((id.node_guid, far.node_guid) == (from, to)).then(|| Link {
            ports: [id.port, far.port],
            ends: [counted(from, id.port), counted(to, far.port)],
            state: state_of(port, found(to, far.port)),
        })
    };
    data.links.iter().filter_map(link).collect()
}

/// The state of the end that is less far, and the lanes that are lost.
fn state_of(port: &v1::Port, far: Option<&v1::Port>) -> String {
    let states = [Some(port), far].into_iter().flatten().map(v1::Port::state);
    match states.min_by_key(|state| *state as i32) {
        Some(v1::PortState::Active) => "active",
        Some(v1::PortState::Armed) => "armed",
        Some(v1::PortState::Init) => "init",
        Some(v1::PortState::Down) => "down",
        Some(v1::PortState::Unspecified) | None => "?",
    }
    .to_owned()
}

fn name(data: &Data, node: u64) -> String {
    let ends = data.ports.iter().filter_map(|port| port.port.as_ref());
    let mut ends = ends.filter(|end| key(Some(end)).0 == node);
    ends.next().map_or(format!("{node:#018x}"), node_name)
}

impl Link<'_> {
    /// Percent of the rate that each end sends, and its flits a second.
    fn sent(&self) -> [(f64, f64); 2] {
        let sent = |end: Option<&v1::PortCounters>| {
            end.map(|port| {
                (
                    Order::Utilization.value(port),
                    Order::Data.value(port) / 8.0,
                )
            })
        };
        self.ends.map(|end| sent(end).unwrap_or_default())
    }

    /// Errors of both ends: as totals or a second.
    fn errors(&self, totals: bool) -> f64 {
        let errors = |port: &v1::PortCounters| {
            let counters = Counter::ALL[Counter::DATA..].iter();
            let one = |counter: &Counter| {
                value(port.totals.as_ref(), port.rates.as_ref(), *counter, !totals)
            };
            total(counters.filter_map(one))
        };
        total(self.ends.into_iter().flatten().map(errors))
    }

    fn lanes_down(&self) -> u32 {
        let lost = self.ends.into_iter().flatten().map(|port| port.lanes_down);
        lost.max().unwrap_or(0)
    }
}

/// All links together.
fn sum(table: &Table, state: &State, links: &[Link<'_>]) -> Row {
    let sent: Vec<[(f64, f64); 2]> = links.iter().map(Link::sent).collect();
    let way = |way: usize| {
        let used = total(sent.iter().map(|link| link[way].0));
        let flits = total(sent.iter().map(|link| link[way].1));
        [
            format!("{:.1}", used / links.len().max(1) as f64),
            bytes(flits),
        ]
    };
    let errors = total(links.iter().map(|link| link.errors(state.totals)));
    let rate = total(links.iter().map(rate));
    let mut cells = vec!["all".to_owned()];
    cells.extend(way(0));
    cells.extend(way(1));
    cells.extend([amount(errors), String::new(), format!("{rate:.0}g")]);
    table.row(&cells)
}

fn rate(link: &Link<'_>) -> f64 {
    let rates = link.ends.into_iter().flatten().map(|port| port.rate_gbps);
    rates.reduce(f64::min).unwrap_or(0.0)
}

fn row(table: &Table, state: &State, link: &Link<'_>, from: u64) -> Row {
    let errors = link.errors(state.totals);
    let sent = link.sent();
    let quality = link
        .ends
        .into_iter()
        .flatten()
        .map(|port| port.link_quality);
    let known = |quality: &u32| state.at.is_none() || *quality > 0;
    let quality = quality
        .min()
        .filter(known)
        .map_or("?".to_owned(), |quality| quality.to_string());
    let lost = link.lanes_down();
    let shown = match lost {
        0 => link.state.clone(),
        lost => format!("{} -{lost}", link.state),
    };
    let mut cells = vec![format!("{} > {}", link.ports[0], link.ports[1])];
    cells.extend(
        sent.iter()
            .flat_map(|(used, flits)| [format!("{used:.1}"), bytes(*flits)]),
    );
    cells.extend([
        amount(errors),
        shown,
        format!("{:.0}g", rate(link)),
        quality,
    ]);
    Row {
        alert: errors > 0.0 || lost > 0 || link.state != "active",
        target: Some(Target::Port((from, link.ports[0]))),
        json: json!({
            "ports": link.ports,
            "utilization_percent": sent.map(|(used, _)| used),
            "bytes_per_second": sent.map(|(_, flits)| flits * 8.0),
            "errors": errors,
            "state": link.state,
            "lanes_down": lost,
            "rate_gbps": rate(link),
        }),
        ..table.row(&cells)
    }
}
