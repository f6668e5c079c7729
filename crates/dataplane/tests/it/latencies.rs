//! Times of packets and messages, beside a list of all of them.
#![allow(clippy::unwrap_used)]

use crate::common::{Program, network};
use weft_dataplane::packets::{MICRO, MILLI, Notice, Options, Picos, Simulation, Traffic};
use weft_dataplane::traffic::histogram::ERROR_MAX;
use weft_dataplane::traffic::mpi::{AllToAll, Done, ExchangeOptions, Job, Mpi, PingPong, Stack};
use weft_dataplane::traffic::{Histogram, Hosts, Pattern, Streams, StreamsOptions};
use weft_fabric::Sl;

/// Packets whose times are written down one by one.
struct Listed {
    streams: Streams,
    times: Vec<Picos>,
}

impl Traffic for Listed {
    fn handle(&mut self, simulation: &mut Simulation, notice: Notice) {
        if let Notice::Delivered(delivery) = notice {
            self.times.push(simulation.now() - delivery.born);
        }
        self.streams.handle(simulation, notice);
    }
}

/// Every percentile is that of the sorted times.
fn agrees(histogram: &Histogram, times: &mut [Picos]) {
    times.sort_unstable();
    assert_eq!(histogram.count(), times.len() as u64);
    for percent in [1.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0] {
        let rank = (percent / 100.0 * times.len() as f64).ceil() as usize;
        let wanted = times[rank - 1] as f64;
        let found = histogram.percentile(percent).unwrap() as f64;
        assert!((found / wanted - 1.0).abs() <= ERROR_MAX, "{percent}");
    }
    assert_eq!(histogram.percentile(100.0), times.last().copied());
}

#[test]
fn percentiles_of_packets_are_those_of_the_sorted_times() {
    let network = network("pgft:2;4,2;1,2;1,1", Program::default());
    let hosts = Hosts::all(&network);
    let options = StreamsOptions {
        pattern: Pattern::Uniform,
        bytes: 2_112,
        levels: vec![],
        load: Some(0.6),
        begin: 0,
        seed: 5,
    };
    let mut simulation = Simulation::new(&network, Options::default());
    let mut packets = Listed {
        streams: Streams::new(hosts, options),
        times: Vec::new(),
    };
    packets.streams.start(&mut simulation);
    simulation.run(&mut packets, MILLI / 2);
    assert!(packets.times.len() > 10_000);
    agrees(packets.streams.latencies(), &mut packets.times);
    packets.streams.forget();
    assert_eq!(packets.streams.latencies().count(), 0);
}

/// An unloaded fabric has one time for all messages, that of the benchmark.
#[test]
fn messages_that_nothing_disturbs_take_one_time() {
    let network = network("one-switch:4,radix=48", Program::default());
    let hosts = Hosts::all(&network);
    let mut simulation = Simulation::new(&network, Options::default());
    let mpi = Mpi::new(hosts, &[0, 1], Stack::PSM2, Sl(0));
    let mut job = Job::new(mpi, PingPong::new(vec![(0, 1)], 8, 0, 10));
    assert!(job.run(&mut simulation, 100 * MICRO));
    let latency = job.program.latencies().unwrap()[0];
    let found = job.mpi.latencies().next().unwrap();
    assert_eq!((found.count(), found.longest()), (20, latency));
    assert_eq!(found.buckets().count(), 1);
}

/// An exchange that notes when each of its messages was handed over, and when it came.
struct Noted {
    exchange: AllToAll,
    begun: Picos,
    last: Picos,
    come: u64,
}

impl weft_dataplane::traffic::mpi::Program for Noted {
    fn begin(&mut self, mpi: &mut Mpi, simulation: &mut Simulation) {
        self.begun = simulation.now();
        self.exchange.begin(mpi, simulation);
    }

    fn done(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, done: Done) {
        if let Done::Received { .. } = done {
            self.come += 1;
            self.last = simulation.now();
        }
        self.exchange.done(mpi, simulation, done);
    }

    fn has_ended(&self) -> bool {
        self.exchange.has_ended()
    }
}

#[test]
fn each_message_of_a_collective_is_counted_once() {
    let network = network("one-switch:8,radix=48", Program::default());
    let hosts = Hosts::all(&network);
    let mut simulation = Simulation::new(&network, Options::default());
    let ranks: Vec<u32> = (0..8).collect();
    let mpi = Mpi::new(hosts, &ranks, Stack::PSM2, Sl(0));
    let options = ExchangeOptions {
        bytes: 1 << 16,
        iterations: 2,
        overlap: 1,
        ..ExchangeOptions::default()
    };
    let noted = Noted {
        exchange: AllToAll::new(0..8, options),
        begun: 0,
        last: 0,
        come: 0,
    };
    let mut job = Job::new(mpi, noted);
    assert!(job.run(&mut simulation, 100 * MILLI));
    let found = job.mpi.latencies().next().unwrap();
    // Two exchanges of eight ranks with seven others.
    assert_eq!((found.count(), job.program.come), (2 * 8 * 7, 2 * 8 * 7));
    let bytes = Simulation::wire_time(1 << 16);
    assert!(found.percentile(0.0).unwrap() >= bytes);
    assert!(found.longest() <= job.program.last - job.program.begun);
}
