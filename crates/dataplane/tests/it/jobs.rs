//! Several benchmarks at once, copies and reads, and packets together with messages.
#![allow(clippy::unwrap_used)]

use crate::common::{Program, network};
use weft_dataplane::constants::{IPOIB_MTU, SDMA_CALL, VERBS_RECEIVE};
use weft_dataplane::packets::{MICRO, MILLI, Options, Picos, Simulation};
use weft_dataplane::traffic::mpi::{
    AllToAll, Bandwidth, BandwidthOptions, Benchmark, Copies, CopiesOptions, ExchangeOptions, Job,
    Jobs, Load, Mpi, Part, PingPong, Stack,
};
use weft_dataplane::traffic::{Hosts, Pattern, StreamMix, StreamsOptions};
use weft_fabric::Sl;

#[test]
fn copies_and_reads_leave_others_what_their_processors_cannot_take() {
    let foreground = |load: Option<Load>| {
        let network = network("mesh:2,hosts=2", Program::default());
        let hosts = Hosts::all(&network);
        let mut simulation = Simulation::new(&network, Options::default());
        let mut mpi = Mpi::new(hosts, &[0, 2], Stack::PSM2, Sl(0));
        let front = Bandwidth::new(BandwidthOptions {
            pairs: vec![(0, 1)],
            bytes: 1 << 20,
            window: 8,
            skip: 1,
            iterations: 8,
            both_ways: true,
        });
        let pairs = load.map_or(vec![], |_| vec![(2, 4), (3, 5)]);
        let load = load.unwrap_or(Load::Bulk);
        mpi.add(&[0, 1, 2, 3], load.stack(), Sl(0));
        let back = copies(load, pairs, None, true);
        let program = Jobs::new(vec![
            part(Benchmark::Bandwidth(front), 0, MILLI),
            part(Benchmark::Copies(back), 2, 0),
        ]);
        let mut job = Job::new(mpi, program);
        assert!(job.run(&mut simulation, 1_000 * MILLI));
        match job.program.benchmarks().next() {
            Some(Benchmark::Bandwidth(front)) => front.bytes_per_second().unwrap(),
            other => panic!("{other:?}"),
        }
    };
    let (alone, bulk, read) = (
        foreground(None),
        foreground(Some(Load::Bulk)),
        foreground(Some(Load::Read)),
    );
    assert!(alone > 24e9, "{alone}");
    // Two pairs read what two kernels copy, in each direction; the rest of the link is free.
    let time = VERBS_RECEIVE + Stack::VERBS.copy_time(4_096, 1);
    let reads = 2.0 * 2.0 * 4_096.0 / (time as f64 * 1e-12) * 4_120.0 / 4_096.0;
    assert!(read < alone - 0.5 * reads, "{read} beside {reads}");
    assert!(bulk < 0.95 * alone, "{bulk}");
}

/// Copies between pairs, with this number of messages in each direction.
fn copies(load: Load, pairs: Vec<(u32, u32)>, messages: Option<u64>, both_ways: bool) -> Copies {
    Copies::new(CopiesOptions {
        load,
        pairs,
        payload: load.payload(),
        bytes: messages.map(|count| count * load.payload()),
        rate: None,
        both_ways,
    })
}

fn part(benchmark: Benchmark, first: u32, begin: Picos) -> Part {
    Part {
        benchmark,
        first,
        begin,
    }
}

/// Bytes a second of copies, a host to another, and packets that arrived.
fn copied(load: Load, both_ways: bool) -> (f64, u64) {
    let network = network("one-switch:2,radix=48", Program::default());
    let mpi = Mpi::new(Hosts::all(&network), &[0, 1], load.stack(), Sl(0));
    let mut simulation = Simulation::new(&network, Options::default());
    let mut job = Job::new(mpi, copies(load, vec![(0, 1)], Some(500), both_ways));
    assert!(job.run(&mut simulation, 1_000 * MILLI));
    let rate = job.program.bytes_per_second(simulation.now()).unwrap();
    (rate, simulation.totals().delivered)
}

