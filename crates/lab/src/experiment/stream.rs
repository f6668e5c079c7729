//! Packets by a pattern, on any number of threads.

use weft_dataplane::Network;
use weft_dataplane::constants::FLIT_BYTES;
use weft_dataplane::packets::{MICRO, Options, Order, Picos, Random, Shards};
use weft_dataplane::traffic::{
    Histogram, Hosts, Pattern, Received, StreamMix, Streams, StreamsOptions,
};
use weft_fabric::Sl;

use super::intervals::Came;
use super::managed::Managed;
use super::measure::Ran;
use super::perform::{ExperimentError, Latencies, Measurement, measurement, named};
use super::scenario::{Case, StreamPattern, Traffic};
use super::stage::Staged;
use super::values::picos;
use super::watch::Watch;
use super::{deadlock, place};

/// Runs a case of packets. The result does not depend on the number of threads.
///
/// # Errors
/// [`ExperimentError::Hosts`], see there; the manager's errors.
pub(super) fn run(
    case: &Case,
    staged: Staged,
    seed: u64,
    threads: usize,
) -> Result<Ran, ExperimentError> {
    let hosts = place::hosts(&staged, case, seed)?;
    let count = hosts.len() as u32;
    let own = options(&case.traffic, count, seed).map(|own| StreamsOptions {
        levels: levels(case, case.sl),
        ..own
    });
    let traffic = StreamMix::new(&hosts, own.into_iter().chain(beside(case, count, seed, 0)));
    let mut shards = begin(
        staged.network(),
        &traffic,
        case.hardware.options(seed),
        threads,
    );
    let mut watch = Watch::new(staged.network(), case);
    let mut managed = Managed::new(staged, 0);
    let span = span(&case.traffic);
    let warm_up = Span {
        case,
        until: span,
        threads,
    };
    warm_up.go_on(&mut shards, &mut managed, None)?;
    for shard in shards.shards_mut() {
        shard.traffic.forget();
    }
    let before = shards.totals();
    watch.look(&shards, span, || all_came(case, &shards));
    let measured = Span {
        until: 2 * span,
        ..warm_up
    };
    measured.go_on(&mut shards, &mut managed, Some(&mut watch))?;
    let measurements = match shards.deadlock() {
        Some(circle) => Err(deadlock::told(managed.network(), &circle, shards.now())),
        None => Ok(measurements(case, &shards, &hosts, span)),
    };
    let latencies = latencies(case, &shards);
    let names: Vec<Option<String>> = case
        .told_names()
        .map(|name| name.map(str::to_owned))
        .collect();
    let came = all_came(case, &shards);
    let (links, intervals) = watch.results(&mut shards, &mut managed, 0, came, &names);
    Ok(Ran {
        before,
        measurements,
        totals: shards.totals(),
        span: shards.now(),
        moved: shards.routes_moved(),
        marked: shards.packets_marked(),
        reprogrammed: managed.reprogrammed(),
        links,
        intervals,
        ranks: Vec::new(),
        messages: Vec::new(),
        latencies,
        method: None,
    })
}

/// Lets all hosts begin.
fn begin(
    network: &Network,
    traffic: &StreamMix,
    options: Options,
    threads: usize,
) -> Shards<StreamMix> {
    let options = Options {
        order: Order::Place,
        ..options
    };
    let mut shards = Shards::new(network, &options, threads, |_| traffic.clone());
    for shard in shards.shards_mut() {
        shard.traffic.start(&mut shard.simulation);
    }
    shards
}

/// A part of a run.
#[derive(Clone, Copy)]
struct Span<'a> {
    case: &'a Case,
    until: Picos,
    threads: usize,
}

impl Span<'_> {
    /// Lets everything happen up to its end, to the fabric too; `watch` looks at it meanwhile.
    fn go_on(
        self,
        shards: &mut Shards<StreamMix>,
        managed: &mut Managed,
        mut watch: Option<&mut Watch>,
    ) -> Result<(), ExperimentError> {
        while shards.now() < self.until {
            let look = watch.as_ref().map_or(Picos::MAX, |watch| watch.next());
            let due = managed.next().min(self.until);
            let next = due.min(look);
            shards.run(next, self.threads);
            if let Some(watch) = watch.as_mut().filter(|_| next == look) {
                watch.look(shards, next, || all_came(self.case, shards));
            }
            // A look changes nothing.
            if next == due {
                managed.keep_up(shards, next)?;
            }
        }
        Ok(())
    }
}

/// What has come of the case's own packets, and of each named job's.
fn all_came(case: &Case, shards: &Shards<StreamMix>) -> Vec<Came> {
    let of_kind = |place: usize| {
        let kinds = shards.shards().iter();
        let kinds = kinds.filter_map(|shard| shard.traffic.kinds().get(place));
        let parts = kinds.map(came);
        parts.fold(Came::default(), |sum, part| Came {
            count: sum.count + part.count,
            bytes: sum.bytes + part.bytes,
        })
    };
    let named = case
        .beside
        .iter()
        .zip(1..)
        .filter(|(one, _)| one.name.is_some());
    let places = std::iter::once(0).chain(named.map(|(_, place)| place));
    places.map(of_kind).collect()
}

/// What has come of packets by a pattern.
pub(super) fn came(kind: &Streams) -> Came {
    let total = kind.total();
    Came {
        count: total.packets,
        bytes: total.flits * u64::from(FLIT_BYTES),
    }
}

/// The service levels of packets: all that there are where none is said.
fn levels(case: &Case, sl: Option<Sl>) -> Vec<Sl> {
    let all = || case.manager.levels().iter().map(|level| level.sl).collect();
    sl.map_or_else(all, |sl| vec![sl])
}

