//! What the ports of links counted in the time of a job, and in usual times.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use weft_history::{COUNTERS, HistoryError, PortKey, Reader};
use weft_traffic::job::{Errors, Figures, JobLink};
use weft_traffic::link::FLIT_BYTES;

use super::{NoAnswer, Port};

/// Earlier days that are compared with.
const USUAL_DAYS: i64 = 7;
const DAY_MS: i64 = 86_400_000;
/// What is taken of an earlier day at least, milliseconds: readings of then are minutes apart.
const USUAL_MS: i64 = 3_600_000;
/// Ports of one question to the history.
const PORTS: usize = 256;
/// Parts of the job's time of which the busiest is looked for.
const PARTS: i64 = 30;
/// Counters that are kept of a reading.
const KEPT: [&str; 15] = [
    "xmit_data",
    "rcv_data",
    "xmit_wait",
    "xmit_discards",
    "xmit_constraint_errors",
    "rcv_constraint_errors",
    "rcv_switch_relay_errors",
    "rcv_remote_physical_errors",
    "local_link_integrity_errors",
    "rcv_errors",
    "excessive_buffer_overruns",
    "fm_config_errors",
    "link_error_recovery",
    "link_downed",
    "uncorrectable_errors",
];
/// Places among them.
const XMIT_DATA: usize = 0;
const RCV_DATA: usize = 1;
const XMIT_WAIT: usize = 2;
/// Errors that the sender counts.
const OF_SENDER: Range<usize> = 3..5;
/// Errors that the receiver counts.
const OF_RECEIVER: Range<usize> = 5..KEPT.len();

/// What a job is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// The same hours of so many earlier days.
    SameHours(u32),
    /// The time before.
    Before,
    /// Nothing.
    Nothing,
}

/// What was counted in a part of a time, a second.
pub(crate) struct Reading {
    /// End of the part, milliseconds since 1970.
    pub(crate) time_ms: i64,
    /// How long it is, milliseconds.
    pub(crate) span_ms: i64,
    /// By [`KEPT`].
    rates: [f32; KEPT.len()],
}

impl Reading {
    /// Flits of data that the port sent.
    pub(crate) fn sent(&self) -> f64 {
        f64::from(self.rates[XMIT_DATA])
    }

    /// Flits of data that it received.
    pub(crate) fn received(&self) -> f64 {
        f64::from(self.rates[RCV_DATA])
    }

    /// Counts of XmitWait.
    pub(crate) fn waited(&self) -> f64 {
        f64::from(self.rates[XMIT_WAIT])
    }
}

/// Readings of each port that has some.
pub(crate) type ByPort = BTreeMap<Port, Vec<Reading>>;

/// What the history has of the ports.
pub(crate) struct Readings {
    span: (i64, i64),
    now: ByPort,
    /// Of each time that is compared with.
    usual: Vec<ByPort>,
    pub(crate) comparison: Comparison,
}

impl Readings {
    /// Reads what these ports counted from `span.0` to `span.1`, milliseconds since 1970, and in usual times.
    ///
    /// # Errors
    /// That files cannot be read, and that `stop` ends it.
    pub(crate) fn read(
        reader: &Reader,
        ports: &BTreeSet<Port>,
        span: (i64, i64),
        stop: &dyn Fn() -> bool,
        warn: &mut dyn FnMut(String),
    ) -> Result<Self, NoAnswer> {
        let length = span.1 - span.0;
        let mut read = |span, step| readings(reader, ports, span, step, stop, warn);
        let now = read(span, part(length))?;
        let mut usual = Vec::new();
        // Days between the job and the same hours before it: more than one for a job that took longer.
        let apart = (length + DAY_MS - 1).div_euclid(DAY_MS).max(1) * DAY_MS;
        let wider = (USUAL_MS - length).max(0);
        let step = part(length + wider);
        for day in 1..=USUAL_DAYS {
            let earlier = (
                span.0 - wider / 2 - day * apart,
                span.1 + wider / 2 - day * apart,
            );
            if earlier.0 < 0 {
                break;
            }
            usual.push(read(earlier, step)?);
        }
        usual.retain(|readings: &ByPort| !readings.is_empty());
        let mut comparison = Comparison::SameHours(usual.len() as u32);
        if usual.is_empty() {
            let before = ((span.0 - length).max(0), span.0);
            usual.push(read(before, part(length))?);
            usual.retain(|readings| !readings.is_empty());
            comparison = match usual.is_empty() {
                true => Comparison::Nothing,
                false => Comparison::Before,
            };
        }
        Ok(Self {
            span,
            now,
            usual,
            comparison,
        })
    }

    /// Whether anything was read in the time of the job.
    pub(crate) fn is_empty(&self) -> bool {
        self.now.is_empty()
    }

    /// Completes a link; one count of its sender's XmitWait is `unit` flit times.
    pub(crate) fn complete(&self, link: &mut JobLink, unit: f64) {
        let ends = (
            (link.from.guid, link.from.port),
            (link.to.guid, link.to.port),
        );
        let of = |readings: &ByPort| {
            let figures = figures(readings, ends, link.capacity?, unit);
            figures.map(|(all, _)| all)
        };
        link.usual = middle(self.usual.iter().filter_map(of).collect());
        let now = link
            .capacity
            .and_then(|capacity| figures(&self.now, ends, capacity, unit));
        link.now = now.map(|(all, _)| all);
        link.busiest = now.map(|(_, busiest)| busiest);
        let own = OF_SENDER.map(|counter| (counter, ends.0));
        let all = own.chain(OF_RECEIVER.map(|counter| (counter, ends.1)));
        link.errors = all
            .filter_map(|(counter, port)| self.errors(counter, port))
            .collect();
    }

