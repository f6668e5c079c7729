//! Data packets that circle, and cables that damage them.

use weft_dataplane::{Counter, PortIndex};
use weft_emulator::io::{Control, ControlError, Input};
use weft_fabric::enums::PortState;
use weft_fabric::{Guid, Lid, NodeId, PortNum, Tick};
use weft_wire::Layout;
use weft_wire::packet::Packet;
use weft_wire::sm::{AttributeId, LinearFdb, SwitchInfo};

use crate::agents::player::{ONE, Player};

/// A LID that nobody has.
const LOOP: Lid = Lid(70);
/// Two switches with two cables between them: port 1 of each has a host.
const PAIR: &str = "pgft:2;2,1;1,1;1,2;radix=8";

/// The ports by which a packet to [`LOOP`] leaves its two switches, and their nodes' paths.
struct Loop {
    player: Player,
    ends: [PortIndex; 2],
    paths: [Vec<u8>; 2],
}

/// A fabric whose switches send [`LOOP`] to each other over one cable and back over the other.
fn circle() -> Loop {
    let mut player = Player::new(PAIR);
    let network = player.emulator.network();
    let topology = network.topology().clone();
    let host = network.find(player.host).unwrap();
    let at_host = network.device_at(host).port(PortNum(1)).unwrap();
    let entry = network.peer(at_host).unwrap();
    let edge = network.node_of(entry);
    let cables: Vec<_> = topology
        .links()
        .flat_map(|(a, b)| [(a, b), (b, a)])
        .filter(|(a, b)| a.node == edge && topology.switch_index(b.node).is_some())
        .collect();
    let [(first, _), (second, far)] = cables[..] else {
        panic!("{} cables", cables.len());
    };
    let device = network.device_at(edge);
    let ends = [
        device.port(first.port),
        network.device_at(far.node).port(far.port),
    ];
    let ends = ends.map(Option::unwrap);
    let paths = [vec![1], vec![1, second.port.0]];
    for path in &paths {
        let out = if path.len() == 1 {
            first.port
        } else {
            far.port
        };
        let mut info: SwitchInfo = player.read(path, AttributeId::SWITCH_INFO, 0);
        info.linear_fdb_top = 127;
        player.set(path, AttributeId::SWITCH_INFO, 0, &info.to_bytes());
        write(&mut player, path, out.0);
    }
    activate(&mut player, edge, far.node);
    Loop {
        player,
        ends,
        paths,
    }
}

fn write(player: &mut Player, path: &[u8], out: u8) {
    let mut block = [LinearFdb::UNREACHABLE; 64];
    block[LOOP.0 as usize - 64] = out;
    let block_one = ONE | 1;
    assert_eq!(
        player
            .set(path, AttributeId::LINEAR_FDB, block_one, &block)
            .0,
        0
    );
}

/// Links of these switches become active; all of theirs that are up.
fn activate(player: &mut Player, a: NodeId, b: NodeId) {
    let network = player.emulator.network_mut();
    for state in [PortState::ARMED, PortState::ACTIVE] {
        let nodes = network.topology().nodes().map(|(node, _)| node);
        let nodes: Vec<NodeId> = nodes.collect();
        for node in nodes {
            let ports: Vec<_> = network.device_at(node).ports().collect();
            for (_, at) in ports.into_iter().filter(|(port, _)| port.0 != 0) {
                network.start_configuration(at);
                let phys = weft_fabric::enums::PhysState::NOP;
                // Ports without a link refuse.
                let _ = network.request_state(at, state, phys);
            }
        }
    }
    assert!(a != b);
}

/// A datagram of a program to [`LOOP`], on a data lane.
fn inject(player: &mut Player) {
    let mut mad = vec![0xB5; 256];
    mad[..4].copy_from_slice(&[0x80, 0x03, 0x80, 0x03]);
    let packet = Packet {
        dest_qp: 1,
        src_qp: 1,
        ..Packet::lid_routed(Lid(1), LOOP, mad)
    };
    assert_eq!(player.exchange(packet), []);
}

/// Lets time pass and the counters be brought up to date.
fn pass(player: &mut Player, ns: u64) {
    let now = Tick(player.emulator.now().0 + ns);
    player.emulator.handle(now, Input::Tick).unwrap();
    let node = player.host;
    player.control(Control::Silence {
        node,
        silent: false,
    });
}

fn count(player: &Player, at: PortIndex, counter: Counter) -> u64 {
    player.emulator.network().counter(at, counter)
}

fn sent(player: &Player, at: PortIndex) -> u64 {
    count(player, at, Counter::XmitPkts)
}