#[test]
fn copies_and_reads_are_as_fast_as_processors_copy() {
    // The reader's kernel: 400 ns a packet, and one copy of its data.
    let (read, packets) = copied(Load::Read, false);
    let time = VERBS_RECEIVE + Stack::VERBS.copy_time(4_096, 1);
    let wanted = 4_096.0 / (time as f64 * 1e-12);
    assert!((read / wanted - 1.0).abs() < 0.01, "{read} of {wanted}");
    assert!(read < 0.4 * 12.5e9, "{read}");
    // 500 of sixteen packets, and as many requests.
    assert_eq!(packets, 500 * 16 + 500);
    let (both, _) = copied(Load::Read, true);
    assert!(both > 1.9 * read, "{both} of {read}");
    // The sending program copies each byte twice and calls the engines for each segment.
    let (bulk, _) = copied(Load::Bulk, false);
    let time = Stack::BULK.copy_time(IPOIB_MTU + 4, 2) + SDMA_CALL;
    let wanted = Load::Bulk.payload() as f64 / (time as f64 * 1e-12);
    assert!((bulk / wanted - 1.0).abs() < 0.01, "{bulk} of {wanted}");
}

/// A file that is read at a rate is copied at that rate, in each direction, by packets that are
/// evenly apart; a rate that nothing can keep up with changes nothing.
#[test]
fn a_copy_is_as_fast_as_its_file_is_read() {
    let copied = |rate: Option<u64>, both_ways| {
        let network = network("one-switch:2,radix=48", Program::default());
        let mpi = Mpi::new(Hosts::all(&network), &[0, 1], Stack::BULK, Sl(0));
        let mut simulation = Simulation::new(&network, Options::default());
        let payload = Load::Bulk.payload();
        let options = CopiesOptions {
            load: Load::Bulk,
            pairs: vec![(0, 1)],
            payload,
            bytes: Some(500 * payload),
            rate,
            both_ways,
        };
        let mut job = Job::new(mpi, Copies::new(options));
        assert!(job.run(&mut simulation, 1_000 * MILLI));
        job.program.bytes_per_second(simulation.now()).unwrap()
    };
    for rate in [100_000_000, 1_000_000_000] {
        for (both_ways, ways) in [(false, 1.0), (true, 2.0)] {
            let found = copied(Some(rate), both_ways);
            let part = found / (ways * rate as f64);
            assert!((part - 1.0).abs() < 0.01, "{rate}: {found}");
        }
    }
    let most = copied(None, false);
    let part = copied(Some(20_000_000_000), false) / most;
    assert!((part - 1.0).abs() < 0.01, "{part}");
}

#[test]
fn benchmarks_at_the_same_time_on_other_hosts_do_not_know_of_each_other() {
    let network = network("one-switch:8,radix=48", Program::default());
    let ping = |a| PingPong::new(vec![(a, a + 1)], 8, 2, 10);
    let options = ExchangeOptions {
        bytes: 8_192,
        iterations: 2,
        ..ExchangeOptions::default()
    };
    let exchange = |first| AllToAll::new(first..first + 4, options);
    let run = |parts: Vec<Part>, hosts: &[&[u32]]| {
        let mut mpi = Mpi::new(Hosts::all(&network), hosts[0], Stack::PSM2, Sl(0));
        for hosts in &hosts[1..] {
            mpi.add(hosts, Stack::PSM2, Sl(0));
        }
        let mut simulation = Simulation::new(&network, Options::default());
        let mut job = Job::new(mpi, Jobs::new(parts));
        assert!(job.run(&mut simulation, MILLI));
        let time = |one: &Benchmark| match one {
            Benchmark::PingPong(one) => one.latencies().unwrap()[0],
            Benchmark::AllToAll(one) => one.time().unwrap(),
            other => panic!("{other:?}"),
        };
        job.program.benchmarks().map(time).collect::<Vec<_>>()
    };
    let first = part(Benchmark::PingPong(ping(0)), 0, 0);
    let second = |first| part(Benchmark::AllToAll(exchange(first)), first, 3 * MICRO);
    let (ping_hosts, exchange_hosts): (&[u32], &[u32]) = (&[0, 4], &[1, 2, 5, 6]);
    let alone = [
        run(vec![first.clone()], &[ping_hosts]),
        run(vec![second(0)], &[exchange_hosts]),
    ];
    let both = run(vec![first, second(2)], &[ping_hosts, exchange_hosts]);
    assert_eq!(both, alone.concat());
}

