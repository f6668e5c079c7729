//! Virtual fabrics.

use serde_json::json;
use weft_api::v1;

use crate::counters::units::bytes;
use crate::output::one_line;
use crate::top::columns::{self, Column, Table};
use crate::top::data::Data;
use crate::top::order::total;
use crate::top::page::{Page, Row, Target};
use crate::top::state::State;
use crate::top::table;

const COLUMNS: [Column; 5] = [
    columns::name("FABRIC", 14),
    columns::number("SL", 2),
    columns::number("PKEY", 6),
    columns::number("PORTS", 5),
    columns::number("SENT/s", 9),
];

pub(super) fn page(state: &State, data: &Data) -> Page {
    let table = Table::new(&COLUMNS, state.width);
    let fabrics = data.fabrics.iter();
    Page {
        title: table::heading(&data.loads, "virtual fabrics", state.width),
        head: table.head(),
        rows: fabrics.map(|fabric| row(&table, data, fabric)).collect(),
    }
}

fn row(table: &Table, data: &Data, fabric: &v1::VirtualFabric) -> Row {
    let parts = data.ports.iter().flat_map(|port| &port.virtual_fabrics);
    let parts: Vec<_> = parts.filter(|part| part.name == fabric.name).collect();
    let sent = total(parts.iter().filter_map(|part| part.rates?.xmit_data));
    let cells = [
        one_line(&fabric.name),
        fabric.sl.to_string(),
        format!("{:#x}", fabric.pkey),
        parts.len().to_string(),
        bytes(sent),
    ];
    Row {
        target: Some(Target::Fabric(fabric.name.clone())),
        json: json!({
            "name": fabric.name, "sl": fabric.sl, "pkey": fabric.pkey, "ports": parts.len(),
            "bytes_per_second": sent * 8.0,
        }),
        ..table.row(&cells)
    }
}