    fn errors(&self, counter: usize, port: Port) -> Option<Errors> {
        // How many, and in what time.
        let count = |readings: &ByPort| {
            let of_port = readings.get(&port).into_iter().flatten();
            let counts = of_port.map(|reading| {
                let seconds = reading.span_ms as f64 / 1000.0;
                (f64::from(reading.rates[counter]) * seconds, seconds)
            });
            counts.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        };
        let (now, seconds) = count(&self.now);
        let now = now.round();
        let usual = self.usual.iter().map(count);
        let usual = usual.filter(|(_, usual)| *usual > 0.0);
        let mut usual: Vec<f64> = usual
            .map(|(count, usual)| count * seconds / usual)
            .collect();
        usual.sort_by(f64::total_cmp);
        let usual = usual.get(usual.len() / 2).copied().unwrap_or(0.0);
        (now > 0.0).then_some(Errors {
            counter: KEPT[counter],
            count: now as u64,
            usual,
        })
    }

    /// The time that was asked for, milliseconds since 1970.
    pub(crate) fn span(&self) -> (i64, i64) {
        self.span
    }
}

/// Milliseconds of one part of a time.
fn part(length_ms: i64) -> i64 {
    (length_ms / PARTS).max(1)
}

/// Readings of ports after `span.0` and up to `span.1`, milliseconds since 1970, one for each step, in order.
///
/// # Errors
/// That files cannot be read, and that `stop` ends it.
pub(crate) fn readings(
    reader: &Reader,
    ports: &BTreeSet<Port>,
    span: (i64, i64),
    step_ms: i64,
    stop: &dyn Fn() -> bool,
    warn: &mut dyn FnMut(String),
) -> Result<ByPort, NoAnswer> {
    let key = |(guid, port): &Port| PortKey {
        guid: *guid,
        port: *port,
    };
    let ports: Vec<PortKey> = ports.iter().map(key).collect();
    let mut all = ByPort::new();
    for part in ports.chunks(PORTS) {
        if stop() {
            return Err(NoAnswer::Stopped);
        }
        some_readings(reader, part, span, step_ms, warn, &mut all)?;
    }
    Ok(all)
}

/// Reads, of half the ports at a time where all have too many readings for one answer.
fn some_readings(
    reader: &Reader,
    ports: &[PortKey],
    span: (i64, i64),
    step_ms: i64,
    warn: &mut dyn FnMut(String),
    all: &mut ByPort,
) -> Result<(), HistoryError> {
    match reader.samples(ports, span, step_ms, warn) {
        Ok(read) => {
            let places = KEPT.map(|kept| COUNTERS.iter().position(|name| *name == kept));
            for (key, samples) in ports.iter().zip(read) {
                let kept = samples.into_iter().filter_map(|sample| {
                    let rates = sample.rates?;
                    Some(Reading {
                        time_ms: sample.time_ms,
                        span_ms: sample.span_ms,
                        rates: places.map(|place| place.map_or(0.0, |place| rates[place] as f32)),
                    })
                });
                let mut kept: Vec<Reading> = kept.collect();
                // Collecting keeps the room of the larger samples.
                kept.shrink_to_fit();
                if !kept.is_empty() {
                    all.insert((key.guid, key.port), kept);
                }
            }
            Ok(())
        }
        Err(HistoryError::Input(_)) if ports.len() > 1 => {
            let (first, second) = ports.split_at(ports.len() / 2);
            some_readings(reader, first, span, step_ms, warn, all)?;
            some_readings(reader, second, span, step_ms, warn, all)
        }
        Err(error) => Err(error),
    }
}

/// What a direction of a link did in all readings, and in the busiest of them with its time.
fn figures(
    readings: &ByPort,
    (from, to): (Port, Port),
    capacity: f64,
    unit: f64,
) -> Option<(Figures, (i64, Figures))> {
    let known = |port: &Port| readings.get(port).into_iter().flatten();
    let mut parts: BTreeMap<i64, (i64, f64, f64)> = BTreeMap::new();
    for own in known(&from) {
        let part = (own.span_ms, own.sent(), own.waited() * unit);
        parts.insert(own.time_ms, part);
    }
    for other in known(&to) {
        let part = parts.entry(other.time_ms);
        let part = part.or_insert((other.span_ms, 0.0, 0.0));
        part.1 = part.1.max(other.received());
    }
    let share = |flits: f64| (flits * FLIT_BYTES / capacity).clamp(0.0, 1.0);
    let of = |(_, data, wait): &(i64, f64, f64)| Figures {
        used: share(*data),
        wait: share(*wait),
    };
    let rank = |figures: &Figures| figures.used.max(figures.wait);
    let busiest = parts.iter().map(|(time, part)| (*time, of(part)));
    let busiest = busiest.max_by(|a, b| rank(&a.1).total_cmp(&rank(&b.1)))?;
    let span: i64 = parts.values().map(|(span, ..)| span).sum();
    let mean = |value: fn(&Figures) -> f64| {
        let sum: f64 = parts
            .values()
            .map(|part| value(&of(part)) * part.0 as f64)
            .sum();
        sum / span.max(1) as f64
    };
    let all = Figures {
        used: mean(|figures| figures.used),
        wait: mean(|figures| figures.wait),
    };
    Some((all, busiest))
}

/// The median of each figure.
fn middle(all: Vec<Figures>) -> Option<Figures> {
    let middle = |value: fn(&Figures) -> f64| {
        let mut values: Vec<f64> = all.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    Some(Figures {
        used: middle(|figures| figures.used)?,
        wait: middle(|figures| figures.wait)?,
    })
}
