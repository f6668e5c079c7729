//! From Init to Active, and down again.

use weft_emulator::io::Control;
use weft_fabric::PortNum;
use weft_fabric::enums::{LinkDownReason, OfflineDisabledReason, PhysState, PortState};
use weft_wire::Layout;
use weft_wire::header::status;
use weft_wire::sm::{AttributeId, PortInfo, PortStateInfo, SwitchInfo};

use crate::agents::player::{ONE, Player, START, blocks};

const HFI: &[u8] = &[];
const SWITCH: &[u8] = &[1];
const INVALID: u16 = status::INVALID_ATTRIB;

fn player() -> Player {
    Player::new("one-switch:3,radix=8")
}

fn state(player: &mut Player, path: &[u8], port: u32) -> PortStateInfo {
    player.read(path, AttributeId::PORT_STATE_INFO, ONE | port)
}

fn request(player: &mut Player, path: &[u8], port: u8, wanted: PortState) -> (u16, PortInfo) {
    player.change_port(path, port, |info| info.port_state = wanted)
}

#[test]
fn a_port_arms_only_after_configuration_has_started() {
    let mut player = player();
    let (status, info) = request(&mut player, HFI, 1, PortState::ARMED);
    assert_eq!((status, info.port_state), (INVALID, PortState::INIT));
    assert!(!info.is_sm_configuration_started);
    player.get(HFI, AttributeId::PORT_INFO, ONE | START);
    assert!(state(&mut player, HFI, 0).is_sm_configuration_started);
    let (status, info) = request(&mut player, HFI, 1, PortState::ARMED);
    assert_eq!((status, info.port_state), (0, PortState::ARMED));
}

#[test]
fn a_port_activates_only_when_its_neighbour_has_armed() {
    let mut player = player();
    player.get(HFI, AttributeId::PORT_STATE_INFO, ONE | START);
    player.get(SWITCH, AttributeId::PORT_STATE_INFO, blocks(9) | START);
    let (status, info) = request(&mut player, HFI, 1, PortState::ACTIVE);
    assert_eq!((status, info.port_state), (INVALID, PortState::INIT));
    request(&mut player, HFI, 1, PortState::ARMED);
    let (status, info) = request(&mut player, HFI, 1, PortState::ACTIVE);
    assert_eq!((status, info.port_state), (INVALID, PortState::ARMED));
    assert!(!info.neighbor_normal);
    assert!(state(&mut player, SWITCH, 1).neighbor_normal);
    request(&mut player, SWITCH, 1, PortState::ARMED);
    let (status, info) = request(&mut player, HFI, 1, PortState::ACTIVE);
    assert_eq!((status, info.port_state), (0, PortState::ACTIVE));
    assert_eq!(state(&mut player, SWITCH, 1).port_state, PortState::ARMED);
}

#[test]
fn port_states_of_many_ports_change_at_once_as_far_as_they_can() {
    let mut player = player();
    let started = player.get(SWITCH, AttributeId::PORT_STATE_INFO, blocks(2) | START | 1);
    assert_eq!(started.0, 0);
    let armed = PortStateInfo {
        port_state: PortState::ARMED,
        ..PortStateInfo::default()
    };
    let data = armed.to_bytes().repeat(3);
    let (status, answer) = player.set(SWITCH, AttributeId::PORT_STATE_INFO, blocks(3) | 1, &data);
    let states: Vec<_> = answer
        .chunks(8)
        .map(|bytes| PortStateInfo::decode(bytes).unwrap().port_state)
        .collect();
    assert_eq!(status, INVALID, "port 3 was not started");
    assert_eq!(
        states,
        [PortState::ARMED, PortState::ARMED, PortState::INIT]
    );
}

#[test]
fn a_neighbour_follows_where_that_is_enabled() {
    let mut player = player();
    player.get(HFI, AttributeId::PORT_INFO, ONE | START);
    player.get(SWITCH, AttributeId::PORT_INFO, ONE | START | 1);
    player.change_port(HFI, 1, |info| {
        info.port_state = PortState::ARMED;
        info.is_active_optimize_enabled = true;
    });
    request(&mut player, SWITCH, 1, PortState::ARMED);
    let (status, _) = request(&mut player, SWITCH, 1, PortState::ACTIVE);
    assert_eq!(status, 0);
    assert_eq!(state(&mut player, HFI, 0).port_state, PortState::ACTIVE);
}

#[test]
fn states_that_cannot_be_asked_for_are_refused() {
    let cases = [
        (PortState::INIT, PhysState::NOP),
        (PortState(7), PhysState::NOP),
        (PortState::ARMED, PhysState::POLLING),
        (PortState::NOP, PhysState::LINK_UP),
        (PortState::ACTIVE, PhysState::DISABLED),
    ];
    for (wanted, phys) in cases {
        let mut player = player();
        player.get(SWITCH, AttributeId::PORT_INFO, ONE | START | 2);
        let (status, info) = player.change_port(SWITCH, 2, |info| {
            (info.port_state, info.phys_state) = (wanted, phys);
        });
        assert_eq!(
            (status, info.port_state),
            (INVALID, PortState::INIT),
            "{wanted} {phys}"
        );
    }
}

