//! I11: counters that readers see never go back, whatever becomes of those of the devices.

use std::collections::BTreeMap;

use super::{Breach, Invariant};
use weft_fabric::{Guid, PortNum};
use weft_manager::pm::{Counters, Image, Pm};

/// Maximum number of counters reported of one reading.
const TOLD_MAX: usize = 3;

/// State visible to a reader after a sweep of the performance manager.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// Number of the image.
    pub image: u64,
    /// When its sweep began, seconds since 1970.
    pub unix_time: u64,
    /// Totals of each port.
    pub totals: BTreeMap<(Guid, PortNum), Counters>,
}

impl Seen {
    /// After a sweep that has ended with `image`.
    pub fn of(pm: &Pm, image: &Image) -> Self {
        let roster = &image.roster;
        let ports = roster.ports.iter().enumerate();
        let totals = ports.filter_map(|(place, port)| {
            let member = roster.members.get(port.member as usize)?;
            Some(((member.guid, port.number), pm.running_total(place)?))
        });
        Self {
            image: image.number,
            unix_time: image.unix_time,
            totals: totals.collect(),
        }
    }
}

/// I11 from one reading to the next, without a request to clear totals in between: images
/// are consecutive in number and time, and no total of a port in both decreases.
pub fn check(before: &Seen, now: &Seen) -> Vec<Breach> {
    let mut wrong = Vec::new();
    if now.image <= before.image || now.unix_time < before.unix_time {
        wrong.push(format!(
            "image {} of second {} follows image {} of second {}",
            now.image, now.unix_time, before.image, before.unix_time
        ));
    }
    let both = now.totals.iter();
    let both = both.filter_map(|(port, totals)| Some((port, before.totals.get(port)?, totals)));
    let lower = both.flat_map(|((guid, port), old, new)| {
        let counters = old.iter().zip(new).enumerate();
        let lower = counters.filter(|(_, (old, new))| new < old);
        lower.map(move |(place, (old, new))| {
            format!("counter {place} of port {port} of {guid} was {old}, is {new}")
        })
    });
    wrong.extend(lower.take(TOLD_MAX));
    let breach = |what| Breach::new(Invariant::CountersGoUp, what);
    wrong.into_iter().map(breach).collect()
}
