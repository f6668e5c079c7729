//! A group of ports: its use within the group and beyond it, how many ports use how much, and errors by category.

use serde_json::json;
use weft_fabric::text::count;

use super::summary::{self, category};
use crate::counters::units::bytes;
use crate::top::columns::{self, Column, Table};
use crate::top::data::Data;
use crate::top::group::Group;
use crate::top::order::{CATEGORIES, Order, received, total};
use crate::top::page::{Page, Row, Target, shown_name};
use crate::top::state::State;
use crate::top::table;

const COLUMNS: [Column; 6] = [
    columns::text("TRAFFIC", 8),
    columns::number("LINKS", 5),
    columns::number("AVG%", 5),
    columns::number("MIN%", 5).from(48),
    columns::number("MAX%", 5),
    columns::number("RATE/s", 8),
];
const USED: [Column; 4] = [
    columns::text("USED %", 8),
    columns::number("INSIDE", 7),
    columns::number("OUT", 7),
    columns::number("IN", 7),
];
const BINS: usize = 10;

/// What ports carry in a direction: percent of the rate, and flits a second.
type Load = (f64, f64);

/// Loads within a group, out of it and into it, as the vendor's tools part them.
struct Parts {
    inside: Vec<Load>,
    out: Vec<Load>,
    into: Vec<Load>,
}

impl Parts {
    fn of(data: &Data, group: &Group) -> Self {
        let (mut inside, mut out, mut into) = (Vec::new(), Vec::new(), Vec::new());
        for port in group.ports(data) {
            let sent = (
                Order::Utilization.value(port),
                Order::Data.value(port) / 8.0,
            );
            match &port.neighbor {
                None => {}
                Some(far) if group.has(data, Some(far)) => inside.push(sent),
                Some(_) => {
                    out.push(sent);
                    into.push(received(port));
                }
            }
        }
        Self { inside, out, into }
    }

    fn named(&self) -> [(&'static str, &[Load]); 3] {
        [
            ("inside", &self.inside),
            ("out", &self.out),
            ("in", &self.into),
        ]
    }
}

pub(super) fn page(state: &State, data: &Data, group: &Group) -> Page {
    let parts = Parts::of(data, group);
    let table = Table::new(&COLUMNS, state.width);
    let named = parts.named().into_iter();
    let named = named.filter(|(_, loads)| !loads.is_empty());
    let mut rows: Vec<Row> = named
        .map(|(name, loads)| traffic(&table, name, loads, group))
        .collect();
    let ports = group.ports(data);
    rows.push(Row {
        target: Some(Target::Ports {
            group: group.clone(),
            order: None,
        }),
        ..Row::plain(format!("{}: Enter lists them", count(ports.len(), "port")))
    });
    let table = Table::new(&summary::CATEGORY, state.width);
    rows.push(Row::plain(table.head()));
    rows.extend(CATEGORIES.map(|order| category(&table, &ports, order, group)));
    rows.extend(used(state, &parts));
    Page {
        title: table::heading(
            &data.loads,
            &format!("group {}", shown_name(group, state.width / 2)),
            state.width,
        ),
        head: Table::new(&COLUMNS, state.width).head(),
        rows,
    }
}

fn traffic(table: &Table, name: &str, loads: &[Load], group: &Group) -> Row {
    let shares = || loads.iter().map(|(used, _)| *used);
    let average = total(shares()) / loads.len().max(1) as f64;
    let (least, most) = (
        shares().fold(f64::MAX, f64::min),
        shares().fold(0.0, f64::max),
    );
    let flits = total(loads.iter().map(|(_, flits)| *flits));
    let order = Some(Order::Utilization);
    let shown = |value: f64| format!("{value:.1}");
    let cells = [
        name.to_owned(),
        loads.len().to_string(),
        shown(average),
        shown(least),
        shown(most),
        bytes(flits),
    ];
    Row {
        target: Some(Target::Ports {
            group: group.clone(),
            order,
        }),
        json: json!({
            "traffic": name, "ports": loads.len(), "average_percent": average, "minimum_percent": least,
            "maximum_percent": most, "bytes_per_second": flits * 8.0,
        }),
        ..table.row(&cells)
    }
}

/// Number of ports by use, without lines that have none.
fn used(state: &State, parts: &Parts) -> Vec<Row> {
    let table = Table::new(&USED, state.width);
    let bins = parts.named().map(|(_, loads)| {
        let mut bins = [0_usize; BINS];
        for (used, _) in loads {
            bins[((used / 10.0) as usize).min(BINS - 1)] += 1;
        }
        bins
    });
    let mut rows = vec![Row::plain(table.head())];
    for bin in (0..BINS).filter(|bin| bins.iter().any(|part| part[*bin] > 0)) {
        let mut cells = vec![format!("{}-{}", bin * 10, bin * 10 + 10)];
        cells.extend(bins.iter().map(|part| part[bin].to_string()));
        rows.push(table.row(&cells));
    }
    rows
}
