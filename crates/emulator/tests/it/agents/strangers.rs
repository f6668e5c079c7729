//! Keys that a host does not have, errors of links and moved systems: what counts them, and what is told of them.

use weft_dataplane::Counter;
use weft_emulator::io::{Control, LinkTrap};
use weft_fabric::{Guid, Lid, PortNum};
use weft_wire::Layout;
use weft_wire::packet::Packet;
use weft_wire::sm::trap::Trap;
use weft_wire::sm::{NodeDescription, Notice};
use weft_wire::smp::SmpView;
use weft_wire::text::Text;

use crate::agents::player::Player;
use crate::agents::traps::{repress, run};

const SWITCH: Lid = Lid(4);
const KEY: u64 = 0x1122_3344_5566_7788;
const STRANGE: u16 = 0x8123;

/// A fabric in use, whose nodes know the manager; its switch, and hosts 2 and 3.
fn player() -> (Player, Guid, [Guid; 2]) {
    let mut player = Player::new("one-switch:3,radix=8");
    player.program_one_switch(3);
    for path in [&[1][..], &[1, 2], &[1, 3]] {
        let port = u8::from(path.len() > 1);
        let done = player.change_port(path, port, |info| info.master_sm_lid = Lid(1));
        assert_eq!(done.0, 0);
    }
    player.activate_one_switch(3);
    let switch = player.node_info(&[1]).node_guid;
    let hosts = [2, 3].map(|port| player.node_info(&[1, port]).node_guid);
    (player, switch, hosts)
}

fn trap(packet: &Packet) -> (Lid, Trap) {
    let view = SmpView::parse(&packet.mad).unwrap();
    let notice = Notice::decode(view.payload).unwrap();
    (notice.issuer_lid, notice.trap().unwrap())
}

/// Least time from one trap of a port to the next, in ns: these switches say nothing of a timeout.
const INTERVAL_MIN: u64 = 1_000_000;

fn use_p_key(player: &mut Player, [node, to]: [Guid; 2]) -> Vec<Packet> {
    player.control(Control::UsePKey {
        node,
        port: PortNum(1),
        to,
        p_key: STRANGE,
        count: 3,
    });
    player.drain()
}

fn counted(player: &Player, node: Guid, port: PortNum, counter: Counter) -> u64 {
    let network = player.emulator.network();
    let device = network.device_at(network.find(node).unwrap());
    network.counter(device.port(port).unwrap(), counter)
}

#[test]
fn a_strange_p_key_is_counted_and_told_by_the_host_that_gets_it() {
    let (mut player, _, hosts) = player();
    let told = use_p_key(&mut player, hosts);
    assert_eq!(told.len(), 1, "the others wait for its answer");
    let (issuer, Trap::BadPKey(data)) = trap(&told[0]) else {
        panic!("{:?}", trap(&told[0]));
    };
    assert_eq!(issuer, Lid(3));
    assert_eq!((data.lid1, data.lid2), (Lid(2), Lid(3)));
    assert_eq!(data.key, u32::from(STRANGE));
    let info = player.port_info_register(hosts[1], PortNum(1));
    assert_eq!(info.violations_p_key, 3);
    let errors = Counter::RcvConstraintErrors;
    assert_eq!(counted(&player, hosts[1], PortNum(1), errors), 3);
}

#[test]
fn a_switch_that_checks_does_so_at_its_port() {
    let (mut player, switch, hosts) = player();
    let (status, _) = player.change_port(&[1], 2, |info| info.partition_enforcement_inbound = true);
    assert_eq!(status, 0);
    let told = use_p_key(&mut player, hosts);
    let (issuer, Trap::SwitchBadPKey(data)) = trap(&told[0]) else {
        panic!("{:?}", trap(&told[0]));
    };
    assert_eq!(issuer, SWITCH);
    assert_eq!((data.lid1, data.lid2), (Lid(2), Lid(3)));
    assert_eq!((data.has_p_key, data.p_key), (true, STRANGE));
    let errors = Counter::RcvConstraintErrors;
    assert_eq!(counted(&player, switch, PortNum(2), errors), 3);
    assert_eq!(counted(&player, hosts[1], PortNum(1), errors), 0);
    assert_eq!(
        player
            .port_info_register(switch, PortNum(2))
            .violations_p_key,
        3
    );
    // What is answered is not repeated; that there were others is told next, once.
    assert_eq!(player.exchange(repress(&told[0])), []);
    let next = run(&mut player, INTERVAL_MIN + INTERVAL_MIN / 2);
    let [(INTERVAL_MIN, next)] = &next[..] else {
        panic!("{next:?}");
    };
    assert_eq!(player.exchange(repress(next)), []);
    assert_eq!(run(&mut player, 100 * INTERVAL_MIN), []);
}

