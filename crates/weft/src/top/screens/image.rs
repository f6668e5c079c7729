//! The last reading itself, and the manager that made it.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use weft_api::time::seconds;
use weft_api::v1;

use crate::time::{utc_json, utc_of};
use crate::top::columns::{self, Column, Table};
use crate::top::data::{Data, key};
use crate::top::group::Group;
use crate::top::page::{Page, Row};
use crate::top::state::State;
use crate::top::table;

const COLUMNS: [Column; 2] = [columns::text("", 18), columns::name("", 18)];

pub(super) fn page(state: &State, data: &Data) -> Page {
    let table = Table::new(&COLUMNS, state.width);
    let row = |(name, value): (&str, Value)| {
        let text = match &value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        Row {
            json: json!({ "name": name, "value": value }),
            ..table.row(&[name.to_owned(), text])
        }
    };
    let facts = reading(data)
        .into_iter()
        .chain(ports(data))
        .chain(manager(data))
        .chain(moment(data));
    Page {
        title: table::heading(&data.loads, "image", state.width),
        rows: facts.map(row).collect(),
        ..Page::default()
    }
}

fn reading(data: &Data) -> [(&'static str, Value); 5] {
    let loads = &data.loads;
    let began = utc_of(loads.time);
    let began = began.split('.').next().unwrap_or_default();
    [
        (
            "Image",
            match loads.moment {
                None => json!(loads.image),
                Some(_) => json!("of the past"),
            },
        ),
        ("Began", json!(format!("{began}Z"))),
        ("Covers seconds", json!(seconds(loads.span))),
        ("Links", json!(loads.links)),
        (
            "Attached",
            json!(loads.attachment.is_none_or(|now| now.attached)),
        ),
    ]
}

fn ports(data: &Data) -> [(&'static str, Value); 9] {
    let count = |is: &dyn Fn(&&v1::PortCounters) -> bool| data.ports.iter().filter(is).count();
    let reading = |reading| json!(count(&|port| port.reading() == reading));
    let of = |group: Group| json!(count(&|port| group.has(data, port.port.as_ref())));
    let nodes = |group: Group| {
        let ends = data.ports.iter().filter_map(|port| port.port.as_ref());
        let ends = ends.filter(|end| group.has(data, Some(end)));
        let nodes: BTreeSet<u64> = ends.map(|end| key(Some(end)).0).collect();
        json!(nodes.len())
    };
    [
        ("Switches", nodes(Group::Switches)),
        ("Their ports", of(Group::Switches)),
        ("HFIs", nodes(Group::Hfis)),
        ("Their ports", of(Group::Hfis)),
        ("Ports", json!(data.ports.len())),
        ("Ports read", reading(v1::CounterReading::Done)),
        ("Ports skipped", reading(v1::CounterReading::Skipped)),
        ("Ports failed", reading(v1::CounterReading::Failed)),
        // Somebody else has set their counters to zero, or they wrapped.
        ("Ports reset", json!(count(&|port| port.bridges > 0))),
    ]
}

/// The fabric of a moment of the past.
fn moment(data: &Data) -> Vec<(&'static str, Value)> {
    let Some(moment) = &data.loads.moment else {
        return Vec::new();
    };
    vec![
        ("Sweep", json!(moment.sweep)),
        ("Generation", json!(moment.generation)),
        ("Fabric since", utc_json(moment.since)),
    ]
}

fn manager(data: &Data) -> Vec<(&'static str, Value)> {
    let Some(fabric) = &data.fabric else {
        return Vec::new();
    };
    vec![
        ("Manager", json!(fabric.role)),
        ("Master's port", json!(format!("{:#018x}", fabric.master))),
        ("Instance", json!(fabric.instance)),
        ("Version", json!(fabric.version)),
    ]
}
