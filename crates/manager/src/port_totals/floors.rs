//! What ports are known to have counted by something newer than totals that are taken over: by the last reading in the history after
//! a crash, or by a standby's own time as master. A device that was reset since is found at the first reading: its total goes on from
//! there and not from the older one.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::bridge::Lost;
use super::{Key, PortTotals, key};
use crate::pm::Counters;

/// By port; what has been compared with a reading is no longer here.
pub(super) type Floors = BTreeMap<Key, Counters>;

impl PortTotals {
    /// Totals do not begin below these.
    pub fn not_below(&mut self, known: impl IntoIterator<Item = (Key, Counters)>) {
        let floors = Arc::make_mut(&mut self.floors);
        for (key, known) in known {
            let floor = floors.entry(key).or_insert(known);
            raise(floor, &known);
        }
    }

    /// The totals of another manager in the place of these, below which none begins.
    #[must_use]
    pub fn succeeded_by(&self, mut other: Self) -> Self {
        other.not_below(self.known());
        other
    }

    /// What ports are known to have counted, those that are not in the fabric now as well.
    fn known(&self) -> impl Iterator<Item = (Key, Counters)> {
        let mut known = Floors::clone(&self.floors);
        for (key, one) in self.absent.iter() {
            let total = sum(&one.counters, self.lost.get(key));
            raise(known.entry(*key).or_insert(total), &total);
        }
        let ports = self.image.iter().flat_map(|image| {
            let places = 0..image.roster.ports.len();
            places.filter_map(|place| Some((key(&image.roster, place)?, self.port(place)?)))
        });
        known.extend(ports.map(|(key, total)| (key, total.counters)));
        known.into_iter()
    }

    /// What the device of a port has lost that is not in what was taken over, at its first reading; whether that reading is noted
    /// as one in which something was lost.
    pub(super) fn compare(&mut self, key: Key, raw: &Counters, unix_time: u64, is_noted: bool) {
        if !self.floors.contains_key(&key) {
            return;
        }
        let floor = Arc::make_mut(&mut self.floors).remove(&key);
        let total = sum(raw, self.lost.get(&key));
        let more = floor.unwrap_or(total);
        let more: Counters = std::array::from_fn(|place| more[place].saturating_sub(total[place]));
        if more.iter().any(|more| *more > 0) {
            let lost = Arc::make_mut(&mut self.lost).entry(key).or_default();
            lost.add_known(&more);
            if !is_noted {
                lost.note(unix_time);
            }
        }
    }
}

/// What a device has and what it has lost.
fn sum(raw: &Counters, lost: Option<&Lost>) -> Counters {
    let lost = lost.map(|lost| lost.counters).unwrap_or_default();
    std::array::from_fn(|place| raw[place].saturating_add(lost[place]))
}

fn raise(floor: &mut Counters, known: &Counters) {
    for (floor, known) in floor.iter_mut().zip(known) {
        *floor = (*floor).max(*known);
    }
}
