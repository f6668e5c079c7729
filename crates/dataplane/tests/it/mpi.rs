//! Messages and the benchmarks made of them, compared with theory.
#![allow(clippy::unwrap_used)]

use crate::common::{Program, network};
use weft_dataplane::constants::{
    IPOIB_HEADERS, PIN_PAGE, SDMA_CALL, VERBS_PAYLOAD, VERBS_RECEIVE, VERBS_SEND,
};
use weft_dataplane::packets::{MICRO, MILLI, NANO, Options, Picos, Simulation};
use weft_dataplane::traffic::Hosts;
use weft_dataplane::traffic::mpi::{
    AllToAll, Bandwidth, BandwidthOptions, Done, ExchangeOptions, ExchangeOrder, HostSpeed, Job,
    Mpi, PingPong, Program as Rounds, Stack,
};
use weft_fabric::Sl;

const FLIT: Picos = 640;

/// Ranks 0 to `ranks` - 1 on the hosts of one switch, in turn.
fn job<P>(hosts: u32, ranks: u32, program: P) -> (Job<P>, Simulation) {
    let network = network(&format!("one-switch:{hosts},radix=48"), Program::default());
    let all = Hosts::all(&network);
    let places: Vec<u32> = (0..ranks).map(|rank| rank % hosts).collect();
    let mpi = Mpi::new(all, &places, Stack::PSM2, Sl(0));
    let simulation = Simulation::new(&network, Options::default());
    (Job::new(mpi, program), simulation)
}

#[test]
fn a_small_message_takes_endpoints_cables_switch_and_its_length() {
    for (to, switch) in [(1, 100), (4, 110)] {
        let program = PingPong::new(vec![(0, to)], 8, 2, 10);
        let (mut job, mut simulation) = job(8, 8, program);
        assert!(job.run(&mut simulation, MILLI));
        let wanted = (400 + 10 + switch + 10 + 400) * NANO + 8 * FLIT;
        assert_eq!(job.program.latencies().unwrap(), [wanted]);
    }
}

#[test]
fn a_rendezvous_takes_two_more_one_way_trips() {
    let bytes = 65_536;
    let program = PingPong::new(vec![(0, 1)], bytes, 1, 4);
    let (mut job, mut simulation) = job(2, 2, program);
    assert!(job.run(&mut simulation, 10 * MILLI));
    let way = 120 * NANO;
    let control = 8 * FLIT + way + 400 * NANO;
    let data = 8 * 1_032 * FLIT + way;
    // Reading the request and handing the data to the engines takes a system call.
    let call = SDMA_CALL - 400 * NANO;
    let wanted = 400 * NANO + 2 * control + call + data + 400 * NANO;
    assert_eq!(job.program.latencies().unwrap(), [wanted]);
}

/// Memory that is not registered costs the receiver a system call and its pages before it asks, and the sender its pages
/// before it sends; what processors write needs no registration.
#[test]
fn cold_memory_takes_a_call_and_its_pages_more() {
    let latency = |bytes: u64, cold: bool| {
        let network = network("one-switch:2,radix=48", Program::default());
        let host = HostSpeed {
            cold,
            ..HostSpeed::default()
        };
        let mpi = Mpi::new(Hosts::all(&network), &[0, 1], Stack::PSM2.on(&host), Sl(0));
        let mut job = Job::new(mpi, PingPong::new(vec![(0, 1)], bytes, 1, 4));
        let mut simulation = Simulation::new(&network, Options::default());
        assert!(job.run(&mut simulation, 100 * MILLI));
        job.program.latencies().unwrap()[0]
    };
    let more = |bytes| latency(bytes, true) - latency(bytes, false);
    assert_eq!(more(65_536), SDMA_CALL + 2 * 16 * PIN_PAGE);
    assert_eq!(more(64_001), SDMA_CALL + 2 * 16 * PIN_PAGE);
    assert_eq!(more(32_768), 8 * PIN_PAGE);
    assert_eq!(more(16_384), 0);
    // Of eight windows the first one waits for both; the others are registered while data flows.
    assert_eq!(more(1 << 20), SDMA_CALL + 2 * 32 * PIN_PAGE);
}

