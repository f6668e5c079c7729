//! Statistics of the latencies of all pairs of ranks, each pair measured in both directions: a session is a pair
//! of ranks of two hosts, in one direction.

use std::collections::BTreeMap;

use weft_dataplane::Network;
use weft_dataplane::constants::BLOCK_PORTS;
use weft_dataplane::packets::{MICRO, NANO, Picos};
use weft_dataplane::traffic::Hosts;
use weft_fabric::NodeId;

use super::perform::{Measurement, measurement};

/// A session and its latency.
type Session = ((u32, u32), Picos);

/// All that is said of sessions between hosts; pairs of ranks within a host are left out.
pub(super) fn measurements(
    network: &Network,
    hosts: &Hosts,
    ranks: u32,
    all: &[Session],
) -> Vec<Measurement> {
    let host = |rank: u32| rank / ranks.max(1);
    let apart: Vec<Session> = between_hosts(ranks, all).copied().collect();
    let mut found = latencies(&apart).to_vec();
    let block = |rank: u32| block(network, hosts, host(rank));
    found.extend(blocks(&apart, block));
    found.extend(asymmetry(&apart));
    found.extend(differences(&apart, host));
    found
}

/// Measurements between ranks of two hosts, with `ranks` ranks per host.
fn between_hosts<T>(ranks: u32, all: &[((u32, u32), T)]) -> impl Iterator<Item = &((u32, u32), T)> {
    let host = move |rank: u32| rank / ranks.max(1);
    all.iter().filter(move |((a, b), _)| host(*a) != host(*b))
}

/// Bandwidths of sessions between hosts, bytes a second: their mean and the least.
pub(super) fn bandwidths(ranks: u32, all: &[((u32, u32), f64)]) -> [Measurement; 2] {
    let rates: Vec<f64> = between_hosts(ranks, all)
        .map(|(_, rate)| rate / 1e9)
        .collect();
    let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    let least = rates.iter().copied().reduce(f64::min).unwrap_or(0.0);
    [
        measurement("bandwidth", mean, "GB/s"),
        measurement("bandwidth_min", least, "GB/s"),
    ]
}

fn latencies(sessions: &[Session]) -> [Measurement; 3] {
    let times = || sessions.iter().map(|(_, time)| *time);
    let (least, most) = (times().min().unwrap_or(0), times().max().unwrap_or(0));
    [
        micros("latency", mean(times())),
        micros("latency_min", least as f64),
        micros("latency_max", most as f64),
    ]
}

/// The switch that a host is on, and the block of its port there.
fn block(network: &Network, hosts: &Hosts, host: u32) -> Option<(NodeId, u8)> {
    let there = network.peer(hosts.get(host)?.port)?;
    let number = network.number_of(there).0.saturating_sub(1);
    Some((network.node_of(there), number / BLOCK_PORTS))
}

/// Latencies inside blocks of ports and between them.
fn blocks<Block: PartialEq>(
    sessions: &[Session],
    block: impl Fn(u32) -> Option<Block>,
) -> [Measurement; 3] {
    let is_near = |((a, b), _): &Session| block(*a).is_some() && block(*a) == block(*b);
    let (near, far): (Vec<Session>, Vec<Session>) = sessions.iter().partition(|one| is_near(one));
    let [near, far] = [near, far].map(|part| mean(part.iter().map(|(_, time)| *time)));
    [
        micros("same_block", near),
        micros("other_block", far),
        measurement("between_blocks", (far - near) / NANO as f64, "ns"),
    ]
}

