//! Agents that claim something about their nodes in place of the truth.

use weft_emulator::Claims;
use weft_emulator::io::Control;
use weft_fabric::enums::Mtu;
use weft_fabric::{Guid, Lid, PortNum};

use weft_wire::sm::{AttributeId, PortInfo, PortModifier, SwitchInfo};

use super::player::Player;

const OTHER: Guid = Guid(0x77);

fn port_info(player: &mut Player, path: &[u8], port: u8) -> PortInfo {
    let modifier = PortModifier::one(PortNum(port)).bits();
    player.read(path, AttributeId::PORT_INFO, modifier)
}

#[test]
fn what_an_agent_claims_is_what_it_answers_until_it_tells_the_truth() {
    let mut player = Player::new("one-switch:2");
    let route = [1, 2];
    let (node, truth) = (player.node_info(&route), port_info(&mut player, &route, 1));
    let claims = Claims {
        node_guid: Some(OTHER),
        port_guid: Some(OTHER),
        mtu: Some(3),
        lanes: Some(2),
        packet_formats: Some(8),
        table_size: None,
        refuses: None,
        ..Claims::default()
    };
    let guid = node.node_guid;
    player.control(Control::Claim { node: guid, claims });
    let claimed = player.node_info(&route);
    assert_eq!((claimed.node_guid, claimed.port_guid), (OTHER, OTHER));
    let port = port_info(&mut player, &route, 1);
    let formats = port.port_packet_formats_supported;
    assert_eq!((port.mtu_cap, port.vl_cap, formats), (Mtu::B1024, 2, 8));
    let before = port_info(&mut player, &route[..1], 2);
    assert_eq!(before.neighbor_node_guid, guid, "hardware tells the truth");

    let claims = Claims::default();
    player.control(Control::Claim { node: guid, claims });
    assert_eq!(player.node_info(&route), node);
    assert_eq!(port_info(&mut player, &route, 1), truth);
}

#[test]
fn a_switch_claims_a_smaller_table() {
    let mut player = Player::new("one-switch:2");
    let route = [1];
    let node = player.node_info(&route).node_guid;
    let claims = Claims {
        table_size: Some(1024),
        ..Claims::default()
    };
    player.control(Control::Claim { node, claims });
    let info: SwitchInfo = player.read(&route, AttributeId::SWITCH_INFO, 0);
    assert_eq!(info.linear_fdb_cap, 1024);
}

#[test]
fn a_host_changes_its_lid_and_a_neighbour_has_not_checked_its_firmware() {
    let mut player = Player::new("one-switch:2");
    let route = [1, 2];
    let node = player.node_info(&route).node_guid;
    let (port, lid) = (PortNum(1), Lid(9));
    player.control(Control::TakeLid { node, port, lid });
    assert_eq!(port_info(&mut player, &route, 1).lid, lid);
    for unchecked in [true, false] {
        player.control(Control::UncheckedFirmware { node, unchecked });
        let before = port_info(&mut player, &route[..1], 2);
        assert_eq!(before.neighbor_fw_authen_bypass, unchecked);
    }
}
