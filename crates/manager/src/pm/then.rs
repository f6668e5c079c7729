//! An image of counters that were recorded, for readers other than performance administration.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_fabric::{Guid, PortNum, Snapshot, Tick};

use super::categories::Weights;
use super::counters::Counters;
use super::image::{Before, Image, QUALITY_UNKNOWN, Reading, Sample, Totals};
use super::roster::Roster;
use super::settings::PmSettings;

/// What was recorded of a port.
#[derive(Debug, Clone, Copy)]
pub struct Recorded {
    /// Its counters.
    pub counters: Counters,
    /// Those of the reading before; none where it was not read then.
    pub before: Option<Counters>,
    /// Quality of its link, 5 excellent to 1 bad, 0 down; none where it is not known.
    pub link_quality: Option<u8>,
}

impl Image {
    /// A reading of the past: its start in seconds since 1970, the nanoseconds since the reading before, 0 where there is
    /// none, and what was recorded of each port of the fabric of then. Lanes are not known; its
    /// number is 0. Groups and weights are those of the settings.
    pub fn of_recorded(
        snapshot: Arc<Snapshot>,
        settings: &PmSettings,
        (unix_time, span_ns): (u64, u64),
        recorded: impl Fn(Guid, PortNum) -> Option<Recorded>,
    ) -> Self {
        let mut without_lanes = settings.clone();
        without_lanes.process.lanes = false;
        let roster = Arc::new(Roster::new(snapshot, &without_lanes));
        let mut sample = Sample::before(&roster, None);
        sample.quality.fill(QUALITY_UNKNOWN);
        let mut before = Sample::before(&roster, None);
        let mut readings = vec![Reading::Skipped; roster.ports.len()];
        for (place, port) in roster.ports.iter().enumerate() {
            let guid = roster.member_of(port).guid;
            let Some(recorded) = recorded(guid, port.number) else {
                continue;
            };
            (sample.counters[place], sample.known[place]) = (recorded.counters, true);
            if let Some(quality) = recorded.link_quality {
                sample.quality[place] = quality;
            }
            if let Some(counters) = recorded.before {
                (before.counters[place], before.known[place]) = (counters, true);
                readings[place] = Reading::Done;
            }
        }
        Self {
            run: 0,
            number: 0,
            unix_time,
            duration_us: 0,
            interval_s: u32::try_from(span_ns / 1_000_000_000)
                .unwrap_or(u32::MAX)
                .max(1),
            span_ns,
            started: Tick(0),
            totals: Totals::default(),
            unexpected: vec![false; roster.ports.len()],
            sample: Arc::new(sample),
            before: Some(Before {
                sample: Arc::new(before),
                places: None,
            }),
            sums: None,
            readings,
            error_info: BTreeMap::new(),
            begun: BTreeMap::new(),
            weights: Weights::of(&without_lanes),
            roster,
        }
    }
}
