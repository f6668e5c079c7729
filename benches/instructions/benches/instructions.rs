//! Instructions of the hot loops, counted by Callgrind: the same on every run, so a limit gates
//! changes. Needs `valgrind` and `cargo install gungraun-runner --version 0.20.0`.
//!
//! Limits are a tenth above the count when they were set; lower the limit after making a loop
//! faster. Set-up and checks of a loop's result are not counted: a loop without
//! work would stay below its limit.

use std::hint::black_box;

use gungraun::prelude::*;
use gungraun::{Callgrind, EventKind};
use weft_dataplane::packets::{MICRO, Shards, Simulation};
use weft_dataplane::traffic::Streams;
use weft_fabric::{Lmc, PortRef, Topology};
use weft_instructions::{fabrics, network};
use weft_routing::{EngineKind, Routed, Settings, Tables, certify, changed_blocks, reroute, route};
use weft_wire::Layout;
use weft_wire::sm::{LinearFdb, PortInfo};

/// The fabric of the routing counts: 1,152 hosts, 72 switches.
const HOSTS: u64 = 1_152;
const RADIX: u8 = 48;

/// A limit of instructions.
fn limit(instructions: u64) -> LibraryBenchmarkConfig {
    let mut tool = Callgrind::default();
    tool.hard_limits([(EventKind::Ir, instructions)]);
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(tool);
    config
}

/// Runs rayon's work on this thread: what other threads do is not counted.
fn alone() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1);
    if let Err(why) = pool.use_current_thread().build_global() {
        println!("rayon keeps its threads: {why}");
    }
}

fn tree(engine: EngineKind) -> (Topology, Settings) {
    alone();
    let topology = fabrics::tree(HOSTS, RADIX, Lmc(0)).expect("the tree is made");
    let settings = Settings {
        engine,
        ..Settings::default()
    };
    (topology, settings)
}

/// Checks that the counted code has done its work.
fn done(done: bool) {
    assert!(done, "it failed");
}

fn routed() -> (Topology, Routed) {
    let (topology, settings) = tree(EngineKind::FatTree);
    let routed = route(&topology, &settings).expect("the tree can be routed");
    (topology, routed)
}

/// A routed tree, and the same without the first cable between switches.
fn lost_link() -> (Routed, Topology, Settings) {
    let (mut topology, settings) = tree(EngineKind::Dmodc);
    let before = route(&topology, &settings).expect("the tree can be routed");
    let is_switch = |end: &PortRef| topology.switch_index(end.node).is_some();
    let cable = topology.links().find(|(a, b)| is_switch(a) && is_switch(b));
    let (end, _) = cable.expect("switches have cables");
    topology.disconnect(end);
    (before, topology, settings)
}

fn port_info() -> Vec<u8> {
    let info = PortInfo {
        lid: weft_fabric::Lid(7),
        ..PortInfo::default()
    };
    info.to_bytes()
}

#[library_benchmark(config = limit(1_300), teardown = done)]
#[bench::one(port_info())]
fn port_info_decode(bytes: Vec<u8>) -> bool {
    black_box(PortInfo::decode(black_box(&bytes))).is_ok()
}

#[library_benchmark(config = limit(800))]
#[bench::one(PortInfo::default())]
fn port_info_encode(info: PortInfo) -> [u8; PortInfo::LEN] {
    let mut bytes = [0; PortInfo::LEN];
    black_box(&info).encode(&mut bytes);
    bytes
}

#[library_benchmark(config = limit(40), teardown = done)]
#[bench::one([3; 64])]
fn lft_block(bytes: [u8; 64]) -> bool {
    let block = LinearFdb::decode(black_box(&bytes));
    let mut out = [0; 64];
    let decoded = block.is_ok();
    if let Ok(block) = block {
        block.encode(&mut out);
    }
    black_box(out);
    decoded
}

#[library_benchmark(teardown = done)]
#[bench::dmodc(args = (tree(EngineKind::Dmodc)), config = limit(9_400_000))]
#[bench::fattree(args = (tree(EngineKind::FatTree)), config = limit(10_200_000))]
#[bench::shortestpath(args = (tree(EngineKind::ShortestPath)), config = limit(14_700_000))]
fn routing((topology, settings): (Topology, Settings)) -> bool {
    black_box(route(black_box(&topology), &settings)).is_ok()
}

#[library_benchmark(config = limit(11_800_000), teardown = done)]
#[bench::lost_link(lost_link())]
fn routing_again((before, topology, settings): (Routed, Topology, Settings)) -> bool {
    reroute(&before, black_box(&topology), &settings).is_ok()
}

#[library_benchmark(config = limit(6_300_000), teardown = done)]
#[bench::fattree(routed())]
fn certificate((topology, routed): (Topology, Routed)) -> bool {
    let tables = Tables {
        linear: routed.linear(),
        groups: routed.groups(),
    };
    certify(black_box(&topology), tables).is_ok()
}

#[library_benchmark(config = limit(585_000), teardown = done)]
#[bench::unchanged(routed())]
fn diff((_, routed): (Topology, Routed)) -> bool {
    let copy = (**routed.linear()).clone();
    changed_blocks(black_box(&copy), black_box(routed.linear())).is_empty()
}

// The packets' event loop for 5 µs of virtual time.
#[library_benchmark(config = limit(22_500_000))]
#[bench::uniform(network::in_full_swing().expect("there is traffic"))]
fn packets((mut simulation, mut streams): (Simulation, Streams)) -> u64 {
    let until = simulation.now() + 5 * MICRO;
    simulation.run(black_box(&mut streams), until);
    simulation.totals().hops
}

// The same in two shards, both on this thread.
#[library_benchmark(config = limit(29_900_000))]
#[bench::uniform(network::in_two_shards().expect("there is traffic"))]
fn packets_in_shards(mut shards: Shards<Streams>) -> u64 {
    let until = shards.now() + 5 * MICRO;
    shards.run(black_box(until), 1);
    shards.totals().hops
}

library_benchmark_group!(
    name = codec;
    benchmarks = port_info_decode, port_info_encode, lft_block
);
library_benchmark_group!(
    name = tables;
    benchmarks = routing, routing_again, certificate, diff
);
library_benchmark_group!(
    name = events;
    benchmarks = packets, packets_in_shards
);
main!(library_benchmark_groups = codec, tables, events);
