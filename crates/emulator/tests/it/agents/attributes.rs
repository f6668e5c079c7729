//! Every attribute: readable parts, effects of writes, and refusals.

use weft_fabric::enums::{LinkWidth, Mtu};
use weft_fabric::{Lid, Lmc, Sl};
use weft_wire::Layout;
use weft_wire::header::status;
use weft_wire::sm::{
    AttributeId, BufferControlTable, CableInfo, NodeDescription, PortInfo, SwitchInfo, VlMtus,
    shape,
};

use crate::agents::player::{ALL, ONE, Player, blocks};

/// The switch of a one-switch fabric, and the player's own HFI.
const SWITCH: &[u8] = &[1];
const HFI: &[u8] = &[];

const UNSUPPORTED: u16 = status::UNSUPPORTED_METHOD_ATTRIB;
const INVALID: u16 = status::INVALID_ATTRIB;

fn player() -> Player {
    Player::new("one-switch:4,radix=8")
}

/// Bytes that differ from place to place and fit 5-bit fields.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|place| (place * 7 + 3) as u8 & 0x1F).collect()
}

#[test]
fn what_is_written_is_what_is_read() {
    let cases: &[(&[u8], AttributeId, u32)] = &[
        (HFI, AttributeId::P_KEY_TABLE, ONE),
        (SWITCH, AttributeId::P_KEY_TABLE, ONE),
        (SWITCH, AttributeId::P_KEY_TABLE, ONE | 3 << 16),
        (HFI, AttributeId::SL_TO_SC, 0),
        (SWITCH, AttributeId::SL_TO_SC, 0),
        (HFI, AttributeId::SC_TO_SL, 0),
        (SWITCH, AttributeId::SC_TO_SL, 0),
        (HFI, AttributeId::SC_TO_VLR, ONE | 1),
        (HFI, AttributeId::SC_TO_VLT, ONE | 1),
        (HFI, AttributeId::SC_TO_VLNT, ONE | 1),
        (SWITCH, AttributeId::SC_TO_VLR, ONE),
        (SWITCH, AttributeId::SC_TO_VLT, blocks(3) | 2),
        (SWITCH, AttributeId::SC_TO_VLNT, blocks(8) | 1),
        (HFI, AttributeId::VL_ARBITRATION, ONE | 1),
        (SWITCH, AttributeId::VL_ARBITRATION, ONE | 1 << 16 | 8),
        (SWITCH, AttributeId::VL_ARBITRATION, blocks(3) | 2 << 16 | 1),
        (SWITCH, AttributeId::VL_ARBITRATION, ONE | 3 << 16 | 1),
        (SWITCH, AttributeId::LINEAR_FDB, ONE | 767),
        (SWITCH, AttributeId::LINEAR_FDB, blocks(29) | 5),
        (SWITCH, AttributeId::PORT_GROUP_FDB, blocks(2) | 9),
        (SWITCH, AttributeId::MULTICAST_FDB, blocks(3) | 1 << 22 | 1),
        (SWITCH, AttributeId::PORT_GROUP_TABLE, blocks(2) | 6),
        (SWITCH, AttributeId::SC_TO_SC, blocks(4) | 2 << 8 | 5),
        (SWITCH, AttributeId::SWITCH_CONGESTION_SETTING, 0),
        (
            SWITCH,
            AttributeId::SWITCH_PORT_CONGESTION_SETTING,
            blocks(9),
        ),
        (HFI, AttributeId::HFI_CONGESTION_SETTING, 0),
        (HFI, AttributeId::HFI_CONGESTION_CONTROL_TABLE, blocks(7)),
        (
            HFI,
            AttributeId::HFI_CONGESTION_CONTROL_TABLE,
            blocks(2) | 5,
        ),
    ];
    for (path, attribute, modifier) in cases {
        let mut player = player();
        let count = (modifier >> 24).max(1) as usize;
        let mut data = pattern(shape(*attribute).unwrap().total(count));
        if *attribute == AttributeId::P_KEY_TABLE {
            // The table ends after 16 entries.
            data[32..].fill(0);
        }
        let what = format!("{attribute} {modifier:#010x}");
        let (status, echoed) = player.set(path, *attribute, *modifier, &data);
        assert_eq!(status, 0, "{what}");
        assert_eq!(echoed[..data.len()], data, "{what}");
        let (status, read) = player.get(path, *attribute, *modifier);
        assert_eq!(status, 0, "{what}");
        assert_eq!(read[..data.len()], data, "{what}");
        assert_eq!(read.len(), data.len().next_multiple_of(8), "{what}");
        assert_eq!(player.emulator.stats().sets_total(), 1, "{what}");
    }
}

