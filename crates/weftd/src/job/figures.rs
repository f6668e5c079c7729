//! What the ports of links counted in the time of a job, and in usual times.

use std::collections::{BTreeMap, BTreeSet};

use weft_history::{COUNTERS, HistoryError, PortKey, Reader, Sample};
use weft_traffic::job::{Errors, Figures, JobLink};
use weft_traffic::link::FLIT_BYTES;

use super::Port;

/// Earlier days that are compared with.
const USUAL_DAYS: i64 = 7;
const DAY_MS: i64 = 86_400_000;
/// What is taken of an earlier day at least, milliseconds: readings of then are minutes apart.
const USUAL_MS: i64 = 3_600_000;
/// Ports of one question to the history.
const PORTS: usize = 256;
/// Parts of the job's time of which the busiest is looked for.
const PARTS: i64 = 30;
/// Errors that the sender counts.
const OF_SENDER: [&str; 2] = ["xmit_discards", "xmit_constraint_errors"];
/// Errors that the receiver counts.
const OF_RECEIVER: [&str; 10] = [
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

/// Samples of each port.
pub(crate) type Samples = BTreeMap<Port, Vec<Sample>>;

/// What the history has of the ports.
pub(crate) struct Readings {
    span: (i64, i64),
    now: Samples,
    /// Of each time that is compared with.
    usual: Vec<Samples>,
    pub(crate) comparison: Comparison,
}

impl Readings {
    /// Reads what these ports counted from `span.0` to `span.1`, milliseconds since 1970, and in usual times.
    ///
    /// # Errors
    /// That files cannot be read.
    pub(crate) fn read(
        reader: &Reader,
        ports: &BTreeSet<Port>,
        span: (i64, i64),
        warn: &mut dyn FnMut(String),
    ) -> Result<Self, HistoryError> {
        let length = span.1 - span.0;
        let now = samples(reader, ports, span, part(length), warn)?;
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
            usual.push(samples(reader, ports, earlier, step, warn)?);
        }
        usual.retain(has_rates);
        let mut comparison = Comparison::SameHours(usual.len() as u32);
        if usual.is_empty() {
            let before = ((span.0 - length).max(0), span.0);
            usual.push(samples(reader, ports, before, part(length), warn)?);
            usual.retain(has_rates);
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
        !has_rates(&self.now)
    }

    /// Completes a link; one count of its sender's XmitWait is `unit` flit times.
    pub(crate) fn complete(&self, link: &mut JobLink, unit: f64) {
        let ends = (
            (link.from.guid, link.from.port),
            (link.to.guid, link.to.port),
        );
        let of = |samples: &Samples| {
            let figures = figures(samples, ends, link.capacity?, unit);
            figures.map(|(all, _)| all)
        };
        link.usual = middle(self.usual.iter().filter_map(of).collect());
        let now = link
            .capacity
            .and_then(|capacity| figures(&self.now, ends, capacity, unit));
        link.now = now.map(|(all, _)| all);
        link.busiest = now.map(|(_, busiest)| busiest);
        let own = OF_SENDER.iter().map(|counter| (*counter, ends.0));
        let all = own.chain(OF_RECEIVER.iter().map(|counter| (*counter, ends.1)));
        link.errors = all
            .filter_map(|(counter, port)| self.errors(counter, port))
            .collect();
    }

    fn errors(&self, counter: &'static str, port: Port) -> Option<Errors> {
        let place = COUNTERS.iter().position(|name| *name == counter)?;
        // How many, and in what time.
        let count = |samples: &Samples| {
            let of_port = samples.get(&port).into_iter().flatten();
            let counts = of_port.filter_map(|sample| {
                let seconds = sample.span_ms as f64 / 1000.0;
                Some((sample.rates?[place] * seconds, seconds))
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
            counter,
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

fn has_rates(samples: &Samples) -> bool {
    let mut all = samples.values().flatten();
    all.any(|sample| sample.rates.is_some())
}

/// Samples of ports after `span.0` and up to `span.1`, milliseconds since 1970, one for each step.
///
/// # Errors
/// That files cannot be read.
pub(crate) fn samples(
    reader: &Reader,
    ports: &BTreeSet<Port>,
    span: (i64, i64),
    step_ms: i64,
    warn: &mut dyn FnMut(String),
) -> Result<Samples, HistoryError> {
    let key = |(guid, port): &Port| PortKey {
        guid: *guid,
        port: *port,
    };
    let ports: Vec<PortKey> = ports.iter().map(key).collect();
    let mut all = Samples::new();
    for part in ports.chunks(PORTS) {
        some_samples(reader, part, span, step_ms, warn, &mut all)?;
    }
    Ok(all)
}

/// Reads samples, of half the ports at a time where all have too many readings for one answer.
fn some_samples(
    reader: &Reader,
    ports: &[PortKey],
    span: (i64, i64),
    step_ms: i64,
    warn: &mut dyn FnMut(String),
    all: &mut Samples,
) -> Result<(), HistoryError> {
    match reader.samples(ports, span, step_ms, warn) {
        Ok(read) => {
            let keyed = ports.iter().map(|key| (key.guid, key.port)).zip(read);
            all.extend(keyed);
            Ok(())
        }
        Err(HistoryError::Input(_)) if ports.len() > 1 => {
            let (first, second) = ports.split_at(ports.len() / 2);
            some_samples(reader, first, span, step_ms, warn, all)?;
            some_samples(reader, second, span, step_ms, warn, all)
        }
        Err(error) => Err(error),
    }
}

/// What a direction of a link did in all samples, and in the busiest of them with its time.
fn figures(
    samples: &Samples,
    (from, to): (Port, Port),
    capacity: f64,
    unit: f64,
) -> Option<(Figures, (i64, Figures))> {
    const XMIT_DATA: usize = 0;
    const RCV_DATA: usize = 1;
    const XMIT_WAIT: usize = 6;
    let known = |port: &Port| {
        let all = samples.get(port).into_iter().flatten();
        all.filter_map(|sample| Some((sample.time_ms, sample.span_ms, sample.rates?)))
    };
    let mut parts: BTreeMap<i64, (i64, f64, f64)> = BTreeMap::new();
    for (time, span, rates) in known(&from) {
        parts.insert(time, (span, rates[XMIT_DATA], rates[XMIT_WAIT] * unit));
    }
    for (time, span, rates) in known(&to) {
        let part = parts.entry(time).or_insert((span, 0.0, 0.0));
        part.1 = part.1.max(rates[RCV_DATA]);
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