/// Difference of latency between the two directions of a pair: minimum and maximum in percent of
/// the mean of both, and the largest difference as time.
fn asymmetry(sessions: &[Session]) -> [Measurement; 3] {
    let times: BTreeMap<(u32, u32), Picos> = sessions.iter().copied().collect();
    let both = times.iter().filter(|((a, b), _)| a < b);
    let both = both.filter_map(|((a, b), there)| Some((*there, *times.get(&(*b, *a))?)));
    let (mut least, mut most, mut longest) = (0.0_f64, 0.0_f64, 0);
    for (there, back) in both {
        let difference = there as f64 - back as f64;
        let percent = 200.0 * difference / (there + back).max(1) as f64;
        (least, most) = (least.min(percent), most.max(percent));
        longest = longest.max(there.abs_diff(back));
    }
    [
        measurement("asymmetry_min", least, "%"),
        measurement("asymmetry_max", most, "%"),
        measurement("asymmetry_time", longest as f64 / NANO as f64, "ns"),
    ]
}

/// Deviations of latencies from the overall mean: the maximum over pairs of hosts, as the mean of all
/// their sessions (`jitter`), and over single sessions (`systematic`).
fn differences(sessions: &[Session], host: impl Fn(u32) -> u32) -> [Measurement; 2] {
    let all = mean(sessions.iter().map(|(_, time)| *time));
    let mut of_hosts: BTreeMap<(u32, u32), Vec<Picos>> = BTreeMap::new();
    for ((a, b), time) in sessions {
        of_hosts
            .entry((host(*a), host(*b)))
            .or_default()
            .push(*time);
    }
    let off = |time: f64| 100.0 * (time / all.max(1.0) - 1.0).abs();
    let most = |times: &mut dyn Iterator<Item = f64>| times.map(off).fold(0.0, f64::max);
    let mut pairs = of_hosts.values().map(|times| mean(times.iter().copied()));
    let mut single = sessions.iter().map(|(_, time)| *time as f64);
    [
        measurement("jitter", most(&mut pairs), "%"),
        measurement("systematic", most(&mut single), "%"),
    ]
}

fn mean(times: impl Iterator<Item = Picos>) -> f64 {
    let (count, sum) = times.fold((0_u64, 0), |(count, sum), time| (count + 1, sum + time));
    sum as f64 / count.max(1) as f64
}

fn micros(metric: &'static str, time: f64) -> Measurement {
    measurement(metric, time / MICRO as f64, "us")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(found: &[Measurement], metric: &str) -> Option<f64> {
        let one = found.iter().find(|one| one.metric == metric);
        one.map(|one| one.value)
    }

    /// Two ranks on each of two hosts; the mean is 1,000 ns.
    const SESSIONS: [Session; 4] = [
        ((0, 2), 1_010 * NANO),
        ((2, 0), 990 * NANO),
        ((1, 3), 1_030 * NANO),
        ((3, 1), 970 * NANO),
    ];

    #[test]
    fn asymmetry_has_a_sign() {
        let found = asymmetry(&SESSIONS);
        assert_eq!(value(&found, "asymmetry_min"), Some(0.0));
        assert_eq!(value(&found, "asymmetry_max"), Some(6.0));
        assert_eq!(value(&found, "asymmetry_time"), Some(60.0));
        let turned = SESSIONS.map(|((a, b), time)| ((b, a), time));
        assert_eq!(value(&asymmetry(&turned), "asymmetry_min"), Some(-6.0));
    }

    #[test]
    fn hosts_differ_less_than_their_sessions() {
        let found = differences(&SESSIONS, |rank| rank / 2);
        let near = |metric: &str, wanted: f64| {
            assert!(
                (value(&found, metric).unwrap_or(0.0) - wanted).abs() < 1e-9,
                "{found:?}"
            );
        };
        near("jitter", 2.0);
        near("systematic", 3.0);
    }

    #[test]
    fn nearer_blocks_are_told_from_others() {
        let found = blocks(&SESSIONS, |rank| Some(rank % 3));
        assert_eq!(value(&found, "same_block"), Some(0.0));
        let found = blocks(&SESSIONS, |rank| Some(rank % 2));
        assert_eq!(value(&found, "other_block"), Some(0.0));
    }
}