#[test]
fn what_must_not_be_asked_is_refused() {
    let cases: &[(&[u8], bool, AttributeId, u32, u16)] = &[
        (HFI, true, AttributeId::NODE_INFO, 0, UNSUPPORTED),
        (HFI, true, AttributeId::NODE_DESCRIPTION, 0, UNSUPPORTED),
        (SWITCH, true, AttributeId::CABLE_INFO, 1, UNSUPPORTED),
        (HFI, false, AttributeId(0x00F7), 0, UNSUPPORTED),
        (HFI, false, AttributeId::NOTICE, 0, UNSUPPORTED),
        (HFI, false, AttributeId::SM_INFO, 0, UNSUPPORTED),
        (HFI, false, AttributeId::SWITCH_INFO, 0, UNSUPPORTED),
        (HFI, false, AttributeId::LINEAR_FDB, ONE, UNSUPPORTED),
        (HFI, false, AttributeId::MULTICAST_FDB, ONE, UNSUPPORTED),
        (HFI, false, AttributeId::PORT_GROUP_FDB, ONE, UNSUPPORTED),
        (HFI, false, AttributeId::PORT_GROUP_TABLE, ONE, UNSUPPORTED),
        (
            HFI,
            false,
            AttributeId::SC_TO_SC,
            ONE | 1 << 8 | 2,
            UNSUPPORTED,
        ),
        (
            HFI,
            false,
            AttributeId::SWITCH_CONGESTION_SETTING,
            0,
            UNSUPPORTED,
        ),
        (
            HFI,
            false,
            AttributeId::SWITCH_CONGESTION_LOG,
            0,
            UNSUPPORTED,
        ),
        (
            SWITCH,
            false,
            AttributeId::HFI_CONGESTION_SETTING,
            0,
            UNSUPPORTED,
        ),
        (
            SWITCH,
            false,
            AttributeId::HFI_CONGESTION_CONTROL_TABLE,
            ONE,
            UNSUPPORTED,
        ),
        (
            SWITCH,
            true,
            AttributeId::SC_TO_SC_MULTISET,
            ONE,
            UNSUPPORTED,
        ),
        (HFI, false, AttributeId::NODE_INFO, 1, INVALID),
        (HFI, false, AttributeId::NODE_DESCRIPTION, 1, INVALID),
        (SWITCH, false, AttributeId::SWITCH_INFO, 1, INVALID),
        (HFI, false, AttributeId::PORT_INFO, 0, INVALID),
        (HFI, false, AttributeId::PORT_INFO, blocks(2), INVALID),
        (SWITCH, false, AttributeId::PORT_INFO, ONE | 9, INVALID),
        (
            SWITCH,
            false,
            AttributeId::PORT_INFO,
            blocks(2) | 8,
            INVALID,
        ),
        (
            SWITCH,
            false,
            AttributeId::PORT_INFO,
            blocks(8) | 1,
            INVALID,
        ),
        (
            SWITCH,
            false,
            AttributeId::PORT_INFO,
            ONE | ALL | 1,
            INVALID,
        ),
        (
            SWITCH,
            true,
            AttributeId::PORT_INFO,
            blocks(2) | ALL | 1,
            INVALID,
        ),
        (
            SWITCH,
            false,
            AttributeId::PORT_STATE_INFO,
            blocks(10),
            INVALID,
        ),
        (SWITCH, false, AttributeId::P_KEY_TABLE, ONE | 1, INVALID),
        (SWITCH, false, AttributeId::P_KEY_TABLE, blocks(2), INVALID),
        (
            SWITCH,
            false,
            AttributeId::P_KEY_TABLE,
            ONE | 9 << 16,
            INVALID,
        ),
        (HFI, false, AttributeId::SL_TO_SC, 1, INVALID),
        (
            SWITCH,
            false,
            AttributeId::VL_ARBITRATION,
            ONE | 4 << 16 | 1,
            INVALID,
        ),
        (
            SWITCH,
            false,
            AttributeId::VL_ARBITRATION,
            blocks(8) | 1,
            INVALID,
        ),
        (SWITCH, false, AttributeId::LINEAR_FDB, 0, INVALID),
        (SWITCH, false, AttributeId::LINEAR_FDB, blocks(30), INVALID),
        (SWITCH, false, AttributeId::LINEAR_FDB, ONE | 768, INVALID),
        (
            SWITCH,
            true,
            AttributeId::LINEAR_FDB,
            blocks(2) | 767,
            INVALID,
        ),
        (
            SWITCH,
            false,
            AttributeId::LINEAR_FDB,
            ONE | 1 << 18,
            INVALID,
        ),
        (
            SWITCH,
            false,
            AttributeId::MULTICAST_FDB,
            ONE | 1024,
            INVALID,
        ),
        (
            SWITCH,
            false,
            AttributeId::PORT_GROUP_TABLE,
            ONE | 8,
            INVALID,
        ),
        (SWITCH, false, AttributeId::SC_TO_SC, ONE | 2, INVALID),
        (
            SWITCH,
            false,
            AttributeId::SC_TO_SC,
            blocks(2) | 1 << 8 | 8,
            INVALID,
        ),
        (
            SWITCH,
            false,
            AttributeId::SC_TO_SC,
            ONE | 1 << 17 | 2,
            INVALID,
        ),
        (
            SWITCH,
            true,
            AttributeId::SC_TO_VLT,
            ONE | 1 << 12 | 1,
            INVALID,
        ),
        (
            HFI,
            false,
            AttributeId::HFI_CONGESTION_CONTROL_TABLE,
            blocks(2) | 6,
            INVALID,
        ),
        (
            SWITCH,
            false,
            AttributeId::SWITCH_PORT_CONGESTION_SETTING,
            blocks(10),
            INVALID,
        ),
        // A read over the end of a page; a port without a cable.
        (
            SWITCH,
            false,
            AttributeId::CABLE_INFO,
            127 << 19 | 1 << 13 | 1,
            INVALID,
        ),
        (SWITCH, false, AttributeId::CABLE_INFO, 8, INVALID),
    ];
    for (path, set, attribute, modifier, expected) in cases {
        let mut player = player();
        let what = format!("set {set} {attribute} {modifier:#010x}");
        let (status, _) = if *set {
            player.set(path, *attribute, *modifier, &pattern(1872))
        } else {
            player.get(path, *attribute, *modifier)
        };
        assert_eq!(status, *expected, "{what}");
    }
}

