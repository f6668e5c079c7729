//! What links carry, from the last image of the performance manager or from the history.

use std::collections::BTreeSet;

use weft_fabric::{PortRef, Topology};
use weft_history::Reader;
use weft_manager::pm::Image;
use weft_traffic::foresee::{Ports, Traffic};
use weft_traffic::link::{FLIT_BYTES, capacity, wait_unit};

use crate::job::{NoAnswer, Port, Reading, readings};

/// Times before a moment of the past over which counters are taken, milliseconds: the first in which there are two
/// readings. They are some seconds apart, and old ones a minute, ten minutes or an hour.
const SPANS_MS: [i64; 4] = [8_000, 60_000, 1_200_000, 7_200_000];
/// Parts of such a time, of which the last with a rate counts.
const PARTS: i64 = 4;

/// What was counted.
pub(crate) struct Counted {
    pub(crate) traffic: Traffic,
    /// When it was read, milliseconds since 1970.
    pub(crate) time_ms: i64,
    /// What time it covers, milliseconds.
    pub(crate) span_ms: i64,
}

/// The traffic of the time that an image covers; none of one that has none before it.
pub(crate) fn of_image(image: &Image, topology: &Topology, ports: &Ports) -> Option<Counted> {
    if image.span_ns == 0 {
        return None;
    }
    let mut traffic = empty(ports);
    for (place, port) in image.roster.ports.iter().enumerate() {
        let guid = image.roster.member_of(port).guid;
        let number = topology.find(guid).and_then(|node| {
            ports.number(PortRef {
                node,
                port: port.number,
            })
        });
        if let (Some(number), Some(_)) = (number, image.port(place)) {
            let sending = image.sending(place);
            traffic.loads[number] = Some(sending.bytes_per_second);
            traffic.waits[number] = sending.wait;
        }
    }
    Some(Counted {
        traffic,
        time_ms: i64::try_from(image.unix_time).unwrap_or(0) * 1000,
        span_ms: (image.span_ns / 1_000_000) as i64,
    })
}

/// The traffic before a moment of the past; none where nothing was read.
///
/// # Errors
/// That files cannot be read, and that `stop` ends it.
pub(crate) fn of_past(
    reader: &Reader,
    at_ms: i64,
    topology: &Topology,
    ports: &Ports,
    stop: &dyn Fn() -> bool,
    warn: &mut dyn FnMut(String),
) -> Result<Option<Counted>, NoAnswer> {
    let key = |at: PortRef| Some((topology.node(at.node)?.guid().0, at.port.0));
    let linked = (0..ports.len()).map(|number| ports.at(number));
    let linked = linked.filter(|at| topology.peer(*at).is_some());
    let keys: BTreeSet<Port> = linked.filter_map(key).collect();
    for span in SPANS_MS {
        let before = (at_ms - span, at_ms);
        let read = readings(reader, &keys, before, span / PARTS, stop, warn)?;
        let (mut traffic, mut times) = (empty(ports), None);
        for number in 0..ports.len() {
            let at = ports.at(number);
            let last = |at: Option<PortRef>| read.get(&key(at?)?)?.last();
            let (own, other) = (last(Some(at)), last(topology.peer(at)));
            let Some(known) = own.or(other) else {
                continue;
            };
            let sent = own.map_or(0.0, Reading::sent);
            let received = other.map_or(0.0, Reading::received);
            traffic.loads[number] = Some(sent.max(received) * FLIT_BYTES);
            let waited = own.map_or(0.0, Reading::waited);
            let waited = waited * wait_unit(topology, at) * FLIT_BYTES;
            let rate = capacity(topology, at).unwrap_or(f64::MAX);
            traffic.waits[number] = (waited / rate).min(1.0);
            times = Some((known.time_ms, known.span_ms));
        }
        if let Some((time_ms, span_ms)) = times {
            return Ok(Some(Counted {
                traffic,
                time_ms,
                span_ms,
            }));
        }
    }
    Ok(None)
}

fn empty(ports: &Ports) -> Traffic {
    Traffic {
        loads: vec![None; ports.len()],
        waits: vec![0.0; ports.len()],
    }
}
