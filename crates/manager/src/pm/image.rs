//! Results of one sweep, for any number of readers.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_fabric::{Lid, PortNum, Tick, Vl};
use weft_wire::pm::{Counter, PortErrorInfo, VlCounter};

use super::categories::Weights;
use super::composite::Sums;
use super::counters::{
    Counters, LaneCounters, PortDelta, clear, clear_lane, lane_delta, port_delta, step,
};
use super::roster::Roster;

/// The counters as devices gave them, by place in a [`Roster`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    /// Counters of each port.
    pub(crate) counters: Vec<Counters>,
    /// Counters of each port's lanes, as many for each port as the roster has lanes.
    pub(crate) lanes: Vec<LaneCounters>,
    /// Quality of each link: 5 excellent to 1 bad, 0 down; [`QUALITY_UNKNOWN`] in the past.
    pub(crate) quality: Vec<u8>,
    /// When error counters were read, seconds since 1970; 0 where it is not known. Since then no more of them were counted
    /// than the units of the error summary hide: see [`super::sweep::ERRORS_EVERY`].
    pub(crate) errors_at: Vec<u64>,
    /// Counters that the manager cleared after the reading, as a `CounterSelectMask_t`.
    pub(crate) cleared: Vec<u32>,
    /// There has been a reading; without one the counters mean nothing.
    pub(crate) known: Vec<bool>,
}

/// Quality of a link without errors, and of one that was not read.
pub(crate) const QUALITY_EXCELLENT: u8 = 5;
/// Quality of a link of the past of which it is not kept.
pub(crate) const QUALITY_UNKNOWN: u8 = u8::MAX;

impl Sample {
    /// Expected counters of devices before a sweep: the readings of the last one, less those
    /// cleared after it.
    pub(crate) fn before(roster: &Roster, older: Option<&Before>) -> Self {
        let (ports, lanes) = (roster.ports.len(), roster.lanes.len());
        let Some(older) = older else {
            return Self::empty(ports, lanes);
        };
        let mut sample = match &older.places {
            None => (*older.sample).clone(),
            Some(places) => {
                let mut sample = Self::empty(ports, lanes);
                for (place, from) in places.iter().enumerate() {
                    sample.copy(place, &older.sample, *from as usize, lanes);
                }
                sample
            }
        };
        for place in 0..ports {
            let select = std::mem::take(&mut sample.cleared[place]);
            if select != 0 {
                sample.zero(place, select, lanes);
            }
        }
        sample
    }

    /// Clears the counters in `select`.
    fn zero(&mut self, place: usize, select: u32, lanes: usize) {
        clear(&mut self.counters[place], select);
        for lane in &mut self.lanes[place * lanes..(place + 1) * lanes] {
            clear_lane(lane, select);
        }
    }

    fn empty(ports: usize, lanes: usize) -> Self {
        Self {
            counters: vec![[0; Counter::COUNT]; ports],
            lanes: vec![[0; VlCounter::COUNT]; ports * lanes],
            quality: vec![QUALITY_EXCELLENT; ports],
            errors_at: vec![0; ports],
            cleared: vec![0; ports],
            known: vec![false; ports],
        }
    }

    /// Copies a port of an older sample; missing values stay unknown.
    fn copy(&mut self, place: usize, older: &Self, from: usize, lanes: usize) {
        let Some(counters) = older.counters.get(from) else {
            return;
        };
        self.counters[place] = *counters;
        self.quality[place] = older.quality[from];
        self.errors_at[place] = older.errors_at[from];
        self.cleared[place] = older.cleared[from];
        self.known[place] = older.known[from];
        let from = older.lanes.get(from * lanes..(from + 1) * lanes);
        let to = self.lanes.get_mut(place * lanes..(place + 1) * lanes);
        if let (Some(from), Some(to)) = (from, to) {
            to.copy_from_slice(from);
        }
    }
}

/// The reading of a port as the device gave it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Raw<'a> {
    pub(crate) counters: &'a Counters,
    /// The lanes that were read.
    pub(crate) vls: &'a [Vl],
    /// Counters of each of them.
    pub(crate) lanes: &'a [LaneCounters],
    /// Counters that the manager cleared after the reading, as a `CounterSelectMask_t`.
    pub(crate) cleared: u32,
}

/// Result of reading a port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reading {
    /// It was read.
    #[default]
    Done,
    /// It was not read.
    Skipped,
    /// It did not answer, or not with its counters.
    Failed,
    /// It was read, but counters that should have been set to zero were not.
    ClearFailed,
}

/// The sample before, and where each port was in it.
#[derive(Debug, Clone)]
pub(crate) struct Before {
    pub(crate) sample: Arc<Sample>,
    /// None when every port was where it is now.
    pub(crate) places: Option<Arc<[u32]>>,
}

impl Before {
    /// Whether a port, by its place now, had been read.
    pub(crate) fn knows(&self, place: usize) -> bool {
        self.place(place).is_some()
    }