#[test]
fn a_wrong_q_key_is_counted_and_told_by_the_host_that_gets_it() {
    let (mut player, _, [node, to]) = player();
    let mut attempt = |q_key| {
        player.control(Control::UseQKey {
            node,
            port: PortNum(1),
            to,
            q_key,
            count: 3,
        });
        let told = player.drain();
        let counted = player.port_info_register(to, PortNum(1)).violations_q_key;
        (told, counted)
    };
    assert_eq!(attempt(0x8001_0000), (Vec::new(), 0));
    let (told, counted) = attempt(0x1234);
    assert_eq!((told.len(), counted), (1, 3));
    let (issuer, Trap::BadQKey(data)) = trap(&told[0]) else {
        panic!("{:?}", trap(&told[0]));
    };
    assert_eq!(issuer, Lid(3));
    assert_eq!((data.lid1, data.lid2, data.key), (Lid(2), Lid(3), 0x1234));
    assert_eq!((data.qp1, data.qp2), (1, 1));
}

#[test]
fn a_wrong_m_key_is_counted_and_told() {
    let (mut player, switch, hosts) = player();
    let (status, _) = player.change_port(&[1], 0, |info| {
        info.m_key = KEY;
        info.m_key_protect_bits = 1;
    });
    assert_eq!(status, 0);
    let attempt = |m_key| Control::UseMKey {
        node: hosts[0],
        port: PortNum(1),
        to: switch,
        m_key,
        count: 2,
    };
    player.control(attempt(7));
    let told = player.drain();
    assert_eq!(told.len(), 1);
    let (issuer, Trap::BadMKey(data)) = trap(&told[0]) else {
        panic!("{:?}", trap(&told[0]));
    };
    assert_eq!((issuer, data.lid, data.m_key), (SWITCH, Lid(2), 7));
    let info = player.port_info_register(switch, PortNum(0));
    assert_eq!(info.violations_m_key, 2);
    player.exchange(repress(&told[0]));
    player.control(attempt(KEY));
    let answers = player.drain();
    assert_eq!(answers.len(), 2, "of the right key");
    let info = player.port_info_register(switch, PortNum(0));
    assert_eq!(info.violations_m_key, 2);
}

#[test]
fn errors_of_links_and_moved_systems_have_their_traps() {
    let (mut player, node, _) = player();
    let port = PortNum(3);
    let mut told = |control| {
        player.control(control);
        let told = player.drain();
        player.exchange(repress(&told[0]));
        trap(&told[0]).1
    };
    let link = |trap| Control::LinkErrors { node, port, trap };
    for (kind, number) in [
        (LinkTrap::Integrity, 129),
        (LinkTrap::Overrun, 130),
        (LinkTrap::Watchdog, 131),
    ] {
        let trap = told(link(kind));
        assert_eq!(trap.number(), number);
        let (Trap::LinkIntegrity(data) | Trap::BufferOverrun(data) | Trap::FlowWatchdog(data)) =
            trap
        else {
            panic!("{kind:?}");
        };
        assert_eq!((data.lid, data.port), (SWITCH, port));
    }
    let guid = Guid(0x0011_7501_0200_00ff);
    let Trap::ChangeSysGuid(data) = told(Control::SystemGuid { node, guid }) else {
        panic!("not trap 145");
    };
    assert_eq!((data.lid, data.system_image_guid), (SWITCH, guid));
    assert_eq!(player.node_info(&[1]).system_image_guid, guid);
}

#[test]
fn a_node_that_is_called_otherwise_tells_of_it_in_any_bytes() {
    let (mut player, switch, _) = player();
    let mut bytes = [0; 64];
    bytes[..5].copy_from_slice(b"a\xff\n\x1bb");
    let description = NodeDescription {
        node_string: Text(bytes),
    };
    player.control(Control::Describe {
        node: switch,
        description,
    });
    let packets = player.drain();
    let [packet] = packets.as_slice() else {
        panic!("{packets:?}");
    };
    let (lid, Trap::ChangeCapability(data)) = trap(packet) else {
        panic!("not trap 144");
    };
    assert_eq!(lid, SWITCH);
    assert!(data.node_description_change);
    let network = player.emulator.network();
    let device = network.device_at(network.find(switch).unwrap());
    assert_eq!(device.description, description);
}