/// Packets by a pattern take their part of a link from messages, once they have begun.
#[test]
fn packets_beside_messages_share_their_links() {
    let network = network("one-switch:4,radix=48", Program::default());
    let hosts = Hosts::all(&network);
    let rate = |beside: Option<Picos>| {
        let mpi = Mpi::new(hosts.clone(), &[0, 1], Stack::PSM2, Sl(0));
        let program = Bandwidth::new(BandwidthOptions {
            pairs: vec![(0, 1)],
            bytes: 1 << 20,
            window: 8,
            skip: 1,
            iterations: 4,
            both_ways: false,
        });
        let packets = beside.map(|begin| StreamsOptions {
            pattern: Pattern::Shift(1),
            bytes: 8_256,
            levels: vec![],
            load: None,
            begin,
            seed: 1,
        });
        let mut simulation = Simulation::new(&network, Options::default());
        let mut job = Job::new(mpi, program).beside(StreamMix::new(&hosts, packets));
        assert!(job.run(&mut simulation, 100 * MILLI));
        let kinds = job.packets().kinds().iter();
        let received = kinds.map(|kind| kind.received()[1].packets).sum::<u64>();
        (job.program.bytes_per_second().unwrap(), received)
    };
    let (alone, none) = rate(None);
    let (half, many) = rate(Some(0));
    assert_eq!((rate(Some(99 * MILLI)), none), ((alone, 0), 0));
    assert!((half / alone - 0.5).abs() < 0.05, "{half} of {alone}");
    // As many packets as those of the messages, of 40 MiB.
    assert!((4_800..5_600).contains(&many), "{many}");
}

#[test]
fn the_last_message_of_a_copy_is_as_short_as_the_file() {
    let network = network("one-switch:2,radix=48", Program::default());
    let run = |bytes: u64| {
        let mpi = Mpi::new(Hosts::all(&network), &[0, 1], Load::Bulk.stack(), Sl(0));
        let mut simulation = Simulation::new(&network, Options::default());
        let options = CopiesOptions {
            load: Load::Bulk,
            pairs: vec![(0, 1)],
            payload: Load::Bulk.payload(),
            bytes: Some(bytes),
            rate: None,
            both_ways: false,
        };
        let mut job = Job::new(mpi, Copies::new(options));
        assert_eq!(job.program.time(1), None);
        assert!(job.run(&mut simulation, 100 * MILLI));
        let time = job.program.time(simulation.now()).unwrap() as f64 * 1e-12;
        let rate = job.program.bytes_per_second(simulation.now()).unwrap();
        assert!((rate * time - bytes as f64).abs() < 0.5, "{rate} in {time}");
        simulation.totals().delivered
    };
    // One packet; eight and one.
    assert_eq!((run(1), run(Load::Bulk.payload() + 1)), (1, 9));
}

/// A sender at full load on a link that is down drops one packet per packet time, however many
/// kinds there are, and continues when it is up.
#[test]
fn packets_by_a_link_that_is_down_do_not_multiply() {
    let mut network = network("one-switch:4,radix=48", Program::default());
    let hosts = Hosts::all(&network);
    let kind = |by| StreamsOptions {
        pattern: Pattern::Shift(by),
        bytes: 8_256,
        levels: vec![],
        load: None,
        begin: 0,
        seed: 1,
    };
    network.cut_cable(hosts.get(0).unwrap().port);
    let dropped = |kinds: &[u32]| {
        let mut simulation = Simulation::new(&network, Options::default());
        let mut packets = StreamMix::new(&hosts, kinds.iter().map(|by| kind(*by)));
        packets.start(&mut simulation);
        simulation.run(&mut packets, 100 * MICRO);
        let from_it = packets.kinds().iter().map(|kind| kind.lost()).sum::<u64>();
        (from_it, simulation.totals().sent)
    };
    // 100 us are 151 packets; those to the host with the cut cable are dropped too, at the switch.
    let (one, _) = dropped(&[1]);
    assert!((300..310).contains(&one), "{one}");
    let (three, sent) = dropped(&[1, 2, 3]);
    assert!(three < 4 * one && sent < 4_000, "{three} of {sent}");
}
