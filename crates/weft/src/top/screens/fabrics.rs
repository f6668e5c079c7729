//! Virtual fabrics.

use serde_json::json;
use weft_api::v1;

use crate::counters::units::bytes;
use crate::top::data::Data;
use crate::top::page::{Page, Row, cut, one_line};
use crate::top::table;

pub(super) fn page(data: &Data) -> Page {
    Page {
        title: table::heading(&data.loads, "virtual fabrics"),
        head: format!(
            "{:<16} {:>2} {:>6} {:>5} {:>9}",
            "FABRIC", "SL", "PKEY", "PORTS", "SENT/s"
        ),
        rows: data
            .fabrics
            .iter()
            .map(|fabric| row(data, fabric))
            .collect(),
    }
}

fn row(data: &Data, fabric: &v1::VirtualFabric) -> Row {
    let parts = data.ports.iter().flat_map(|port| &port.virtual_fabrics);
    let parts: Vec<_> = parts.filter(|part| part.name == fabric.name).collect();
    let sent = parts.iter().filter_map(|part| part.rates?.xmit_data);
    let sent: f64 = sent.sum();
    Row {
        text: format!(
            "{:<16} {:>2} {:>#6x} {:>5} {:>9}",
            cut(&one_line(&fabric.name), 16),
            fabric.sl,
            fabric.pkey,
            parts.len(),
            bytes(sent)
        ),
        json: json!({
            "name": fabric.name, "sl": fabric.sl, "pkey": fabric.pkey, "ports": parts.len(),
            "bytes_per_second": sent * 8.0,
        }),
        ..Row::default()
    }
}
