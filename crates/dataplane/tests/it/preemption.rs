//! Small packets that interrupt large ones, where every moment is known beforehand.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use crate::common::{Log, Preempt, Program, hosts, network, parcel};
use weft_dataplane::packets::{MILLI, NANO, Notice, Options, Picos, Simulation, Traffic};
use weft_dataplane::{Counter, Network, PortIndex, VlCounter};
use weft_fabric::Vl;
use weft_fabric::enums::Mtu;

/// A flit on four lanes.
const FLIT: Picos = 640;
/// Flits of the largest packet.
const LARGE: Picos = 1_280;
/// From the beginning of a packet at its HFI to that behind a switch, between ports of a block.
const HOP: Picos = 110 * NANO;
/// Flits that go before and behind an interruption.
const PART: Picos = 10;

/// Lane 1 may interrupt lane 0: up to 256 bytes from 4,096 on, 4,096 in all.
const STOCK: Preempt = Preempt {
    matrix: [0, 0b1, 0, 0, 0, 0, 0, 0],
    small: 7,
    large: 7,
    limit: 16,
};

fn program(preempt: Option<Preempt>) -> Program {
    Program {
        lanes: 3,
        mtu: Mtu::B10240,
        preempt,
        ..Program::default()
    }
}

/// Packets to be sent: when, from and to which host, lane, bytes.
type Plan = [(Picos, usize, usize, u8, u32)];

/// Sends a plan, each packet with its place in the plan as its number.
struct Planned<'a> {
    plan: &'a Plan,
    hosts: Vec<(PortIndex, weft_fabric::Lid)>,
    log: Log,
}

impl Traffic for Planned<'_> {
    fn handle(&mut self, simulation: &mut Simulation, notice: Notice) {
        if let Notice::Timer(place) = notice {
            let (_, from, to, lane, bytes) = self.plan[place as usize];
            let packet = parcel(&self.hosts, from, to, place as u32, lane, bytes);
            assert!(simulation.send(packet));
        }
        self.log.handle(simulation, notice);
    }
}

/// When each packet of a plan arrived, by its place there; all credits are back in the end.
fn arrivals(network: &mut Network, plan: &Plan) -> Vec<Picos> {
    let mut simulation = Simulation::new(network, Options::default());
    let mut traffic = Planned {
        plan,
        hosts: hosts(network),
        log: Log::default(),
    };
    for (place, (at, ..)) in plan.iter().enumerate() {
        simulation.set_timer(*at, place as u64);
    }
    simulation.run(&mut traffic, MILLI);
    assert_eq!(simulation.in_flight(), 0);
    for lane in simulation.balances() {
        assert_eq!((lane.used, lane.sent), (0, lane.received), "{lane:?}");
    }
    simulation.settle(network);
    let delivered = |(at, notice): &(Picos, Notice)| match notice {
        Notice::Delivered(delivery) => Some((delivery.tag as u32, *at)),
        _ => None,
    };
    let arrived: BTreeMap<u32, Picos> = traffic.log.notices.iter().filter_map(delivered).collect();
    assert_eq!(arrived.len(), plan.len());
    arrived.into_values().collect()
}

/// When a large packet and a small one from another host arrive, of which the small one is ready at
/// the egress port `after` the large one has begun there.
fn pair(preempt: Option<Preempt>, after: Picos) -> [Picos; 2] {
    let mut network = network("one-switch:4,radix=8", program(preempt));
    let plan = [(0, 0, 2, 0, 10_240), (after, 1, 2, 1, 64)];
    arrivals(&mut network, &plan).try_into().unwrap()
}

#[test]
fn a_small_packet_waits_for_a_large_one_unless_it_may_interrupt() {
    let large = HOP + 10 * NANO + LARGE * FLIT;
    for after in (1..LARGE).step_by(37) {
        let off = pair(None, after * FLIT);
        assert_eq!(off, [large, large + 8 * FLIT], "{after} flits later, off");
        let on = pair(Some(STOCK), after * FLIT);
        // Ten flits of the large packet go first, and ten of them last.
        let begins = after.max(PART);
        let wanted = if begins <= LARGE - PART {
            let small = HOP + begins * FLIT + 8 * FLIT + 10 * NANO;
            [large + 8 * FLIT, small]
        } else {
            off
        };
        assert_eq!(on, wanted, "{after} flits later, on");
    }
}

