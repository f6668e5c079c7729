//! Ports, busiest or worst first.

use serde_json::json;
use weft_api::v1;

use crate::counters::units::{amount, bytes};
use crate::top::data::{Data, key};
use crate::top::order::{CATEGORIES, Order};
use crate::top::page::{Page, Row, Target, cut, end_name};
use crate::top::state::State;
use crate::top::table;

pub(super) fn page(state: &State, data: &Data) -> Page {
    let order = state.order;
    let mut ports: Vec<&v1::PortCounters> = data.ports.iter().collect();
    ports.sort_by(|a, b| order.value(b).total_cmp(&order.value(a)));
    let kind = if state.totals { "total" } else { "a second" };
    Page {
        title: table::heading(
            &data.loads,
            &format!("{} ports by {}", ports.len(), order.name()),
        ),
        head: format!(
            "{:<15} {:>5} {:>7} {:>8} {:<16} {kind}",
            "PORT", "%", "SORT", "SENT", "NEIGHBOR"
        ),
        rows: ports.iter().map(|port| row(state, port)).collect(),
    }
}

fn row(state: &State, port: &v1::PortCounters) -> Row {
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
    let text = format!(
        "{:<15} {used:>5.1} {sorted:>7} {:>8} {:<16} {}",
        cut(&end_name(port.port.as_ref()), 15),
        bytes(sent),
        cut(&end_name(port.neighbor.as_ref()), 16),
        state.history.bars(key(port.port.as_ref())),
    );
    let found = |order: &Order| order.value(port) > 0.0;
    Row {
        text: text.trim_end().to_owned(),
        alert: used >= 90.0 || CATEGORIES.iter().any(found),
        target: Some(Target::Port(key(port.port.as_ref()))),
        json: json(port),
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
