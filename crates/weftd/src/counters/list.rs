//! The list of all counts, in a fixed order.

use weft_manager::sm::Status;
use weft_wire::header::method;
use weft_wire::sa::attribute_name;

use super::{Count, GROUPS, PM_SWEEPS, PmTotals, SA, SM, SWEEPS, Tallies};

/// The list under construction.
#[derive(Debug, Default)]
pub(super) struct List(Vec<Count>);

impl List {
    /// The counts, in order.
    pub(super) fn counts(self) -> Vec<Count> {
        self.0
    }

    pub(super) fn add(&mut self, group: usize, name: impl Into<String>, value: u64) {
        self.0.push(Count {
            group: GROUPS[group],
            name: name.into(),
            value,
        });
    }

    pub(super) fn manager(&mut self, status: &Status) {
        let totals = &status.totals;
        for (name, value) in [
            ("retries", totals.retries),
            ("timeouts", totals.timeouts),
            ("answers without a request", totals.stray),
            ("unreadable datagrams", totals.unreadable),
            ("traps", totals.traps),
            ("traps left out", totals.traps_left),
            ("device faults", totals.faults),
        ] {
            self.add(SM, name, value);
        }
        for count in &totals.by_attribute {
            self.add(SM, format!("Get {}", count.attribute), count.gets);
            self.add(SM, format!("Set {}", count.attribute), count.sets);
        }
    }

    pub(super) fn queries(&mut self, tallies: &Tallies) {
        self.add(SA, "answers with an error status", tallies.refused);
        for ((method, attribute), count) in &tallies.queries {
            self.add(SA, query_name(*method, *attribute), *count);
        }
        self.add(SA, "other queries", tallies.other_queries);
    }

    pub(super) fn sweeps(&mut self, tallies: &Tallies) {
        self.add(SWEEPS, "sweeps", tallies.sweeps.values().sum());
        for (reason, count) in &tallies.sweeps {
            self.add(SWEEPS, format!("sweeps: {reason}"), *count);
        }
        self.add(SWEEPS, "unfinished sweeps", tallies.unfinished);
        self.add(
            SWEEPS,
            "milliseconds of sweeps",
            tallies.sweep_ns / 1_000_000,
        );
    }

    pub(super) fn pm(&mut self, pm: &PmTotals) {
        for (name, value) in [
            ("sweeps", pm.sweeps),
            ("requests sent", pm.sent),
            ("retries", pm.retries),
            ("ports read", pm.ports),
            ("ports without an answer", pm.failed_ports),
            ("nodes without an answer", pm.failed_nodes),
            ("ports whose counters were set to 0", pm.cleared),
        ] {
            self.add(PM_SWEEPS, name, value);
        }
    }
}

/// A query as people name it.
pub(super) fn query_name(method: u8, attribute: u16) -> String {
    let method = match method {
        method::GET => "Get",
        method::SET => "Set",
        method::GET_TABLE => "GetTable",
        method::GET_TRACE_TABLE => "GetTraceTable",
        method::GET_MULTI => "GetMulti",
        _ => "Delete",
    };
    let name = attribute_name(attribute);
    name.map_or_else(
        || format!("{method} {attribute:#06x}"),
        |name| format!("{method} {name}"),
    )
}
