//! Effective bisection bandwidth and the worst shift: throughput of flows that share links fairly.

use weft_dataplane::Network;
use weft_dataplane::fluid::Routes;
use weft_dataplane::fluid::routes::Flow;
use weft_dataplane::packets::Random;
use weft_dataplane::traffic::{Host, Hosts};

use super::perform::{Measurement, measurement};

/// Random matchings, half of the hosts to the other half, and shifts of all hosts.
pub(super) fn measure(
    network: &Network,
    hosts: &Hosts,
    matchings: u32,
    seed: u64,
) -> Vec<Measurement> {
    let routes = Routes::new(network);
    let mut random = Random::new(seed);
    let mut all: Vec<Host> = hosts.iter().copied().collect();
    let (mut sum, mut least) = (0.0, f64::MAX);
    for _ in 0..matchings {
        random.shuffle(&mut all);
        let (from, to) = all.split_at(all.len() / 2);
        let flows: Vec<Flow> = from.iter().zip(to).map(|(a, b)| Flow::new(a, b)).collect();
        let rates = rates(&routes, &flows, &mut random);
        sum += mean(&rates);
        least = rates.iter().copied().fold(least, f64::min);
    }
    let (shift, worst) = worst_shift(&routes, hosts, &mut random);
    vec![
        measurement("bisection", 100.0 * sum / f64::from(matchings.max(1)), "%"),
        measurement("slowest", 100.0 * least, "%"),
        measurement("worst_shift", 100.0 * worst, "%"),
        measurement("shift_by", f64::from(shift), "hosts"),
    ]
}

/// Rates after switches have moved their routes, where they do.
fn rates(routes: &Routes, flows: &[Flow], random: &mut Random) -> Vec<f64> {
    if !routes.adapt() {
        return routes.rates(flows);
    }
    let mut routes = routes.clone();
    routes.settle(flows, random);
    routes.rates(flows)
}

fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / rates.len().max(1) as f64
}

/// The shift with the lowest throughput of hosts, and that throughput.
fn worst_shift(routes: &Routes, hosts: &Hosts, random: &mut Random) -> (u32, f64) {
    let count = hosts.len() as u32;
    let shifts = (1..count).map(|by| {
        let flows = (0..count).filter_map(|from| {
            let to = hosts.get((from + by) % count)?;
            Some(Flow::new(hosts.get(from)?, to))
        });
        let flows: Vec<Flow> = flows.collect();
        (by, mean(&rates(routes, &flows, random)))
    });
    shifts.fold(
        (0, f64::MAX),
        |worst, one| if one.1 < worst.1 { one } else { worst },
    )
}
