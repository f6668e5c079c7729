//! Several attributes in one datagram.

use weft_fabric::Lid;
use weft_wire::Layout;
use weft_wire::header::{method, status};
use weft_wire::sm::aggregate::{AggregateBuilder, Segment, segments};
use weft_wire::sm::{AttributeId, NodeDescription, PortInfo, SwitchInfo};
use weft_wire::smp::DIRECTED_PAYLOAD_MAX;

use crate::agents::player::{ONE, Player, START, blocks};

const SWITCH: &[u8] = &[1];

fn ask(player: &mut Player, method: u8, content: &[(AttributeId, u32, Vec<u8>)]) -> (u16, Vec<u8>) {
    let mut builder = AggregateBuilder::new();
    for (attribute, modifier, data) in content {
        assert!(builder.push(*attribute, *modifier, data, DIRECTED_PAYLOAD_MAX));
    }
    let count = builder.count() as u32;
    let smp = player.smp(method, AttributeId::AGGREGATE, count);
    player.directed(SWITCH, smp, builder.payload()).unwrap()
}

fn read(payload: &[u8], count: usize) -> Vec<Segment<'_>> {
    segments(payload, count).map(Result::unwrap).collect()
}

fn empty(attribute: AttributeId, modifier: u32, len: usize) -> (AttributeId, u32, Vec<u8>) {
    (attribute, modifier, vec![0; len])
}

#[test]
fn discovery_reads_three_attributes_at_once() {
    let mut player = Player::new("one-switch:3,radix=8");
    let content = [
        empty(AttributeId::NODE_DESCRIPTION, 0, 64),
        empty(AttributeId::PORT_INFO, blocks(2) | START | 1, 248 + 242),
        empty(AttributeId::SWITCH_INFO, 0, 84),
    ];
    let (status, payload) = ask(&mut player, method::GET, &content);
    let parts = read(&payload, 3);
    assert_eq!(status, 0);
    assert!(parts.iter().all(|part| !part.error));
    let name: NodeDescription = player.read(SWITCH, AttributeId::NODE_DESCRIPTION, 0);
    assert_eq!(NodeDescription::decode(parts[0].data).unwrap(), name);
    let second = PortInfo::decode(&parts[1].data[248..]).unwrap();
    assert!(second.is_sm_configuration_started);
    let single: PortInfo = player.read(SWITCH, AttributeId::PORT_INFO, ONE | 2);
    assert_eq!(second, single);
    let switch: SwitchInfo = player.read(SWITCH, AttributeId::SWITCH_INFO, 0);
    assert_eq!(SwitchInfo::decode(parts[2].data).unwrap(), switch);
}

#[test]
fn the_first_error_is_marked_and_ends_it() {
    let mut player = Player::new("one-switch:3,radix=8");
    let content = [
        (AttributeId::LINEAR_FDB, ONE, vec![1; 64]),
        (AttributeId::LINEAR_FDB, ONE | 5000, vec![2; 64]),
        (AttributeId::LINEAR_FDB, ONE | 1, vec![3; 64]),
    ];
    let (status, payload) = ask(&mut player, method::SET, &content);
    let errors: Vec<_> = read(&payload, 3).iter().map(|part| part.error).collect();
    assert_eq!((status, errors), (0, vec![false, true, false]));
    assert_eq!(player.get(SWITCH, AttributeId::LINEAR_FDB, ONE).1, [1; 64]);
    assert_eq!(
        player.get(SWITCH, AttributeId::LINEAR_FDB, ONE | 1).1,
        [0xFF; 64]
    );
}

#[test]
fn a_segment_that_is_too_short_or_not_supported_fails() {
    let cases = [
        empty(AttributeId::PORT_INFO, ONE | 1, 240),
        empty(AttributeId::HFI_CONGESTION_SETTING, 0, 200),
        empty(AttributeId::AGGREGATE, 1, 64),
        empty(AttributeId(0x7777), 0, 8),
    ];
    for case in cases {
        let mut player = Player::new("one-switch:3,radix=8");
        let (status, payload) = ask(&mut player, method::GET, std::slice::from_ref(&case));
        assert_eq!(status, 0);
        assert!(read(&payload, 1)[0].error, "{}", case.0);
    }
}

#[test]
fn a_count_that_the_datagram_does_not_have_is_refused() {
    for count in [0, 2, 118] {
        let mut player = Player::new("one-switch:3,radix=8");
        let mut builder = AggregateBuilder::new();
        builder.push_get(AttributeId::NODE_DESCRIPTION, 0, 64, DIRECTED_PAYLOAD_MAX);
        let smp = player.smp(method::GET, AttributeId::AGGREGATE, count);
        let (status, _) = player.directed(SWITCH, smp, builder.payload()).unwrap();
        assert_eq!(status, status::INVALID_ATTRIB, "{count}");
    }
}

#[test]
fn counts_tell_what_is_inside() {
    let mut player = Player::new("one-switch:3,radix=8");
    let mut info: PortInfo = player.read(SWITCH, AttributeId::PORT_INFO, ONE);
    info.port_state = Default::default();
    info.phys_state = Default::default();
    info.lid = Lid(3);
    let before = player.emulator.stats().sets_total();
    let content = [
        (AttributeId::PORT_INFO, ONE, info.to_bytes()),
        (AttributeId::LINEAR_FDB, ONE, vec![1; 64]),
    ];
    let (_, payload) = ask(&mut player, method::SET, &content);
    assert!(read(&payload, 2).iter().all(|part| !part.error));
    let stats = player.emulator.stats();
    assert_eq!(stats.sets_total() - before, 2);
    assert_eq!(stats.total(AttributeId::AGGREGATE), (0, 1));
    assert_eq!(stats.total(AttributeId::LINEAR_FDB), (0, 1));
}
