//! Loss, delay, duplicates, overtaking; slow and silent agents; and that chance has a seed.

use weft_dataplane::Counter;
use weft_emulator::io::{Control, ControlError, Faults, Input, Output};
use weft_emulator::{AGENT_QUEUE_MAX, Emulator, Options};
use weft_fabric::enums::PortState;
use weft_fabric::{Guid, PortNum, Tick};
use weft_wire::bits::load;
use weft_wire::packet::Packet;
use weft_wire::sm::AttributeId;
use weft_wire::smp::{DirectedRoute, Smp};

use crate::agents::player::{Player, fabric};

const FABRIC: &str = "one-switch:3,radix=8";

fn options(faults: Faults) -> Options {
    Options {
        seed: 7,
        agent_latency_ns: 1_000,
        hop_latency_ns: 100,
        faults,
    }
}

fn request(path: &[u8], transaction: u64) -> Packet {
    let ports: Vec<_> = path.iter().map(|port| PortNum(*port)).collect();
    let mut mad = Vec::new();
    let smp = Smp::get(AttributeId::NODE_INFO, 0, transaction, 0);
    smp.write_directed(&DirectedRoute::new(&ports).unwrap(), &[], &mut mad);
    Packet::directed(mad)
}

/// Sends `count` requests, a microsecond apart, and returns when which answer came.
fn answers(faults: Faults, seed: u64, count: u64) -> Vec<(Tick, u64)> {
    let topology = fabric(FABRIC);
    let node = topology.hfis().next().unwrap().1.guid();
    let options = Options {
        seed,
        agent_latency_ns: 0,
        ..options(faults)
    };
    let mut emulator = Emulator::new(topology, options).unwrap();
    let port = PortNum(1);
    for number in 0..count {
        let packet = request(&[1, 2], number);
        let send = Input::Send { node, port, packet };
        emulator.handle(Tick(number * 1_000), send).unwrap();
    }
    drain(&mut emulator)
}

fn drain(emulator: &mut Emulator) -> Vec<(Tick, u64)> {
    let mut arrived = Vec::new();
    loop {
        while let Some(Output::Deliver { packet, .. }) = emulator.poll() {
            arrived.push((emulator.now(), load(&packet.mad, 8, 8)));
        }
        let Some(next) = emulator.deadline() else {
            return arrived;
        };
        emulator.handle(next, Input::Tick).unwrap();
    }
}

#[test]
fn a_perfect_fabric_answers_everything_in_order() {
    let arrived = answers(Faults::default(), 1, 100);
    let numbers: Vec<_> = arrived.iter().map(|(_, number)| *number).collect();
    assert_eq!(numbers, (0..100).collect::<Vec<_>>());
    // Two links there, two back, 100 ns each.
    assert_eq!(
        arrived[0].0,
        Tick(99_000),
        "taken out after the last was sent"
    );
    assert_eq!(arrived[99].0, Tick(99_000 + 400));
}

#[test]
fn loss_takes_its_part_each_way() {
    let faults = Faults {
        loss: 0.3,
        ..Faults::default()
    };
    let arrived = answers(faults, 1, 10_000).len() as f64;
    let expected = 10_000.0 * 0.7 * 0.7;
    assert!(
        (arrived - expected).abs() < 250.0,
        "{arrived}, not about {expected}"
    );
    let all = Faults {
        loss: 1.0,
        ..Faults::default()
    };
    assert_eq!(answers(all, 1, 100), []);
}

#[test]
fn duplicates_arrive_twice_each_way() {
    let faults = Faults {
        duplicate: 1.0,
        ..Faults::default()
    };
    let arrived = answers(faults, 1, 100);
    for number in 0..100 {
        let copies = arrived.iter().filter(|(_, other)| *other == number);
        assert_eq!(copies.count(), 4, "{number}");
    }
}

#[test]
fn some_overtake_others() {
    let faults = Faults {
        reorder: 0.1,
        delay_max_ns: 50_000,
        ..Faults::default()
    };
    let arrived = answers(faults, 1, 1_000);
    assert_eq!(arrived.len(), 1_000);
    assert!(arrived.windows(2).any(|pair| pair[0].1 > pair[1].1));
}

#[test]
fn delay_is_between_its_bounds() {
    let faults = Faults {
        delay_min_ns: 10_000,
        delay_max_ns: 20_000,
        ..Faults::default()
    };
    let Some((Tick(at), 0)) = answers(faults, 3, 1).pop() else {
        panic!("no answer");
    };
    assert!((20_400..=40_400).contains(&at), "{at}");
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let faults = Faults {
        loss: 0.2,
        duplicate: 0.2,
        reorder: 0.2,
        delay_min_ns: 1,
        delay_max_ns: 1_000_000,
    };
    let first = answers(faults, 5, 500);
    assert_eq!(first, answers(faults, 5, 500));
    assert_ne!(first, answers(faults, 6, 500));
}

