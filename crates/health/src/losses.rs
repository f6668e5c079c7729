//! Losses of links in the last hour and day.

use std::collections::BTreeMap;

use crate::memory::LinkKey;
use crate::slots::Slots;

/// Links whose losses are told apart; those of further ones only count in the sums.
const LINKS_MAX: usize = 65_536;

/// Losses of links: of each in the last hour, of all in the last hour and day.
#[derive(Debug, Clone, Default)]
pub struct LossLog {
    links: BTreeMap<LinkKey, (Slots<12, 300>, u64)>,
    hour: Slots<12, 300>,
    day: Slots<24, 3_600>,
}

impl LossLog {
    /// A link was lost, seconds since 1970.
    pub fn note(&mut self, now: u64, link: LinkKey) {
        self.hour.add(now, 1);
        self.day.add(now, 1);
        if self.links.len() >= LINKS_MAX && !self.links.contains_key(&link) {
            return;
        }
        let (slots, last) = self.links.entry(link).or_default();
        slots.add(now, 1);
        *last = now;
    }

    /// Lets time pass; old losses are forgotten.
    pub fn advance(&mut self, now: u64) {
        self.hour.advance(now);
        self.day.advance(now);
        self.links.retain(|_, (slots, _)| {
            slots.advance(now);
            slots.sum() > 0
        });
    }

    /// Losses of all links in the last hour.
    pub fn last_hour(&self) -> u64 {
        self.hour.sum()
    }

    /// Losses of all links in the last day.
    pub fn last_day(&self) -> u64 {
        self.day.sum()
    }

    /// Losses of a link in the last hour, and when the last one was.
    pub fn of(&self, link: LinkKey) -> (u64, Option<u64>) {
        match self.links.get(&link) {
            Some((slots, last)) => (slots.sum(), Some(*last)),
            None => (0, None),
        }
    }

    /// Links with at least so many losses in the last hour: the link, their number, and when the last one was.
    pub fn at_least(&self, losses: u64) -> impl Iterator<Item = (LinkKey, u64, u64)> {
        let links = self.links.iter();
        let links = links.map(|(link, (slots, last))| (*link, slots.sum(), *last));
        links.filter(move |(_, count, _)| *count >= losses)
    }
}
