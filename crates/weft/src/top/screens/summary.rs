//! Groups of ports: bandwidth, and errors by category.

use serde_json::json;
use weft_api::v1;

use crate::counters::units::{amount, bytes};
use crate::output::one_line;
use crate::top::columns::{self, Column, Table};
use crate::top::data::Data;
use crate::top::group::Group;
use crate::top::order::{CATEGORIES, Order, total};
use crate::top::page::{Page, Row, Target};
use crate::top::state::State;
use crate::top::table;

const COLUMNS: [Column; 6] = [
    columns::text("GROUP", GROUP),
    columns::number("PORTS", 5),
    columns::number("SENT/s", 8),
    columns::number("PKTS/s", 7).from(48),
    columns::number("AVG%", 5),
    columns::number("MAX%", 5),
];
/// Fewest and most characters of a group's name.
const GROUP: usize = 5;
const LONGEST: usize = 13;
/// Errors by category.
pub(super) const CATEGORY: [Column; 3] = [
    columns::text("CATEGORY", 15),
    columns::number("PORTS", 7),
    columns::number("WORST", 8),
];

pub(super) fn page(state: &State, data: &Data) -> Page {
    let groups = Group::all(data);
    let longest = groups
        .iter()
        .map(|group| group.name().chars().count())
        .max();
    let mut columns = COLUMNS;
    columns[0] = columns::text("GROUP", longest.unwrap_or_default().clamp(GROUP, LONGEST));
    let table = Table::new(&columns, state.width);
    let mut rows: Vec<Row> = groups.iter().map(|one| group(&table, data, one)).collect();
    let categories = Table::new(&CATEGORY, state.width);
    rows.push(Row::plain(categories.head()));
    let ports: Vec<&v1::PortCounters> = data.ports.iter().collect();
    rows.extend(CATEGORIES.map(|order| category(&categories, &ports, order, &Group::All)));
    Page {
        title: table::heading(&data.loads, "summary", state.width),
        head: table.head(),
        rows,
    }
}

fn group(table: &Table, data: &Data, group: &Group) -> Row {
    let ports = group.ports(data);
    let values = |order: Order| ports.iter().map(move |port| order.value(port));
    let linked = ports.iter().filter(|port| port.neighbor.is_some()).count();
    let average = total(values(Order::Utilization)) / linked.max(1) as f64;
    let most = values(Order::Utilization).fold(0.0, f64::max);
    let sent = total(values(Order::Data));
    let packets = total(values(Order::Packets));
    let cells = [
        one_line(group.name()),
        ports.len().to_string(),
        bytes(sent / 8.0),
        amount(packets),
        format!("{average:.1}"),
        format!("{most:.1}"),
    ];
    Row {
        target: Some(Target::Group(group.clone())),
        json: json!({
            "group": group.name(), "ports": ports.len(), "bytes_per_second": sent,
            "packets_per_second": packets, "average_percent": average, "maximum_percent": most,
        }),
        ..table.row(&cells)
    }
}

/// How many of the ports of a group have errors of a category.
pub(super) fn category(
    table: &Table,
    ports: &[&v1::PortCounters],
    order: Order,
    group: &Group,
) -> Row {
    let values = ports.iter().map(|port| order.value(port));
    let found: Vec<f64> = values.filter(|value| *value > 0.0).collect();
    let worst = found.iter().copied().fold(0.0, f64::max);
    let cells = [
        order.name().to_owned(),
        found.len().to_string(),
        amount(worst),
    ];
    Row {
        alert: !found.is_empty(),
        target: Some(Target::Ports {
            group: group.clone(),
            order: Some(order),
        }),
        json: json!({ "category": order.name(), "ports": found.len(), "worst": worst }),
        ..table.row(&cells)
    }
}