    /// Place of a port in the sample, none when nothing was known of it.
    fn place(&self, place: usize) -> Option<usize> {
        let from = match &self.places {
            None => place,
            Some(places) => usize::try_from(*places.get(place)?).ok()?,
        };
        let known = self.sample.known.get(from).copied().unwrap_or_default();
        known.then_some(from)
    }
}

/// Statistics of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Agents that did not answer, or not to everything.
    pub failed_nodes: u32,
    /// Ports without a reading for that.
    pub failed_ports: u32,
    /// Agents that were not read.
    pub skipped_nodes: u32,
    /// Ports of them.
    pub skipped_ports: u32,
    /// Ports whose counters another client cleared.
    pub cleared_ports: u32,
}

/// Name of an image: of one sweep, or of several that were put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageName {
    /// The manager that made it: [`Image::run`].
    pub run: u32,
    /// Number of its sweep, or of the first of its sweeps.
    pub sweep: u64,
    /// Whether it was put together, even if of one sweep alone.
    pub composite: bool,
}

/// Results of one sweep, or of several put together ([`super::Composite`]). Immutable: readers may hold it for as long as
/// they like.
#[derive(Debug, Clone)]
pub struct Image {
    /// Tells the images of this manager from those of one before it; 24 bits.
    pub run: u32,
    /// Number of its sweep, from 1.
    pub number: u64,
    /// Seconds since 1970 at the sweep's start, 0 where no clock was given.
    pub unix_time: u64,
    /// Microseconds that the sweep took.
    pub duration_us: u64,
    /// Seconds that its counts cover.
    pub interval_s: u32,
    /// Nanoseconds from the start of the sweep before to the start of this one, 0 for the first.
    pub span_ns: u64,
    pub(crate) started: Tick,
    /// Statistics of the sweep.
    pub totals: Totals,
    /// The ports.
    pub roster: Arc<Roster>,
    pub(crate) sample: Arc<Sample>,
    pub(crate) before: Option<Before>,
    /// Of an image that was put together, what its sweeps counted; there is no sample before then.
    pub(crate) sums: Option<Sums>,
    pub(crate) readings: Vec<Reading>,
    /// Ports whose counters another client cleared.
    pub(crate) unexpected: Vec<bool>,
    pub(crate) error_info: BTreeMap<u32, PortErrorInfo>,
    /// Counters that somebody had set to zero right after the reading, by place, as a `CounterSelectMask_t`.
    pub(crate) begun: BTreeMap<u32, u32>,
    pub(crate) weights: Weights,
}

/// Events at a port in an image's interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delta {
    /// Increase of each counter.
    pub counters: Counters,
    /// The worse quality of the link at the two ends of the interval.
    pub quality: u8,
    /// Lanes that the link has lost.
    pub lanes_down: u8,
}

impl Image {
    /// Its name.
    pub fn name(&self) -> ImageName {
        ImageName {
            run: self.run,
            sweep: self.number,
            composite: self.sums.is_some(),
        }
    }

    /// Result of reading a port.
    pub fn reading(&self, place: usize) -> Reading {
        self.readings.get(place).copied().unwrap_or_default()
    }

    /// Whether another client cleared counters of a port.
    pub fn is_cleared_by_others(&self, place: usize) -> bool {
        self.unexpected.get(place).copied().unwrap_or_default()
    }

    /// The counters of a port as the device had them; of a port that was not read, those of the
    /// last reading.
    pub fn counters(&self, place: usize) -> Counters {
        let counters = self.sample.counters.get(place);
        counters.copied().unwrap_or([0; Counter::COUNT])
    }

    /// The counters of a port's lanes as the device had them, in order.
    pub fn lanes(&self, place: usize) -> impl Iterator<Item = (Vl, LaneCounters)> {
        let count = self.roster.lanes.len();
        let lanes = self.sample.lanes.get(place * count..(place + 1) * count);
        let lanes = lanes.unwrap_or_default();
        self.roster.lanes.iter().copied().zip(lanes.iter().copied())
    }

    /// Quality of a port's link: 5 excellent to 1 bad, 0 down; of several sweeps the worst. 5 where it is not known.
    pub fn quality(&self, place: usize) -> u8 {
        self.known_quality(place).unwrap_or(QUALITY_EXCELLENT)
    }

    /// The same; none in an image of the past that does not have it.
    pub fn known_quality(&self, place: usize) -> Option<u8> {
        let quality = match &self.sums {
            Some(sums) => sums.quality.get(place),
            None => self.sample.quality.get(place),
        };
        quality
            .copied()
            .filter(|quality| *quality != QUALITY_UNKNOWN)
    }

    /// When the error counters of a port were read, seconds since 1970; none where it is not known.
    pub fn errors_at(&self, place: usize) -> Option<u64> {
        let at = self.sample.errors_at.get(place).copied();
        at.filter(|at| *at != 0)
    }

