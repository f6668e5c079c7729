//! Settings of the performance manager.

use serde_json::json;

use crate::pm::facts;
use crate::top::columns::{self, Column, Table};
use crate::top::data::Data;
use crate::top::page::{Page, Row};
use crate::top::state::State;
use crate::top::table;

const COLUMNS: [Column; 2] = [columns::text("", 20), columns::name("", 19)];

pub(super) fn page(state: &State, data: &Data) -> Page {
    let shown = Table::new(&COLUMNS, state.width);
    let row = |(name, value): (&'static str, String)| Row {
        json: json!({ "name": name, "value": value }),
        ..shown.row(&[name.to_owned(), value])
    };
    let settings = data.settings.iter();
    Page {
        title: match data.loads.moment {
            None => table::heading(&data.loads, "settings", state.width),
            Some(_) => "settings of now".to_owned(),
        },
        rows: settings.flat_map(facts).map(row).collect(),
        ..Page::default()
    }
}
