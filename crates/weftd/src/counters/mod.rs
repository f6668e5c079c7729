//! Counts of datagrams, queries and sweeps since a client last set them to 0. Metrics go on counting.

mod list;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use weft_manager::pm::PmReport;
use weft_manager::sm::Status;
use weft_manager::{SweepReason, SweepReport};
use weft_wire::header::{class, method};
use weft_wire::packet::Packet;

use crate::event_hub::unix_time_ns;
use crate::event_log::reason_name;
use list::List;

/// Different queries that have a count of their own; others are counted together.
const QUERIES_MAX: usize = 256;

/// Groups of counts, in order; the first five are classes of datagrams.
const GROUPS: [&str; 7] = [
    "subnet management",
    "subnet administration",
    "performance management",
    "performance administration",
    "other classes",
    "sweeps",
    "counter sweeps",
];
const SM: usize = 0;
const SA: usize = 1;
const PM: usize = 2;
const PA: usize = 3;
const OTHER: usize = 4;
const SWEEPS: usize = 5;
const PM_SWEEPS: usize = 6;

/// Which counts are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    All,
    /// Subnet management and administration.
    Subnet,
    /// Performance management and administration.
    Performance,
}

impl Scope {
    fn has(self, group: &str) -> bool {
        let performance = [PM, PA, PM_SWEEPS].iter().any(|one| GROUPS[*one] == group);
        match self {
            Self::All => true,
            Self::Subnet => !performance,
            Self::Performance => performance,
        }
    }
}

/// One count.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Count {
    pub(crate) group: &'static str,
    pub(crate) name: String,
    pub(crate) value: u64,
}

/// Counts, and since when.
#[derive(Debug, Clone)]
pub(crate) struct Counted {
    pub(crate) counts: Vec<Count>,
    /// Nanoseconds since 1970.
    pub(crate) since_unix_ns: u64,
}

#[derive(Debug, Default)]
struct Class {
    sent: AtomicU64,
    received: AtomicU64,
}

/// Counts since the start that are kept here, besides those of the manager's status.
#[derive(Debug, Default)]
struct Tallies {
    /// Queries at subnet administration by method and attribute.
    queries: BTreeMap<(u8, u16), u64>,
    other_queries: u64,
    /// Answers of subnet administration with a status other than 0.
    refused: u64,
    /// Sweeps by reason.
    sweeps: BTreeMap<&'static str, u64>,
    unfinished: u64,
    sweep_ns: u64,
    pm: PmTotals,
}

#[derive(Debug, Default)]
struct PmTotals {
    sweeps: u64,
    sent: u64,
    retries: u64,
    ports: u64,
    failed_ports: u64,
    failed_nodes: u64,
    cleared: u64,
}

/// Values at the last reset of each group.
#[derive(Debug)]
struct Base {
    values: BTreeMap<(&'static str, String), u64>,
    subnet_unix_ns: u64,
    performance_unix_ns: u64,
}

impl Base {
    /// Of totals, what has been counted since the last reset.
    fn since(&self, totals: Vec<Count>, scope: Scope) -> Counted {
        let mut counts = totals;
        counts.retain(|count| scope.has(count.group));
        for count in &mut counts {
            let key = (count.group, count.name.clone());
            let before = self.values.get(&key).copied().unwrap_or(0);
            count.value = count.value.saturating_sub(before);
        }
        let since_unix_ns = match scope {
            Scope::Subnet => self.subnet_unix_ns,
            Scope::Performance => self.performance_unix_ns,
            Scope::All => self.subnet_unix_ns.min(self.performance_unix_ns),
        };
        Counted {
            counts,
            since_unix_ns,
        }
    }

    /// Lets counts begin at these totals.
    fn set(&mut self, totals: Vec<Count>, scope: Scope) {
        let now = unix_time_ns();
        if scope != Scope::Performance {
            self.subnet_unix_ns = now;
        }
        if scope != Scope::Subnet {
            self.performance_unix_ns = now;
        }
        for count in totals.into_iter().filter(|count| scope.has(count.group)) {
            self.values.insert((count.group, count.name), count.value);
        }
    }
}

/// All counts.
#[derive(Debug)]
pub(crate) struct Counters {
    classes: [Class; 5],
    tallies: Mutex<Tallies>,
    base: Mutex<Base>,
}

impl Counters {
    /// Counts from now on.
    pub(crate) fn new() -> Self {
        let now = unix_time_ns();
        Self {
            classes: Default::default(),
            tallies: Mutex::default(),
            base: Mutex::new(Base {
                values: BTreeMap::new(),
                subnet_unix_ns: now,
                performance_unix_ns: now,
            }),
        }
    }

    /// These datagrams are sent.
    pub(crate) fn sent(&self, batch: &[Packet]) {
        for packet in batch {
            let class = class_of(packet);
            self.classes[class].sent.fetch_add(1, Ordering::Relaxed);
            if class == SA && is_refusal(packet) {
                lock(&self.tallies).refused += 1;
            }
        }
    }

    /// These datagrams have arrived.
    pub(crate) fn received(&self, batch: &[Packet]) {
        for packet in batch {
            let class = class_of(packet);
            self.classes[class].received.fetch_add(1, Ordering::Relaxed);
            if class == SA {
                self.query(packet);
            }
        }
    }