/// A kernel makes the packets of a message by verbs one after the other, and the other's copies each of them.
#[test]
fn a_message_by_verbs_takes_a_call_and_its_packets() {
    let latency = |packets: u64, send: Picos| {
        let network = network("one-switch:2,radix=48", Program::default());
        let host = HostSpeed {
            verbs_send: send,
            ..HostSpeed::default()
        };
        let mpi = Mpi::new(Hosts::all(&network), &[0, 1], Stack::VERBS.on(&host), Sl(0));
        let bytes = packets * u64::from(VERBS_PAYLOAD);
        let mut job = Job::new(mpi, PingPong::new(vec![(0, 1)], bytes, 1, 4));
        let mut simulation = Simulation::new(&network, Options::default());
        assert!(job.run(&mut simulation, 100 * MILLI));
        job.program.latencies().unwrap()[0]
    };
    let wire = (10 + 100 + 10) * NANO + u64::from(VERBS_PAYLOAD + IPOIB_HEADERS) / 8 * FLIT;
    let copy = Stack::VERBS.copy_time(u64::from(VERBS_PAYLOAD), 1);
    let one = SDMA_CALL + VERBS_SEND + wire + VERBS_RECEIVE + copy;
    assert_eq!(latency(1, VERBS_SEND), one);
    let slow = 5 * MICRO;
    assert_eq!(latency(9, slow), one + 9 * slow - VERBS_SEND);
}

/// Messages from rank 0, all at once; when each has come.
#[derive(Debug)]
struct Volley {
    to: Vec<u32>,
    bytes: u64,
    came: Vec<(u32, Picos)>,
}

impl Rounds for Volley {
    fn begin(&mut self, mpi: &mut Mpi, simulation: &mut Simulation) {
        for (tag, to) in self.to.iter().enumerate() {
            mpi.send(simulation, 0, *to, self.bytes, tag as u32);
        }
    }

    fn done(&mut self, _: &mut Mpi, simulation: &mut Simulation, done: Done) {
        if let Done::Received { tag, .. } = done {
            self.came.push((tag, simulation.now()));
        }
    }

    fn has_ended(&self) -> bool {
        self.came.len() == self.to.len()
    }
}

/// Traffic to one host leaves message by message, although the receiver requests 32 windows at once;
/// traffic to another one takes turns with it, packet by packet.
#[test]
fn an_engine_sends_in_order_and_engines_take_turns() {
    let volley = |to: Vec<u32>| {
        let program = Volley {
            to,
            bytes: 65_536,
            came: Vec::new(),
        };
        let (mut job, mut simulation) = job(3, 3, program);
        assert!(job.run(&mut simulation, 100 * MILLI));
        job.program.came
    };
    let message = 8 * 1_032 * FLIT;
    let came = volley(vec![1; 40]);
    let tags: Vec<u32> = came.iter().map(|(tag, _)| *tag).collect();
    assert_eq!(tags, (0..40).collect::<Vec<_>>());
    // Reading forty announcements takes 16 µs, in which the first few come. Then there is only data.
    for pair in came[8..].windows(2) {
        let apart = pair[1].1 - pair[0].1;
        assert!((message..message + 100 * FLIT).contains(&apart), "{pair:?}");
    }
    let came = volley(vec![1, 2]);
    let apart = came[1].1 - came[0].1;
    // The first has the engines for itself until the second call is made.
    assert!(apart < message * 3 / 4, "{came:?}");
}

