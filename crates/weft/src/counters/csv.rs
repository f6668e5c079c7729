//! Counters as CSV (RFC 4180): a line for each port, lane and virtual fabric.

use weft_api::v1;
use weft_wire::pm::Counter;

use super::{Read, value};
use crate::args::Counters;
use crate::time::utc_of;

/// Columns before the counters.
const FIXED: [&str; 14] = [
    "image",
    "time",
    "guid",
    "port",
    "name",
    "neighbor_guid",
    "neighbor_port",
    "neighbor_name",
    "lid",
    "reading",
    "rate_gbps",
    "link_quality",
    "vl",
    "virtual_fabric",
];

/// Names of the columns.
pub(super) fn head(command: &Counters) -> String {
    let suffix = if command.rate { "_per_second" } else { "" };
    let counters =
        wanted(command).map(|counter| weft_api::counter_name(counter).to_owned() + suffix);
    let fixed = FIXED.iter().map(|name| (*name).to_owned());
    line(fixed.chain(counters))
}

/// The counters that are asked for, in order.
fn wanted(command: &Counters) -> impl Iterator<Item = Counter> {
    let names = &command.counters;
    let has = |counter: &Counter| {
        let name = weft_api::counter_name(*counter);
        names.is_empty() || names.iter().any(|wanted| wanted == name)
    };
    Counter::ALL.into_iter().filter(has)
}

/// The lines of a reading.
pub(super) fn rows(read: &Read, command: &Counters) -> String {
    read.ports
        .iter()
        .map(|port| of_port(read, port, command))
        .collect()
}

fn of_port(read: &Read, port: &v1::PortCounters, command: &Counters) -> String {
    let reading = match port.reading() {
        v1::CounterReading::Done => "done",
        v1::CounterReading::Failed => "failed",
        _ => "skipped",
    };
    let time = utc_of(read.image.time);
    let mut fixed = vec![read.image.number.to_string(), time];
    fixed.extend(end(port.port.as_ref()));
    fixed.extend(end(port.neighbor.as_ref()));
    fixed.extend([
        port.lid.to_string(),
        reading.to_owned(),
        port.rate_gbps.to_string(),
        port.link_quality.to_string(),
    ]);
    let row =
        |part: [String; 2], totals: Option<&v1::PortCounts>, rates: Option<&v1::PortRates>| {
            let numbers = wanted(command).map(|counter| match command.rate {
                true => value(totals, rates, counter, true).map(|rate| rate.to_string()),
                false => totals
                    .and_then(|totals| weft_api::count_of(totals, counter))
                    .map(|count| count.to_string()),
            });
            let numbers = numbers.map(Option::unwrap_or_default);
            line(fixed.iter().cloned().chain(part).chain(numbers))
        };
    let none = String::new;
    let mut out = row([none(), none()], port.totals.as_ref(), port.rates.as_ref());
    for lane in &port.lanes {
        out += &row(
            [lane.vl.to_string(), none()],
            lane.totals.as_ref(),
            lane.rates.as_ref(),
        );
    }
    for fabric in &port.virtual_fabrics {
        let part = [none(), fabric.name.clone()];
        out += &row(part, fabric.totals.as_ref(), fabric.rates.as_ref());
    }
    out
}

fn end(end: Option<&v1::LinkEnd>) -> [String; 3] {
    let Some(end) = end else {
        return Default::default();
    };
    let port = end.port.unwrap_or_default();
    [
        format!("{:#018x}", port.node_guid),
        port.port.to_string(),
        end.node_name.clone(),
    ]
}

fn line(fields: impl Iterator<Item = String>) -> String {
    let quoted = fields.map(|field| match field.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    });
    quoted.collect::<Vec<_>>().join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let fields = ["a", "b,c", "say \"x\"", ""];
        let text = line(fields.iter().map(|field| (*field).to_owned()));
        assert_eq!(text, "a,\"b,c\",\"say \"\"x\"\"\",\n");
    }
}
