//! What links carry, from the last image of the performance manager or from the history.

use std::collections::BTreeSet;

use weft_fabric::{PortRef, Topology};
use weft_history::{HistoryError, Reader};
use weft_manager::pm::Image;
use weft_traffic::foresee::{Ports, Traffic};
use weft_traffic::link::{FLIT_BYTES, capacity, wait_unit};

use crate::job::{Port, samples};

/// Times before a moment of the past over which counters are taken, milliseconds: the first in which there are two
/// readings. Old readings are kept a minute, ten minutes or an hour apart.
const SPANS_MS: [i64; 3] = [60_000, 1_200_000, 7_200_000];
/// Parts of such a time, of which the last with a rate counts.
const PARTS: i64 = 60;
/// Positions of counters among those of the history.
const XMIT_DATA: usize = 0;
const RCV_DATA: usize = 1;
const XMIT_WAIT: usize = 6;

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
/// That files cannot be read.
pub(crate) fn of_past(
    reader: &Reader,
    at_ms: i64,
    topology: &Topology,
    ports: &Ports,
    warn: &mut dyn FnMut(String),
) -> Result<Option<Counted>, HistoryError> {
    let key = |at: PortRef| Some((topology.node(at.node)?.guid().0, at.port.0));
    let linked = (0..ports.len()).map(|number| ports.at(number));
    let linked = linked.filter(|at| topology.peer(*at).is_some());
    let keys: BTreeSet<Port> = linked.filter_map(key).collect();
    for span in SPANS_MS {
        let read = samples(reader, &keys, (at_ms - span, at_ms), span / PARTS, warn)?;
        let (mut traffic, mut times) = (empty(ports), None);
        for number in 0..ports.len() {
            let at = ports.at(number);
            let rates = |at: Option<PortRef>| {
                let mut all = read.get(&key(at?)?)?.iter().rev();
                all.find_map(|sample| Some((sample.time_ms, sample.span_ms, sample.rates?)))
            };
            let (own, other) = (rates(Some(at)), rates(topology.peer(at)));
            let Some((time, covers, _)) = own.or(other) else {
                continue;
            };
            let sent = own.map_or(0.0, |(.., rates)| rates[XMIT_DATA]);
            let received = other.map_or(0.0, |(.., rates)| rates[RCV_DATA]);
            traffic.loads[number] = Some(sent.max(received) * FLIT_BYTES);
            let waited = own.map_or(0.0, |(.., rates)| rates[XMIT_WAIT]);
            let waited = waited * wait_unit(topology, at) * FLIT_BYTES;
            let rate = capacity(topology, at).unwrap_or(f64::MAX);
            traffic.waits[number] = (waited / rate).min(1.0);
            times = Some((time, covers));
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
