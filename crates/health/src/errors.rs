//! Errors of links in the last hour, from the readings of all counters.

use std::collections::BTreeMap;

use weft_fabric::{Guid, PortNum};
use weft_manager::pm::{Counters, Image};
use weft_wire::pm::Counter;

use crate::slots::Slots;

/// Ports with errors that are watched at most; errors of further ones are not seen.
pub const PORTS_MAX: usize = 65_536;
/// Slots of five minutes.
type Hour = Slots<12, 300>;
/// Slots of half an hour.
const HALF: usize = 6;
/// Seconds of readings from which on a trend can be told.
const TREND_AFTER: u64 = 3_600;
/// The least quality of a link that is good: opareport's threshold LinkQualityIndicator.
const QUALITY_GOOD: u8 = 4;
/// Transfers with a wrong checksum in an hour that a link of four lanes may have: 10⁻¹² of its bits.
const REPLAYS_PER_LANE: u64 = 92;

/// A kind of error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// Transfers received with a wrong checksum, which were sent again.
    Replays,
    /// Packets received with errors.
    RcvErrors,
    /// Errors that nothing repairs.
    Uncorrectable,
    /// Packets that came without credits.
    BufferOverruns,
    /// Settings of the two ends that do not fit.
    FmConfig,
    /// Times that the link trained again by itself.
    Recoveries,
    /// Packets out that their partition does not allow.
    XmitConstraint,
    /// Packets in that their partition does not allow.
    RcvConstraint,
}

impl Trouble {
    const ALL: [Self; 8] = [
        Self::Replays,
        Self::RcvErrors,
        Self::Uncorrectable,
        Self::BufferOverruns,
        Self::FmConfig,
        Self::Recoveries,
        Self::XmitConstraint,
        Self::RcvConstraint,
    ];

    fn counter(self) -> Counter {
        match self {
            Self::Replays => Counter::LocalLinkIntegrityErrors,
            Self::RcvErrors => Counter::RcvErrors,
            Self::Uncorrectable => Counter::UncorrectableErrors,
            Self::BufferOverruns => Counter::ExcessiveBufferOverruns,
            Self::FmConfig => Counter::FmConfigErrors,
            Self::Recoveries => Counter::LinkErrorRecovery,
            Self::XmitConstraint => Counter::XmitConstraintErrors,
            Self::RcvConstraint => Counter::RcvConstraintErrors,
        }
    }

    /// The counter's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Replays => "LocalLinkIntegrityErrors",
            Self::RcvErrors => "RcvErrors",
            Self::Uncorrectable => "UncorrectableErrors",
            Self::BufferOverruns => "ExcessiveBufferOverruns",
            Self::FmConfig => "FMConfigErrors",
            Self::Recoveries => "LinkErrorRecovery",
            Self::XmitConstraint => "XmitConstraintErrors",
            Self::RcvConstraint => "RcvConstraintErrors",
        }
    }

    /// The most within an hour that is no finding, of a link with so many lanes; opareport's thresholds where it has
    /// one.
    fn most(self, lanes: u32) -> u64 {
        match self {
            Self::Replays => REPLAYS_PER_LANE * u64::from(lanes.max(1)),
            Self::RcvErrors | Self::Uncorrectable | Self::BufferOverruns | Self::FmConfig => 1,
            Self::Recoveries | Self::XmitConstraint | Self::RcvConstraint => 10,
        }
    }

    /// The least that was counted since the counter was cleared that is told: the vendor's lower threshold, which
    /// opalinkanalysis has (opamon.si.conf), and that of opareport (opamon.conf) where there is no other.
    fn least_ever(self) -> Option<u64> {
        match self {
            Self::RcvErrors | Self::Uncorrectable | Self::BufferOverruns | Self::FmConfig => {
                Some(1)
            }
            Self::XmitConstraint | Self::RcvConstraint => Some(11),
            Self::Replays | Self::Recoveries => None,
        }
    }
}

/// opalinkanalysis's threshold LinkDowned.
const LINK_DOWNED_LEAST: u64 = 1;

/// How errors of a link go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trend {
    /// More in the last half hour than in the one before.
    Rising,
    /// About as many.
    Steady,
    /// Fewer.
    Falling,
}

impl Trend {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rising => "rising",
            Self::Steady => "steady",
            Self::Falling => "falling",
        }
    }
}

/// What is known of a port with errors.
#[derive(Debug, Clone, Default)]
struct Track {
    hours: [Hour; Trouble::ALL.len()],
    downs: Hour,
    /// When its first error of this while was seen, and the last one, seconds since 1970.
    first: u64,
    last: u64,
    lanes: u32,
}

/// Errors beyond their thresholds at a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PortErrors {
    pub(crate) port: (Guid, PortNum),
    /// Kinds with their number in the last hour, the worst first.
    pub(crate) counts: Vec<(Trouble, u64)>,
    /// None while readings have not gone on for long enough.
    pub(crate) trend: Option<Trend>,
    pub(crate) first: u64,
}