#[test]
fn a_set_that_is_too_short_changes_nothing() {
    let mut player = player();
    let (status, _) = player.set(SWITCH, AttributeId::LINEAR_FDB, blocks(2), &pattern(64));
    assert_eq!(status, INVALID);
    let (_, read) = player.get(SWITCH, AttributeId::LINEAR_FDB, ONE);
    assert_eq!(read, [0xFF; 64]);
}

#[test]
fn one_block_can_be_meant_for_all_ports() {
    let mut player = player();
    let map = pattern(32);
    let (status, _) = player.set(SWITCH, AttributeId::SC_TO_VLR, ONE | ALL | 2, &map);
    assert_eq!(status, 0);
    for port in 0..=8 {
        let (_, read) = player.get(SWITCH, AttributeId::SC_TO_VLR, ONE | port);
        assert_eq!(read == map, port >= 2, "port {port}");
    }
    let (status, _) = player.set(
        SWITCH,
        AttributeId::LINEAR_FDB,
        ONE | 1 << 18 | 700,
        &[3; 64],
    );
    assert_eq!(status, 0);
    let (_, read) = player.get(SWITCH, AttributeId::LINEAR_FDB, ONE | 767);
    assert_eq!(read, [3; 64]);
    let (_, read) = player.get(SWITCH, AttributeId::LINEAR_FDB, ONE | 699);
    assert_eq!(read, [0xFF; 64]);
}

#[test]
fn channels_can_be_mapped_by_row_by_column_and_all_at_once() {
    let mut player = player();
    let get = |player: &mut Player, ingress: u32, egress: u32| {
        let modifier = ONE | ingress << 8 | egress;
        player.get(SWITCH, AttributeId::SC_TO_SC, modifier).1
    };
    let (all_ingress, all_egress) = (1 << 17, 1 << 16);
    let set = |player: &mut Player, modifier: u32, value: u8| {
        let data = [value; 32];
        assert_eq!(
            player
                .set(SWITCH, AttributeId::SC_TO_SC, ONE | modifier, &data)
                .0,
            0
        );
    };
    set(&mut player, all_ingress | all_egress, 1);
    assert_eq!(get(&mut player, 8, 8), [1; 32]);
    set(&mut player, all_ingress | 4, 2);
    set(&mut player, all_egress | 3 << 8, 5);
    assert_eq!(get(&mut player, 7, 4), [2; 32]);
    assert_eq!(get(&mut player, 3, 4), [5; 32]);
    assert_eq!(get(&mut player, 3, 1), [5; 32]);
    assert_eq!(get(&mut player, 7, 1), [1; 32]);
}

