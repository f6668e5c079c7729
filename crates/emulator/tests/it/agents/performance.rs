//! The performance agent.

use weft_emulator::ErrorCounts;
use weft_emulator::io::Control;
use weft_fabric::{Lid, PKey, PortNum};
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class, method, version};
use weft_wire::packet::Packet;
use weft_wire::pm::{
    self, ClearPortStatus, CounterSelectMask, DataPortCounters, DataPortCountersHeader, Entries,
    ErrorInfoHeader, ErrorInfoSelectMask, ErrorPortCounters, ErrorPortCountersHeader,
    PortErrorInfo, PortMask, PortStatus, PortStatusReq, VlDataCounters, VlErrorCounters, VlStatus,
};

use crate::agents::player::{Player, blocks};

pub(crate) const SWITCH: Lid = Lid(4);
pub(crate) const HFI: Lid = Lid(1);
const ONE: u32 = 1 << 24;

/// A fabric with LIDs and active links: only there do these requests travel.
pub(crate) fn player() -> Player {
    let mut player = Player::new("one-switch:3,radix=8");
    player.program_one_switch(3);
    player.activate_one_switch(3);
    player
}

fn packet(dlid: Lid, method: u8, attribute: u16, modifier: u32, payload: &[u8]) -> Packet {
    let header = MadHeader {
        base_version: version::OPA,
        mgmt_class: class::PERF,
        class_version: version::OPA,
        method,
        transaction_id: 99,
        attribute_id: attribute,
        attribute_modifier: modifier,
        ..MadHeader::default()
    };
    let mut mad = header.to_bytes();
    mad.extend_from_slice(payload);
    Packet {
        dest_qp: 1,
        src_qp: 1,
        ..Packet::lid_routed(HFI, dlid, mad)
    }
}

fn ask(
    player: &mut Player,
    dlid: Lid,
    method: u8,
    attribute: u16,
    modifier: u32,
    payload: &[u8],
) -> (u16, Vec<u8>) {
    let answers = player.exchange(packet(dlid, method, attribute, modifier, payload));
    let [answer] = &answers[..] else {
        panic!("{} answers", answers.len());
    };
    let header = MadHeader::decode(&answer.mad).unwrap();
    assert_eq!(
        (header.method, header.transaction_id),
        (method::GET_RESP, 99)
    );
    (header.status, answer.mad[24..].to_vec())
}

fn ports(numbers: &[u8]) -> PortMask {
    numbers.iter().map(|number| PortNum(*number)).collect()
}

pub(crate) fn port_status(player: &mut Player, dlid: Lid, port: u8) -> (PortStatus, Vec<VlStatus>) {
    let request = PortStatusReq {
        port_number: PortNum(port),
        vl_select_mask: 1 << 15 | 1,
    };
    let payload = request.to_bytes();
    let attribute = pm::attribute::PORT_STATUS;
    let (status, answer) = ask(player, dlid, method::GET, attribute, ONE, &payload);
    assert_eq!(status, 0);
    let lanes = answer[216..]
        .chunks(112)
        .map(|lane| VlStatus::decode(lane).unwrap());
    (PortStatus::decode(&answer).unwrap(), lanes.collect())
}

#[test]
fn counters_count_what_has_crossed_the_link() {
    let mut player = player();
    let (before, _) = port_status(&mut player, HFI, 1);
    for _ in 0..5 {
        player.node_info(&[1]);
    }
    let (after, lanes) = port_status(&mut player, HFI, 1);
    assert_eq!(after.port_xmit_pkts - before.port_xmit_pkts, 5);
    assert_eq!(after.port_rcv_pkts - before.port_rcv_pkts, 5);
    // Headers of 32 bytes, of SMPs 176 more; the answer brings 44 bytes, padded to 48.
    assert_eq!(
        after.port_xmit_data - before.port_xmit_data,
        5 * (32 + 176) / 8
    );
    assert_eq!(
        after.port_rcv_data - before.port_rcv_data,
        5 * (32 + 176 + 48) / 8
    );
    assert_eq!(after.link_quality_indicator, 5);
    let sums = lanes.iter().map(|lane| lane.port_vl_xmit_pkts).sum::<u64>();
    assert_eq!((lanes.len(), sums), (2, after.port_xmit_pkts));
}

