//! Images of several sweeps put together, as the vendor's short-term history has them.
//!
//! Of the first sweep are the ports, their counters, the results of reading them and the statistics; the counts are those of
//! all sweeps together, the quality of links is the worst and the lanes that they have lost are the most. A port that a
//! later sweep lacks counts nothing in it.
//!
//! | module | contents |
//! |---|---|
//! | `bytes` | an image that was put together as bytes |
//! | `ports` | its ports as bytes |
//! | `columns` | its numbers as bytes |

mod bytes;
mod columns;
mod ports;

use std::sync::Arc;

use weft_wire::pm::{Counter, VlCounter};

use super::counters::{Counters, LaneCounters, add_lane};
use super::image::{Delta, Image, ImageName};
use super::kept::Kept;
use super::roster::Roster;
pub use bytes::Malformed;

/// What several sweeps counted, by place in the roster of the first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    /// The sweeps.
    pub(crate) images: u32,
    /// Counts of each port.
    pub(crate) counters: Vec<Counters>,
    /// Counts of each port's lanes.
    pub(crate) lanes: Vec<LaneCounters>,
    /// The worst quality of a link that a sweep read.
    pub(crate) quality: Vec<u8>,
    /// The worst quality at either end of a sweep's interval.
    pub(crate) quality_between: Vec<u8>,
    /// The most lanes that a link had lost.
    pub(crate) lanes_down: Vec<u8>,
}

impl Sums {
    pub(crate) fn delta(&self, place: usize) -> Delta {
        let of = |values: &[u8]| values.get(place).copied().unwrap_or_default();
        let counters = self.counters.get(place);
        Delta {
            counters: counters.copied().unwrap_or([0; Counter::COUNT]),
            quality: of(&self.quality_between),
            lanes_down: of(&self.lanes_down),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        let bytes = size_of_val(&*self.counters)
            + size_of_val(&*self.lanes)
            + size_of_val(&*self.quality)
            + size_of_val(&*self.quality_between)
            + size_of_val(&*self.lanes_down);
        bytes as u64
    }
}

/// An image of several sweeps that is being put together.
#[derive(Debug, Clone)]
pub struct Composite {
    image: Image,
    sums: Sums,
    /// The roster of the last sweep, and the places of the ports in it, none where they are the same.
    last: (Arc<Roster>, Option<Vec<u32>>),
    next: u64,
}

impl Composite {
    /// Begins with a sweep.
    pub fn new(first: &Image) -> Self {
        let (ports, lanes) = (first.roster.ports.len(), first.roster.lanes.len());
        let mut composite = Self {
            image: Image {
                before: None,
                error_info: Default::default(),
                interval_s: 0,
                duration_us: 0,
                ..first.clone()
            },
            sums: Sums {
                images: 0,
                counters: vec![[0; Counter::COUNT]; ports],
                lanes: vec![[0; VlCounter::COUNT]; ports * lanes],
                quality: vec![u8::MAX; ports],
                quality_between: vec![u8::MAX; ports],
                lanes_down: vec![0; ports],
            },
            last: (Arc::clone(&first.roster), None),
            next: first.number,
        };
        composite.add(first);
        composite
    }

    /// Whether a sweep comes right after the last one, by its number and by the clock.
    pub fn goes_on_with(&self, image: &Image) -> bool {
        let ends = self.image.unix_time + u64::from(self.image.interval_s);
        let apart = ends.abs_diff(image.unix_time);
        self.image.run == image.run
            && self.next == image.number
            && apart <= u64::from(image.interval_s) + 1
    }