    /// Details of the last errors of a port, if reported.
    pub fn error_info(&self, place: usize) -> Option<&PortErrorInfo> {
        self.error_info.get(&u32::try_from(place).ok()?)
    }

    /// The last reading of a port, none if it has never been read.
    pub(crate) fn raw(&self, place: usize) -> Option<Raw<'_>> {
        let known = self.sample.known.get(place).copied().unwrap_or_default();
        let lanes = self.roster.lanes.len();
        let lanes = self.sample.lanes.get(place * lanes..(place + 1) * lanes);
        Some(Raw {
            counters: self.sample.counters.get(place).filter(|_| known)?,
            vls: &self.roster.lanes,
            lanes: lanes?,
            cleared: self.sample.cleared[place],
        })
    }

    /// Place of a port in the sample before; none when nothing was known of it then.
    fn place_before(&self, place: usize) -> Option<(&Sample, usize)> {
        let before = self.before.as_ref()?;
        Some((&*before.sample, before.place(place)?))
    }

    /// Counts of a port since the previous image: zero if it was not there.
    pub fn delta(&self, place: usize) -> Delta {
        if let Some(sums) = &self.sums {
            return sums.delta(place);
        }
        let quality = self.quality(place);
        let (delta, before) = match self.place_before(place) {
            Some((sample, from)) => (self.delta_from(place), sample.quality[from]),
            None => (None, quality),
        };
        let port = self.roster.ports.get(place);
        Delta {
            counters: delta.map_or([0; Counter::COUNT], |delta| delta.counters),
            quality: quality.min(before),
            lanes_down: port.map_or(0, |port| port.lanes_down),
        }
    }

    /// Delta including clears by other clients; `None` without a previous image.
    pub(crate) fn delta_from(&self, place: usize) -> Option<PortDelta> {
        let (sample, from) = self.place_before(place)?;
        let after = self.sample.counters.get(place)?;
        Some(port_delta(
            &sample.counters[from],
            after,
            sample.cleared[from],
        ))
    }

    /// Place of a port in the previous image's roster; none when it was not there, or nothing was known of it.
    pub(crate) fn place_in_last(&self, place: usize) -> Option<usize> {
        self.place_before(place).map(|(_, from)| from)
    }

    /// Counts of some counters of a port since the previous image; nothing of one that another client cleared, and
    /// `None` without a previous image.
    pub(crate) fn steps<const N: usize>(
        &self,
        place: usize,
        counters: [Counter; N],
    ) -> Option<[u64; N]> {
        let (sample, from) = self.place_before(place)?;
        let (before, after) = (&sample.counters[from], self.sample.counters.get(place)?);
        Some(counters.map(|counter| {
            let cleared = sample.cleared[from] & counter.select_bit() != 0;
            let (before, after) = (before[counter as usize], after[counter as usize]);
            let step = step(before, after, cleared);
            if step.unexpected { 0 } else { step.delta }
        }))
    }

    /// Counts of a port's lanes since the previous image, in order.
    pub fn lane_deltas(&self, place: usize) -> impl Iterator<Item = (Vl, LaneCounters)> {
        let count = self.roster.lanes.len();
        let sums = self.sums.as_ref();
        let sums = sums.map(|sums| {
            sums.lanes
                .get(place * count..(place + 1) * count)
                .unwrap_or_default()
        });
        let before = self.place_before(place).and_then(|(sample, from)| {
            let lanes = sample.lanes.get(from * count..(from + 1) * count)?;
            Some((lanes, sample.cleared[from]))
        });
        self.lanes(place)
            .enumerate()
            .map(move |(index, (vl, after))| {
                let delta = match (sums, before) {
                    (Some(lanes), _) => lanes.get(index).copied().unwrap_or_default(),
                    (None, Some((lanes, cleared))) => lane_delta(&lanes[index], &after, cleared),
                    (None, None) => [0; VlCounter::COUNT],
                };
                (vl, delta)
            })
    }

    /// Place of a port by a LID of its agent.
    pub fn find(&self, lid: Lid, number: PortNum) -> Option<usize> {
        let member = self.roster.member_at(lid)?;
        self.roster.port_of(member, number)
    }
}

impl Image {
    /// Bytes of memory that belong to this image alone.
    pub(crate) fn bytes(&self) -> u64 {
        let sample = &self.sample;
        let bytes = size_of_val(&*sample.counters)
            + size_of_val(&*sample.lanes)
            + size_of_val(&*sample.quality)
            + size_of_val(&*sample.errors_at)
            + size_of_val(&*sample.cleared)
            + size_of_val(&*sample.known)
            + size_of_val(&*self.readings)
            + size_of_val(&*self.unexpected);
        bytes as u64 + self.sums.as_ref().map_or(0, Sums::bytes)
    }
}
