//! Which packet an egress lane sends next, whose lifetime ends, and when its credits return.
#![allow(clippy::unwrap_used)]

use crate::common::{Log, Program, Saturated, hosts, network, parcel};
use weft_dataplane::Counter;
use weft_dataplane::packets::{
    HeadOfQueue, MICRO, MILLI, NANO, Notice, Options, Picos, Queueing, Simulation,
};

/// Two hosts have filled a switch's buffers for a third one, twenty packets of 0.66 µs, when a
/// fourth host sends it one small packet. Returns when that arrives, and the packets that are
/// dropped for congestion.
fn late_packet(options: Options, hoq_life: u8) -> (Option<Picos>, u64) {
    let program = Program {
        hoq_life,
        ..Program::default()
    };
    let mut network = network("one-switch:4,radix=8", program);
    let hosts = hosts(&network);
    let mut simulation = Simulation::new(&network, options);
    for number in 0..30 {
        simulation.send(parcel(&hosts, 0, 3, number, 0, 8_192));
        simulation.send(parcel(&hosts, 1, 3, number, 0, 8_192));
    }
    simulation.run(&mut Log::default(), 19_500 * NANO);
    let late = parcel(&hosts, 2, 3, 99, 0, 64);
    simulation.send(late);
    let mut log = Log::default();
    assert!(simulation.drain(&mut log, MILLI));
    simulation.settle(&mut network);
    let came = log.notices.iter().find(|(_, notice)| match notice {
        Notice::Delivered(delivery) => delivery.tag == late.tag,
        _ => false,
    });
    let egress = network.peer(hosts[3].0).unwrap();
    let dropped = network.counter(egress, Counter::SwPortCongestion);
    (came.map(|(at, _)| at - 19_500 * NANO), dropped)
}

fn options(queueing: Queueing, head_of_queue: HeadOfQueue) -> Options {
    Options {
        queueing,
        head_of_queue,
        ..Options::default()
    }
}

/// A packet that is alone at its input waits for all others where the oldest goes first, and for
/// one of each other input, and the one that is just leaving, where they take turns; where each
/// input has one queue, only the heads of all queues are there to wait for.
#[test]
fn the_wait_of_a_lonely_packet_depends_on_the_order_of_inputs() {
    let packet = Simulation::wire_time(8_192);
    let wait = |queueing| {
        late_packet(options(queueing, HeadOfQueue::default()), 31)
            .0
            .unwrap()
    };
    let oldest = wait(Queueing::Oldest);
    assert!((15 * packet..21 * packet).contains(&oldest), "{oldest}");
    for queueing in [Queueing::RoundRobin, Queueing::Fifo] {
        let wait = wait(queueing);
        assert!(wait < 4 * packet, "{queueing:?}: {wait}");
    }
}

/// A lane that moves drops nothing where a lifetime is that of its first packet; where it is that of
/// each input's, a lonely packet expires, unless inputs take turns.
#[test]
fn a_lifetime_ends_by_the_reading_of_the_head_of_queue() {
    use HeadOfQueue::{EgressLane, Input};
    for (queueing, head, hoq_life, dropped) in [
        (Queueing::Oldest, Input, 2, 0),
        (Queueing::Oldest, Input, 1, 1),
        (Queueing::Oldest, EgressLane, 1, 0),
        (Queueing::Fifo, Input, 1, 0),
        (Queueing::Fifo, EgressLane, 1, 0),
        (Queueing::RoundRobin, Input, 1, 0),
        (Queueing::RoundRobin, EgressLane, 1, 0),
    ] {
        let (came, counted) = late_packet(options(queueing, head), hoq_life);
        let told = format!("{queueing:?}, {head:?}, {hoq_life}");
        assert_eq!((came.is_none(), counted), (dropped == 1, dropped), "{told}");
    }
}

/// A lane whose neighbour has room for one packet sends the next one when the credits of the last are
/// back: its tail leaves the neighbour after its length, the cable and the neighbour's latency, and
/// the credits take the cable and their own time.
#[test]
fn credits_come_back_after_their_own_time_and_the_cable() {
    let program = Program {
        dedicated: 130,
        shared: 0,
        ..Program::default()
    };
    let network = network("one-switch:2,radix=8", program);
    let hosts = hosts(&network);
    let rate = |credit_return| {
        let options = Options {
            credit_return,
            ..Options::default()
        };
        let (cable, crossing) = (options.cable, options.block_latency);
        let mut simulation = Simulation::new(&network, options);
        for number in 0..20 {
            simulation.send(parcel(&hosts, 0, 1, number, 0, 8_192));
        }
        let mut log = Log::default();
        assert!(simulation.drain(&mut log, MILLI));
        let came = log
            .notices
            .iter()
            .filter_map(|(at, notice)| matches!(notice, Notice::Delivered(_)).then_some(*at));
        let came: Vec<Picos> = came.collect();
        let steps: Vec<Picos> = came.windows(2).map(|two| two[1] - two[0]).collect();
        let own = Simulation::wire_time(8_192) + 2 * cable + crossing;
        (steps[15], own)
    };
    for credit_return in [0, 184_320, 2 * MICRO] {
        let (step, own) = rate(credit_return);
        assert_eq!(step, own + credit_return, "{credit_return}");
    }
}

/// Share of the links' capacity that 48 hosts get which always send to random others.
fn throughput(queueing: Queueing) -> f64 {
    let program = Program {
        dedicated: 200,
        shared: 0,
        ..Program::default()
    };
    let network = network("one-switch:48,radix=48", program);
    let options = Options {
        queueing,
        ..Options::default()
    };
    let mut simulation = Simulation::new(&network, options);
    let mut traffic = Saturated::new(&network, 1, 1, 1_024);
    traffic.start(&mut simulation);
    simulation.run(&mut traffic, 200 * MICRO);
    let before = traffic.delivered;
    simulation.run(&mut traffic, 1_000 * MICRO);
    let time = Simulation::wire_time(1_024) as f64;
    (traffic.delivered - before) as f64 * time / (48.0 * 800.0 * MICRO as f64)
}

/// Karol, Hluchyj and Morgan 1987: 2 - √2 = 0.586 for many ports, a little more for few.
#[test]
fn fifo_inputs_saturate_at_58_6_percent_and_virtual_output_queues_above_90() {
    let fifo = throughput(Queueing::Fifo);
    assert!((0.57..0.61).contains(&fifo), "{fifo}");
    for queueing in [Queueing::Oldest, Queueing::RoundRobin] {
        let voq = throughput(queueing);
        assert!(voq > 0.90, "{queueing:?}: {voq}");
    }
}