#[test]
fn a_silent_agent_forwards_but_does_not_answer() {
    let mut player = Player::new(FABRIC);
    let switch = player.node_info(&[1]).node_guid;
    let mut silence = |silent| {
        player.control(Control::Silence {
            node: switch,
            silent,
        });
        let own = player.exchange(request(&[1], 1)).len();
        let beyond = player.exchange(request(&[1, 2], 2)).len();
        (own, beyond)
    };
    assert_eq!(silence(true), (0, 1));
    assert_eq!(silence(false), (1, 1));
}

#[test]
fn an_agent_takes_one_request_after_the_other_and_a_bounded_number() {
    let mut player = Player::with(fabric(FABRIC), options(Faults::default()));
    let count = u64::from(AGENT_QUEUE_MAX) + 50;
    for number in 0..count {
        assert_eq!(player.exchange(request(&[1], number)), []);
    }
    let arrived = drain(&mut player.emulator);
    assert_eq!(arrived.len() as u32, AGENT_QUEUE_MAX);
    let times: Vec<_> = arrived.iter().map(|(Tick(at), _)| *at).collect();
    assert_eq!(times[0], 100 + 1_000 + 100);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 1_000));
    assert_eq!(player.emulator.losses().unanswered, 50);
}

#[test]
fn a_slow_agent_delays_only_its_own_answers() {
    let mut player = Player::with(fabric(FABRIC), options(Faults::default()));
    let node = player
        .emulator
        .network()
        .topology()
        .hfis()
        .nth(1)
        .unwrap()
        .1
        .guid();
    player.control(Control::Slow {
        node,
        extra_ns: 1_000_000_000,
    });
    player.exchange(request(&[1, 2], 2));
    player.exchange(request(&[1, 3], 3));
    let arrived = drain(&mut player.emulator);
    assert_eq!(arrived[0], (Tick(200 + 1_000 + 200), 3));
    assert_eq!(arrived[1], (Tick(1_000_000_000 + 1_400), 2));
}

/// A host of a fabric, and the fabric.
fn host() -> (Guid, Emulator) {
    let topology = fabric(FABRIC);
    let node = topology.hfis().next().unwrap().1.guid();
    let emulator = Emulator::new(topology, Options::default()).unwrap();
    (node, emulator)
}

/// Whether the link of a host is up.
fn is_up(emulator: &Emulator, node: Guid) -> bool {
    let network = emulator.network();
    let device = network.device_at(network.find(node).unwrap());
    network.state(device.port(PortNum(1)).unwrap()) != PortState::DOWN
}

/// Times at which the link of a host changes from now on, each with whether it is up then.
fn changes(emulator: &mut Emulator, node: Guid) -> Vec<(u64, bool)> {
    let mut changes = Vec::new();
    let mut before = is_up(emulator, node);
    while let Some(next) = emulator.deadline() {
        emulator.handle(next, Input::Tick).unwrap();
        let now = is_up(emulator, node);
        if now != before {
            changes.push((next.0, now));
        }
        before = now;
    }
    changes
}

#[test]
fn a_link_that_flaps_goes_down_so_often_and_ends_up() {
    let (node, mut emulator) = host();
    let flap = |times, over_ns| {
        Input::Control(Control::Flap {
            node,
            port: PortNum(1),
            times,
            over_ns,
        })
    };
    emulator.handle(Tick(1_000), flap(3, 5_000)).unwrap();
    assert!(!is_up(&emulator, node));
    let expected = [
        (2_000, true),
        (3_000, false),
        (4_000, true),
        (5_000, false),
        (6_000, true),
    ];
    assert_eq!(changes(&mut emulator, node), expected);
    let network = emulator.network();
    let at = network.device_at(network.find(node).unwrap());
    let at = at.port(PortNum(1)).unwrap();
    assert_eq!(network.counter(at, Counter::LinkDowned), 3);

    // A new one takes the place of the one before, and a cable that is mended stays so.
    let now = emulator.now();
    emulator.handle(now, flap(100, 1_000_000)).unwrap();
    emulator.handle(now, flap(1, 500)).unwrap();
    assert_eq!(changes(&mut emulator, node), [(now.0 + 500, true)]);
    let now = emulator.now();
    emulator.handle(now, flap(100, 199_000)).unwrap();
    let port = PortNum(1);
    let up = Input::Control(Control::LinkUp { node, port });
    emulator.handle(Tick(now.0 + 2_500), up).unwrap();
    assert!(is_up(&emulator, node));
    assert_eq!(changes(&mut emulator, node), []);

    let day = 86_400_000_000_000;
    for (times, over_ns, what) in [
        (0, 1, "times"),
        (1_001, 1, "times"),
        (1, day + 1, "over_ns"),
    ] {
        let now = emulator.now();
        let refused = emulator.handle(now, flap(times, over_ns));
        let is_told = |error: &ControlError| error.to_string().starts_with(what);
        assert!(refused.as_ref().is_err_and(is_told), "{refused:?}");
    }
    assert!(is_up(&emulator, node));
}
