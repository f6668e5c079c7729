//! Packets through a whole fabric: packet-hops per second on one core and on several, and bytes
//! for each port.

use clap::Args;
use weft_dataplane::Network;
use weft_dataplane::packets::{
    MICRO, NANO, Options as Hardware, Order, Random, Shards, Simulation, Totals,
};
use weft_dataplane::traffic::{Hosts, Pattern, Received, Streams, StreamsOptions};
use weft_fabric::Sl;
use weft_instructions::network::brought_up;

use crate::Failure;
use crate::fabrics::TREES;
use crate::routing::timed;
use crate::table::Table;

/// Options of `weft-bench dataplane`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Number of hosts of the fat tree: one of those that the other measurements use.
    #[arg(long, default_value_t = 1_152)]
    hosts: u64,
    /// Virtual lanes in use, one service level each.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=8))]
    lanes: u8,
    /// Size of a packet on the link, bytes.
    #[arg(long, default_value_t = 2_112, value_parser = clap::value_parser!(u32).range(8..=10_368))]
    bytes: u32,
    /// Measured virtual time, microseconds; the warm-up takes as long again.
    #[arg(long, default_value_t = 100)]
    micros: u64,
    /// Number of runs; the fastest counts.
    #[arg(long, default_value_t = 3)]
    runs: u32,
    /// Above 1: run the fabric in this many shards on as many threads, too.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    threads: u8,
}

/// Traffic of a row.
pub(crate) struct Load {
    name: &'static str,
    pattern: Pattern,
    /// Fraction of the link's capacity, or unlimited.
    load: Option<f64>,
}

impl Load {
    pub(crate) fn all(hosts: u32) -> [Self; 4] {
        let permutation = Pattern::random_permutation(hosts, &mut Random::new(1));
        [
            ("uniform", Pattern::Uniform, Some(0.5)),
            ("uniform", Pattern::Uniform, None),
            ("permutation", permutation, None),
            ("shift by half", Pattern::Shift(hosts / 2), None),
        ]
        .map(|(name, pattern, load)| Self {
            name,
            pattern,
            load,
        })
    }

    fn text(&self) -> String {
        self.load
            .map_or("all".to_owned(), |load| format!("{load:.2}"))
    }
}

/// Number of parts of the fabric, their order, and the number of threads.
#[derive(Clone, Copy)]
struct Cut {
    order: Order,
    shards: usize,
    threads: usize,
}

/// In one part.
const WHOLE: Cut = Cut {
    order: Order::Entry,
    shards: 1,
    threads: 1,
};

/// Measures and prints the table.
///
/// # Errors
/// [`Failure`] when the fabric cannot be made or does not come up, or when results in shards differ
/// from those of the whole.
pub fn run(options: &Options) -> Result<(), Failure> {
    let network = network(options)?;
    let table = match usize::from(options.threads) {
        1 => alone(&network, options),
        threads => together(&network, options, threads)?,
    };
    print!("{table}");
    Ok(())
}

/// The fastest of several runs of each division, by turns.
fn fastest<const N: usize>(
    network: &Network,
    options: &Options,
    load: &Load,
    cuts: [Cut; N],
) -> [Measured; N] {
    let once = |cut| measure(network, options, load, cut);
    let mut best = cuts.map(once);
    for _ in 1..options.runs {
        for (best, cut) in best.iter_mut().zip(cuts) {
            let next = once(cut);
            if next.seconds < best.seconds {
                *best = next;
            }
        }
    }
    best
}

fn alone(network: &Network, options: &Options) -> Table {
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
    let hosts = Hosts::all(network).len() as u32;
    for load in &Load::all(hosts) {
        let [best] = fastest(network, options, load, [WHOLE]);
        table.row([
            hosts.to_string(),
            load.name.to_owned(),
            load.text(),
            options.lanes.to_string(),
            options.bytes.to_string(),
            format!("{:.3}", best.accepted),
            best.hops.to_string(),
            format!("{:.2}", best.events as f64 / best.hops as f64),
            format!("{:.2}", best.rate()),
            best.port_bytes.to_string(),
            best.packet_bytes.to_string(),
        ]);
    }
    table
}

