//! Groups of ports: bandwidth, and errors by category.

use serde_json::json;
use weft_api::v1;

use crate::counters::units::{amount, bytes};
use crate::top::data::Data;
use crate::top::order::{CATEGORIES, Order};
use crate::top::page::{Page, Row, Target};
use crate::top::table;

/// The performance manager's own groups.
const GROUPS: [(&str, Option<v1::NodeType>); 3] = [
    ("All", None),
    ("HFIs", Some(v1::NodeType::Hfi)),
    ("SWs", Some(v1::NodeType::Switch)),
];

pub(super) fn page(data: &Data) -> Page {
    let mut rows: Vec<Row> = GROUPS.map(|(name, kind)| group(data, name, kind)).into();
    rows.push(Row::plain("CATEGORY          PORTS    WORST"));
    rows.extend(CATEGORIES.map(|order| category(data, order)));
    Page {
        title: table::heading(&data.loads, "summary"),
        head: format!(
            "{:<5} {:>5} {:>8} {:>7} {:>5} {:>5}",
            "GROUP", "PORTS", "SENT/s", "PKTS/s", "AVG%", "MAX%"
        ),
        rows,
    }
}

fn group(data: &Data, name: &str, kind: Option<v1::NodeType>) -> Row {
    let inside = |port: &&v1::PortCounters| {
        let of = port.port.as_ref().map(v1::LinkEnd::node_type);
        kind.is_none_or(|kind| of == Some(kind))
    };
    let ports: Vec<&v1::PortCounters> = data.ports.iter().filter(inside).collect();
    let sum = |order: Order| ports.iter().map(|port| order.value(port)).sum::<f64>();
    let most = |order: Order| {
        ports
            .iter()
            .map(|port| order.value(port))
            .fold(0.0, f64::max)
    };
    let linked = ports.iter().filter(|port| port.neighbor.is_some()).count();
    let average = sum(Order::Utilization) / linked.max(1) as f64;
    let (sent, packets, max) = (
        sum(Order::Data),
        sum(Order::Packets),
        most(Order::Utilization),
    );
    Row {
        text: format!(
            "{name:<5} {:>5} {:>8} {:>7} {average:>5.1} {max:>5.1}",
            ports.len(),
            bytes(sent / 8.0),
            amount(packets),
        ),
        target: Some(Target::Ports {
            filter: String::new(),
            order: None,
        }),
        json: json!({
            "group": name, "ports": ports.len(), "bytes_per_second": sent,
            "packets_per_second": packets, "average_percent": average, "maximum_percent": max,
        }),
        ..Row::default()
    }
}

fn category(data: &Data, order: Order) -> Row {
    let values = data.ports.iter().map(|port| order.value(port));
    let found: Vec<f64> = values.filter(|value| *value > 0.0).collect();
    let worst = found.iter().copied().fold(0.0, f64::max);
    Row {
        text: format!(
            "{:<15} {:>7} {:>8}",
            order.name(),
            found.len(),
            amount(worst)
        ),
        alert: !found.is_empty(),
        target: Some(Target::Ports {
            filter: String::new(),
            order: Some(order),
        }),
        json: json!({ "category": order.name(), "ports": found.len(), "worst": worst }),
    }
}
