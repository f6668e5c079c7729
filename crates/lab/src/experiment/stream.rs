//! Packets by a pattern, on as many threads as are asked for.

use weft_dataplane::Network;
use weft_dataplane::packets::{MICRO, Options, Order, Picos, Random, Shards, Simulation, Totals};
use weft_dataplane::traffic::{Hosts, Pattern, Received, StreamsOptions, TwoStreams};
use weft_fabric::Sl;

use super::links::Watch;
use super::measure::{Ran, picos};
use super::perform::{ExperimentError, Measurement, measurement};
use super::scenario::{Beside, Case, StreamPattern, Traffic};
use super::stage::Staged;
use super::{deadlock, place};

/// Runs a case of packets; none where it is of something else. The result does not depend on the
/// number of threads.
///
/// # Errors
/// [`ExperimentError::Hosts`], see there.
pub(super) fn run(
    case: &Case,
    staged: &Staged,
    seed: u64,
    threads: usize,
) -> Result<Option<Ran>, ExperimentError> {
    let Traffic::Stream {
        pattern,
        bytes,
        load,
        span,
    } = case.traffic
    else {
        return Ok(None);
    };
    let network = &staged.network;
    let hosts = place::hosts(staged, case, seed)?;
    let front = StreamsOptions {
        pattern: resolve(pattern, hosts.len() as u32, seed),
        bytes,
        levels: levels(case),
        load,
        seed,
    };
    let back = background(case, hosts.len() as u32, seed);
    let traffic = TwoStreams::new(hosts.clone(), front, back);
    let mut shards = begin(network, &traffic, seed, threads);
    let span = picos(span);
    let mut watch = Watch::new(case.links);
    shards.run(span, threads);
    for shard in shards.shards_mut() {
        shard.traffic.forget();
    }
    watch.look(&shards, network, span);
    shards.run(2 * span, threads);
    let measurements = match shards.deadlock() {
        Some(circle) => Err(deadlock::told(network, &circle, shards.now())),
        None => Ok(measurements(case, &received(&shards, &hosts), bytes, span)),
    };
    Ok(Some(Ran {
        before: Totals::default(),
        measurements,
        totals: shards.totals(),
        span: shards.now(),
        moved: shards.routes_moved(),
        marked: shards.packets_marked(),
        links: watch.busiest(network, &shards),
        method: None,
    }))
}

/// Lets all hosts begin.
fn begin(network: &Network, traffic: &TwoStreams, seed: u64, threads: usize) -> Shards<TwoStreams> {
    let hardware = Options {
        seed,
        order: Order::Place,
        ..Options::default()
    };
    let mut shards = Shards::new(network, &hardware, threads, |_| traffic.clone());
    for shard in shards.shards_mut() {
        shard.traffic.start(&mut shard.simulation);
    }
    shards
}

/// The service levels of the packets.
fn levels(case: &Case) -> Vec<Sl> {
    let all = || case.manager.levels().iter().map(|level| level.sl).collect();
    case.sl.map_or_else(all, |sl| vec![sl])
}

/// The packets beside the others; they draw from other sequences.
fn background(case: &Case, hosts: u32, seed: u64) -> Option<StreamsOptions> {
    let background = case.background.as_ref()?;
    let Beside::Packets {
        pattern,
        bytes,
        load,
    } = background.what
    else {
        return None;
    };
    Some(StreamsOptions {
        pattern: resolve(pattern, hosts, !seed),
        bytes,
        levels: vec![background.sl],
        load,
        seed: !seed,
    })
}

fn resolve(pattern: StreamPattern, hosts: u32, seed: u64) -> Pattern {
    match pattern {
        StreamPattern::Uniform => Pattern::Uniform,
        StreamPattern::Permutation => Pattern::random_permutation(hosts, &mut Random::new(seed)),
        StreamPattern::Shift(by) => Pattern::Shift(by),
        StreamPattern::Hotspot(percent) => Pattern::Hotspot { to: 0, percent },
    }
}

/// What each host received, whichever shard it is in.
fn received(shards: &Shards<TwoStreams>, hosts: &Hosts) -> Vec<Received> {
    let of = |host: usize| {
        let parts = shards.shards().iter();
        let parts = parts.filter_map(|part| part.traffic.front.received().get(host).copied());
        parts.sum()
    };
    (0..hosts.len()).map(of).collect()
}

fn measurements(case: &Case, received: &[Received], bytes: u32, span: Picos) -> Vec<Measurement> {
    let time = Simulation::wire_time(bytes) as f64 / span as f64;
    let total: Received = received.iter().copied().sum();
    let least = received.iter().map(|host| host.packets).min();
    let mean = total.packets as f64 / received.len().max(1) as f64;
    let latency = total.latency as f64 / total.packets.max(1) as f64;
    let mut found = vec![
        measurement("accepted", 100.0 * mean * time, "%"),
        measurement("least", 100.0 * least.unwrap_or(0) as f64 * time, "%"),
        measurement("latency", latency / MICRO as f64, "us"),
    ];
    if case.background.is_some() {
        let longest = total.latency_max as f64 / MICRO as f64;
        found.push(measurement("latency_max", longest, "us"));
    }
    found
}
