//! A subnet manager's requirements of devices that have just been switched on, over a sample of
//! fabrics: a device that breaks one of these counts as broken, or as a spoof.

use weft_fabric::enums::{LinkSpeed, LinkWidth, Mtu, NodeType, PhysState, PortState};
use weft_fabric::{Guid, Lid, PortNum};
use weft_wire::Layout;
use weft_wire::header::{method, version};
use weft_wire::packet::Packet;
use weft_wire::sm::{AttributeId, NodeInfo, PortInfo, PortStateInfo, SwitchInfo};

use crate::agents::player::{ONE, Player};

const FABRICS: [&str; 5] = [
    "one-switch:4",
    "back-to-back",
    "fattree:72,radix=12,tiers=2",
    "mesh:3x2",
    "swd06",
];

/// A node and its path from the player's host.
struct Found {
    info: NodeInfo,
    path: Vec<u8>,
}

/// Every node, found as a manager finds it: through ports that are not down.
fn discover(player: &mut Player) -> Vec<Found> {
    let info = player.node_info(&[]);
    let mut found = vec![Found { info, path: vec![] }];
    let mut next = 0;
    while next < found.len() {
        let (info, path) = (found[next].info, found[next].path.clone());
        next += 1;
        for port in 1..=info.num_ports {
            let forwards = info.node_type == NodeType::SWITCH || path.is_empty();
            let modifier = ONE | u32::from(port);
            let end: PortInfo = player.read(&path, AttributeId::PORT_INFO, modifier);
            if !forwards || end.port_state == PortState::DOWN {
                continue;
            }
            let mut path = path.clone();
            path.push(port);
            let info = player.node_info(&path);
            if found
                .iter()
                .all(|known| known.info.node_guid != info.node_guid)
            {
                found.push(Found { info, path });
            }
        }
    }
    found
}

fn check_node(found: &Found) {
    let info = &found.info;
    assert_eq!(info.base_version, version::OPA);
    assert!(info.num_ports > 0 && info.partition_cap >= 3);
    assert!(info.node_guid.0 >> 32 != 0 && info.port_guid.0 >> 32 != 0);
    assert_eq!(info.node_guid.0 >> 30 & 3, 0, "room for the port's number");
    assert_eq!(info.port_guid, info.node_guid);
}

fn check_port(found: &Found, number: u8, info: &PortInfo) {
    let switch = found.info.node_type == NodeType::SWITCH;
    assert_eq!(
        info.local_port_num, found.info.local_port_num,
        "the ingress port"
    );
    assert!(info.mtu_cap >= Mtu::B2048 && info.vl_cap >= 1);
    assert!(info.port_packet_formats_supported & 2 != 0, "9B");
    assert!(info.overall_buffer_space > 0);
    assert_eq!(info.capability_mask3.vl_scheduling_config, 0, "by tables");
    if switch && number == 0 {
        assert_eq!(info.port_state, PortState::ACTIVE);
        return;
    }
    if info.port_state == PortState::DOWN {
        assert_ne!(info.phys_state, PhysState::LINK_UP);
        return;
    }
    assert_eq!(
        (info.port_state, info.phys_state),
        (PortState::INIT, PhysState::LINK_UP)
    );
    assert!(info.link_width_active >= LinkWidth::X2);
    assert_ne!(info.link_speed_active, LinkSpeed::NOP);
    let between_switches = switch && info.neighbor_node_type == 1;
    assert_eq!(info.mgmt_allowed, !between_switches);
    assert!(!info.neighbor_normal && !info.is_sm_configuration_started);
    assert_eq!((info.lid, info.m_key), (Lid(0), 0));
}

#[test]
fn devices_are_as_a_manager_demands() {
    for fabric in FABRICS {
        let mut player = Player::new(fabric);
        let nodes = discover(&mut player);
        assert_eq!(
            nodes.len(),
            player.emulator.network().topology().len(),
            "{fabric}"
        );
        for found in &nodes {
            check_node(found);
            let first = u8::from(found.info.node_type == NodeType::HFI);
            for number in first..=found.info.num_ports {
                let modifier = ONE | u32::from(number);
                let info: PortInfo = player.read(&found.path, AttributeId::PORT_INFO, modifier);
                check_port(found, number, &info);
                let state: PortStateInfo =
                    player.read(&found.path, AttributeId::PORT_STATE_INFO, modifier);
                assert_eq!(state.port_state, info.port_state);
            }
        }
    }
}