#[test]
fn buffer_control_has_its_own_stride() {
    let mut player = player();
    let mut data = vec![0; 136 + 132];
    // Shared by all lanes, and of each of the first four lanes its own and its share of the rest.
    data[2..4].copy_from_slice(&[0x00, 0x11]);
    data[4..20].fill(0x00);
    data[4..20]
        .iter_mut()
        .skip(1)
        .step_by(2)
        .for_each(|byte| *byte = 0x11);
    data[136 + 2..136 + 4].copy_from_slice(&[0x00, 0x22]);
    data[136 + 5] = 0x22;
    let modifier = blocks(2) | 3;
    let (status, _) = player.set(SWITCH, AttributeId::BUFFER_CONTROL_TABLE, modifier, &data);
    assert_eq!(status, 0);
    let (_, second) = player.get(SWITCH, AttributeId::BUFFER_CONTROL_TABLE, ONE | 4);
    assert_eq!(second[..132], data[136..]);
}

#[test]
fn buffers_that_the_neighbour_does_not_have_are_refused() {
    let mut player = player();
    let info: PortInfo = player.read(SWITCH, AttributeId::PORT_INFO, ONE | 1);
    let space = info.overall_buffer_space;
    let mut try_it = |shared: u16, lanes: &[(usize, u16, u16)]| {
        let mut table = BufferControlTable {
            tx_overall_shared_limit: shared,
            ..BufferControlTable::default()
        };
        for (lane, dedicated, of_shared) in lanes {
            table.vl[*lane].tx_dedicated_limit = *dedicated;
            table.vl[*lane].tx_shared_limit = *of_shared;
        }
        let mut data = vec![0; 136];
        table.encode(&mut data);
        let (status, _) = player.set(SWITCH, AttributeId::BUFFER_CONTROL_TABLE, ONE | 1, &data);
        status == 0
    };
    assert!(try_it(space - 100, &[(0, 60, space - 100), (15, 40, 0)]));
    // One unit more than there is, dedicated or shared.
    assert!(!try_it(space - 100, &[(0, 61, space - 100), (15, 40, 0)]));
    assert!(!try_it(space - 99, &[(0, 60, 0), (15, 40, 0)]));
    // More of the shared part than there is.
    assert!(!try_it(10, &[(0, 60, 11)]));
    // A lane that the port does not have.
    assert!(!try_it(10, &[(8, 1, 0)]));
    assert!(!try_it(10, &[(31, 0, 1)]));
}

#[test]
fn zero_in_a_set_of_port_info_is_no_change() {
    let mut player = player();
    let before: PortInfo = player.read(SWITCH, AttributeId::PORT_INFO, ONE | 2);
    let (status, after) = player.change_port(SWITCH, 2, |info| {
        info.link_width_enabled = LinkWidth::NOP;
        info.link_speed_enabled = Default::default();
        info.operational_vl = 0;
        info.link_width_downgrade_enabled = LinkWidth::NOP;
    });
    assert_eq!((status, after), (0, before));
}

#[test]
fn a_set_of_port_info_answers_with_what_is_there_now() {
    let mut player = player();
    let (status, answer) = player.change_port(HFI, 1, |info| {
        info.lid = Lid(8);
        info.lmc = Lmc(3);
        info.m_key = 0;
        info.master_sm_lid = Lid(8);
        info.master_sm_sl = Sl(2);
        info.client_reregister = true;
        info.subnet_timeout = 17;
        info.neighbor_mtu = VlMtus::uniform(Mtu::B8192);
        info.xmit_q[3].hoq_life = 9;
        info.xmit_q[31].vl_stall_count = 7;
        // Read-only: ignored.
        info.vl_cap = 1;
        info.mgmt_allowed = false;
        info.overall_buffer_space = 1;
    });
    assert_eq!(status, 0);
    assert!(answer.client_reregister);
    let now: PortInfo = player.read(HFI, AttributeId::PORT_INFO, ONE);
    assert!(!now.client_reregister);
    assert_eq!((now.lid, now.lmc), (Lid(8), Lmc(3)));
    assert_eq!(
        (now.xmit_q[3].hoq_life, now.xmit_q[31].vl_stall_count),
        (9, 7)
    );
    assert_eq!((now.vl_cap, now.mgmt_allowed), (8, true));
    assert!(now.overall_buffer_space > 1);
    assert_eq!(
        PortInfo {
            client_reregister: true,
            ..now
        },
        answer
    );
}

