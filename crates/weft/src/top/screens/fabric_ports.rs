//! The ports of a virtual fabric, with what they carry of it.

use serde_json::json;
use weft_api::v1;
use weft_fabric::text::count;
use weft_wire::pm::Counter;

use crate::counters::units::{amount, bytes};
use crate::counters::value;
use crate::output::one_line;
use crate::top::columns::{self, Column, Table};
use crate::top::data::{Data, key};
use crate::top::order::Order;
use crate::top::page::{Page, Row, Target, cut, end_name};
use crate::top::state::State;
use crate::top::table;

const COLUMNS: [Column; 7] = [
    columns::name("PORT", 11),
    columns::number("SENT/s", 8),
    columns::number("RECVD/s", 8).from(56),
    columns::number("PKTS/s", 7),
    columns::number("WAIT/s", 7).from(64),
    columns::number("DROPPED", 7).from(72),
    columns::name("NEIGHBOR", 11),
];
/// Headings of totals, in the same places.
const TOTALS: [&str; 7] = [
    "PORT", "SENT", "RECVD", "PKTS", "WAIT", "DROPPED", "NEIGHBOR",
];

/// A port and its part of the fabric.
type Part<'a> = (&'a v1::PortCounters, &'a v1::VirtualFabricCounters);

pub(super) fn page(state: &State, data: &Data, fabric: &str) -> Page {
    let part = |port: &'_ v1::PortCounters| {
        let mut parts = port.virtual_fabrics.iter();
        parts.position(|part| part.name == fabric)
    };
    let ports = data.ports.iter();
    let ports = ports.filter_map(|port| Some((port, &port.virtual_fabrics[part(port)?])));
    let mut ports: Vec<Part<'_>> = ports.collect();
    let counter = sorted_by(state.order);
    state.sort(&mut ports, |part| number(state, part.1, counter));
    let mut columns = COLUMNS;
    if state.totals {
        columns = std::array::from_fn(|at| COLUMNS[at].titled(TOTALS[at]));
    }
    let table = Table::new(&columns, state.width);
    let name = cut(&one_line(fabric), state.width.saturating_sub(24));
    Page {
        title: table::heading(
            &data.loads,
            &format!("{name}: {}", count(ports.len(), "port")),
            state.width,
        ),
        head: table.head(),
        rows: ports.iter().map(|part| row(&table, state, *part)).collect(),
    }
}

/// The counter of lanes that an order is about; sent data where lanes have none.
fn sorted_by(order: Order) -> Counter {
    match order {
        Order::Packets => Counter::XmitPkts,
        Order::Wait => Counter::XmitWait,
        Order::Congestion => Counter::SwPortCongestion,
        Order::Bubble => Counter::RcvBubble,
        _ => Counter::XmitData,
    }
}

fn number(state: &State, part: &v1::VirtualFabricCounters, counter: Counter) -> f64 {
    let found = value(
        part.totals.as_ref(),
        part.rates.as_ref(),
        counter,
        !state.totals,
    );
    found.unwrap_or_default()
}

fn row(table: &Table, state: &State, (port, part): Part<'_>) -> Row {
    let number = |counter| number(state, part, counter);
    let dropped = number(Counter::XmitDiscards);
    let cells = [
        end_name(port.port.as_ref()),
        bytes(number(Counter::XmitData)),
        bytes(number(Counter::RcvData)),
        amount(number(Counter::XmitPkts)),
        amount(number(Counter::XmitWait)),
        amount(dropped),
        end_name(port.neighbor.as_ref()),
    ];
    Row {
        alert: dropped > 0.0,
        target: Some(Target::FabricPort(
            part.name.clone(),
            key(port.port.as_ref()),
        )),
        json: json!({ "port": key(port.port.as_ref()).1, "virtual_fabric": part.name }),
        ..table.row(&cells)
    }
}
