//! Running totals of port counters: what devices count, and what they had counted before it was set to zero.
//!
//! | module | contents |
//! |---|---|
//! | `bridge` | from two readings of a port to what its device no longer has |
//! | `places` | where the ports of an image were in the one before |
//! | `absent` | ports that are not in the fabric now, remembered for their return |
//! | `begun` | what ports had counted when somebody last wanted counters to begin at zero |
//! | `floors` | what ports are known to have counted by something newer than totals that were kept |
//! | `kept` | totals as bytes, so that they outlast the daemon |
//!
//! A total begins at the value that the device had at the first reading, and goes up with it. Where a later reading is
//! lower, somebody set the counter to zero, the device was reset, or the counter wrapped: the earlier value is then
//! added to every later one. Of a counter that was set to zero and has passed its earlier value by the next reading,
//! the difference alone is counted: a total may be too small for that, never too large.

mod absent;
mod begun;
mod bridge;
mod floors;
mod kept;
mod places;

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_fabric::{Guid, PortNum, Vl};

use crate::pm::{Counters, Image, LaneCounters, Roster};
use absent::Absent;
use begun::Begun;
pub use begun::SinceClear;
use bridge::{Lost, bridge};
use floors::Floors;
pub use kept::KeptError;
use places::Places;

/// Ports that are remembered while they are not in the fabric; of more, those that left first are forgotten.
pub const ABSENT_MAX: usize = 16_384;

/// A port of a node.
type Key = (Guid, PortNum);

/// Totals of all ports of an image. A clone shares what has not changed since.
#[derive(Debug, Clone, Default)]
pub struct PortTotals {
    image: Option<Arc<Image>>,
    /// When each port was read first, by its place in the image; seconds since 1970.
    since: Arc<[u64]>,
    /// What devices no longer have, of ports of which something is lost.
    lost: Arc<BTreeMap<Key, Lost>>,
    absent: Arc<BTreeMap<Key, Absent>>,
    /// Of ports with counters that somebody had set to zero.
    begun: Arc<BTreeMap<Key, Begun>>,
    /// Below which totals do not begin, of ports that have not been read since.
    floors: Arc<Floors>,
    /// When lanes were read first; seconds since 1970.
    lanes_since: u64,
}

/// Totals of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortTotal {
    /// The totals. They stay at the largest number of 64 bits.
    pub counters: Counters,
    /// When the port was read first; seconds since 1970.
    pub since_unix_s: u64,
    /// When its lanes were; seconds since 1970. Totals of lanes do not outlast the daemon.
    pub lanes_since_unix_s: u64,
    /// Readings in which a counter was found set to zero by others, reset or wrapped.
    pub bridges: u32,
    /// When the last of them was, seconds since 1970; 0 where there was none.
    pub bridged_unix_s: u64,
}

impl PortTotals {
    /// The image that they are of, none before the first.
    pub fn image(&self) -> Option<&Arc<Image>> {
        self.image.as_ref()
    }

    /// Totals of a port by its place in the image, none if it has never been read.
    pub fn port(&self, place: usize) -> Option<PortTotal> {
        let image = self.image.as_ref()?;
        let raw = image.raw(place)?;
        let since_unix_s = self.since.get(place).copied().unwrap_or_default();
        let mut total = PortTotal {
            counters: *raw.counters,
            since_unix_s,
            lanes_since_unix_s: since_unix_s.max(self.lanes_since),
            bridges: 0,
            bridged_unix_s: 0,
        };
        if let Some(lost) = self.lost.get(&key(&image.roster, place)?) {
            for (sum, lost) in total.counters.iter_mut().zip(lost.counters) {
                *sum = sum.saturating_add(lost);
            }
            (total.bridges, total.bridged_unix_s) = (lost.bridges, lost.bridged_unix_s);
        }
        Some(total)
    }

    /// What a port has counted since somebody had its counters set to zero, none if nobody ever had.
    pub fn since_clear(&self, place: usize) -> Option<SinceClear> {
        let image = self.image.as_ref()?;
        let begun = self.begun.get(&key(&image.roster, place)?)?;
        Some(begun.since(&self.port(place)?.counters))
    }

