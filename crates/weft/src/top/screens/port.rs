//! One port with its lanes and virtual fabrics, and one virtual fabric at a port.

use weft_api::v1;
use weft_wire::pm::Counter;

use crate::counters::units::{amount, bytes};
use crate::counters::value;
use crate::output::one_line;
use crate::top::columns::{self, Column, Table};
use crate::top::data::{Data, Key, key};
use crate::top::order::{CATEGORIES, Order};
use crate::top::page::{Page, Row, Target, cut, end_name};
use crate::top::state::State;
use crate::top::table;

const COUNTERS: [Column; 2] = [columns::text("COUNTER", 28), columns::number("", 10)];
const LANES: [Column; 5] = [
    columns::text("VL", 4),
    columns::number("SENT", 8),
    columns::number("RECEIVED", 8),
    columns::number("PACKETS", 8),
    columns::number("WAIT", 7),
];
const FABRICS: [Column; 4] = [
    columns::name("FABRIC", 12),
    columns::number("SENT", 8),
    columns::number("RECEIVED", 8),
    columns::number("WAIT", 7),
];

/// What has counters: a port, a lane or a virtual fabric.
type Counts<'a> = (Option<&'a v1::PortCounts>, Option<&'a v1::PortRates>);

pub(super) fn page(state: &State, data: &Data, wanted: Key) -> Page {
    let Some(port) = told(data, wanted) else {
        return waiting(state, data);
    };
    let mut rows = about(state, port, wanted);
    rows.extend(counters(state, (port.totals.as_ref(), port.rates.as_ref())));
    let lanes = Table::new(&LANES, state.width);
    rows.push(Row::plain(lanes.head()));
    rows.extend(
        port.lanes
            .iter()
            .map(|lane| self::lane(&lanes, state, lane)),
    );
    if !port.virtual_fabrics.is_empty() {
        let table = Table::new(&FABRICS, state.width);
        rows.push(Row::plain(table.head()));
        let fabrics = port.virtual_fabrics.iter();
        rows.extend(fabrics.map(|part| fabric(&table, state, part, wanted)));
    }
    Page {
        title: table::heading(&data.loads, &end_name(port.port.as_ref()), state.width),
        head: ends(state, port),
        rows,
    }
}

/// A virtual fabric at a port.
pub(super) fn of_fabric(state: &State, data: &Data, fabric: &str, wanted: Key) -> Page {
    let Some(port) = told(data, wanted) else {
        return waiting(state, data);
    };
    let mut parts = port.virtual_fabrics.iter();
    let part = parts.find(|part| part.name == fabric);
    let mut rows = Vec::new();
    if let Some(part) = part {
        rows.extend(lanes_of(state, port, part));
        rows.extend(counters(state, (part.totals.as_ref(), part.rates.as_ref())));
    } else {
        rows.extend(Row::sentence("this port is not in it now", state.width));
    }
    rows.push(Row {
        target: Some(Target::Port(wanted)),
        ..Row::plain("Enter: the whole port")
    });
    let name = cut(&one_line(fabric), state.width.saturating_sub(14) / 2);
    let what = format!("{name} at {}", end_name(port.port.as_ref()));
    Page {
        title: table::heading(&data.loads, &what, state.width),
        head: ends(state, port),
        rows,
    }
}

fn told(data: &Data, wanted: Key) -> Option<&v1::PortCounters> {
    let port = data.port.as_ref();
    port.filter(|port| key(port.port.as_ref()) == wanted)
}

fn waiting(state: &State, data: &Data) -> Page {
    Page {
        title: table::heading(&data.loads, "port", state.width),
        rows: Row::sentence("waiting for the counters of this port", state.width),
        ..Page::default()
    }
}

fn ends(state: &State, port: &v1::PortCounters) -> String {
    let ends = [&port.port, &port.neighbor].map(|end| end_name(end.as_ref()));
    cut(&ends.join(" > "), state.width)
}

