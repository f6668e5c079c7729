//! The end of a sweep: its image, the running totals, and messages for the administrator.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_fabric::Tick;
use weft_wire::pm::{Counter, VlCounter};

use super::Pm;
use super::categories::{Scene, Weights};
use super::counters::{Counters, LaneCounters, add, add_lane, clear, clear_lane};
use super::image::{Image, Reading, Totals};
use super::io::{PmEvent, PmOutput, PortName};
use super::pa::run_of;
use super::roster::Roster;
use super::settings::Categories;
use super::sweep::Sweep;

/// Counts of ports since a client last cleared them; the devices are not affected.
#[derive(Debug, Default)]
pub(super) struct Running {
    pub(super) roster: Arc<Roster>,
    pub(super) counters: Vec<Counters>,
    pub(super) lanes: Vec<LaneCounters>,
}

impl Running {
    /// Follows the ports to their places in a newer roster; new ones begin at zero.
    pub(super) fn follow(&mut self, roster: &Arc<Roster>) {
        if Arc::ptr_eq(roster, &self.roster) {
            return;
        }
        let lanes = roster.lanes.len();
        if let Some(places) = roster.places_in(&self.roster) {
            let known = |from: &u32| *from as usize;
            let counters = places.iter().map(known);
            let counters = counters.map(|from| self.counters.get(from).copied());
            let counters: Vec<Counters> = counters
                .map(|counters| counters.unwrap_or([0; Counter::COUNT]))
                .collect();
            let of_port = |from: usize| {
                let range =
                    from.saturating_mul(lanes)..from.saturating_add(1).saturating_mul(lanes);
                self.lanes.get(range)
            };
            let none = vec![[0; VlCounter::COUNT]; lanes];
            let followed = places
                .iter()
                .map(known)
                .flat_map(|from| of_port(from).unwrap_or(&none).to_vec());
            let followed: Vec<LaneCounters> = followed.collect();
            (self.counters, self.lanes) = (counters, followed);
        }
        self.roster = Arc::clone(roster);
    }

    /// Adds the counts of an image's ports.
    fn add(&mut self, image: &Image) {
        self.follow(&image.roster);
        let lanes = image.roster.lanes.len();
        for (place, totals) in self.counters.iter_mut().enumerate() {
            let Some(delta) = image.delta_from(place) else {
                continue;
            };
            add(totals, &delta.counters);
            let own = &mut self.lanes[place * lanes..(place + 1) * lanes];
            for (total, (_, delta)) in own.iter_mut().zip(image.lane_deltas(place)) {
                add_lane(total, &delta);
            }
        }
    }

    /// Sets to zero what somebody had set to zero at devices.
    fn begin(&mut self, image: &Image) {
        let lanes = image.roster.lanes.len();
        for (place, select) in &image.begun {
            let place = *place as usize;
            clear(&mut self.counters[place], *select);
            for lane in &mut self.lanes[place * lanes..(place + 1) * lanes] {
                clear_lane(lane, *select);
            }
        }
    }
}

impl Pm {
    /// Makes an image of a sweep that has nothing left to read.
    pub(super) fn finish_sweep(&mut self, now: Tick) {
        let done = self.sweep.as_ref().is_some_and(|sweep| sweep.left == 0);
        let Some(sweep) = self.sweep.take_if(|_| done) else {
            return;
        };
        let started = sweep.started;
        if self.history.latest().is_none() {
            self.run = run_of(self.unix_time(started));
        }
        let (mut report, mut sweep) = (sweep.report, sweep);
        let orders = std::mem::take(&mut sweep.orders);
        let begun = orders.done(&sweep.sample.cleared);
        let image = self.image_of(now, sweep, begun);
        report.number = image.number;
        report.elapsed_ns = now.0.saturating_sub(started.0);
        report.failed_nodes = image.totals.failed_nodes;
        report.failed_ports = image.totals.failed_ports;
        let read = image.readings.iter();
        report.ports = read
            .filter(|reading| matches!(reading, Reading::Done | Reading::ClearFailed))
            .count() as u32;
        self.running.add(&image);
        self.running.begin(&image);
        let image = Arc::new(image);
        self.tell_cleared(&image);
        self.tell_exceeded(&image);
        self.history.push(Arc::clone(&image));
        let next = (started + self.settings.interval).max(now);
        self.due = Some(if self.orders.is_empty() { next } else { now });
        self.outputs.push_back(PmOutput::Image(Arc::clone(&image)));
        self.tell_orders(&orders, &image);
        let ended = PmEvent::SweepEnded(report);
        self.outputs.push_back(PmOutput::Event(ended));
    }

