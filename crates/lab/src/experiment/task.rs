//! Messages as a case or a job describes them: the benchmark that sends them, and its results.

use std::ops::Range;
use std::sync::Arc;

use weft_dataplane::constants::{ALL_PAIRS_WINDOW, LATENCY_LARGE, LATENCY_SKIP};
use weft_dataplane::packets::{MICRO, Picos};
use weft_dataplane::traffic::mpi::{
    AllToAll, Bandwidth, BandwidthOptions, Benchmark, Copies, CopiesOptions, ExchangeOptions,
    Operation, PingPong, RankSchedule, Schedule, Stack,
};

use super::collectives::{Call, schedules};
use super::perform::{ExperimentError, Measurement, measurement};
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

/// Messages of some traffic.
pub(super) struct Task<'a> {
    pub(super) traffic: &'a Traffic,
    pub(super) stack: Stack,
    /// Pairs of ranks, if it has some.
    pub(super) pairs: Vec<(u32, u32)>,
    /// All ranks that it has.
    pub(super) ranks: Range<u32>,
    /// Draws what is random in it.
    pub(super) seed: u64,
}

/// Its benchmark; none where it is of something else than messages that begin once.
///
/// # Errors
/// [`ExperimentError::Traffic`] for a collective that cannot be called so.
pub(super) fn benchmark(task: Task<'_>) -> Result<Option<Benchmark>, ExperimentError> {
    let Task {
        traffic,
        stack,
        pairs,
        ranks,
        seed,
    } = task;
    Ok(Some(match *traffic {
        Traffic::Bandwidth {
            bytes,
            window,
            skip,
            iterations,
            both_ways,
            ..
        } => Benchmark::Bandwidth(Bandwidth::new(BandwidthOptions {
            pairs,
            bytes: stack.on_link(bytes),
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
            let bytes = stack.on_link(bytes);
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
                bytes: stack.on_link(bytes),
                skip,
                iterations,
                order,
                overlap,
                seed,
            };
            Benchmark::AllToAll(AllToAll::new(ranks, options))
        }
        Traffic::Collective {
            ref of,
            bytes,
            root,
            iterations,
        } => {
            let call = Call { bytes, root, seed };
            let all = schedules(&*of.of, ranks.len() as u32, call, iterations);
            let all = all.map_err(|what| ExperimentError::Traffic { what })?;
            Benchmark::Schedule(Schedule::new(ranks.start, on_link(all, &stack)))
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
            let all = match stack.is_tcp() {
                false => of.clone(),
                true => Arc::new(on_link(of.to_vec(), &stack)),
            };
            Benchmark::Schedule(Schedule::new(ranks.start, all))
        }
        Traffic::AllPairs { .. } | Traffic::Bisection { .. } | Traffic::Stream { .. } => {
            return Ok(None);
        }
    }))
}

/// Operations whose messages have the bytes that they are on the link.
fn on_link(mut all: Vec<RankSchedule>, stack: &Stack) -> Vec<RankSchedule> {
    for operation in all.iter_mut().flat_map(|rank| &mut rank.operations) {
        if let Operation::Send { bytes, .. } = operation {
            *bytes = stack.on_link(*bytes);
        }
    }
    all
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

/// Results of a benchmark at `now`, at its end, or at the end of the traffic for which it
/// ran; empty before it has begun.
pub(super) fn results(
    (traffic, stack): (&Traffic, Stack),
    benchmark: &Benchmark,
    now: Picos,
) -> Vec<Measurement> {
    match benchmark {
        Benchmark::Bandwidth(one) => bandwidth((traffic, stack), one),
        Benchmark::PingPong(one) => latencies(&one.latencies().unwrap_or_default()),
        Benchmark::AllToAll(one) => {
            let time = one.time().unwrap_or(0) as f64;
            vec![measurement("time", time / MICRO as f64, "us")]
        }
        Benchmark::Schedule(one) => {
            let times = match traffic {
                Traffic::Collective { iterations, .. } => *iterations,
                _ => 1,
            };
            let time = one.time().unwrap_or(0) as f64 / f64::from(times);
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

fn bandwidth((traffic, stack): (&Traffic, Stack), program: &Bandwidth) -> Vec<Measurement> {
    let Traffic::Bandwidth { bytes, .. } = *traffic else {
        return Vec::new();
    };
    let measured = program.bytes_per_second().unwrap_or(0.0) * data_share(stack, bytes);
    let time = program.time().unwrap_or(0).max(1) as f64 / SECOND;
    let mut found = rates(measured);
    let messages = program.messages() as f64 / time;
    found.push(measurement("messages", messages, "1/s"));
    found
}

/// Share of a message's own bytes in those that it has on the link.
pub(super) fn data_share(stack: Stack, bytes: u64) -> f64 {
    bytes as f64 / stack.on_link(bytes).max(1) as f64
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
