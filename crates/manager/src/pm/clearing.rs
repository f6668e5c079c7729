//! Counters that somebody wants to begin at zero: devices set them to zero right after the next reading of their ports,
//! so that nothing counted before is lost.

use std::collections::BTreeMap;

use weft_fabric::{Guid, PortNum};
use weft_wire::pm::Counter;

use super::Pm;
use super::image::{Image, Reading};
use super::io::PmOutput;
use super::roster::Roster;

/// Orders that wait for a reading; more are answered at once, with all ports failed.
pub const CLEAR_ORDERS_MAX: usize = 16;

/// A port of a node.
type Key = (Guid, PortNum);

/// Counters of ports to be set to zero.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClearOrder {
    /// Tells its outcome from those of others.
    pub id: u64,
    /// The ports.
    pub ports: Vec<(Guid, PortNum)>,
    /// The counters, as [`clear_selection`] makes them.
    pub select: u32,
}

/// What came of an order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClearOutcome {
    /// The order.
    pub id: u64,
    /// Number of the image before which nothing of these counters is counted any more; 0 where there is none.
    pub image: u64,
    /// Ports at which the counters are zero.
    pub cleared: Vec<(Guid, PortNum)>,
    /// Ports whose device did not do it, or was not reached.
    pub failed: Vec<(Guid, PortNum)>,
    /// Ports that are not read: they carry no data, or hosts are not read.
    pub skipped: Vec<(Guid, PortNum)>,
}

/// A selection of counters as devices understand it (`CounterSelectMask_t`).
pub fn clear_selection(counters: impl IntoIterator<Item = Counter>) -> u32 {
    let counters = counters.into_iter();
    counters.fold(0, |select, counter| select | counter.select_bit())
}

impl ClearOrder {
    /// The outcome where no reading can come.
    fn failed(self) -> ClearOutcome {
        ClearOutcome {
            id: self.id,
            failed: self.ports,
            ..ClearOutcome::default()
        }
    }

    fn outcome(&self, image: &Image, places: &BTreeMap<Key, usize>) -> ClearOutcome {
        let mut outcome = ClearOutcome {
            id: self.id,
            image: image.number,
            ..ClearOutcome::default()
        };
        for key in &self.ports {
            let place = places.get(key).copied();
            let cleared = place.map_or(0, |place| image.sample.cleared[place]);
            let is_skipped = place.is_none_or(|place| image.reading(place) == Reading::Skipped);
            let list = match (is_skipped, cleared & self.select == self.select) {
                (true, _) => &mut outcome.skipped,
                (false, true) => &mut outcome.cleared,
                (false, false) => &mut outcome.failed,
            };
            list.push(*key);
        }
        outcome
    }
}

/// The orders that a sweep carries out.
#[derive(Debug, Default)]
pub(super) struct Orders {
    orders: Vec<ClearOrder>,
    /// Counters of ports, by place in the roster.
    wanted: BTreeMap<u32, u32>,
}

impl Orders {
    fn new(orders: Vec<ClearOrder>, roster: &Roster) -> Self {
        let mut wanted = BTreeMap::new();
        if !orders.is_empty() {
            let places = places(roster);
            for order in &orders {
                let found = order.ports.iter().filter_map(|key| places.get(key));
                for place in found {
                    *wanted.entry(*place as u32).or_default() |= order.select;
                }
            }
        }
        Self { orders, wanted }
    }

    /// What is to be set to zero at a port.
    pub(super) fn wanted(&self, place: usize) -> u32 {
        let wanted = u32::try_from(place)
            .ok()
            .and_then(|place| self.wanted.get(&place));
        wanted.copied().unwrap_or(0)
    }

    /// What of it is zero now, by place.
    pub(super) fn done(&self, cleared: &[u32]) -> BTreeMap<u32, u32> {
        let done = self.wanted.iter().filter_map(|(place, wanted)| {
            let done = cleared.get(*place as usize)? & wanted;
            (done != 0).then_some((*place, done))
        });
        done.collect()
    }
}

fn places(roster: &Roster) -> BTreeMap<Key, usize> {
    let ports = roster.ports.iter().enumerate();
    let ports = ports.map(|(place, port)| ((roster.member_of(port).guid, port.number), place));
    ports.collect()
}

impl Pm {
    /// Takes an order for the next reading, which begins at once where none is under way.
    pub(super) fn order(&mut self, now: weft_fabric::Tick, order: ClearOrder) {
        if self.snapshot.is_none() || self.orders.len() >= CLEAR_ORDERS_MAX {
            self.outputs.push_back(PmOutput::Cleared(order.failed()));
            return;
        }
        self.orders.push(order);
        if self.sweep.is_none() {
            self.due = Some(now);
        }
    }

    /// The orders for a sweep that begins.
    pub(super) fn take_orders(&mut self, roster: &Roster) -> Orders {
        Orders::new(std::mem::take(&mut self.orders), roster)
    }

    /// Answers orders that no sweep will carry out.
    pub(super) fn fail_orders(&mut self) {
        let under_way = self
            .sweep
            .as_mut()
            .map(|sweep| std::mem::take(&mut sweep.orders.orders));
        let waiting = std::mem::take(&mut self.orders);
        let all = under_way.into_iter().flatten().chain(waiting);
        let outcomes = all.map(ClearOrder::failed).map(PmOutput::Cleared);
        self.outputs.extend(outcomes);
    }

    /// Tells what came of the orders of a sweep.
    pub(super) fn tell_orders(&mut self, orders: &Orders, image: &Image) {
        if orders.orders.is_empty() {
            return;
        }
        let places = places(&image.roster);
        let outcomes = orders
            .orders
            .iter()
            .map(|order| order.outcome(image, &places));
        self.outputs.extend(outcomes.map(PmOutput::Cleared));
    }
}