/// A head that crosses a switch to another block of ports takes 10 ns longer than word of its tail
/// would.
#[test]
fn word_of_a_late_tail_does_not_overtake_the_head() {
    let alone = (40 + 110 + 100 + 110) * NANO + LARGE * FLIT;
    for after in 1..40 {
        let mut network = network("pgft:2;4,2;1,2;1,1", program(Some(STOCK)));
        let plan = [(0, 0, 4, 0, 10_240), (after * FLIT, 0, 1, 1, 64)];
        let arrived = arrivals(&mut network, &plan);
        assert_eq!(arrived[0], alone + 8 * FLIT, "{after} flits later");
    }
}

/// The wait of a packet that comes at any moment while a link always sends large packets is half of
/// one of them; with preemption only the parts that may not be interrupted are left of it.
#[test]
fn the_mean_wait_is_half_a_large_packet_or_what_cannot_be_interrupted() {
    let (whole, part) = (LARGE as f64, PART as f64);
    for (preempt, flits) in [
        (None, whole / 2.0),
        (Some(STOCK), (part * part + part * part) / (2.0 * whole)),
    ] {
        let moments = 256;
        let wait = |moment: Picos| {
            let mut network = network("one-switch:4,radix=8", program(preempt));
            let after = LARGE * FLIT + (2 * moment + 1) * LARGE * FLIT / (2 * moments);
            let plan = [
                (0, 0, 2, 0, 10_240),
                (0, 0, 2, 0, 10_240),
                (after, 1, 2, 1, 64),
            ];
            let alone = HOP + after + 8 * FLIT + 10 * NANO;
            arrivals(&mut network, &plan)[2] - alone
        };
        let sum: Picos = (0..moments).map(wait).sum();
        let mean = sum as f64 / (moments * FLIT) as f64;
        let step = whole / moments as f64;
        assert!(
            (mean - flits).abs() < step / 8.0,
            "{mean} flits, not {flits}"
        );
    }
}

#[test]
fn only_the_matrix_and_the_sizes_allow_it() {
    let late = |preempt: Preempt, lanes: [u8; 2], bytes: [u32; 2]| {
        let mut network = network("one-switch:4,radix=8", program(Some(preempt)));
        let plan = [
            (0, 0, 2, lanes[0], bytes[0]),
            (100 * FLIT, 1, 2, lanes[1], bytes[1]),
        ];
        let [large, small] = arrivals(&mut network, &plan).try_into().unwrap();
        small < large
    };
    let row = |by: usize, mask: u32| {
        let mut matrix = [0; 8];
        matrix[by] = mask;
        Preempt { matrix, ..STOCK }
    };
    for (preempt, lanes, bytes, wanted) in [
        (STOCK, [0, 1], [10_240, 64], true),
        // Not in reverse, nor any other lane, nor a lane itself.
        (STOCK, [1, 0], [10_240, 64], false),
        (STOCK, [0, 2], [10_240, 64], false),
        (STOCK, [2, 1], [10_240, 64], false),
        (row(1, 0b010), [1, 1], [10_240, 64], false),
        (row(2, 0b011), [0, 2], [10_240, 64], true),
        (row(2, 0b011), [1, 2], [10_240, 64], true),
        // 4,096 bytes are large, 256 are small.
        (STOCK, [0, 1], [4_096, 64], true),
        (STOCK, [0, 1], [4_088, 64], false),
        (STOCK, [0, 1], [10_240, 256], true),
        (STOCK, [0, 1], [10_240, 264], false),
        (Preempt { limit: 0, ..STOCK }, [0, 1], [10_240, 64], false),
    ] {
        assert_eq!(
            late(preempt, lanes, bytes),
            wanted,
            "lanes {lanes:?}, bytes {bytes:?}, {preempt:?}"
        );
    }
}

#[test]
fn a_packet_is_interrupted_up_to_the_limit() {
    // Two hosts send packets of 128 bytes, which come twice as fast as they can go.
    for (limit, before) in [(1, 2), (3, 6), (16, 32), (255, 40)] {
        let mut network = network(
            "one-switch:4,radix=8",
            program(Some(Preempt { limit, ..STOCK })),
        );
        let mut plan = vec![(0, 0, 2, 0, 10_240)];
        plan.extend((0..40).map(|number| (100 * FLIT, 1 + 2 * (number % 2), 2, 1, 128)));
        let arrived = arrivals(&mut network, &plan);
        let first = arrived[1..].iter().filter(|at| **at < arrived[0]).count();
        assert_eq!(first, before, "limit {limit}");
        let late = before as Picos * 16 * FLIT;
        let wanted = HOP + 10 * NANO + LARGE * FLIT + late;
        assert_eq!(arrived[0], wanted, "limit {limit}");
    }
}