/// One shard, and several on one thread and on as many threads, with equal results.
fn together(network: &Network, options: &Options, threads: usize) -> Result<Table, Failure> {
    let mut table = Table::new([
        "hosts",
        "traffic",
        "load",
        "packet-hops",
        "shards",
        "largest shard",
        "one shard M/s",
        "shards on one thread M/s",
        "threads",
        "shards on threads M/s",
        "times faster",
    ]);
    let hosts = Hosts::all(network).len() as u32;
    for load in &Load::all(hosts) {
        let with = |shards, threads| Cut {
            order: Order::Place,
            shards,
            threads,
        };
        let cuts = [with(1, 1), with(threads, 1), with(threads, threads)];
        let [one, cut, many] = fastest(network, options, load, cuts);
        if one.seen != many.seen || one.seen != cut.seen {
            return Err(Failure::Differs {
                traffic: load.name.to_owned(),
                shards: threads,
            });
        }
        table.row([
            hosts.to_string(),
            load.name.to_owned(),
            load.text(),
            one.hops.to_string(),
            threads.to_string(),
            format!("{:.1} %", 100.0 * many.largest),
            format!("{:.2}", one.rate()),
            format!("{:.2}", cut.rate()),
            threads.to_string(),
            format!("{:.2}", many.rate()),
            format!("{:.2}", one.seconds / many.seconds),
        ]);
    }
    Ok(table)
}

/// Packet-hops and their time in seconds, with default options.
pub(crate) fn rate(hosts: u64, radix: u8, load: &Load, runs: u32) -> Result<(u64, f64), Failure> {
    let options = Options {
        hosts,
        lanes: 8,
        bytes: 2_112,
        micros: 100,
        runs,
        threads: 1,
    };
    let network = brought_up(hosts, radix, options.lanes)?;
    let [best] = fastest(&network, &options, load, [WHOLE]);
    Ok((best.hops, best.seconds))
}

struct Measured {
    seconds: f64,
    hops: u64,
    events: u64,
    /// Received data, as a fraction of the capacity of the hosts' links.
    accepted: f64,
    port_bytes: usize,
    packet_bytes: usize,
    /// Events of the busiest shard, as a fraction of all.
    largest: f64,
    /// All counters, and the data that each host received.
    seen: (Totals, Vec<Received>),
}

impl Measured {
    /// Million packet-hops a second.
    fn rate(&self) -> f64 {
        self.hops as f64 / self.seconds / 1e6
    }
}

fn network(options: &Options) -> Result<Network, Failure> {
    let radix = TREES.iter().find(|(hosts, _)| *hosts == options.hosts);
    let radix = radix.map_or(48, |(_, radix)| *radix);
    Ok(brought_up(options.hosts, radix, options.lanes)?)
}

fn measure(network: &Network, options: &Options, load: &Load, cut: Cut) -> Measured {
    let hardware = Hardware {
        order: cut.order,
        ..Hardware::default()
    };
    let hosts = Hosts::all(network);
    let streams = StreamsOptions {
        pattern: load.pattern.clone(),
        bytes: options.bytes,
        levels: (0..options.lanes).map(Sl).collect(),
        load: load.load,
        begin: 0,
        seed: 1,
    };
    let mut shards = Shards::new(network, &hardware, cut.shards, |_| {
        Streams::new(hosts.clone(), streams.clone())
    });
    for shard in shards.shards_mut() {
        shard.traffic.start(&mut shard.simulation);
    }
    let half = options.micros * MICRO;
    shards.run(half, cut.threads);
    for shard in shards.shards_mut() {
        shard.traffic.forget();
    }
    let before = shards.totals();
    let (seconds, ()) = timed(|| shards.run(2 * half + NANO, cut.threads));
    let after = shards.totals();
    let received = received(&shards, hosts.len());
    let packets: u64 = received.iter().map(|host| host.packets).sum();
    let links = hosts.len() as f64 * half as f64;
    let (fabric, packet_bytes) = shards.memory();
    let events = shards.shards().iter();
    let events = events.map(|shard| shard.simulation.totals().events);
    Measured {
        seconds,
        hops: after.hops - before.hops,
        events: after.events - before.events,
        accepted: packets as f64 * Simulation::wire_time(options.bytes) as f64 / links,
        port_bytes: fabric / network.port_count().max(1),
        packet_bytes,
        largest: events.max().unwrap_or(0) as f64 / after.events.max(1) as f64,
        seen: (after, received),
    }
}

/// Data received by each host, whichever shard it is in.
fn received(shards: &Shards<Streams>, hosts: usize) -> Vec<Received> {
    let of = |host: usize| {
        let parts = shards.shards().iter();
        let parts = parts.filter_map(|part| part.traffic.received().get(host).copied());
        parts.sum()
    };
    (0..hosts).map(of).collect()
}