#[test]
fn values_that_a_port_cannot_take_are_refused_and_leave_it_as_it_was() {
    type Change = fn(&mut PortInfo);
    let cases: [(&str, Change); 7] = [
        ("multicast LID", |info| info.lid = Lid(0xF000_0000)),
        ("LID not aligned", |info| {
            (info.lid, info.lmc) = (Lid(9), Lmc(1))
        }),
        ("LMC", |info| (info.lid, info.lmc) = (Lid(0x100), Lmc(8))),
        ("VLs", |info| info.operational_vl = 9),
        ("width", |info| info.link_width_enabled = LinkWidth(0x10)),
        ("CRC", |info| info.port_ltp_crc_mode_enabled = 8),
        ("format", |info| info.port_packet_formats_enabled = 1),
    ];
    for (what, change) in cases {
        let mut player = player();
        let before: PortInfo = player.read(HFI, AttributeId::PORT_INFO, ONE);
        let (status, after) = player.change_port(HFI, 1, change);
        assert_eq!((status, after), (INVALID, before), "{what}");
    }
}

#[test]
fn switch_info_keeps_its_capacities_and_its_flag() {
    let mut player = player();
    let mut info: SwitchInfo = player.read(SWITCH, AttributeId::SWITCH_INFO, 0);
    let cap = info.linear_fdb_cap;
    info.linear_fdb_cap = 1;
    info.linear_fdb_top = cap - 1;
    info.routing_mode_enabled = 0;
    info.life_time_value = 9;
    info.ar_threshold = 4;
    let (status, answer) = player.set(SWITCH, AttributeId::SWITCH_INFO, 0, &info.to_bytes());
    let now = SwitchInfo::decode(&answer).unwrap();
    assert_eq!(status, 0);
    assert_eq!((now.linear_fdb_cap, now.routing_mode_enabled), (cap, 1));
    assert_eq!(
        (now.linear_fdb_top, now.life_time_value, now.ar_threshold),
        (cap - 1, 9, 4)
    );
    info.linear_fdb_top = cap;
    let (status, answer) = player.set(SWITCH, AttributeId::SWITCH_INFO, 0, &info.to_bytes());
    assert_eq!(
        (status, SwitchInfo::decode(&answer).unwrap()),
        (INVALID, now)
    );
}

#[test]
fn a_beacon_shows_in_every_attribute_that_has_it() {
    let mut player = player();
    let on = 0x8000_0000_u32.to_be_bytes();
    let data = [on, [0; 4]].concat();
    assert_eq!(
        player.set(SWITCH, AttributeId::LED_INFO, ONE | 3, &data).0,
        0
    );
    assert_eq!(player.get(SWITCH, AttributeId::LED_INFO, ONE | 3).1, data);
    assert_eq!(player.get(SWITCH, AttributeId::LED_INFO, ONE | 4).1, [0; 8]);
    let info: PortInfo = player.read(SWITCH, AttributeId::PORT_INFO, ONE | 3);
    assert!(info.led_enabled);
}

#[test]
fn both_ends_of_a_cable_read_the_same_memory() {
    let mut player = player();
    let upper = 128 << 19 | 63 << 13;
    let rest = 192 << 19 | 63 << 13;
    let mut read = |path: &[u8], port: u32| {
        let first: CableInfo = player.read(path, AttributeId::CABLE_INFO, upper | port);
        let second: CableInfo = player.read(path, AttributeId::CABLE_INFO, rest | port);
        [first.data, second.data].concat()
    };
    let (here, there, other) = (read(HFI, 0), read(SWITCH, 1), read(SWITCH, 2));
    assert_eq!(here, there);
    assert_ne!(here, other, "each cable has its own serial number");
    assert_eq!(here[250 - 128], 0xAB, "OPA certified");
    assert_eq!(&here[20..36], b"Weft emulator   ");
}

#[test]
fn names_come_as_they_are() {
    let mut player = player();
    let topology = player.emulator.network().topology().clone();
    let name = topology.hfis().next().unwrap().1.description;
    let read: NodeDescription = player.read(HFI, AttributeId::NODE_DESCRIPTION, 0);
    assert_eq!(read, name);
}
