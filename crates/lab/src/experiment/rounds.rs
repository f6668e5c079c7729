//! Every rank with every other one, in rounds in which nobody is in two pairs.

use weft_dataplane::Network;
use weft_dataplane::constants::BLOCK_PORTS;
use weft_dataplane::packets::{MICRO, Picos};
use weft_dataplane::traffic::Hosts;

use super::perform::{Measurement, measurement};

/// The rounds of a tournament of all ranks, each cut into parts of at most `sessions` pairs; 0 is
/// no limit.
pub(super) fn rounds(ranks: u32, sessions: u32) -> Vec<Vec<(u32, u32)>> {
    // One stays, the others go round it; an odd one out has nobody.
    let seats = ranks + ranks % 2;
    let part = if sessions == 0 { seats } else { sessions }.max(1) as usize;
    let turn = seats.max(2) - 1;
    (0..turn)
        .flat_map(|round| {
            let seat = |place: u32| match place {
                0 => 0,
                _ => 1 + (place - 1 + round) % turn,
            };
            let pairs = (0..seats / 2).map(|place| (seat(place), seat(seats - 1 - place)));
            let pairs: Vec<_> = pairs.filter(|(a, b)| *a < ranks && *b < ranks).collect();
            let parts: Vec<Vec<_>> = pairs.chunks(part).map(<[_]>::to_vec).collect();
            parts
        })
        .collect()
}

/// What the latencies of all ordered pairs say.
pub(super) fn measurements(
    network: &Network,
    hosts: &Hosts,
    ranks: u32,
    all: &[((u32, u32), Picos)],
) -> Vec<Measurement> {
    let host = |rank: u32| rank / ranks.max(1);
    let apart: Vec<_> = all
        .iter()
        .filter(|((a, b), _)| host(*a) != host(*b))
        .collect();
    let block = |rank: u32| {
        let port = hosts.get(host(rank))?.port;
        let number = network.number_of(network.peer(port)?);
        Some((
            network.node_of(network.peer(port)?),
            number.0.saturating_sub(1) / BLOCK_PORTS,
        ))
    };
    let (near, far): (Vec<_>, Vec<_>) = apart
        .iter()
        .partition(|((a, b), _)| block(*a).is_some() && block(*a) == block(*b));
    let micros = |time: f64| time / MICRO as f64;
    let mean = |of: &[&&((u32, u32), Picos)]| {
        let sum: Picos = of.iter().map(|(_, time)| time).sum();
        micros(sum as f64) / of.len().max(1) as f64
    };
    let least = apart.iter().map(|(_, time)| *time).min().unwrap_or(0);
    let most = apart.iter().map(|(_, time)| *time).max().unwrap_or(0);
    vec![
        measurement("latency_min", micros(least as f64), "us"),
        measurement("latency_max", micros(most as f64), "us"),
        measurement("same_block", mean(&near), "us"),
        measurement("other_block", mean(&far), "us"),
        measurement("asymmetry", asymmetry(all), "%"),
    ]
}

/// The largest difference between the two ways of a pair, in percent of their mean.
fn asymmetry(all: &[((u32, u32), Picos)]) -> f64 {
    let times: std::collections::BTreeMap<(u32, u32), Picos> = all.iter().copied().collect();
    let differences = times.iter().filter_map(|((a, b), there)| {
        let back = times.get(&(*b, *a))?;
        Some(200.0 * there.abs_diff(*back) as f64 / (there + back).max(1) as f64)
    });
    differences.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn all_meet_once_and_nobody_twice_in_a_round() {
        for (ranks, sessions) in [(2, 0), (5, 0), (8, 0), (9, 2), (32, 1)] {
            let mut met = BTreeSet::new();
            for round in rounds(ranks, sessions) {
                assert!(sessions == 0 || round.len() <= sessions as usize);
                let mut busy = BTreeSet::new();
                for (a, b) in round {
                    assert!(busy.insert(a) && busy.insert(b), "{ranks}: {a} and {b}");
                    assert!(met.insert((a.min(b), a.max(b))));
                }
            }
            assert_eq!(met.len() as u32, ranks * (ranks - 1) / 2, "{ranks}");
        }
    }
}