    fn query(&self, packet: &Packet) {
        let Some(query) = query_of(packet) else {
            return;
        };
        let mut tallies = lock(&self.tallies);
        let has_room = tallies.queries.len() < QUERIES_MAX;
        match tallies.queries.get_mut(&query) {
            Some(count) => *count += 1,
            None if has_room => drop(tallies.queries.insert(query, 1)),
            None => tallies.other_queries += 1,
        }
    }

    /// A sweep has ended.
    pub(crate) fn sweep(&self, report: &SweepReport) {
        let mut tallies = lock(&self.tallies);
        let reason = report.reason.unwrap_or(SweepReason::Scheduled);
        *tallies.sweeps.entry(reason_name(reason)).or_default() += 1;
        tallies.unfinished += u64::from(!report.unfinished.is_empty());
        tallies.sweep_ns += report.elapsed_ns;
    }

    /// The counters of the fabric have been read.
    pub(crate) fn pm_sweep(&self, report: &PmReport) {
        let pm = &mut lock(&self.tallies).pm;
        pm.sweeps += 1;
        pm.sent += report.sent;
        pm.retries += report.retries;
        pm.ports += u64::from(report.ports);
        pm.failed_ports += u64::from(report.failed_ports);
        pm.failed_nodes += u64::from(report.failed_nodes);
        pm.cleared += u64::from(report.cleared);
    }

    /// Counts since the last reset; `status` has those of the manager.
    pub(crate) fn read(&self, status: &Status, scope: Scope) -> Counted {
        lock(&self.base).since(self.totals(status), scope)
    }

    /// Sets counts to 0; returns them as they were.
    pub(crate) fn reset(&self, status: &Status, scope: Scope) -> Counted {
        let totals = self.totals(status);
        let mut base = lock(&self.base);
        let counted = base.since(totals.clone(), scope);
        base.set(totals, scope);
        counted
    }

    /// All counts since the start, in a fixed order.
    fn totals(&self, status: &Status) -> Vec<Count> {
        let mut list = List::default();
        let tallies = lock(&self.tallies);
        for (place, class) in self.classes.iter().enumerate() {
            let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
            list.add(place, "datagrams sent", read(&class.sent));
            list.add(place, "datagrams received", read(&class.received));
            match place {
                SM => list.manager(status),
                SA => list.queries(&tallies),
                _ => {}
            }
        }
        list.sweeps(&tallies);
        list.pm(&tallies.pm);
        list.counts()
    }
}

/// Each lock is held for a few instructions; a panic under one leaves at worst a count that is off by one.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn class_of(packet: &Packet) -> usize {
    match packet.mad.get(1).copied() {
        Some(class::SM_LID_ROUTED | class::SM_DIRECTED_ROUTE) => SM,
        Some(class::SUBN_ADM) => SA,
        Some(class::PERF) => PM,
        Some(class::PA) => PA,
        _ => OTHER,
    }
}

/// Method and attribute of a query; none for acknowledgements of the transfer protocol and answers.
fn query_of(packet: &Packet) -> Option<(u8, u16)> {
    let method = *packet.mad.get(3)?;
    let attribute = packet.mad.get(16..18)?;
    let attribute = u16::from_be_bytes([attribute[0], attribute[1]]);
    let asks = matches!(
        method,
        method::GET
            | method::SET
            | method::GET_TABLE
            | method::GET_TRACE_TABLE
            | method::GET_MULTI
            | method::DELETE
    );
    asks.then_some((method, attribute))
}

fn is_refusal(packet: &Packet) -> bool {
    let responds = packet
        .mad
        .get(3)
        .is_some_and(|method| method::is_response(*method));
    responds && packet.mad.get(4..6).is_some_and(|status| status != [0, 0])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn packet(class: u8, method: u8, attribute: u16) -> Packet {
        let mut mad = vec![0; 24];
        (mad[1], mad[3]) = (class, method);
        mad[16..18].copy_from_slice(&attribute.to_be_bytes());
        Packet::directed(mad)
    }

    fn value(counters: &Counters, scope: Scope, name: &str) -> Option<u64> {
        let counted = counters.read(&Status::default(), scope);
        let found = counted.counts.into_iter().find(|count| count.name == name);
        found.map(|count| count.value)
    }

    #[test]
    fn queries_are_counted_by_kind_and_reset_by_scope() {
        let counters = Counters::new();
        let path = packet(class::SUBN_ADM, method::GET_TABLE, 0x35);
        counters.received(&[path.clone(), path]);
        counters.received(&[Packet::directed(vec![1])]);
        let name = list::query_name(method::GET_TABLE, 0x35);
        assert_eq!(value(&counters, Scope::All, &name), Some(2), "{name}");
        assert_eq!(value(&counters, Scope::Performance, &name), None);
        counters.reset(&Status::default(), Scope::Performance);
        assert_eq!(value(&counters, Scope::Subnet, &name), Some(2));
        counters.reset(&Status::default(), Scope::Subnet);
        assert_eq!(value(&counters, Scope::All, &name), Some(0));
    }

    #[test]
    fn kinds_of_queries_are_bounded() {
        let counters = Counters::new();
        for attribute in 0..2 * QUERIES_MAX as u16 {
            counters.received(&[packet(class::SUBN_ADM, method::GET, attribute)]);
        }
        let others = value(&counters, Scope::All, "other queries");
        assert_eq!(others, Some(QUERIES_MAX as u64));
    }
}