    /// Adds a sweep that comes right after the last one.
    pub fn add(&mut self, image: &Image) {
        self.follow(&image.roster);
        let count = u64::from(self.sums.images);
        self.image.duration_us =
            (self.image.duration_us.saturating_mul(count) + image.duration_us) / (count + 1);
        // Intervals are cut to whole seconds, and their sum falls behind the clock.
        let sum = self.image.interval_s.saturating_add(image.interval_s);
        let begun = self.image.unix_time;
        let passed = image.unix_time.saturating_sub(begun) + u64::from(image.interval_s);
        self.image.interval_s = sum.max(u32::try_from(passed).unwrap_or(u32::MAX));
        self.sums.images += 1;
        self.next = image.number + 1;
        let roster = Arc::clone(&self.image.roster);
        let lanes = same_lanes(&roster, &image.roster);
        for place in 0..self.sums.counters.len() {
            let from = match &self.last.1 {
                None => place,
                Some(places) => places[place] as usize,
            };
            if from < image.roster.ports.len() {
                self.add_port(place, image, from, &lanes);
            }
        }
    }

    fn add_port(&mut self, place: usize, image: &Image, from: usize, lanes: &[Option<usize>]) {
        let sums = &mut self.sums;
        let delta = image.delta(from);
        for (sum, count) in sums.counters[place].iter_mut().zip(delta.counters) {
            *sum = sum.wrapping_add(count);
        }
        let worst = |to: &mut u8, value: u8| *to = (*to).min(value);
        worst(&mut sums.quality[place], image.quality(from));
        worst(&mut sums.quality_between[place], delta.quality);
        sums.lanes_down[place] = sums.lanes_down[place].max(delta.lanes_down);
        let count = self.image.roster.lanes.len();
        let own = &mut sums.lanes[place * count..(place + 1) * count];
        for ((_, counts), to) in image.lane_deltas(from).zip(lanes) {
            if let Some(to) = to.and_then(|to| own.get_mut(to)) {
                add_lane(to, &counts);
            }
        }
    }

    /// Finds the ports in the roster of the next sweep.
    fn follow(&mut self, roster: &Arc<Roster>) {
        if Arc::ptr_eq(&self.last.0, roster) {
            return;
        }
        let own = &self.image.roster;
        let places = own.ports.iter().map(|port| {
            let member = own.member_of(port);
            let other = roster.member_at(member.lid).filter(|other| {
                let other = &roster.members[*other];
                (other.lid, other.guid) == (member.lid, member.guid)
            });
            let place = other.and_then(|other| roster.port_of(other, port.number));
            place.map_or(u32::MAX, |place| place as u32)
        });
        self.last = (Arc::clone(roster), Some(places.collect()));
    }

    /// What is to be known of the image so far.
    pub fn kept(&self) -> Kept {
        Kept {
            name: ImageName {
                composite: true,
                ..self.image.name()
            },
            images: self.sums.images,
            unix_time: self.image.unix_time,
            interval_s: self.image.interval_s,
        }
    }

    /// Sweeps so far.
    pub fn images(&self) -> u32 {
        self.sums.images
    }

    /// The image of the sweeps so far.
    pub fn image(&self) -> Image {
        Image {
            sums: Some(self.sums.clone()),
            ..self.image.clone()
        }
    }

    /// The image of all sweeps.
    pub fn finish(self) -> Image {
        Image {
            sums: Some(self.sums),
            ..self.image
        }
    }
}

/// Where each lane of a sweep is among those of the first.
fn same_lanes(own: &Roster, other: &Roster) -> Vec<Option<usize>> {
    other.lanes.iter().map(|vl| own.lane_place(*vl)).collect()
}

impl Image {
    /// What is to be known of an image that was put together; none of another one.
    pub fn kept(&self) -> Option<Kept> {
        Some(Kept {
            name: self.name(),
            images: self.sums.as_ref()?.images,
            unix_time: self.unix_time,
            interval_s: self.interval_s,
        })
    }

    /// Whether it is the whole image on the disk.
    pub(crate) fn is_all_of(&self, kept: &Kept) -> bool {
        let images = self.sums.as_ref().map(|sums| sums.images);
        self.name() == kept.name && images == Some(kept.images)
    }
}