/// The large packet's head is three switches further when it is interrupted on the first of them.
#[test]
fn a_tail_is_late_once_on_all_its_way() {
    let mut network = network("pgft:2;2,2;1,1;1,1", program(Some(STOCK)));
    let ends: Vec<_> = hosts(&network).iter().map(|(at, _)| *at).collect();
    let alone = arrivals(&mut network, &[(0, 0, 2, 0, 10_240)])[0];
    let small_alone = arrivals(&mut network, &[(0, 1, 3, 1, 64)])[0];
    for after in [20, 400, 900] {
        let plan = [(0, 0, 2, 0, 10_240), (after * FLIT, 1, 3, 1, 64)];
        let arrived = arrivals(&mut network, &plan);
        assert_eq!(arrived, [alone + 8 * FLIT, small_alone + after * FLIT]);
    }
    // The small packet fills the gap on the common path; the link to the host waits for the
    // tail, each of the three times.
    let [to_host, to_other] = [ends[2], ends[3]].map(|host| network.peer(host).unwrap());
    let bubbles = |at| network.counter(at, Counter::XmitWaitData);
    let all: u64 = ports(&network)
        .map(|at| network.counter(at, Counter::XmitWaitData))
        .sum();
    assert_eq!((bubbles(to_host), bubbles(to_other), all), (24, 0, 24));
    let received = network.lane_counter(ends[2], Vl(0), VlCounter::RcvBubble);
    assert_eq!(received, 24);
    let sent = network.lane_counter(to_host, Vl(0), VlCounter::XmitData);
    assert_eq!(sent, 4 * LARGE);
}

fn ports(network: &Network) -> impl Iterator<Item = PortIndex> {
    let devices = network.devices();
    devices.flat_map(|(_, device)| device.ports().map(|(_, at)| at))
}

/// A packet that is only large enough to be preempted does not preempt, and a preempting one goes whole.
#[test]
fn interruptions_do_not_nest() {
    let preempt = Preempt {
        matrix: [0, 0b001, 0b011, 0, 0, 0, 0, 0],
        small: 255,
        large: 0,
        limit: 255,
    };
    let mut network = network("one-switch:4,radix=8", program(Some(preempt)));
    let plan = [
        (0, 0, 2, 0, 10_240),
        (100 * FLIT, 1, 2, 1, 504),
        (110 * FLIT, 3, 2, 2, 504),
        (120 * FLIT, 1, 2, 1, 512),
    ];
    let arrived = arrivals(&mut network, &plan);
    let begin = HOP + 10 * NANO;
    assert_eq!(
        arrived,
        [
            begin + (LARGE + 2 * 63) * FLIT,
            begin + (100 + 63) * FLIT,
            begin + (100 + 2 * 63) * FLIT,
            begin + (LARGE + 2 * 63 + 64) * FLIT,
        ]
    );
}

/// A small packet without credits does not interrupt; it goes in the middle once it has them.
#[test]
fn an_interrupting_packet_needs_credits() {
    // A buffer of 256 bytes a lane, and shared space for large packets.
    let mut network = network(
        "one-switch:4,radix=8",
        Program {
            dedicated: 4,
            shared: 158,
            ..program(Some(STOCK))
        },
    );
    let plan = [
        (0, 0, 2, 0, 10_240),
        (20 * FLIT, 1, 2, 1, 256),
        (20 * FLIT, 1, 2, 1, 256),
        (20 * FLIT, 3, 2, 1, 256),
    ];
    let arrived = arrivals(&mut network, &plan);
    let large = HOP + 10 * NANO + LARGE * FLIT;
    // All three within the large packet, which is late by all of them.
    assert!(
        arrived[1..].iter().all(|at| *at < arrived[0]),
        "{arrived:?}"
    );
    assert_eq!(arrived[0], large + 3 * 32 * FLIT);
    // Each waits for the credits of the one before: the packet and a cable there and back.
    let mut small = arrived[1..].to_vec();
    small.sort_unstable();
    let round = 32 * FLIT + 20 * NANO;
    assert!(
        small.windows(2).all(|two| two[1] - two[0] >= round),
        "{small:?}"
    );
}