#[test]
fn both_ends_of_a_link_tell_of_each_other() {
    for fabric in FABRICS {
        let mut player = Player::new(fabric);
        for found in discover(&mut player) {
            if found.info.node_type == NodeType::HFI && !found.path.is_empty() {
                continue;
            }
            for number in 1..=found.info.num_ports {
                let modifier = ONE | u32::from(number);
                let near: PortInfo = player.read(&found.path, AttributeId::PORT_INFO, modifier);
                if near.port_state == PortState::DOWN {
                    continue;
                }
                let mut path = found.path.clone();
                path.push(number);
                let far = player.node_info(&path);
                let kind = u8::from(far.node_type == NodeType::SWITCH);
                assert_eq!(near.neighbor_node_guid, far.node_guid, "{fabric}");
                assert_eq!(near.neighbor_port_num, far.local_port_num, "{fabric}");
                assert_eq!(near.neighbor_node_type, kind, "{fabric}");
            }
        }
    }
}

#[test]
fn switches_have_room_for_what_a_manager_writes() {
    for fabric in FABRICS {
        let mut player = Player::new(fabric);
        for found in discover(&mut player) {
            if found.info.node_type != NodeType::SWITCH {
                continue;
            }
            let info: SwitchInfo = player.read(&found.path, AttributeId::SWITCH_INFO, 0);
            assert!(info.linear_fdb_cap >= 0xC000);
            assert!(info.multicast_fdb_cap >= 1024);
            assert_eq!(info.routing_mode_enabled, 1);
            let (_, states) = player.get(
                &found.path,
                AttributeId::PORT_STATE_INFO,
                (u32::from(found.info.num_ports) + 1) << 24,
            );
            let first = PortStateInfo::decode(&states).unwrap();
            assert_eq!(first.port_state, PortState::ACTIVE);
        }
    }
}

#[test]
fn management_keys_are_where_a_manager_looks_for_them() {
    let mut player = Player::new("one-switch:2");
    let (_, keys) = player.get(&[], AttributeId::P_KEY_TABLE, ONE);
    assert_eq!(keys[..6], [0x80, 0x01, 0x7F, 0xFF, 0xFF, 0xFF]);
    let (_, keys) = player.get(&[1], AttributeId::P_KEY_TABLE, ONE);
    assert_eq!(keys[2..6], [0x7F, 0xFF, 0xFF, 0xFF]);
}

/// The probe by which host software recognises an Omni-Path port.
#[test]
fn an_infiniband_probe_is_answered_with_the_omni_path_version() {
    let mut player = Player::new("one-switch:2");
    let probe = |attribute: u16, hops: u8| {
        let mut mad = vec![0; 256];
        mad[..4].copy_from_slice(&[1, 0x81, 1, method::GET]);
        mad[7] = hops;
        mad[8..16].copy_from_slice(&0x77u64.to_be_bytes());
        mad[16..18].copy_from_slice(&attribute.to_be_bytes());
        Packet::directed(mad)
    };
    let answer = player.exchange(probe(0x11, 0)).pop().unwrap().mad;
    let guid = player.host.0.to_be_bytes();
    assert_eq!(answer.len(), 256);
    assert_eq!(answer[3..6], [0x81, 0x80, 0]);
    assert_eq!(answer[64..68], [0x80, 0x80, 1, 1]);
    assert_eq!(answer[76..84], guid, "node");
    assert_eq!(answer[84..92], guid, "port");
    assert_eq!(answer[100], 1, "local port");
    let refused = player.exchange(probe(0x15, 0)).pop().unwrap().mad;
    assert_eq!(refused[4..6], [0x80, 0x0C]);
    assert_eq!(player.exchange(probe(0x11, 1)), Vec::<Packet>::new());
}

#[test]
fn a_node_that_lost_its_power_has_forgotten_everything() {
    use weft_emulator::io::Control;
    let mut player = Player::new("one-switch:3,radix=8");
    player.program_one_switch(3);
    let switch = player.node_info(&[1]).node_guid;
    player.control(Control::NodeDown { node: switch });
    let smp = player.smp(method::GET, AttributeId::NODE_INFO, 0);
    assert_eq!(player.directed(&[1], smp, &[]), None);
    let own: PortInfo = player.read(&[], AttributeId::PORT_INFO, ONE);
    assert_eq!((own.port_state, own.lid), (PortState::DOWN, Lid(1)));
    player.control(Control::NodeUp { node: switch });
    let info: SwitchInfo = player.read(&[1], AttributeId::SWITCH_INFO, 0);
    assert_eq!(info.linear_fdb_top, 0);
    let (_, block) = player.get(&[1], AttributeId::LINEAR_FDB, ONE);
    assert_eq!(block, [0xFF; 64]);
    let own = player.port_info_register(player.host, PortNum(1));
    assert_eq!(
        (own.port_state, own.neighbor_node_guid),
        (PortState::INIT, switch)
    );
}

