//! Ports, busiest or worst first.

use serde_json::json;
use weft_api::v1;
use weft_fabric::text::count;

use crate::counters::units::{amount, bytes};
use crate::top::columns::{self, Column, Table};
use crate::top::data::{Data, key};
use crate::top::group::Group;
use crate::top::order::{CATEGORIES, Order};
use crate::top::page::{Page, Row, Target, end_name, shown_name};
use crate::top::state::State;
use crate::top::table;

const COLUMNS: [Column; 8] = [
    columns::name("PORT", 12),
    columns::number("LID", 6).from(96),
    columns::text("GUID", 18).from(120),
    columns::number("%", 5),
    columns::number("SORT", 7),
    columns::number("SENT/s", 8).from(56),
    columns::name("NEIGHBOR", 12),
    columns::bars("USE", 8).from(64),
];

/// Place of the column whose title is another one for totals.
const SENT: usize = 5;

pub(super) fn page(state: &State, data: &Data, group: &Group) -> Page {
    let order = state.order;
    let mut ports = group.ports(data);
    state.sort(&mut ports, |port| order.value(port));
    let mut columns = COLUMNS;
    if state.totals {
        columns[SENT] = columns[SENT].titled("SENT");
    }
    let table = Table::new(&columns, state.width);
    let of = match group {
        Group::All => String::new(),
        group => format!(" of {}", shown_name(group, state.width / 3)),
    };
    let lowest = if state.lowest { ", lowest" } else { "" };
    let what = format!(
        "{}{of} by {}{lowest}",
        count(ports.len(), "port"),
        order.name()
    );
    Page {
        title: table::heading(&data.loads, &what, state.width),
        head: table.head(),
        rows: ports.iter().map(|port| row(&table, state, port)).collect(),
    }
}

fn row(table: &Table, state: &State, port: &v1::PortCounters) -> Row {
    let used = Order::Utilization.value(port);
    let sent = match state.totals {
        true => port
            .totals
            .and_then(|all| all.xmit_data)
            .unwrap_or_default() as f64,
        false => port.rates.and_then(|all| all.xmit_data).unwrap_or_default(),
    };
    let value = state.order.value(port);
    let sorted = match state.order {
        Order::Utilization => format!("{value:.1}"),
        _ => amount(value),
    };
    let cells = [
        end_name(port.port.as_ref()),
        port.lid.to_string(),
        format!("{:#018x}", key(port.port.as_ref()).0),
        format!("{used:.1}"),
        sorted,
        bytes(sent),
        end_name(port.neighbor.as_ref()),
        state.history.bars(key(port.port.as_ref())),
    ];
    let found = |order: &Order| order.value(port) > 0.0;
    Row {
        alert: used >= 90.0 || CATEGORIES.iter().any(found),
        target: Some(Target::Port(key(port.port.as_ref()))),
        json: json(port),
        ..table.row(&cells)
    }
}

/// A port with its values in every order.
pub(super) fn json(port: &v1::PortCounters) -> serde_json::Value {
    let (guid, number) = key(port.port.as_ref());
    let name = port.port.as_ref().map(|end| &end.node_name);
    json!({
        "guid": format!("{guid:#018x}"),
        "port": number,
        "name": name,
        "neighbor": port.neighbor.as_ref().map(|end| &end.node_name),
        "utilization_percent": Order::Utilization.value(port),
        "bytes_per_second": Order::Data.value(port),
        "packets_per_second": Order::Packets.value(port),
        "integrity": Order::Integrity.value(port),
        "congestion": Order::Congestion.value(port),
        "sma_congestion": Order::SmaCongestion.value(port),
        "bubble": Order::Bubble.value(port),
        "security": Order::Security.value(port),
        "routing": Order::Routing.value(port),
    })
}