fn guid(player: &Player, at: PortIndex) -> (Guid, PortNum) {
    let network = player.emulator.network();
    let device = network.device_at(network.node_of(at));
    (device.info.node_guid, network.number_of(at))
}

#[test]
fn a_packet_circles_as_fast_as_switches_pass_it_on() {
    let Loop {
        mut player, ends, ..
    } = circle();
    inject(&mut player);
    assert_eq!(player.emulator.circling(), 1);
    let before = ends.map(|end| sent(&player, end));
    pass(&mut player, 1_000_000);
    // 288 bytes with headers are 36 flits of 640 ps; 120 ns for switch and cable, two hops a lap.
    let lap_ps = 2 * (120_000 + 36 * 640);
    let laps = 1_000_000_000 / lap_ps;
    for (end, before) in ends.into_iter().zip(before) {
        let after = sent(&player, end);
        assert!(
            (after - before).abs_diff(laps) <= 1,
            "{} of {laps}",
            after - before
        );
        let peer = player.emulator.network().peer(end).unwrap();
        let received = count(&player, peer, Counter::RcvPkts);
        assert!(received.abs_diff(after) <= 2, "{received} of {after}");
        assert_eq!(count(&player, peer, Counter::RcvSwitchRelayErrors), 0);
        assert_eq!(count(&player, peer, Counter::LocalLinkIntegrityErrors), 0);
    }
    // Many packets fill the link, and no more than that.
    for _ in 0..40 {
        inject(&mut player);
    }
    let data = |player: &Player| count(player, ends[0], Counter::XmitData);
    let before = data(&player);
    pass(&mut player, 1_000_000);
    let flits = data(&player) - before;
    assert!(flits <= 1_562_500 && flits > 1_500_000, "{flits}");
}

#[test]
fn a_bad_cable_counts_errors_at_both_ends() {
    let Loop {
        mut player, ends, ..
    } = circle();
    let (node, port) = guid(&player, ends[0]);
    player.control(Control::CableErrors {
        node,
        port,
        errors: 1_000,
    });
    inject(&mut player);
    pass(&mut player, 10_000_000);
    let peer = player.emulator.network().peer(ends[0]).unwrap();
    let (packets, errors) = (
        count(&player, peer, Counter::RcvPkts),
        count(&player, peer, Counter::LocalLinkIntegrityErrors),
    );
    assert!(
        packets > 10_000 && errors.abs_diff(packets / 1_000) <= 1,
        "{errors} of {packets}"
    );
    // The packet comes back over the other cable.
    assert_eq!(
        count(&player, ends[0], Counter::LocalLinkIntegrityErrors),
        0
    );
    player.control(Control::CableErrors {
        node,
        port,
        errors: 0,
    });
    pass(&mut player, 10_000_000);
    assert_eq!(
        count(&player, peer, Counter::LocalLinkIntegrityErrors),
        errors
    );
    let now = player.emulator.now();
    let too_many = Control::CableErrors {
        node,
        port,
        errors: 1_000_001,
    };
    let refused = player.emulator.handle(now, Input::Control(too_many));
    assert!(matches!(
        refused,
        Err(ControlError::Range { what: "errors", .. })
    ));
}

#[test]
fn a_circle_ends_with_its_entries_or_links() {
    let Loop {
        mut player,
        ends,
        paths,
    } = circle();
    inject(&mut player);
    pass(&mut player, 1_000);
    // A write of another LID ends nothing.
    let block = [1; 64];
    player.set(&paths[0], AttributeId::LINEAR_FDB, ONE, &block);
    assert_eq!(player.emulator.circling(), 1);
    let lost = player.emulator.losses().no_way;
    write(&mut player, &paths[1], LinearFdb::UNREACHABLE);
    assert_eq!(player.emulator.circling(), 0);
    assert_eq!(player.emulator.losses().no_way, lost + 1);
    let peer = player.emulator.network().peer(ends[0]).unwrap();
    assert_eq!(count(&player, peer, Counter::RcvSwitchRelayErrors), 1);
    let before = sent(&player, ends[0]);
    pass(&mut player, 1_000_000);
    assert!(sent(&player, ends[0]) <= before + 2);

    let Loop {
        mut player, ends, ..
    } = circle();
    inject(&mut player);
    let (node, port) = guid(&player, ends[1]);
    player.control(Control::LinkDown { node, port });
    assert_eq!(player.emulator.circling(), 0);
    assert_eq!(count(&player, ends[1], Counter::XmitDiscards), 1);
}