#[test]
fn a_new_hfi_in_the_place_of_one_is_another_device() {
    use weft_emulator::io::Control;
    let mut player = Player::new("one-switch:3,radix=8");
    player.program_one_switch(3);
    let old = player.node_info(&[1, 2]);
    let new = Guid(old.node_guid.0 | 0xff00);
    player.control(Control::Replace {
        node: old.node_guid,
        new,
    });
    let found = player.node_info(&[1, 2]);
    assert_eq!((found.node_guid, found.port_guid), (new, new));
    assert_eq!(found.num_ports, old.num_ports);
    let own: PortInfo = player.read(&[1, 2], AttributeId::PORT_INFO, ONE);
    assert_eq!((own.port_state, own.lid), (PortState::INIT, Lid(0)));
    let before: PortInfo = player.read(&[1], AttributeId::PORT_INFO, ONE | 2);
    assert_eq!(before.neighbor_node_guid, new);
}

#[test]
fn a_new_switch_in_the_place_of_one_knows_nothing_of_it() {
    use weft_emulator::io::Control;
    let mut player = Player::new("one-switch:3,radix=8");
    player.program_one_switch(3);
    let old = player.node_info(&[1]);
    let new = Guid(old.node_guid.0 | 0xff00);
    player.control(Control::Replace {
        node: old.node_guid,
        new,
    });
    let found = player.node_info(&[1]);
    assert_eq!((found.node_guid, found.num_ports), (new, old.num_ports));
    let info: SwitchInfo = player.read(&[1], AttributeId::SWITCH_INFO, 0);
    assert_eq!(info.linear_fdb_top, 0);
    let own = player.port_info_register(player.host, PortNum(1));
    assert_eq!(
        (own.port_state, own.neighbor_node_guid),
        (PortState::INIT, new)
    );
}

#[test]
fn a_host_that_reboots_is_off_for_its_time_and_comes_back_empty() {
    use weft_emulator::io::{Control, Input};
    const SECOND: u64 = 1_000_000_000;
    let mut player = Player::new("one-switch:3,radix=8");
    player.program_one_switch(3);
    let host = player.node_info(&[1, 2]).node_guid;
    let held = player.port_info_register(host, PortNum(1));
    assert_ne!(held.lid, Lid(0));
    let off_ns = 5 * SECOND;
    let start = player.emulator.now().0;
    player.control(Control::Reboot { node: host, off_ns });
    let pass = |player: &mut Player, seconds: u64| {
        let now = weft_fabric::Tick(start + seconds * SECOND);
        player.emulator.handle(now, Input::Tick).unwrap();
        player.port_info_register(host, PortNum(1))
    };
    assert_eq!(pass(&mut player, 4).port_state, PortState::DOWN);
    let back = pass(&mut player, 5);
    assert_eq!(back.port_state, PortState::INIT);
    assert_eq!((back.lid, back.master_sm_lid), (Lid(0), Lid(0)));
    // Switched off by hand meanwhile, it stays off.
    player.control(Control::Reboot { node: host, off_ns });
    player.control(Control::NodeDown { node: host });
    assert_eq!(pass(&mut player, 60).port_state, PortState::DOWN);
}

#[test]
fn controls_that_make_no_sense_are_refused() {
    use weft_emulator::io::{Control, ControlError, Faults, Input};
    let mut player = Player::new("one-switch:3,radix=8");
    let now = player.emulator.now();
    let switch = player.node_info(&[1]).node_guid;
    let (nobody, port) = (Guid(1), PortNum(8));
    let host = player.node_info(&[]).node_guid;
    let port_2 = Guid(host.0 | 1 << 30);
    let range = |what, value, allowed| ControlError::Range {
        what,
        value,
        allowed,
    };
    let cases = [
        (
            Control::NodeDown { node: nobody },
            ControlError::NoNode { node: nobody },
        ),
        (
            Control::LinkDown { node: switch, port },
            ControlError::NoCable { node: switch, port },
        ),
        (
            Control::IsSm {
                node: switch,
                port,
                is_sm: true,
            },
            ControlError::NoHost { node: switch, port },
        ),
        (
            Control::Replace {
                node: switch,
                new: host,
            },
            ControlError::Guid { guid: host },
        ),
        (
            Control::Replace {
                node: host,
                new: switch,
            },
            ControlError::Guid { guid: switch },
        ),
        (
            Control::Replace {
                node: host,
                new: port_2,
            },
            ControlError::Guid { guid: port_2 },
        ),
        (
            Control::Faults(Faults {
                loss: 1.5,
                ..Faults::default()
            }),
            range("loss", 1.5, "0 to 1"),
        ),
        (
            Control::Faults(Faults {
                delay_min_ns: 2,
                delay_max_ns: 1,
                ..Faults::default()
            }),
            range("delay_min_ns", 2.0, "up to delay_max_ns"),
        ),
    ];
    for (control, expected) in cases {
        let done = player.emulator.handle(now, Input::Control(control));
        assert_eq!(done, Err(expected));
    }
}