/// Jobs besides a case's own traffic, which begins at `begin`; each draws from its own random
/// sequences.
pub(super) fn beside(case: &Case, hosts: u32, seed: u64, begin: Picos) -> Vec<StreamsOptions> {
    let seeds = (0..).map(|place: u64| (!seed).wrapping_sub(place));
    let all = case.beside.iter().zip(seeds);
    let options = all.filter_map(|(one, seed)| {
        let (begin, levels) = (one.begins(begin), levels(case, one.sl));
        options(&one.traffic, hosts, seed).map(|options| StreamsOptions {
            levels,
            begin,
            ..options
        })
    });
    options.collect()
}

/// Packets of any service level; none where the traffic is messages.
fn options(traffic: &Traffic, hosts: u32, seed: u64) -> Option<StreamsOptions> {
    let Traffic::Stream {
        pattern,
        bytes,
        load,
        ..
    } = *traffic
    else {
        return None;
    };
    Some(StreamsOptions {
        pattern: resolve(pattern, hosts, seed),
        bytes,
        levels: Vec::new(),
        load,
        begin: 0,
        seed,
    })
}

/// Time before and while it is measured.
fn span(traffic: &Traffic) -> Picos {
    match traffic {
        Traffic::Stream { span, .. } => picos(*span),
        _ => 0,
    }
}

fn resolve(pattern: StreamPattern, hosts: u32, seed: u64) -> Pattern {
    match pattern {
        StreamPattern::Uniform => Pattern::Uniform,
        StreamPattern::Permutation => Pattern::random_permutation(hosts, &mut Random::new(seed)),
        StreamPattern::Shift(by) => Pattern::Shift(by),
        StreamPattern::Hotspot(percent) => Pattern::Hotspot { to: 0, percent },
        StreamPattern::Tornado(side) => Pattern::tornado(hosts, side),
        StreamPattern::Transpose(side) => Pattern::transpose(hosts, side),
    }
}

/// Measurements of the case's own packets, and of each job's, under its name.
fn measurements(
    case: &Case,
    shards: &Shards<StreamMix>,
    hosts: &Hosts,
    span: Picos,
) -> Vec<Measurement> {
    let first = shards.shards().first();
    let kinds = first.map_or(&[][..], |shard| shard.traffic.kinds());
    let own = kinds.first().map(|kind| {
        let received = received(shards, hosts, 0);
        match case.beside.is_empty() {
            true => accepted(&received, kind.packet_time(), span),
            false => whole(&received, kind.packet_time(), span),
        }
    });
    let mut found = own.unwrap_or_default();
    for ((place, kind), one) in kinds.iter().enumerate().skip(1).zip(&case.beside) {
        let Some(name) = &one.name else { continue };
        let received = received(shards, hosts, place);
        let since = kind.time(2 * span).min(span);
        found.extend(named(name, whole(&received, kind.packet_time(), since)));
    }
    found
}

/// Times of the case's own packets, and of each job's.
fn latencies(case: &Case, shards: &Shards<StreamMix>) -> Vec<Latencies> {
    let of_kind = |place: usize| {
        let mut all = Histogram::default();
        for shard in shards.shards() {
            if let Some(kind) = shard.traffic.kinds().get(place) {
                all.merge(kind.latencies());
            }
        }
        all
    };
    let jobs = case.beside.iter().zip(1..);
    let jobs =
        jobs.filter_map(|(one, place)| Latencies::new(Some(one.name.as_deref()?), of_kind(place)));
    let own = Latencies::new(None, of_kind(0));
    own.into_iter().chain(jobs).collect()
}

/// Packets of a kind received by each host, whichever shard it is in.
fn received(shards: &Shards<StreamMix>, hosts: &Hosts, kind: usize) -> Vec<Received> {
    let of = |host: usize| {
        let parts = shards.shards().iter();
        let parts = parts.filter_map(|part| {
            let kind = part.traffic.kinds().get(kind)?;
            kind.received().get(host).copied()
        });
        parts.sum()
    };
    (0..hosts.len()).map(of).collect()
}

/// Measurements of packets since their start; empty before.
pub(super) fn since_begin(kind: &Streams, now: Picos) -> Vec<Measurement> {
    let time = kind.time(now);
    if time == 0 {
        return Vec::new();
    }
    whole(kind.received(), kind.packet_time(), time)
}

/// Data received by hosts in a time span, with the longest transit time.
fn whole(received: &[Received], packet: Picos, span: Picos) -> Vec<Measurement> {
    let mut found = accepted(received, packet, span);
    found.extend(longest(received));
    found
}

/// Data received by hosts in a time span, relative to capacity, and their transit time.
fn accepted(received: &[Received], packet: Picos, span: Picos) -> Vec<Measurement> {
    let time = packet as f64 / span.max(1) as f64;
    let total: Received = received.iter().copied().sum();
    let least = received.iter().map(|host| host.packets).min();
    let mean = total.packets as f64 / received.len().max(1) as f64;
    let mut found = vec![
        measurement("accepted", 100.0 * mean * time, "%"),
        measurement("least", 100.0 * least.unwrap_or(0) as f64 * time, "%"),
    ];
    if total.packets > 0 {
        let latency = total.latency as f64 / total.packets as f64;
        found.push(measurement("latency", latency / MICRO as f64, "us"));
    }
    found
}

/// The longest transit time of a packet, if there is one.
fn longest(received: &[Received]) -> Option<Measurement> {
    let arrived = received.iter().filter(|host| host.packets > 0);
    let longest = arrived.map(|host| host.latency_max).max()? as f64;
    Some(measurement("latency_max", longest / MICRO as f64, "us"))
}