#[test]
fn data_travels_on_the_lane_that_the_tables_say() {
    let mut player = player();
    // A request for the switch leaves the host on the lane of service level 0.
    let (first, lanes) = port_status(&mut player, SWITCH, 1);
    let (second, later) = port_status(&mut player, SWITCH, 1);
    assert_eq!(later[0].port_vl_rcv_pkts - lanes[0].port_vl_rcv_pkts, 1);
    assert_eq!(later[0].port_vl_xmit_pkts - lanes[0].port_vl_xmit_pkts, 1);
    assert_eq!(later[1], lanes[1], "VL15 rests");
    assert_eq!(second.port_rcv_pkts - first.port_rcv_pkts, 1);
}

#[test]
fn many_ports_answer_at_once() {
    let mut player = player();
    let head = DataPortCountersHeader {
        port_select_mask: ports(&[0, 1, 2, 8]),
        vl_select_mask: 1 << 15,
        ..DataPortCountersHeader::default()
    };
    let attribute = pm::attribute::DATA_PORT_COUNTERS;
    let payload = head.to_bytes();
    let (status, answer) = ask(
        &mut player,
        SWITCH,
        method::GET,
        attribute,
        blocks(4),
        &payload,
    );
    assert_eq!(status, 0);
    assert_eq!(answer.len(), 40 + 4 * (136 + 104));
    let entries = Entries::<DataPortCounters, VlDataCounters>::new(&answer[40..], 4, 1 << 15);
    let read: Vec<_> = entries.map(|entry| entry.unwrap().port).collect();
    let numbers: Vec<_> = read.iter().map(|port| port.port_number.0).collect();
    let quality: Vec<_> = read
        .iter()
        .map(|port| port.link_quality_indicator)
        .collect();
    assert_eq!(numbers, [0, 1, 2, 8]);
    assert_eq!(quality, [5, 5, 5, 0]);
    assert!(read[1].port_xmit_pkts > 0 && read[3].port_xmit_pkts == 0);
}

#[test]
fn errors_are_counted_told_and_cleared() {
    let mut player = player();
    for _ in 0..3 {
        // LID 50 leads nowhere.
        let lost = packet(Lid(50), method::GET, pm::attribute::CLASS_PORT_INFO, 0, &[]);
        assert_eq!(player.exchange(lost), []);
    }
    let relay = |player: &mut Player| {
        let head = ErrorPortCountersHeader {
            port_select_mask: ports(&[1]),
            vl_select_mask: 1,
        };
        let attribute = pm::attribute::ERROR_PORT_COUNTERS;
        let (status, answer) = ask(
            player,
            SWITCH,
            method::GET,
            attribute,
            ONE,
            &head.to_bytes(),
        );
        assert_eq!(status, 0);
        let mut entries = Entries::<ErrorPortCounters, VlErrorCounters>::new(&answer[40..], 1, 1);
        entries
            .next()
            .unwrap()
            .unwrap()
            .port
            .port_rcv_switch_relay_errors
    };
    assert_eq!(relay(&mut player), 3);
    let info = error_info(&mut player, method::GET);
    assert!(info.switch_relay_status);
    assert_eq!(
        (info.switch_relay_slid, info.switch_relay_dlid),
        (Lid(1), Lid(50))
    );
    assert!(!error_info(&mut player, method::SET).switch_relay_status);
    let clear = ClearPortStatus {
        port_select_mask: ports(&[1]),
        counter_select_mask: CounterSelectMask {
            port_rcv_switch_relay_errors: true,
            ..CounterSelectMask::default()
        },
    };
    let payload = clear.to_bytes();
    let attribute = pm::attribute::CLEAR_PORT_STATUS;
    let (status, echo) = ask(&mut player, SWITCH, method::SET, attribute, ONE, &payload);
    assert_eq!((status, echo), (0, payload));
    assert_eq!(relay(&mut player), 0);
    assert!(
        port_status(&mut player, SWITCH, 1).0.port_rcv_pkts > 0,
        "others stay"
    );
}