/// Large messages fill the link except for the headers, also in both directions at once.
#[test]
fn large_messages_fill_the_link_but_for_their_headers() {
    for (both_ways, times) in [(false, 1.0), (true, 2.0)] {
        let program = Bandwidth::new(BandwidthOptions {
            pairs: vec![(0, 1)],
            bytes: 1 << 20,
            window: 16,
            skip: 1,
            iterations: 4,
            both_ways,
        });
        let (mut job, mut simulation) = job(2, 2, program);
        assert!(job.run(&mut simulation, 100 * MILLI));
        let measured = job.program.bytes_per_second().unwrap();
        let most = times * 12.5e9 * 8_192.0 / 8_256.0;
        assert!(
            measured <= most && measured > 0.985 * most,
            "{measured} of {most}"
        );
    }
}

#[test]
fn two_receivers_of_one_sender_get_half_each() {
    let program = Bandwidth::new(BandwidthOptions {
        pairs: vec![(0, 1), (3, 2)],
        bytes: 1 << 20,
        window: 8,
        skip: 1,
        iterations: 2,
        both_ways: false,
    });
    // Ranks 0 and 3 are on host 0.
    let (mut job, mut simulation) = job(3, 4, program);
    assert!(job.run(&mut simulation, 100 * MILLI));
    let measured = job.program.bytes_per_second().unwrap();
    assert!((measured / 12.4e9 - 1.0).abs() < 0.02, "{measured}");
}

/// On one switch the steps do not disturb each other: each takes what one large message takes.
#[test]
fn an_exchange_on_one_switch_takes_its_steps() {
    let (ranks, bytes) = (6, 1 << 20);
    for (skip, iterations) in [(0, 1), (1, 3)] {
        let options = ExchangeOptions {
            bytes,
            skip,
            iterations,
            ..ExchangeOptions::default()
        };
        let program = AllToAll::new(0..ranks, options);
        let (mut job, mut simulation) = job(ranks, ranks, program);
        assert!(job.run(&mut simulation, 100 * MILLI));
        let time = job.program.time().unwrap() as f64;
        let least = 5.0 * 128.0 * 1_032.0 * FLIT as f64;
        assert!(time > least && time < 1.05 * least, "{time} of {least}");
        // A job looks for its end this often.
        let looks = 10.0 * MICRO as f64;
        let all = simulation.now() as f64;
        let exchanges = f64::from(skip + iterations) * least;
        assert!(
            all > exchanges && all < 1.05 * exchanges + looks,
            "{all} of {exchanges}"
        );
    }
}

/// Time of an exchange of eight ranks on one switch.
fn exchanged(order: ExchangeOrder, overlap: u32, bytes: u64) -> f64 {
    let options = ExchangeOptions {
        bytes,
        skip: 1,
        iterations: 4,
        order,
        overlap,
        seed: 7,
    };
    let (mut job, mut simulation) = job(8, 8, AllToAll::new(0..8, options));
    assert!(job.run(&mut simulation, 1_000 * MILLI));
    // Four exchanges and one before them, and no message more.
    let packets = 5 * 8 * 7 * bytes.div_ceil(8_192);
    let control = if bytes > 64_000 {
        2 * 5 * 8 * 7 * bytes.div_ceil(131_072)
    } else {
        0
    };
    let sent = simulation.totals().sent;
    assert!((packets..=packets + control).contains(&sent), "{sent}");
    job.program.time().unwrap() as f64
}

/// By the ring and by bits of the number each host receives from one at a time: the steps take what they
/// must. In random orders several send to one host at a time while others get nothing.
#[test]
fn orders_without_collisions_take_their_steps_and_random_ones_longer() {
    let bytes = 1 << 20;
    let least = 7.0 * 128.0 * 1_032.0 * FLIT as f64;
    for order in [ExchangeOrder::Ring, ExchangeOrder::Xor] {
        let time = exchanged(order, 1, bytes);
        assert!((least..1.05 * least).contains(&time), "{order:?}: {time}");
    }
    let random = exchanged(ExchangeOrder::Random, 1, bytes);
    assert!(
        random > 1.1 * least && random < 3.0 * least,
        "{random} of {least}"
    );
}