#[test]
fn port_zero_is_active_and_cannot_be_taken_down() {
    let mut player = player();
    assert_eq!(state(&mut player, SWITCH, 0).port_state, PortState::ACTIVE);
    let (status, info) = request(&mut player, SWITCH, 0, PortState::DOWN);
    assert_eq!((status, info.port_state), (INVALID, PortState::ACTIVE));
}

#[test]
fn a_bounce_clears_what_the_manager_had_started() {
    let mut player = player();
    player.program_one_switch(3);
    player.activate_one_switch(3);
    let (status, info) = player.change_port(SWITCH, 2, |info| info.phys_state = PhysState::POLLING);
    assert_eq!((status, info.port_state), (0, PortState::INIT));
    assert!(!info.is_sm_configuration_started && !info.neighbor_normal);
    assert_eq!(info.link_down_reason, LinkDownReason::FM_BOUNCE);
    let far: PortInfo = player.read(&[1, 2], AttributeId::PORT_INFO, ONE);
    assert_eq!(far.port_state, PortState::INIT);
    assert_eq!(far.neighbor_link_down_reason, LinkDownReason::FM_BOUNCE);
    assert_eq!(far.lid.0, 2, "a bounce does not take the LID");
    let info: SwitchInfo = player.read(SWITCH, AttributeId::SWITCH_INFO, 0);
    assert!(info.port_state_change);
}

#[test]
fn port_state_change_is_cleared_by_writing_one() {
    let mut player = player();
    player.change_port(SWITCH, 2, |info| info.phys_state = PhysState::POLLING);
    let mut info: SwitchInfo = player.read(SWITCH, AttributeId::SWITCH_INFO, 0);
    info.port_state_change = false;
    player.set(SWITCH, AttributeId::SWITCH_INFO, 0, &info.to_bytes());
    info = player.read(SWITCH, AttributeId::SWITCH_INFO, 0);
    assert!(info.port_state_change);
    player.set(SWITCH, AttributeId::SWITCH_INFO, 0, &info.to_bytes());
    info = player.read(SWITCH, AttributeId::SWITCH_INFO, 0);
    assert!(!info.port_state_change);
}

#[test]
fn a_disabled_port_stays_off_until_it_is_enabled() {
    let mut player = player();
    let (status, info) =
        player.change_port(SWITCH, 2, |info| info.phys_state = PhysState::DISABLED);
    assert_eq!((status, info.phys_state), (0, PhysState::DISABLED));
    assert_eq!(
        info.offline_disabled_reason,
        OfflineDisabledReason::SMA_DISABLED
    );
    let guid = player.node_info(SWITCH).node_guid;
    let port = PortNum(2);
    player.control(weft_emulator::io::Control::LinkUp { node: guid, port });
    assert_eq!(state(&mut player, SWITCH, 2).port_state, PortState::DOWN);
    let (status, info) = player.change_port(SWITCH, 2, |info| {
        (info.port_state, info.phys_state) = (PortState::DOWN, PhysState::POLLING);
    });
    assert_eq!((status, info.port_state), (0, PortState::INIT));
}

#[test]
fn maps_of_the_sending_side_do_not_change_under_traffic() {
    let mut player = player();
    player.program_one_switch(3);
    player.activate_one_switch(3);
    for (attribute, expected) in [
        (AttributeId::SC_TO_VLT, INVALID),
        (AttributeId::SC_TO_VLNT, INVALID),
        (AttributeId::SC_TO_VLR, 0),
    ] {
        let (status, _) = player.set(SWITCH, attribute, ONE | 2, &[0; 32]);
        assert_eq!(status, expected, "{attribute}");
    }
}

#[test]
fn a_port_that_refuses_stays_in_init_also_when_it_has_bounced() {
    let mut player = player();
    let switch = player.emulator.network().topology().switches()[0];
    let node = player.emulator.network().device_at(switch).info.node_guid;
    let refuse = |refuse| Control::RefuseArm {
        node,
        port: PortNum(1),
        refuse,
    };
    player.control(refuse(true));
    for _ in 0..2 {
        player.get(SWITCH, AttributeId::PORT_STATE_INFO, ONE | START | 1);
        let (status, info) = request(&mut player, SWITCH, 1, PortState::ARMED);
        assert_eq!((status, info.port_state), (INVALID, PortState::INIT));
        player.control(Control::NodeDown { node });
        player.control(Control::NodeUp { node });
    }
    player.control(refuse(false));
    player.get(SWITCH, AttributeId::PORT_STATE_INFO, ONE | START | 1);
    let (status, info) = request(&mut player, SWITCH, 1, PortState::ARMED);
    assert_eq!((status, info.port_state), (0, PortState::ARMED));
}