fn error_info(player: &mut Player, method: u8) -> PortErrorInfo {
    let head = ErrorInfoHeader {
        port_select_mask: ports(&[1]),
        error_info_select_mask: ErrorInfoSelectMask {
            port_rcv_switch_relay_error_info: true,
            ..ErrorInfoSelectMask::default()
        },
    };
    let attribute = pm::attribute::ERROR_INFO;
    let (status, answer) = ask(player, SWITCH, method, attribute, ONE, &head.to_bytes());
    assert_eq!(status, 0);
    PortErrorInfo::decode(&answer[40..]).unwrap()
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let mut player = player();
    let mask = |numbers: &[u8], lanes: u32| {
        let head = ErrorPortCountersHeader {
            port_select_mask: ports(numbers),
            vl_select_mask: lanes,
        };
        head.to_bytes()
    };
    let status_of = |port: u8, lanes: u32| {
        let request = PortStatusReq {
            port_number: PortNum(port),
            vl_select_mask: lanes,
        };
        request.to_bytes()
    };
    let all = [0, 1, 2, 3, 4, 5, 6, 7, 8];
    let data = pm::attribute::DATA_PORT_COUNTERS;
    let error = pm::attribute::ERROR_PORT_COUNTERS;
    let port = pm::attribute::PORT_STATUS;
    let cases: Vec<(u8, u16, u32, Vec<u8>, u16)> = vec![
        (method::GET, data, blocks(9), mask(&all, u32::MAX), 0x0100),
        (method::GET, data, ONE, mask(&[1, 2], 0), 0x0200),
        (method::GET, error, ONE, mask(&[9], 0), 0x001C),
        (method::GET, error, ONE, vec![0; 39], 0x001C),
        (method::GET, port, ONE, status_of(9, 0), 0x001C),
        (method::GET, port, 0, status_of(1, 0), 0x0200),
        (method::GET, port, ONE, status_of(1, u32::MAX), 0x0100),
        (method::SET, port, ONE, status_of(1, 0), 0x000C),
        (method::GET, 0x77, 0, vec![], 0x000C),
        (method::SEND, port, ONE, vec![], 0x0008),
    ];
    for (method, attribute, modifier, payload, expected) in cases {
        if method == method::SEND {
            let sent = player.exchange(packet(SWITCH, method, attribute, modifier, &payload));
            assert_eq!(sent, [], "only Get and Set are for the agent");
            continue;
        }
        let (status, _) = ask(&mut player, SWITCH, method, attribute, modifier, &payload);
        assert_eq!(status, expected, "{attribute:#x} {modifier:#x}");
    }
}

#[test]
fn a_node_answers_with_the_management_key_that_it_has() {
    let mut player = player();
    let request = packet(SWITCH, method::GET, pm::attribute::CLASS_PORT_INFO, 0, &[]);
    let answer = player.exchange(request.clone()).pop().unwrap();
    assert_eq!(answer.pkey, PKey::MGMT_FULL);
    let mut keys = [0; 64];
    keys[..4].copy_from_slice(&[0x80, 0x01, 0x7F, 0xFF]);
    let attribute = weft_wire::sm::AttributeId::P_KEY_TABLE;
    player.set(&[1], attribute, ONE, &keys);
    let answer = player.exchange(request).pop().unwrap();
    assert_eq!(answer.pkey, PKey::MGMT_LIMITED);
    assert_eq!((answer.slid, answer.dlid, answer.sl.0), (SWITCH, HFI, 0));
}

#[test]
fn errors_and_quality_that_are_planted_are_read() {
    let mut player = player();
    let node = player.node_info(&[1]).node_guid;
    let port = PortNum(2);
    let errors = |errors| Control::CountErrors { node, port, errors };
    player.control(errors(ErrorCounts {
        symbol_errors: 700,
        discards: 3,
        receive_errors: 4,
        uncorrectable: 3,
        buffer_overruns: 2,
        fm_config: 1,
    }));
    player.control(errors(ErrorCounts {
        symbol_errors: 50,
        ..ErrorCounts::default()
    }));
    player.control(Control::LinkQuality {
        node,
        port,
        quality: 2,
    });
    let (status, _) = port_status(&mut player, SWITCH, 2);
    assert_eq!(status.local_link_integrity_errors, 750);
    assert_eq!(status.port_xmit_discards, 3);
    let received = (status.port_rcv_errors, status.uncorrectable_errors);
    assert_eq!(received, (4, 3));
    let others = (status.excessive_buffer_overruns, status.fm_config_errors);
    assert_eq!(others, (2, 1));
    assert_eq!(status.link_quality_indicator, 2);
    let (other, _) = port_status(&mut player, SWITCH, 3);
    assert_eq!(other.local_link_integrity_errors, 0);
    assert_eq!(other.link_quality_indicator, 5);

    player.control(Control::LinkDown { node, port });
    let (down, _) = port_status(&mut player, SWITCH, 2);
    assert_eq!(down.link_quality_indicator, 0);
}
