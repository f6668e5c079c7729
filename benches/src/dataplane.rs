//! Packets through a whole fabric: packet-hops a second on one core, and bytes for each port.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use weft_dataplane::Network;
use weft_dataplane::packets::{MICRO, NANO, Options as Hardware, Random, Simulation};
use weft_dataplane::traffic::{Hosts, Pattern, Streams, StreamsOptions};
use weft_emulator::Options as EmulatorOptions;
use weft_fabric::Sl;
use weft_lab::{NoTap, World};
use weft_manager::sm::Settings;
use weft_manager::sm::settings::Level;
use weft_routing::EngineKind;

use crate::Failure;
use crate::fabrics::{TREES, new_tree};
use crate::routing::timed;
use crate::table::Table;

/// What `weft-bench dataplane` takes.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Hosts of the fat tree: one of those that the other measurements use.
    #[arg(long, default_value_t = 1_152)]
    hosts: u64,
    /// Virtual lanes in use, one service level each.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=8))]
    lanes: u8,
    /// Bytes of a packet on the link.
    #[arg(long, default_value_t = 2_112, value_parser = clap::value_parser!(u32).range(8..=10_368))]
    bytes: u32,
    /// Virtual time that is measured, microseconds; as much again is warm-up.
    #[arg(long, default_value_t = 100)]
    micros: u64,
    /// Runs of which the fastest counts.
    #[arg(long, default_value_t = 3)]
    runs: u32,
}

/// Measures and prints the table.
///
/// # Errors
/// [`Failure`] when the fabric cannot be made or does not come up.
pub fn run(options: &Options) -> Result<(), Failure> {
    let mut table = Table::new([
        "hosts",
        "traffic",
        "load",
        "lanes",
        "bytes",
        "accepted",
        "packet-hops",
        "events a hop",
        "million packet-hops/s",
        "bytes a port",
        "bytes of packets",
    ]);
    let network = network(options)?;
    let hosts = Hosts::all(&network).len() as u32;
    let permutation = Pattern::random_permutation(hosts, &mut Random::new(1));
    for (name, pattern, load) in [
        ("uniform", Pattern::Uniform, Some(0.5)),
        ("uniform", Pattern::Uniform, None),
        ("permutation", permutation, None),
        ("shift by half", Pattern::Shift(hosts / 2), None),
    ] {
        let best = fastest(&network, options, &pattern, load);
        table.row([
            hosts.to_string(),
            name.to_owned(),
            load.map_or("all".to_owned(), |load| format!("{load:.2}")),
            options.lanes.to_string(),
            options.bytes.to_string(),
            format!("{:.3}", best.accepted),
            best.hops.to_string(),
            format!("{:.2}", best.events as f64 / best.hops as f64),
            format!("{:.2}", best.hops as f64 / best.seconds / 1e6),
            best.port_bytes.to_string(),
            best.packet_bytes.to_string(),
        ]);
    }
    print!("{table}");
    Ok(())
}

/// Packet-hops and the seconds that they take, with what the options are where none are given.
pub(crate) fn rate(
    hosts: u64,
    radix: u8,
    pattern: &Pattern,
    load: Option<f64>,
    runs: u32,
) -> Result<(u64, f64), Failure> {
    let options = Options {
        hosts,
        lanes: 8,
        bytes: 2_112,
        micros: 100,
        runs,
    };
    let network = new_network(hosts, radix, options.lanes)?;
    let best = fastest(&network, &options, pattern, load);
    Ok((best.hops, best.seconds))
}

fn fastest(network: &Network, options: &Options, pattern: &Pattern, load: Option<f64>) -> Measured {
    let first = measure(network, options, pattern, load);
    (1..options.runs)
        .map(|_| measure(network, options, pattern, load))
        .fold(first, |best, next| match next.seconds < best.seconds {
            true => next,
            false => best,
        })
}

struct Measured {
    seconds: f64,
    hops: u64,
    events: u64,
    /// Received, as a share of what the hosts' links carry.
    accepted: f64,
    port_bytes: usize,
    packet_bytes: usize,
}

fn network(options: &Options) -> Result<Network, Failure> {
    let radix = TREES.iter().find(|(hosts, _)| *hosts == options.hosts);
    new_network(
        options.hosts,
        radix.map_or(48, |(_, radix)| *radix),
        options.lanes,
    )
}

/// A fat tree as the manager brings it up, with as many service levels as lanes.
fn new_network(hosts: u64, radix: u8, lanes: u8) -> Result<Network, Failure> {
    let topology = new_tree(hosts, radix)?;
    let mut settings = Settings::default();
    settings.routing.engine = EngineKind::FatTree;
    settings.levels = (0..lanes)
        .map(|sl| Level {
            sl: Sl(sl),
            bandwidth: 100 / lanes,
            ..Level::default()
        })
        .collect();
    let emulator = EmulatorOptions::default();
    let mut world = World::new(Arc::new(topology), emulator, settings, NoTap)?;
    if !world.bring_up(Duration::from_secs(600))? {
        return Err(Failure::BringUp {
            hosts,
            why: "the first sweep has not ended after 600 s".to_owned(),
        });
    }
    Ok(world.emulator.network().clone())
}

/// A simulation in full swing: a fat tree of 128 hosts that all send packets of 2,112 bytes to random
/// others on eight lanes, as many as fit.
///
/// # Errors
/// [`Failure`] when the fabric cannot be made or does not come up.
pub fn in_full_swing() -> Result<(Simulation, Streams), Failure> {
    let network = new_network(128, 16, 8)?;
    let mut simulation = Simulation::new(&network, Hardware::default());
    let options = StreamsOptions {
        pattern: Pattern::Uniform,
        bytes: 2_112,
        levels: (0..8).map(Sl).collect(),
        load: None,
        seed: 1,
    };
    let mut streams = Streams::new(Hosts::all(&network), options);
    streams.start(&mut simulation);
    simulation.run(&mut streams, 10 * MICRO);
    Ok((simulation, streams))
}

fn measure(network: &Network, options: &Options, pattern: &Pattern, load: Option<f64>) -> Measured {
    let mut simulation = Simulation::new(network, Hardware::default());
    let streams = StreamsOptions {
        pattern: pattern.clone(),
        bytes: options.bytes,
        levels: (0..options.lanes).map(Sl).collect(),
        load,
        seed: 1,
    };
    let hosts = Hosts::all(network);
    let links = hosts.len() as f64 * (options.micros * MICRO) as f64;
    let mut streams = Streams::new(hosts, streams);
    streams.start(&mut simulation);
    simulation.run(&mut streams, options.micros * MICRO);
    streams.forget();
    let before = simulation.totals();
    let (seconds, ()) = timed(|| simulation.run(&mut streams, (2 * options.micros) * MICRO + NANO));
    let after = simulation.totals();
    let total = streams.total();
    let (fabric, packet_bytes) = simulation.memory();
    Measured {
        seconds,
        hops: after.hops - before.hops,
        events: after.events - before.events,
        accepted: total.packets as f64 * Simulation::wire_time(options.bytes) as f64 / links,
        port_bytes: fabric / network.port_count().max(1),
        packet_bytes,
    }
}
