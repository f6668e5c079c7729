//! Packets by a pattern, on as many threads as are asked for.

use weft_dataplane::Network;
use weft_dataplane::packets::{MICRO, Options, Order, Picos, Random, Shards, Simulation};
use weft_dataplane::traffic::{Hosts, Pattern, Received, Streams, StreamsOptions};
use weft_fabric::Sl;

use super::links::Watch;
use super::measure::Ran;
use super::perform::{Measurement, measurement};
use super::place;
use super::scenario::{Case, StreamPattern, Traffic};

/// Runs a case of packets; none where it is of something else. The result does not depend on the
/// number of threads.
pub(super) fn run(case: &Case, network: &Network, seed: u64, threads: usize) -> Option<Ran> {
    let Traffic::Stream {
        pattern,
        bytes,
        load,
        span,
    } = case.traffic
    else {
        return None;
    };
    let hosts = place::hosts(network, case, seed);
    let options = StreamsOptions {
        pattern: resolve(pattern, hosts.len() as u32, seed),
        bytes,
        levels: (0..case.manager.lanes).map(Sl).collect(),
        load,
        seed,
    };
    let hardware = Options {
        seed,
        order: Order::Place,
        ..Options::default()
    };
    let mut shards = Shards::new(network, &hardware, threads, |_| {
        Streams::new(hosts.clone(), options.clone())
    });
    for shard in shards.shards_mut() {
        shard.traffic.start(&mut shard.simulation);
    }
    let span = span.as_nanos() as Picos * 1_000;
    let mut watch = Watch::new(case.links);
    shards.run(span, threads);
    for shard in shards.shards_mut() {
        shard.traffic.forget();
    }
    watch.look(&shards, network, span);
    shards.run(2 * span, threads);
    Some(Ran {
        measurements: Ok(measurements(&received(&shards, &hosts), bytes, span)),
        totals: shards.totals(),
        span: shards.now(),
        moved: shards.routes_moved(),
        links: watch.busiest(network, &shards),
        method: None,
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
fn received(shards: &Shards<Streams>, hosts: &Hosts) -> Vec<Received> {
    let of = |host: usize| {
        let parts = shards.shards().iter();
        let parts = parts.filter_map(|part| part.traffic.received().get(host).copied());
        parts.sum()
    };
    (0..hosts.len()).map(of).collect()
}

fn measurements(received: &[Received], bytes: u32, span: Picos) -> Vec<Measurement> {
    let time = Simulation::wire_time(bytes) as f64 / span as f64;
    let total: Received = received.iter().copied().sum();
    let least = received.iter().map(|host| host.packets).min();
    let mean = total.packets as f64 / received.len().max(1) as f64;
    let latency = total.latency as f64 / total.packets.max(1) as f64;
    vec![
        measurement("accepted", 100.0 * mean * time, "%"),
        measurement("least", 100.0 * least.unwrap_or(0) as f64 * time, "%"),
        measurement("latency", latency / MICRO as f64, "us"),
    ]
}