    /// Seconds since 1970 at a moment, 0 while no clock was given.
    pub(super) fn unix_time(&self, at: Tick) -> u64 {
        self.clock
            .map_or(0, |(told, unix)| match at.0.checked_sub(told.0) {
                Some(after) => unix + after / 1_000_000_000,
                None => unix.saturating_sub((told.0 - at.0) / 1_000_000_000),
            })
    }

    fn image_of(&mut self, now: Tick, sweep: Sweep, begun: BTreeMap<u32, u32>) -> Image {
        let elapsed = now.since(sweep.started);
        let interval = self.settings.interval.max(elapsed).as_secs();
        let latest = self.history.latest();
        let number = latest.map_or(1, |image| image.number + 1);
        let span = latest.map(|image| sweep.started.since(image.started));
        let mut image = Image {
            run: self.run,
            number,
            unix_time: sweep.unix_time,
            duration_us: u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
            interval_s: u32::try_from(interval).unwrap_or(u32::MAX).max(1),
            span_ns: span.map_or(0, |span| span.as_nanos() as u64),
            started: sweep.started,
            totals: Totals::default(),
            unexpected: vec![false; sweep.roster.ports.len()],
            roster: sweep.roster,
            sample: Arc::new(sweep.sample),
            before: sweep.before,
            sums: None,
            readings: sweep.readings,
            error_info: sweep.error_info,
            begun,
            weights: Weights::of(&self.settings),
        };
        for place in 0..image.unexpected.len() {
            let delta = image.delta_from(place);
            image.unexpected[place] = delta.is_some_and(|delta| delta.unexpected != 0);
        }
        image.totals = totals(&image);
        image
    }

    fn tell_cleared(&mut self, image: &Image) {
        let cleared = image.unexpected.iter().enumerate();
        let cleared = cleared.filter(|(_, cleared)| **cleared);
        for (place, _) in cleared.take(self.settings.failure_messages as usize) {
            let Some(port) = port_name(&image.roster, place) else {
                continue;
            };
            let event = PmEvent::ClearedByOthers(port);
            self.outputs.push_back(PmOutput::Event(event));
        }
    }

    /// Tells of ports whose values are at or above a threshold, as many as are wanted.
    fn tell_exceeded(&mut self, image: &Image) {
        let limits = self.settings.threshold_messages.values();
        let thresholds = self.settings.thresholds.values();
        let mut left = limits;
        let scene = Scene::new(image);
        let active = image.roster.ports.iter().enumerate();
        let mut events = Vec::new();
        for (place, _) in active.filter(|(_, port)| port.is_active) {
            if left == [0; 6] {
                break;
            }
            let values = scene.categories(place).values();
            for (category, value) in values.into_iter().enumerate() {
                let threshold = thresholds[category];
                if threshold == 0 || value < threshold || left[category] == 0 {
                    continue;
                }
                left[category] -= 1;
                events.extend(exceeded(image, place, category, value, threshold));
            }
        }
        self.outputs.extend(events.into_iter().map(PmOutput::Event));
    }
}

fn exceeded(
    image: &Image,
    place: usize,
    category: usize,
    value: u32,
    threshold: u32,
) -> Option<PmEvent> {
    let neighbor = image.roster.ports.get(place)?.neighbor;
    Some(PmEvent::ThresholdExceeded {
        port: port_name(&image.roster, place)?,
        neighbor: neighbor.and_then(|place| port_name(&image.roster, place as usize)),
        category: Categories::NAMES[category],
        value,
        threshold,
        error_info: image.error_info(place).copied().map(Box::new),
    })
}

/// Name of a port for messages.
pub(super) fn port_name(roster: &Roster, place: usize) -> Option<PortName> {
    let port = roster.ports.get(place)?;
    let member = roster.member_of(port);
    Some(PortName {
        node: member.guid,
        name: roster.node(member)?.name(),
        port: port.number,
    })
}

fn totals(image: &Image) -> Totals {
    let mut totals = Totals::default();
    let roster = &image.roster;
    for index in 0..roster.members.len() {
        let mut failed = 0;
        let mut skipped = 0;
        let active = roster.ports_of(index).filter(|(_, port)| port.is_active);
        for (place, _) in active {
            failed += u32::from(matches!(
                image.reading(place),
                Reading::Failed | Reading::ClearFailed
            ));
            skipped += u32::from(image.reading(place) == Reading::Skipped);
            totals.cleared_ports += u32::from(image.is_cleared_by_others(place));
        }
        totals.failed_ports += failed;
        totals.failed_nodes += u32::from(failed > 0);
        totals.skipped_ports += skipped;
        totals.skipped_nodes += u32::from(skipped > 0);
    }
    totals
}
