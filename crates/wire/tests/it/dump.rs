//! Datagrams as text: the output has every field, and nothing makes it panic.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use weft_wire::Layout;
use weft_wire::dump::{dump, summary};
use weft_wire::enums::{PhysState, PortState};
use weft_wire::header::{MadHeader, class, method};
use weft_wire::id::{Guid, Lid, PortNum};
use weft_wire::sm::{
    AttributeId, LinearFdb, NodeDescription, NodeInfo, Notice, PortInfo, PortModifier, Trap,
    TrapPortChangeState,
};
use weft_wire::smp::{DirectedRoute, Smp};
use weft_wire::{pa, pm, sa};

fn answer(attribute: AttributeId, modifier: u32, payload: &[u8]) -> Vec<u8> {
    let smp = Smp {
        method: method::GET_RESP,
        ..Smp::get(attribute, modifier, 0x1F, 0)
    };
    let mut mad = Vec::new();
    smp.write_lid_routed(payload, &mut mad);
    mad
}

#[test]
fn a_summary_says_what_and_where() {
    let mut mad = Vec::new();
    let route = DirectedRoute::new(&[PortNum(1), PortNum(24)]).unwrap();
    let modifier = PortModifier::one(PortNum(24))
        .starting_configuration()
        .bits();
    Smp::get(AttributeId::PORT_INFO, modifier, 0xABC, 0).write_directed(&route, &[], &mut mad);
    assert_eq!(
        summary(&mad),
        "SMP-DR Get PortInfo [count: 1, start_of_sm_configuration: true, port: 24] \
         out hop 0/2 tid 0xabc 176 bytes"
    );
    assert!(
        dump(&mad).contains("initial_path: 1 24\n"),
        "{}",
        dump(&mad)
    );
    mad[5] = 0x1C;
    assert!(summary(&mad).contains("status 0x001c (invalid field)"));
    assert_eq!(
        summary(&[]),
        "no datagram: MadHeader: 0 bytes, at least 24 needed"
    );
}

#[test]
fn contents_are_shown_by_name() {
    let node = NodeInfo {
        node_guid: Guid(0x0011_7501_0102_0304),
        ..NodeInfo::default()
    };
    let port = PortInfo {
        port_state: PortState::ACTIVE,
        phys_state: PhysState::LINK_UP,
        master_sm_lid: Lid(0x11),
        ..PortInfo::default()
    };
    let mut table = LinearFdb {
        lft_block: [LinearFdb::UNREACHABLE; 64],
    };
    table.lft_block[1..4].fill(7);
    let trap = Trap::PortChangeState(TrapPortChangeState { lid: Lid(9) });
    let notice = Notice::of(&trap, Notice::PRODUCER_SWITCH, Lid(9));
    let two = PortModifier::range(PortNum(1), 2).bits();
    let ports = [port.to_bytes(), vec![0; 6], port.to_bytes()].concat();
    for (mad, expected) in [
        (
            answer(AttributeId::NODE_INFO, 0, &node.to_bytes()),
            "  node_guid: 0x0011750101020304\n",
        ),
        (
            answer(AttributeId::PORT_INFO, two, &ports),
            "  port_state: Active (4)\n",
        ),
        (
            answer(AttributeId::PORT_INFO, two, &ports),
            "  phys_state: LinkUp (5)\n",
        ),
        (
            answer(AttributeId::PORT_INFO, two, &ports),
            "  master_sm_lid: 0x0011\n",
        ),
        (
            answer(AttributeId::LINEAR_FDB, 1 << 24, &table.to_bytes()),
            "  lft_block: 0=255 1-3=7 4-63=255\n",
        ),
        (
            answer(
                AttributeId::NODE_DESCRIPTION,
                0,
                &NodeDescription::from_text("edge 1").to_bytes(),
            ),
            "  node_string: \"edge 1\"\n",
        ),
        (
            answer(AttributeId::NOTICE, 0, &notice.to_bytes()),
            "trap: PortChangeState(",
        ),
    ] {
        let text = dump(&mad);
        assert!(text.contains(expected), "{expected:?} is not in\n{text}");
        assert!(!text.contains("cannot be read"), "{text}");
    }
    let both = dump(&answer(AttributeId::PORT_INFO, two, &ports));
    assert_eq!(both.matches("port_state: Active (4)").count(), 2);
}

#[test]
fn what_is_missing_is_said() {
    let text = dump(&answer(AttributeId::PORT_INFO, 1 << 24, &[1, 2, 3, 4]));
    assert!(text.contains("block 0 cannot be read: PortInfo: 8 bytes, at least 242 needed"));
    assert!(text.contains("  0000: 01 02 03 04 00 00 00 00\n"), "{text}");
}

/// Every class with every attribute number that has a meaning somewhere.
fn headers() -> Vec<(u8, u16)> {
    let subnet = AttributeId::ALL.iter().map(|id| id.0);
    let attributes: Vec<u16> = subnet.chain(0..=0x100).collect();
    let classes = [
        class::SM_LID_ROUTED,
        class::SM_DIRECTED_ROUTE,
        class::SUBN_ADM,
        class::PERF,
        class::PA,
        class::FE,
    ];
    classes
        .iter()
        .flat_map(|class| attributes.iter().map(|id| (*class, *id)))
        .collect()
}

#[test]
fn every_attribute_of_every_class_is_dumped() {
    let names: Vec<String> = headers()
        .into_iter()
        .map(|(class, attribute)| {
            let header = MadHeader {
                base_version: 0x80,
                mgmt_class: class,
                method: method::GET_RESP,
                attribute_id: attribute,
                attribute_modifier: 1 << 24,
                ..MadHeader::default()
            };
            let mut mad = header.to_bytes();
            mad.resize(2048, 0x5A);
            mad[24..56].fill(0);
            mad[31] = 1; // one VL, or the first segment
            dump(&mad)
        })
        .collect();
    for (wanted, count) in [
        ("PortGroupFdb\n", 2),
        ("VlStatus\n", 1),
        ("McMemberRecord\n", 1),
        ("PmConfig\n", 1),
        ("ClassPortInfo\n", 3),
    ] {
        let found = names.iter().filter(|text| text.contains(wanted)).count();
        assert!(found >= count, "{wanted:?} in {found} dumps");
    }
    assert_eq!(sa::attribute::MC_MEMBER_RECORD, 0x38);
    assert_eq!(
        (pa::attribute::PM_CONFIG, pm::attribute::PORT_STATUS),
        (0xA6, 0x40)
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_dumped(
        mut mad in prop::collection::vec(any::<u8>(), 0..2100),
        header in prop::sample::select(headers()),
        known in any::<bool>(),
    ) {
        if known && mad.len() >= 24 {
            mad[0] = 0x80;
            mad[1] = header.0;
            mad[16..18].copy_from_slice(&header.1.to_be_bytes());
        }
        let text = dump(&mad);
        prop_assert!(text.starts_with(&summary(&mad)));
        prop_assert!(text.len() < 200 * mad.len() + 10_000, "{} bytes of text", text.len());
    }
}