/// Errors of all ports in the last hour. Ports without errors take no memory.
#[derive(Debug, Clone, Default)]
pub struct ErrorLog {
    tracks: BTreeMap<(Guid, PortNum), Box<Track>>,
    /// When the first reading was taken, seconds since 1970.
    since: u64,
    now: u64,
    /// Ports whose device says that the link is bad, and what it says.
    bad: BTreeMap<(Guid, PortNum), u8>,
    /// Counted since the counters were cleared, beyond the vendor's thresholds.
    ever: BTreeMap<(Guid, PortNum), Vec<(&'static str, u64)>>,
}

impl ErrorLog {
    /// Takes a reading of all counters.
    pub fn note(&mut self, now: u64, image: &Image) {
        self.now = self.now.max(now);
        if self.since == 0 {
            self.since = now;
        }
        self.bad.clear();
        self.ever.clear();
        for view in image.ports() {
            let port = (view.node, view.port);
            let lanes = image.roster.ports.get(view.place);
            let lanes = lanes.map_or(4, |port| port.width_rx.lanes());
            if view.neighbor.is_some() {
                let quality = image.quality(view.place);
                if (1..QUALITY_GOOD).contains(&quality) && self.bad.len() < PORTS_MAX {
                    self.bad.insert(port, quality);
                }
            }
            let ever = beyond_ever(&image.counters(view.place));
            if !ever.is_empty() && self.ever.len() < PORTS_MAX {
                self.ever.insert(port, ever);
            }
            let delta = view.delta().counters;
            self.count(now, port, lanes, &delta);
        }
        self.advance(now);
    }

    fn count(&mut self, now: u64, port: (Guid, PortNum), lanes: u32, delta: &Counters) {
        let of = |trouble: Trouble| delta[trouble.counter() as usize];
        let downs = delta[Counter::LinkDowned as usize];
        if downs == 0 && Trouble::ALL.iter().all(|trouble| of(*trouble) == 0) {
            return;
        }
        if self.tracks.len() >= PORTS_MAX && !self.tracks.contains_key(&port) {
            return;
        }
        let track = self.tracks.entry(port).or_default();
        track.lanes = lanes;
        track.downs.add(now, downs);
        // A link that goes down leaves errors behind that say nothing about it while it was up.
        if downs > 0 {
            return;
        }
        for (hour, trouble) in track.hours.iter_mut().zip(Trouble::ALL) {
            hour.add(now, of(trouble));
        }
        track.last = now;
        if track.first == 0 {
            track.first = now;
        }
    }

    /// Lets time pass; old errors are forgotten.
    pub fn advance(&mut self, now: u64) {
        self.now = self.now.max(now);
        self.tracks.retain(|_, track| {
            track.downs.advance(now);
            track.hours.iter_mut().for_each(|hour| hour.advance(now));
            let errors: u64 = track.hours.iter().map(Hour::sum).sum();
            if errors == 0 {
                track.first = 0;
            }
            errors + track.downs.sum() > 0
        });
    }

    /// Forgets everything: this manager reads no counters any more.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Times that the link of a port went down in the last hour, as its device counted.
    pub fn downs(&self, port: (Guid, PortNum)) -> u64 {
        self.tracks.get(&port).map_or(0, |track| track.downs.sum())
    }

    /// Ports whose links went down at least so often in the last hour.
    pub(crate) fn downs_at_least(&self, most: u64) -> impl Iterator<Item = ((Guid, PortNum), u64)> {
        let ports = self.tracks.iter();
        let ports = ports.map(|(port, track)| (*port, track.downs.sum()));
        ports.filter(move |(_, downs)| *downs >= most)
    }

    /// Ports with errors beyond their thresholds.
    pub(crate) fn ports(&self) -> impl Iterator<Item = PortErrors> {
        self.tracks.iter().filter_map(|(port, track)| {
            let counts = track.hours.iter().zip(Trouble::ALL);
            let counts = counts.map(|(hour, trouble)| (trouble, hour.sum()));
            let beyond = counts.filter(|(trouble, count)| *count > trouble.most(track.lanes));
            let mut counts: Vec<(Trouble, u64)> = beyond.collect();
            counts.sort_by_key(|(trouble, count)| {
                std::cmp::Reverse(count / trouble.most(track.lanes).max(1))
            });
            let (worst, _) = counts.first()?;
            Some(PortErrors {
                port: *port,
                trend: self.trend(track, *worst),
                counts,
                first: track.first,
            })
        })
    }

    fn trend(&self, track: &Track, trouble: Trouble) -> Option<Trend> {
        if self.now.saturating_sub(self.since) < TREND_AFTER {
            return None;
        }
        let place = Trouble::ALL.iter().position(|one| *one == trouble)?;
        let hour = &track.hours[place];
        let late = hour.last(HALF);
        let early = hour.sum() - late;
        Some(match (late, early) {
            (late, early) if late > early + early / 4 => Trend::Rising,
            (late, early) if late + late / 4 < early => Trend::Falling,
            _ => Trend::Steady,
        })
    }

    /// Ports whose device says that the link is bad, with its quality: 3 to 1.
    pub(crate) fn bad(&self) -> impl Iterator<Item = ((Guid, PortNum), u8)> {
        self.bad.iter().map(|(port, quality)| (*port, *quality))
    }

    /// Counts since the counters were cleared that are beyond the vendor's thresholds.
    pub(crate) fn ever(&self) -> impl Iterator<Item = ((Guid, PortNum), &[(&'static str, u64)])> {
        self.ever.iter().map(|(port, counts)| (*port, &**counts))
    }
}

fn beyond_ever(counters: &Counters) -> Vec<(&'static str, u64)> {
    let of = |counter: Counter| counters[counter as usize];
    let troubles = Trouble::ALL.into_iter().filter_map(|trouble| {
        let count = of(trouble.counter());
        (count >= trouble.least_ever()?).then_some((trouble.name(), count))
    });
    let downs = of(Counter::LinkDowned);
    let downs = (downs >= LINK_DOWNED_LEAST).then_some(("LinkDowned", downs));
    troubles.chain(downs).collect()
}