    /// Totals of a port's lanes, in order; empty if it has never been read.
    pub fn lanes(&self, place: usize) -> Vec<(Vl, LaneCounters)> {
        let Some(image) = self
            .image
            .as_ref()
            .filter(|image| image.raw(place).is_some())
        else {
            return Vec::new();
        };
        let lost = key(&image.roster, place).and_then(|key| self.lost.get(&key));
        let lanes = image.lanes(place).map(|(vl, mut counters)| {
            let lost = lost.and_then(|lost| lost.lane(vl));
            for (sum, lost) in counters.iter_mut().zip(lost.into_iter().flatten()) {
                *sum = sum.saturating_add(*lost);
            }
            (vl, counters)
        });
        lanes.collect()
    }

    /// Goes on to a later image.
    pub fn follow(&mut self, image: Arc<Image>) {
        if self.lanes_since == 0 {
            self.lanes_since = image.unix_time;
        }
        let earlier = self.image.replace(Arc::clone(&image));
        let places = Places::new(&image, earlier.as_deref());
        let ports = 0..image.roster.ports.len();
        let since = ports.map(|place| self.go_on(&image, place, &places));
        let since: Vec<u64> = since.collect();
        self.remember(&places, image.unix_time);
        self.since = since.into();
        self.begin(&image);
    }

    /// Adds what the device of a port no longer has; returns when the port was read first.
    fn go_on(&mut self, image: &Image, place: usize, places: &Places<'_>) -> u64 {
        let (Some(after), Some(key)) = (image.raw(place), key(&image.roster, place)) else {
            return 0;
        };
        let (bridged, since) = if let Some((from, before)) = places.before(place) {
            let since = self.since.get(from).copied().unwrap_or_default();
            (bridge(&before, &after), since)
        } else if self.absent.contains_key(&key) {
            let absent = Arc::make_mut(&mut self.absent).remove(&key);
            let absent = absent.unwrap_or_default();
            (bridge(&absent.raw(), &after), absent.since_unix_s)
        } else {
            (None, image.unix_time)
        };
        let is_noted = bridged.as_ref().is_some_and(|bridged| bridged.unexpected);
        if let Some(bridged) = bridged {
            let lost = Arc::make_mut(&mut self.lost);
            lost.entry(key).or_default().add(bridged, image.unix_time);
        }
        self.compare(key, after.counters, image.unix_time, is_noted);
        since
    }

    /// Notes what ports had counted whose counters begin at zero after this image.
    fn begin(&mut self, image: &Image) {
        for (place, select) in &image.begun {
            let place = *place as usize;
            let Some((total, key)) = self.port(place).zip(key(&image.roster, place)) else {
                continue;
            };
            let begun = Arc::make_mut(&mut self.begun).entry(key).or_default();
            begun.set(&total.counters, *select, image.unix_time);
        }
    }

    /// Keeps the last readings of ports that have gone.
    fn remember(&mut self, places: &Places<'_>, unix_time: u64) {
        let left = places.left();
        if left.is_empty() && self.absent.len() <= ABSENT_MAX {
            return;
        }
        let absent = Arc::make_mut(&mut self.absent);
        for (key, from, raw) in left {
            let since = self.since.get(from).copied().unwrap_or_default();
            absent.insert(key, Absent::new(&raw, since, unix_time));
        }
        let surplus = absent.len().saturating_sub(ABSENT_MAX);
        let mut by_age: Vec<(u64, Key)> = (absent.iter())
            .map(|(key, one)| (one.left_unix_s, *key))
            .collect();
        by_age.sort_unstable();
        for (_, key) in by_age.into_iter().take(surplus) {
            absent.remove(&key);
            Arc::make_mut(&mut self.lost).remove(&key);
            Arc::make_mut(&mut self.begun).remove(&key);
            Arc::make_mut(&mut self.floors).remove(&key);
        }
    }
}

/// A port by its place.
fn key(roster: &Roster, place: usize) -> Option<Key> {
    let port = roster.ports.get(place)?;
    Some((roster.member_of(port).guid, port.number))
}
