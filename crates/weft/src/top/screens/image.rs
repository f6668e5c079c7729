//! The last reading itself.

use serde_json::json;
use weft_api::time::seconds;
use weft_api::v1;

use crate::top::data::Data;
use crate::top::page::{Page, Row};
use crate::top::table;

pub(super) fn page(data: &Data) -> Page {
    let loads = &data.loads;
    let count = |reading| {
        let ports = data.ports.iter();
        ports.filter(|port| port.reading() == reading).count()
    };
    let facts = [
        ("Image", json!(loads.image)),
        ("Covers seconds", json!(seconds(loads.span))),
        ("Links", json!(loads.links)),
        ("Ports", json!(data.ports.len())),
        ("Ports read", json!(count(v1::CounterReading::Done))),
        ("Ports skipped", json!(count(v1::CounterReading::Skipped))),
        ("Ports failed", json!(count(v1::CounterReading::Failed))),
        (
            "Attached",
            json!(loads.attachment.is_none_or(|now| now.attached)),
        ),
    ];
    let row = |(name, value): (&str, serde_json::Value)| Row {
        text: format!("{name:<16} {value}"),
        json: json!({ "name": name, "value": value }),
        ..Row::default()
    };
    Page {
        title: table::heading(loads, "image"),
        rows: facts.map(row).into(),
        ..Page::default()
    }
}
