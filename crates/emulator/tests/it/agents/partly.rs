//! Writes that are carried out in part, not at all, or not as the answer says.

use weft_emulator::Claims;
use weft_emulator::io::Control;
use weft_fabric::enums::{Mtu, PortState};
use weft_fabric::{Guid, Lid, PortNum};
use weft_wire::header::{method, status};
use weft_wire::packet::Packet;
use weft_wire::sm::{AttributeId, PortInfo, VlMtus};

use crate::agents::player::{ONE, Player};

/// As `hfi1` does it (`mad.c`, `__subn_set_opa_portinfo`): the rest of a PortInfo is written, the answer is an error.
#[test]
fn an_hfi_writes_the_rest_of_a_port_info_and_a_switch_nothing() {
    let mut player = Player::new("one-switch:3,radix=8");
    let change = |info: &mut PortInfo| {
        info.lid = Lid(9);
        info.master_sm_lid = Lid(1);
        info.operational_vl = 31;
    };
    let lanes = player
        .port_info_register(player.host, PortNum(1))
        .operational_vl;
    let (answer, hfi) = player.change_port(&[1, 2], 1, change);
    assert_eq!(answer, status::INVALID_ATTRIB);
    assert_eq!((hfi.lid, hfi.master_sm_lid), (Lid(9), Lid(1)));
    assert_eq!(hfi.operational_vl, lanes);
    let (answer, switch) = player.change_port(&[1], 0, change);
    assert_eq!(answer, status::INVALID_ATTRIB);
    assert_eq!((switch.lid, switch.master_sm_lid), (Lid(0), Lid(0)));
}

#[test]
fn an_hfi_takes_its_largest_packets_for_such_as_there_are_none() {
    let mut player = Player::new("one-switch:3,radix=8");
    let (answer, info) = player.change_port(&[1, 2], 1, |info| {
        info.neighbor_mtu = VlMtus::uniform(Mtu(8));
    });
    assert_eq!(answer, status::INVALID_ATTRIB);
    assert_eq!(info.neighbor_mtu, VlMtus::uniform(info.mtu_cap));
}

#[test]
fn a_configured_hfi_keeps_its_lids_and_none_takes_one_that_is_too_large() {
    let mut player = Player::new("one-switch:3,radix=8");
    player.program_one_switch(3);
    player.change_port(&[1, 2], 1, |info| info.master_sm_lid = Lid(1));
    player.activate_one_switch(3);
    let (answer, info) = player.change_port(&[1, 2], 1, |info| {
        (info.lid, info.master_sm_lid) = (Lid(0), Lid(0));
        info.subnet_timeout = 9;
    });
    assert_eq!(answer, status::INVALID_ATTRIB);
    assert_eq!((info.lid, info.master_sm_lid), (Lid(2), Lid(1)));
    assert_eq!(
        (info.subnet_timeout, info.port_state),
        (9, PortState::ACTIVE)
    );
    let (answer, info) = player.change_port(&[1, 2], 1, |info| {
        info.lid = Lid(0x0100_0000);
        info.subnet_timeout = 3;
    });
    assert_eq!(answer, status::INVALID_ATTRIB);
    assert_eq!((info.lid, info.subnet_timeout), (Lid(2), 9));
}

fn claim(player: &mut Player, node: Guid, claims: Claims) {
    player.control(Control::Claim { node, claims });
}

#[test]
fn a_liar_answers_with_what_it_holds_or_with_what_it_should() {
    let mut player = Player::new("one-switch:3,radix=8");
    let node = player.node_info(&[1]).node_guid;
    let table = AttributeId::LINEAR_FDB;
    let held = [3; 64];
    assert_eq!(player.set(&[1], table, ONE, &held).0, 0);
    let ignores = Claims {
        ignores: Some(table),
        ..Claims::default()
    };
    claim(&mut player, node, ignores);
    assert_eq!(player.set(&[1], table, ONE, &[5; 64]), (0, held.to_vec()));
    let pretends = Claims {
        pretends: Some(table),
        ..Claims::default()
    };
    claim(&mut player, node, pretends);
    let asked = [5; 64];
    assert_eq!(player.set(&[1], table, ONE, &asked), (0, asked.to_vec()));
    assert_eq!(player.get(&[1], table, ONE), (0, held.to_vec()));
    claim(&mut player, node, Claims::default());
    assert_eq!(player.set(&[1], table, ONE, &asked), (0, asked.to_vec()));
    assert_eq!(player.get(&[1], table, ONE), (0, asked.to_vec()));
}

#[test]
fn what_is_denied_is_written_all_the_same() {
    let mut player = Player::new("one-switch:3,radix=8");
    let node = player.node_info(&[1]).node_guid;
    let table = AttributeId::LINEAR_FDB;
    let denies = Claims {
        denies: Some(table),
        ..Claims::default()
    };
    claim(&mut player, node, denies);
    let asked = [5; 64];
    let answered = player.set(&[1], table, ONE, &asked);
    assert_eq!(answered.0, status::INVALID_ATTRIB);
    assert_eq!(player.get(&[1], table, ONE), (0, asked.to_vec()));
    // Others are as before.
    let info = |info: &mut PortInfo| info.subnet_timeout = 9;
    assert_eq!(player.change_port(&[1], 0, info).0, 0);
}

#[test]
fn answers_come_from_the_lid_that_is_claimed() {
    let mut player = Player::new("one-switch:3,radix=8");
    player.program_one_switch(3);
    let node = player.node_info(&[1]).node_guid;
    let from = |player: &mut Player| {
        let smp = player.smp(method::GET, AttributeId::NODE_INFO, 0);
        let mut mad = Vec::new();
        smp.write_lid_routed(&[], &mut mad);
        player.exchange(Packet::lid_routed(Lid(1), Lid(4), mad))[0].slid
    };
    assert_eq!(from(&mut player), Lid(4));
    let claims = Claims {
        answers_from: Some(Lid(2)),
        ..Claims::default()
    };
    claim(&mut player, node, claims);
    assert_eq!(from(&mut player), Lid(2));
}
