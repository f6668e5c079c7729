//! Counters as JSON.

use serde_json::{Map, Value, json};
use weft_api::time::seconds;
use weft_api::v1;
use weft_wire::pm::Counter;

use super::Read;
use crate::time::utc_json;

/// A reading.
pub(super) fn read(read: &Read) -> Value {
    let mut value = image(&read.image);
    value["lost_images"] = read.lost.into();
    value["attached"] = read.attached.into();
    value["ports"] = read.ports.iter().map(port).collect();
    value
}

/// Which reading, when, and over which time.
pub(crate) fn image(image: &v1::CounterImage) -> Value {
    json!({
        "image": image.number,
        "time": utc_json(image.time),
        "seconds": seconds(image.span),
    })
}

/// A port.
pub(crate) fn port(port: &v1::PortCounters) -> Value {
    let reading = match port.reading() {
        v1::CounterReading::Done => "done",
        v1::CounterReading::Failed => "failed",
        _ => "skipped",
    };
    let mut value = json!({
        "port": end(port.port.as_ref()),
        "neighbor": end(port.neighbor.as_ref()),
        "lid": port.lid,
        "reading": reading,
        "rate_gbps": port.rate_gbps,
        "link_quality": port.link_quality,
        "lanes_down": port.lanes_down,
        "since": utc_json(port.since_time),
        "errors_read": utc_json(port.errors_time),
        "bridges": port.bridges,
        "bridged": utc_json(port.bridged_time),
        "totals": totals(port.totals.as_ref()),
        "per_second": rates(port.rates.as_ref()),
        "categories": port.categories.as_ref().map(categories),
    });
    if let Some(since) = &port.since_clear {
        value["cleared"] = utc_json(port.cleared_time);
        value["since_clear"] = totals(Some(since));
    }
    if !port.lanes.is_empty() {
        let lanes: Vec<Value> = port.lanes.iter().map(lane).collect();
        value["lanes"] = lanes.into();
    }
    if !port.virtual_fabrics.is_empty() {
        let fabrics: Vec<Value> = port.virtual_fabrics.iter().map(fabric).collect();
        value["virtual_fabrics"] = fabrics.into();
    }
    if !port.lanes.is_empty() || !port.virtual_fabrics.is_empty() {
        value["lanes_since"] = utc_json(port.lanes_since_time);
    }
    value
}

/// An end of a link; null where there is none.
pub(crate) fn end(end: Option<&v1::LinkEnd>) -> Value {
    let Some(end) = end else { return Value::Null };
    let port = end.port.unwrap_or_default();
    json!({
        "guid": format!("{:#018x}", port.node_guid),
        "port": port.port,
        "name": end.node_name,
        "switch": end.node_type() == v1::NodeType::Switch,
    })
}

fn totals(counts: Option<&v1::PortCounts>) -> Value {
    let Some(counts) = counts else {
        return Value::Null;
    };
    members(|counter| weft_api::count_of(counts, counter).map(Value::from))
}

fn rates(rates: Option<&v1::PortRates>) -> Value {
    let Some(rates) = rates else {
        return Value::Null;
    };
    members(|counter| weft_api::rate_of(rates, counter).map(Value::from))
}

fn members(value: impl Fn(Counter) -> Option<Value>) -> Value {
    let known = Counter::ALL.into_iter().filter_map(|counter| {
        let name = weft_api::counter_name(counter).to_owned();
        Some((name, value(counter)?))
    });
    Value::Object(known.collect::<Map<_, _>>())
}

fn categories(values: &v1::CounterCategories) -> Value {
    json!({
        "integrity": values.integrity,
        "congestion": values.congestion,
        "sma_congestion": values.sma_congestion,
        "bubble": values.bubble,
        "security": values.security,
        "routing": values.routing,
    })
}

fn lane(lane: &v1::LaneCounters) -> Value {
    json!({
        "vl": lane.vl,
        "totals": totals(lane.totals.as_ref()),
        "per_second": rates(lane.rates.as_ref()),
    })
}

fn fabric(fabric: &v1::VirtualFabricCounters) -> Value {
    let vls: Vec<u32> = (0..32).filter(|vl| fabric.vls >> vl & 1 == 1).collect();
    json!({
        "name": fabric.name,
        "vls": vls,
        "totals": totals(fabric.totals.as_ref()),
        "per_second": rates(fabric.rates.as_ref()),
    })
}
