//! Cables that are moved, plugged in, pulled, replaced, and whose memory cannot be read.

use weft_emulator::io::{Control, ControlError, Input};
use weft_fabric::enums::{LinkDownReason, OfflineDisabledReason, PhysState, PortState};
use weft_fabric::{Guid, PortNum, Tick};
use weft_wire::header::status;
use weft_wire::sm::{AttributeId, CableInfoModifier, PortInfo};

use crate::agents::player::{ONE, Player};

const SWITCH: &[u8] = &[1];

/// A switch with hosts at ports 1 to 3 of 8, the switch and the last host.
fn player() -> (Player, Guid, Guid) {
    let mut player = Player::new("one-switch:3,radix=8");
    let switch = player.node_info(SWITCH).node_guid;
    let hosts = player.emulator.network().topology().hfis();
    let host = hosts.map(|(_, node)| node.guid()).last().unwrap();
    (player, switch, host)
}

fn port(player: &mut Player, port: u8) -> PortInfo {
    player.read(SWITCH, AttributeId::PORT_INFO, ONE | u32::from(port))
}

/// Status and text of a field of the memory of the cable in a port of the switch.
fn field(player: &mut Player, port: u8, address: u16) -> (u16, String) {
    let modifier = CableInfoModifier {
        port: PortNum(port),
        address,
        len_less_one: 15,
    };
    let (status, bytes) = player.get(SWITCH, AttributeId::CABLE_INFO, modifier.bits());
    let text = String::from_utf8_lossy(&bytes[..16]).trim_end().to_owned();
    (status, text)
}

const PART: u16 = 128 + 40;
const SERIAL: u16 = 128 + 68;

#[test]
fn a_moved_cable_leads_where_it_did_and_keeps_its_serial_number() {
    let (mut player, switch, host) = player();
    let before = field(&mut player, 3, SERIAL);
    let (from, to) = ((switch, PortNum(3)), (switch, PortNum(5)));
    player.control(Control::MoveCable { from, to });
    let (left, taken) = (port(&mut player, 3), port(&mut player, 5));
    assert_eq!(left.phys_state, PhysState::OFFLINE);
    assert_eq!(
        left.link_down_reason,
        LinkDownReason::LOCAL_MEDIA_NOT_INSTALLED
    );
    let media = OfflineDisabledReason::LOCAL_MEDIA_NOT_INSTALLED;
    assert_eq!(left.offline_disabled_reason, media);
    assert_eq!(taken.port_state, PortState::INIT);
    assert_eq!(taken.neighbor_node_guid, host);
    assert_eq!(player.node_info(&[1, 5]).node_guid, host);
    assert_eq!(field(&mut player, 5, SERIAL), before);
    assert_eq!(field(&mut player, 3, SERIAL).0, status::INVALID_ATTRIB);
}

#[test]
fn a_cable_of_one_switch_is_a_loop() {
    let (mut player, switch, _) = player();
    let ports = [(switch, PortNum(6)), (switch, PortNum(7))];
    player.control(Control::PlugCable { ports });
    for (near, far) in [(6, 7), (7, 6)] {
        let info = port(&mut player, near);
        assert_eq!(info.port_state, PortState::INIT);
        assert_eq!(info.neighbor_node_guid, switch);
        assert_eq!(info.neighbor_port_num, PortNum(far));
    }
    assert_eq!(player.node_info(&[1, 6]).node_guid, switch);
    assert_eq!(field(&mut player, 6, SERIAL), field(&mut player, 7, SERIAL));
}

#[test]
fn a_new_cable_takes_the_place_of_those_that_are_there() {
    let (mut player, switch, host) = player();
    let ports = [(host, PortNum(1)), (switch, PortNum(2))];
    player.control(Control::PlugCable { ports });
    assert_eq!(port(&mut player, 2).neighbor_node_guid, host);
    assert_eq!(port(&mut player, 3).phys_state, PhysState::OFFLINE);
    player.control(Control::PullCable {
        node: host,
        port: PortNum(1),
    });
    let info = port(&mut player, 2);
    assert_eq!(
        (info.port_state, info.phys_state),
        (PortState::DOWN, PhysState::OFFLINE)
    );
    assert_eq!(field(&mut player, 2, SERIAL).0, status::INVALID_ATTRIB);
}

#[test]
fn a_replaced_cable_says_what_it_is_and_a_busy_one_nothing() {
    let (mut player, switch, _) = player();
    let (node, at) = (switch, PortNum(3));
    assert_eq!(field(&mut player, 3, PART), (0, "WEFT-CU-2M".to_owned()));
    let replace = |serial: &str, part: Option<&str>| Control::ReplaceCable {
        node,
        port: at,
        serial: serial.to_owned(),
        part: part.map(str::to_owned),
    };
    player.control(replace("C0FFEE42", Some("OTHER-3M")));
    let info = port(&mut player, 3);
    assert_eq!(info.port_state, PortState::INIT);
    assert_eq!(
        info.link_down_reason,
        LinkDownReason::LOCAL_MEDIA_NOT_INSTALLED
    );
    assert_eq!(field(&mut player, 3, SERIAL), (0, "C0FFEE42".to_owned()));
    assert_eq!(field(&mut player, 3, PART), (0, "OTHER-3M".to_owned()));
    let busy = |busy| Control::CableBusy {
        node,
        port: at,
        busy,
    };
    player.control(busy(true));
    assert_eq!(field(&mut player, 3, SERIAL).0, status::INVALID_ATTRIB);
    player.control(busy(false));
    assert_eq!(field(&mut player, 3, SERIAL), (0, "C0FFEE42".to_owned()));
    for text in ["", "seventeen letters", "b\u{e9}d", "\u{7}"] {
        let refused = control(&mut player, replace(text, None));
        assert!(matches!(refused, Err(ControlError::CableText(_))), "{text}");
    }
}

fn control(player: &mut Player, control: Control) -> Result<(), ControlError> {
    player.emulator.handle(Tick(0), Input::Control(control))
}

#[test]
fn a_cable_does_not_go_where_it_does_not_fit() {
    let (mut player, switch, host) = player();
    let at = |port| (switch, PortNum(port));
    let moved = |from, to| Control::MoveCable { from, to };
    let occupied = control(&mut player, moved(at(3), at(2)));
    assert!(matches!(occupied, Err(ControlError::Occupied { .. })));
    let empty = control(&mut player, moved(at(5), at(6)));
    assert!(matches!(empty, Err(ControlError::NoCable { .. })));
    for place in [at(0), at(9), (host, PortNum(2))] {
        let none = control(&mut player, moved(at(3), place));
        assert!(
            matches!(none, Err(ControlError::NoPort { .. })),
            "{place:?}"
        );
    }
    let ports = [at(5), at(5)];
    let one = control(&mut player, Control::PlugCable { ports });
    assert!(matches!(one, Err(ControlError::OnePort { .. })));
}
