//! One port with its lanes.

use weft_api::v1;
use weft_wire::pm::Counter;

use crate::counters::units::{amount, bytes};
use crate::counters::value;
use crate::top::data::{Data, Key, key};
use crate::top::order::{CATEGORIES, Order};
use crate::top::page::{Page, Row, Target, end_name};
use crate::top::state::State;
use crate::top::table;

pub(super) fn page(state: &State, data: &Data, wanted: Key) -> Page {
    let Some(port) = data
        .port
        .as_ref()
        .filter(|port| key(port.port.as_ref()) == wanted)
    else {
        return Page {
            title: table::heading(&data.loads, "port"),
            rows: vec![Row::plain("waiting for the counters of this port")],
            ..Page::default()
        };
    };
    let mut rows = about(state, port, wanted);
    rows.extend(counters(state, port));
    rows.push(Row::plain("VL      SENT  RECEIVED   PACKETS    WAIT"));
    rows.extend(port.lanes.iter().map(|lane| self::lane(state, lane)));
    Page {
        title: table::heading(&data.loads, &end_name(port.port.as_ref())),
        head: format!(
            "{} > {}",
            end_name(port.port.as_ref()),
            end_name(port.neighbor.as_ref())
        ),
        rows,
    }
}

fn about(state: &State, port: &v1::PortCounters, wanted: Key) -> Vec<Row> {
    let used = Order::Utilization.value(port);
    let link = format!(
        "LID {}  {} Gb/s  quality {}  {used:.1} % used",
        port.lid, port.rate_gbps, port.link_quality
    );
    let found = CATEGORIES
        .iter()
        .filter(|order| order.value(port) > 0.0)
        .map(|order| format!("{} {}", order.name(), order.value(port)));
    let found: Vec<String> = found.collect();
    let across = Row {
        text: format!("Other end: {}", end_name(port.neighbor.as_ref())),
        target: port
            .neighbor
            .as_ref()
            .map(|end| Target::Port(key(Some(end)))),
        ..Row::default()
    };
    let mut rows = vec![
        across,
        Row::plain(link),
        Row::plain(format!("Use: {}", state.history.bars(wanted))),
    ];
    if !found.is_empty() {
        rows.push(Row {
            alert: true,
            ..Row::plain(found.join("  "))
        });
    }
    rows
}

/// The counters that are not 0.
fn counters(state: &State, port: &v1::PortCounters) -> Vec<Row> {
    let one = |counter: Counter| {
        let counted = value(
            port.totals.as_ref(),
            port.rates.as_ref(),
            counter,
            !state.totals,
        )?;
        let unit = if state.totals { "" } else { "/s" };
        let text = format!(
            "{:<28} {:>10}{unit}",
            weft_api::counter_name(counter),
            amount(counted)
        );
        (counted != 0.0).then(|| Row::plain(text))
    };
    Counter::ALL.into_iter().filter_map(one).collect()
}

fn lane(state: &State, lane: &v1::LaneCounters) -> Row {
    let of = |counter| {
        value(
            lane.totals.as_ref(),
            lane.rates.as_ref(),
            counter,
            !state.totals,
        )
        .unwrap_or_default()
    };
    Row::plain(format!(
        "{:<3} {:>8}  {:>8}  {:>8}  {:>6}",
        lane.vl,
        bytes(of(Counter::XmitData)),
        bytes(of(Counter::RcvData)),
        amount(of(Counter::XmitPkts)),
        amount(of(Counter::XmitWait)),
    ))
}