fn about(state: &State, port: &v1::PortCounters, wanted: Key) -> Vec<Row> {
    let used = Order::Utilization.value(port);
    let link = [
        format!("LID {}", port.lid),
        format!("{} Gb/s", port.rate_gbps),
        match (state.at.is_some(), port.link_quality) {
            (true, 0) => "down, or quality not kept".to_owned(),
            (_, quality) => format!("quality {quality}"),
        },
        format!("{used:.1} % used"),
    ];
    let found = CATEGORIES
        .iter()
        .filter(|order| order.value(port) > 0.0)
        .map(|order| format!("{} {}", order.name(), order.value(port)));
    let found: Vec<String> = found.collect();
    let across = format!("Other end: {}", end_name(port.neighbor.as_ref()));
    let mut rows = vec![Row {
        target: port
            .neighbor
            .as_ref()
            .map(|end| Target::Port(key(Some(end)))),
        ..Row::plain(cut(&across, state.width))
    }];
    rows.extend(Row::parts(&link, state.width));
    let bars = Table::new(&[columns::bars("", 0)], state.width.saturating_sub(5));
    let bars = bars.row(&[state.history.bars(wanted)]);
    rows.push(Row::plain(format!("Use: {}", bars.text)));
    let found = Row::parts(&found, state.width).into_iter();
    rows.extend(found.map(|row| Row { alert: true, ..row }));
    rows
}

/// Which lanes a virtual fabric uses, and with whom.
fn lanes_of(state: &State, port: &v1::PortCounters, part: &v1::VirtualFabricCounters) -> Vec<Row> {
    let lanes = (0..32).filter(|vl| part.vls & (1 << vl) != 0);
    let lanes: Vec<String> = lanes.map(|vl| vl.to_string()).collect();
    let mut rows = Row::sentence(&format!("Lanes: {}", lanes.join(" ")), state.width);
    let others = port.virtual_fabrics.iter();
    let others = others.filter(|other| other.name != part.name && other.vls & part.vls != 0);
    let others: Vec<String> = others.map(|other| one_line(&other.name)).collect();
    if !others.is_empty() {
        let shared = format!("Shared with: {}", others.join(" "));
        rows.extend(Row::sentence(&shared, state.width));
    }
    rows
}

/// The counters that are not 0.
fn counters(state: &State, (totals, rates): Counts<'_>) -> Vec<Row> {
    let table = Table::new(&COUNTERS, state.width);
    let one = |counter: Counter| {
        let counted = value(totals, rates, counter, !state.totals)?;
        let unit = if state.totals { "" } else { "/s" };
        let cells = [
            weft_api::counter_name(counter).to_owned(),
            format!("{}{unit}", amount(counted)),
        ];
        (counted != 0.0).then(|| table.row(&cells))
    };
    Counter::ALL.into_iter().filter_map(one).collect()
}

fn lane(table: &Table, state: &State, lane: &v1::LaneCounters) -> Row {
    let counts = (lane.totals.as_ref(), lane.rates.as_ref());
    let of = |counter| value(counts.0, counts.1, counter, !state.totals).unwrap_or_default();
    table.row(&[
        lane.vl.to_string(),
        bytes(of(Counter::XmitData)),
        bytes(of(Counter::RcvData)),
        amount(of(Counter::XmitPkts)),
        amount(of(Counter::XmitWait)),
    ])
}

fn fabric(table: &Table, state: &State, part: &v1::VirtualFabricCounters, wanted: Key) -> Row {
    let counts = (part.totals.as_ref(), part.rates.as_ref());
    let of = |counter| value(counts.0, counts.1, counter, !state.totals).unwrap_or_default();
    let cells = [
        one_line(&part.name),
        bytes(of(Counter::XmitData)),
        bytes(of(Counter::RcvData)),
        amount(of(Counter::XmitWait)),
    ];
    Row {
        target: Some(Target::FabricPort(part.name.clone(), wanted)),
        ..table.row(&cells)
    }
}
