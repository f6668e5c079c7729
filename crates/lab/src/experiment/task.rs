//! Messages as a case or a job describes them: the benchmark that sends them, and its results.

use std::ops::Range;

use weft_dataplane::constants::{ALL_PAIRS_WINDOW, LATENCY_LARGE, LATENCY_SKIP};
use weft_dataplane::packets::{MICRO, Picos};
use weft_dataplane::traffic::mpi::{
    AllToAll, Bandwidth, BandwidthOptions, Benchmark, Copies, CopiesOptions, ExchangeOptions,
    PingPong, Schedule, Stack,
};

use super::perform::{Measurement, measurement};
use super::scenario::Traffic;
use super::values::micros;

/// Picoseconds in a second.
const SECOND: f64 = 1e12;

/// Round trips that osu_latency makes before it takes time.
fn latency_skip(bytes: u64) -> u32 {
    let (small, large) = LATENCY_SKIP;
    if bytes > LATENCY_LARGE { large } else { small }
}

/// Software stack for the ranks of some traffic.
pub(super) fn stack(traffic: &Traffic, mpi: Stack) -> Stack {
    match traffic {
        Traffic::Bandwidth { ip: true, .. } => Stack::IPOIB,
        Traffic::Copies { load, .. } => load.stack(),
        _ => mpi,
    }
}

/// The benchmark of some traffic between pairs of ranks, or all of `ranks`; none where it is of something
/// else than messages that begin once. `seed` draws what is random in it.
pub(super) fn benchmark(
    traffic: &Traffic,
    pairs: Vec<(u32, u32)>,
    ranks: Range<u32>,
    seed: u64,
) -> Option<Benchmark> {
    Some(match *traffic {
        Traffic::Bandwidth {
            bytes,
            window,
            skip,
            iterations,
            both_ways,
            ip,
        } => Benchmark::Bandwidth(Bandwidth::new(BandwidthOptions {
            pairs,
            bytes: on_link(bytes, ip),
            window,
            skip,
            iterations,
            both_ways,
        })),
        Traffic::Latency {
            bytes,
            skip,
            iterations,
        } => {
            let skip = skip.unwrap_or_else(|| latency_skip(bytes));
            Benchmark::PingPong(PingPong::new(pairs, bytes, skip, iterations))
        }
        Traffic::AllToAll {
            bytes,
            skip,
            iterations,
            order,
            overlap,
        } => {
            let options = ExchangeOptions {
                bytes,
                skip,
                iterations,
                order,
                overlap,
                seed,
            };
            Benchmark::AllToAll(AllToAll::new(ranks, options))
        }
        Traffic::Copies {
            load,
            bytes,
            total,
            rate,
            both_ways,
        } => Benchmark::Copies(Copies::new(CopiesOptions {
            load,
            pairs,
            payload: bytes,
            bytes: total,
            rate,
            both_ways,
        })),
        Traffic::File { ranks: ref of, .. } => {
            Benchmark::Schedule(Schedule::new(ranks.start, of.clone()))
        }
        Traffic::AllPairs { .. } | Traffic::Bisection { .. } | Traffic::Stream { .. } => {
            return None;
        }
    })
}

/// Benchmark of bandwidths between all pairs: windows of messages, one before the measurement and one
/// in it.
pub(super) fn of_all_pairs(pairs: Vec<(u32, u32)>, bytes: u64) -> Bandwidth {
    Bandwidth::new(BandwidthOptions {
        pairs,
        bytes,
        window: ALL_PAIRS_WINDOW,
        skip: 1,
        iterations: 1,
        both_ways: false,
    })
}

/// Bytes of IP packets, with their headers, that carry the user's `bytes`.
fn on_link(bytes: u64, ip: bool) -> u64 {
    use weft_dataplane::constants::{IPOIB_ENCAPSULATION, IPOIB_MTU, TCP_HEADERS};
    if !ip {
        return bytes;
    }
    let packets = bytes.div_ceil(IPOIB_MTU - TCP_HEADERS);
    bytes + packets * (TCP_HEADERS + IPOIB_ENCAPSULATION)
}

/// Results of a benchmark at `now`, at its end, or at the end of the traffic for which it
/// ran; empty before it has begun.
pub(super) fn results(traffic: &Traffic, benchmark: &Benchmark, now: Picos) -> Vec<Measurement> {
    match benchmark {
        Benchmark::Bandwidth(one) => bandwidth(traffic, one),
        Benchmark::PingPong(one) => latencies(&one.latencies().unwrap_or_default()),
        Benchmark::AllToAll(one) => {
            let time = one.time().unwrap_or(0) as f64;
            vec![measurement("time", time / MICRO as f64, "us")]
        }
        Benchmark::Schedule(one) => {
            let time = one.time().unwrap_or(0) as f64;
            vec![measurement("time", time / MICRO as f64, "us")]
        }
        Benchmark::Copies(one) => {
            let (Some(rate), Some(time)) = (one.bytes_per_second(now), one.time(now)) else {
                return Vec::new();
            };
            let mut found = rates(rate);
            found.push(measurement("time", micros(time), "us"));
            found
        }
    }
}

fn bandwidth(traffic: &Traffic, program: &Bandwidth) -> Vec<Measurement> {
    let Traffic::Bandwidth { bytes, ip, .. } = *traffic else {
        return Vec::new();
    };
    let on_link = on_link(bytes, ip).max(1) as f64;
    let measured = program.bytes_per_second().unwrap_or(0.0) * bytes as f64 / on_link;
    let time = program.time().unwrap_or(0).max(1) as f64 / SECOND;
    let mut found = rates(measured);
    let messages = program.messages() as f64 / time;
    found.push(measurement("messages", messages, "1/s"));
    found
}

fn rates(bytes_per_second: f64) -> Vec<Measurement> {
    vec![
        measurement("bandwidth", bytes_per_second / 1e9, "GB/s"),
        measurement("rate", bytes_per_second * 8.0 / 1e9, "Gb/s"),
    ]
}

fn latencies(times: &[Picos]) -> Vec<Measurement> {
    let sum: Picos = times.iter().sum();
    let mean = micros(sum) / times.len().max(1) as f64;
    let least = times.iter().min().copied().unwrap_or(0);
    let most = times.iter().max().copied().unwrap_or(0);
    vec![
        measurement("latency", mean, "us"),
        measurement("latency_min", micros(least), "us"),
        measurement("latency_max", micros(most), "us"),
    ]
}
