//! What happened in the time of a job.

use std::collections::{BTreeMap, BTreeSet};

use weft_history::{EventFilter, EventRow, HistoryError, Reader};

use super::Port;
use crate::changes::{Named, named};

/// Events that are read; what is after them is not looked at.
const READ_MAX: usize = 50_000;
/// Kinds that are not told of a link: there are many of them.
const LEFT_OUT: [&str; 6] = [
    "sweep_started",
    "sweep_ended",
    "trap",
    "operation_progress",
    "operation_changed",
    "change_asked",
];
/// Kinds after which routes may be others.
const CHANGES: [&str; 5] = [
    "link_vanished",
    "link_appeared",
    "node_vanished",
    "node_appeared",
    "plan_in_force",
];
/// Ports of one event that are told.
const NAMED_MAX: usize = 16;

/// An event, with the ports and nodes that it names.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) row: EventRow,
    pub(crate) named: Vec<Named>,
}

/// Events of a time, in order.
#[derive(Debug, Default)]
pub(crate) struct Events {
    all: Vec<Told>,
    /// There were more than are read.
    pub(crate) more: bool,
}

impl Events {
    /// Reads those from `span.0` to `span.1`, milliseconds since 1970.
    ///
    /// # Errors
    /// That files cannot be read.
    pub(crate) fn read(
        reader: &Reader,
        span: (i64, i64),
        name_of: &dyn Fn(u64) -> String,
        warn: &mut dyn FnMut(String),
    ) -> Result<Self, HistoryError> {
        let mut events = Self::default();
        let mut sink = |mut row: EventRow| {
            if LEFT_OUT.contains(&row.kind.as_str()) {
                return true;
            }
            events.more = events.all.len() >= READ_MAX;
            if events.more {
                return false;
            }
            let body = std::mem::take(&mut row.body);
            let body = serde_json::from_str(&body).unwrap_or_default();
            let mut named = named(&body, name_of);
            named.truncate(NAMED_MAX);
            events.all.push(Told { row, named });
            true
        };
        reader.events(span, &EventFilter::default(), &mut sink, warn)?;
        Ok(events)
    }

    /// Times after which routes may be others, milliseconds since 1970.
    pub(crate) fn changes(&self) -> impl Iterator<Item = i64> + '_ {
        let changes = self.all.iter().map(|event| &event.row);
        changes
            .filter(|row| CHANGES.contains(&row.kind.as_str()))
            .map(|row| row.time_ms)
    }

    /// Events that name one of these ports, or a node of them as a whole.
    pub(crate) fn about<'a>(&'a self, ports: &'a BTreeSet<Port>) -> impl Iterator<Item = &'a Told> {
        let nodes: BTreeSet<u64> = ports.iter().map(|(guid, _)| *guid).collect();
        self.all.iter().filter(move |event| {
            event.named.iter().any(|one| match port(one) {
                (guid, 0) => nodes.contains(&guid),
                port => ports.contains(&port),
            })
        })
    }

    /// How often each link was lost and for how long, milliseconds, up to `to_ms` or to where events are known; by its
    /// ends, the lower one first.
    pub(crate) fn losses(&self, to_ms: i64) -> BTreeMap<(Port, Port), (u32, i64)> {
        let last = self.all.last().filter(|_| self.more);
        let to_ms = last.map_or(to_ms, |event| event.row.time_ms);
        let mut losses: BTreeMap<(Port, Port), (u32, i64)> = BTreeMap::new();
        let mut since: BTreeMap<(Port, Port), i64> = BTreeMap::new();
        for event in &self.all {
            let is_lost = match event.row.kind.as_str() {
                "link_vanished" => true,
                "link_appeared" => false,
                _ => continue,
            };
            let [a, b, ..] = event.named.as_slice() else {
                continue;
            };
            let ends = (port(a), port(b));
            let key = (ends.0.min(ends.1), ends.0.max(ends.1));
            if is_lost {
                since.entry(key).or_insert(event.row.time_ms);
                losses.entry(key).or_default().0 += 1;
            } else if let Some(from) = since.remove(&key) {
                losses.entry(key).or_default().1 += (event.row.time_ms - from).max(0);
            }
        }
        for (key, from) in since {
            losses.entry(key).or_default().1 += (to_ms - from).max(0);
        }
        losses
    }
}

fn port(named: &Named) -> Port {
    (named.key.guid, named.key.port)
}