/// A step of small messages is the time of one; with all in flight at once it is the processors' time.
#[test]
fn steps_that_overlap_hide_the_time_on_the_way() {
    for order in [ExchangeOrder::Ring, ExchangeOrder::Xor] {
        let one = exchanged(order, 1, 1_000);
        let all = exchanged(order, 7, 1_000);
        assert!(all < 0.8 * one, "{order:?}: {all} of {one}");
    }
    // Without partners a rank waits for nothing but its own buffer.
    let random = [1, 7].map(|overlap| exchanged(ExchangeOrder::Random, overlap, 1_000));
    assert!(random[1] < random[0], "{random:?}");
    let one = exchanged(ExchangeOrder::Ring, 1, 1_000);
    // Each waits for a message of 1,060 bytes, in 17 blocks on the bus: endpoints, cables, the switch, its copy.
    let step = 400.0 + 16.0 * 5.586 + 120.0 + 133.0 * 0.64 + 400.0 + 117.0;
    assert!((one / 1e3 / (7.0 * step) - 1.0).abs() < 0.02, "{one}");
}

/// Two switches, one link between them, two hosts each, in which packets soon grow too old.
fn narrow(switch_life: u8) -> (Hosts, Simulation) {
    let program = Program {
        switch_life,
        ..Program::default()
    };
    let network = network("mesh:2,hosts=2", program);
    let simulation = Simulation::new(&network, Options::default());
    (Hosts::all(&network), simulation)
}

#[test]
fn what_is_dropped_is_sent_again_until_the_exchange_ends() {
    let mut refused = 0;
    for bytes in [16_384, 32_768, 262_144] {
        let (hosts, mut simulation) = narrow(0);
        let places: Vec<u32> = (0..16).map(|rank| rank / 4).collect();
        let mpi = Mpi::new(hosts, &places, Stack::PSM2, Sl(0));
        let options = ExchangeOptions {
            bytes,
            ..ExchangeOptions::default()
        };
        let program = AllToAll::new(0..16, options);
        let mut job = Job::new(mpi, program);
        assert!(job.run(&mut simulation, 60_000 * MILLI), "{bytes}");
        let (tally, totals) = (job.mpi.tally(), simulation.totals());
        assert_eq!((tally.sent, tally.lost), (totals.sent, totals.lost));
        assert!(tally.lost > 0, "{bytes}");
        assert_eq!(tally.taken + tally.refused, totals.delivered, "{bytes}");
        refused += tally.refused;
    }
    assert!(refused > 0);
}

/// Messages of one packet each from many ranks of a host: no more than the receiving processors,
/// the bus or the card let through.
#[test]
fn message_rates_are_those_of_the_processors_until_the_card_is_full() {
    for (stack, ranks, wanted) in [
        (Stack::PSM2, 1, 2.5e6),
        (Stack::OPX, 1, 6.547e6),
        (Stack::PSM2, 16, 40e6),
        (Stack::OPX, 48, 156.25e6),
    ] {
        let network = network("one-switch:2,radix=48", Program::default());
        let places: Vec<u32> = (0..2 * ranks).map(|rank| rank / ranks).collect();
        let mpi = Mpi::new(Hosts::all(&network), &places, stack, Sl(0));
        let mut simulation = Simulation::new(&network, Options::default());
        let program = Bandwidth::new(BandwidthOptions {
            pairs: (0..ranks).map(|rank| (rank, rank + ranks)).collect(),
            bytes: 8,
            window: 512,
            skip: 1,
            iterations: 16,
            both_ways: false,
        });
        let mut job = Job::new(mpi, program);
        assert!(job.run(&mut simulation, 100 * MILLI));
        let rate = job.program.bytes_per_second().unwrap() / 8.0;
        assert!((rate / wanted - 1.0).abs() < 0.05, "{rate}, not {wanted}");
    }
}
