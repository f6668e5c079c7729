//! One packet of every kind.

use weft_wire::header::{MadHeader, class, method, version};
use weft_wire::id::{Lid, PKey, PortNum, Sl};
use weft_wire::packet::Packet;
use weft_wire::registry::{ALL, Entry};
use weft_wire::sm::modifier::Modifier;
use weft_wire::sm::{
    AggregateModifier, AttributeId, BlockModifier, CctModifier, CountModifier, MulticastModifier,
    PKeyModifier, PortGroupModifier, PortModifier, ScScModifier, ScVlModifier, Trap, VlArbModifier,
    aggregate::AggregateBuilder,
};
use weft_wire::smp::{DirectedRoute, Smp};
use weft_wire::{FieldLayout, Layout, bits, pa, pm, rmpp, sa};

/// A packet and the structures that it holds: name and offset in the datagram.
pub(crate) struct Case {
    /// The packet.
    pub(crate) packet: Packet,
    /// The structures.
    pub(crate) parts: Vec<(&'static str, usize)>,
}

/// The structure of a name.
pub(crate) fn entry(name: &str) -> &'static Entry {
    ALL.iter()
        .find(|entry| entry.name == name)
        .unwrap_or_else(|| panic!("no structure {name}"))
}

/// Bytes that look random but are the same in every run, reserved bits zero, names made of letters.
fn content(name: &str) -> Vec<u8> {
    let entry = entry(name);
    let mut state = entry
        .vendor
        .bytes()
        .fold(17_u32, |state, byte| state * 31 % 65_521 + u32::from(byte));
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    })
    .take(entry.len)
    .collect();
    let mut content = (entry.recode)(&noise).unwrap();
    let text = |field: &&FieldLayout| field.width == 64 && field.parts.is_empty();
    for field in entry.fields.iter().filter(text) {
        let bytes = &mut content[field.offset..field.offset + field.width];
        bytes.iter_mut().for_each(|byte| *byte = b'a' + *byte % 26);
    }
    content
}

fn packet(mad: Vec<u8>, qp: u32) -> Packet {
    Packet {
        slid: Lid(0x12),
        dlid: Lid(0x345),
        sl: Sl(3),
        pkey: PKey::MGMT_FULL,
        dest_qp: qp,
        src_qp: qp,
        mad,
    }
}

/// A LID-routed answer with the `count` blocks of a structure.
fn lid_routed(
    attribute: AttributeId,
    modifier: Modifier,
    name: &'static str,
    count: usize,
) -> Case {
    let stride = weft_wire::sm::shape(attribute).map_or(0, |shape| shape.stride);
    let mut payload = Vec::new();
    let mut parts = vec![("MadHeader", 0)];
    for index in 0..count {
        parts.push((name, 32 + index * stride));
        payload.resize(index * stride, 0);
        payload.extend(content(name));
    }
    let smp = Smp {
        method: method::GET_RESP,
        ..Smp::get(attribute, modifier.bits(), 0x1122_3344_5566_7788, 0)
    };
    let mut mad = Vec::new();
    smp.write_lid_routed(&payload, &mut mad);
    Case {
        packet: packet(mad, 0),
        parts,
    }
}

fn plain(attribute: AttributeId, name: &'static str) -> Case {
    lid_routed(attribute, Modifier::Plain(0), name, 1)
}

fn ports(attribute: AttributeId, name: &'static str, count: u8) -> Case {
    let modifier = Modifier::Port(PortModifier::range(PortNum(3), count));
    lid_routed(attribute, modifier, name, usize::from(count))
}

fn subnet_management() -> Vec<Case> {
    let sc_vl = Modifier::ScVl(ScVlModifier {
        count: 2,
        port: PortNum(4),
        ..Default::default()
    });
    let vl_arb = |section| {
        Modifier::VlArb(VlArbModifier {
            count: 1,
            section,
            port: PortNum(4),
            ..Default::default()
        })
    };
    let lft = Modifier::Block(BlockModifier {
        count: 3,
        block: 7,
        all_blocks: false,
    });
    let mft = Modifier::Multicast(MulticastModifier {
        count: 2,
        position: 1,
        block: 9,
        ..Default::default()
    });
    let pgt = Modifier::PortGroup(PortGroupModifier {
        count: 2,
        position: 0,
        block: 3,
        ..Default::default()
    });
    let p_key = Modifier::PKey(PKeyModifier {
        count: 2,
        port: PortNum(5),
        block: 1,
    });
    let sc_sc = Modifier::ScSc(ScScModifier {
        count: 2,
        ingress: PortNum(1),
        egress: PortNum(2),
        ..Default::default()
    });
    vec![
        plain(AttributeId::NODE_DESCRIPTION, "NodeDescription"),
        plain(AttributeId::NODE_INFO, "NodeInfo"),
        plain(AttributeId::SWITCH_INFO, "SwitchInfo"),
        ports(AttributeId::PORT_INFO, "PortInfo", 1),
        ports(AttributeId::PORT_INFO, "PortInfo", 3),
        lid_routed(AttributeId::P_KEY_TABLE, p_key, "PartitionTable", 2),
        plain(AttributeId::SL_TO_SC, "SlScMap"),
        lid_routed(AttributeId::VL_ARBITRATION, vl_arb(0), "VlArbTable", 1),
        lid_routed(AttributeId::VL_ARBITRATION, vl_arb(3), "VlArbMatrix", 1),
        lid_routed(AttributeId::LINEAR_FDB, lft, "LinearFdb", 3),
        lid_routed(AttributeId::MULTICAST_FDB, mft, "MulticastFdb", 2),
        plain(AttributeId::SM_INFO, "SmInfo"),
        ports(AttributeId::LED_INFO, "LedInfo", 2),
        lid_routed(AttributeId::SC_TO_SC, sc_sc, "ScScMap", 2),
        plain(AttributeId::SC_TO_SL, "ScSlMap"),
        lid_routed(AttributeId::SC_TO_VLR, sc_vl, "ScVlMap", 2),
        lid_routed(AttributeId::SC_TO_VLT, sc_vl, "ScVlMap", 2),
        lid_routed(AttributeId::SC_TO_VLNT, sc_vl, "ScVlMap", 2),
        ports(AttributeId::PORT_STATE_INFO, "PortStateInfo", 3),
        lid_routed(AttributeId::PORT_GROUP_FDB, lft, "PortGroupFdb", 3),
        lid_routed(AttributeId::PORT_GROUP_TABLE, pgt, "PortGroupTable", 2),
        ports(AttributeId::BUFFER_CONTROL_TABLE, "BufferControlTable", 1),
        plain(AttributeId::CONGESTION_INFO, "CongestionInfo"),
        plain(AttributeId::SWITCH_CONGESTION_LOG, "SwitchCongestionLog"),
        plain(
            AttributeId::SWITCH_CONGESTION_SETTING,
            "SwitchCongestionSetting",
        ),
        ports(
            AttributeId::SWITCH_PORT_CONGESTION_SETTING,
            "SwitchPortCongestionSetting",
            3,
        ),
        plain(AttributeId::HFI_CONGESTION_LOG, "HfiCongestionLog"),
        plain(AttributeId::HFI_CONGESTION_SETTING, "HfiCongestionSetting"),
        lid_routed(
            AttributeId::HFI_CONGESTION_CONTROL_TABLE,
            Modifier::Cct(CctModifier { count: 1, block: 0 }),
            "HfiCongestionControlTable",
            1,
        ),
        lid_routed(
            AttributeId::SC_TO_SC_MULTISET,
            Modifier::Count(CountModifier { count: 1 }),
            "ScScMultiSet",
            1,
        ),
        directed(),
        aggregate(),
    ]
}

/// A directed-route Set(PortInfo) with three hops.
fn directed() -> Case {
    let route = DirectedRoute::new(&[PortNum(1), PortNum(24), PortNum(7)]).unwrap();
    let modifier = PortModifier::one(PortNum(1))
        .starting_configuration()
        .bits();
    let smp = Smp::set(
        AttributeId::PORT_INFO,
        modifier,
        0x42,
        0x0102_0304_0506_0708,
    );
    let mut mad = Vec::new();
    smp.write_directed(&route, &content("PortInfo"), &mut mad);
    Case {
        packet: Packet {
            slid: Lid::PERMISSIVE,
            dlid: Lid::PERMISSIVE,
            ..packet(mad, 0)
        },
        parts: vec![
            ("MadHeader", 0),
            ("DirectedRouteHeader", 24),
            ("PortInfo", 176),
        ],
    }
}

fn aggregate() -> Case {
    let mut builder = AggregateBuilder::new();
    let max = weft_wire::smp::LID_ROUTED_PAYLOAD_MAX;
    let port = PortModifier::one(PortNum(2)).bits();
    let mut parts = vec![("MadHeader", 0)];
    let segments = [
        (AttributeId::NODE_INFO, 0, "NodeInfo"),
        (AttributeId::PORT_INFO, port, "PortInfo"),
    ];
    for (attribute, modifier, name) in segments {
        let at = 32 + builder.payload().len();
        parts.extend([("SegmentHeader", at), (name, at + 8)]);
        assert!(builder.push(attribute, modifier, &content(name), max));
    }
    let segments = AggregateModifier {
        segments: builder.count() as u8,
    };
    let smp = Smp {
        method: method::GET_RESP,
        ..Smp::get(AttributeId::AGGREGATE, segments.bits(), 7, 0)
    };
    let mut mad = Vec::new();
    smp.write_lid_routed(builder.payload(), &mut mad);
    Case {
        packet: packet(mad, 0),
        parts,
    }
}

/// One trap of each number.
fn traps() -> Vec<Case> {
    let traps = [
        (64, "TrapGid"),
        (65, "TrapGid"),
        (66, "TrapGid"),
        (67, "TrapGid"),
        (128, "TrapPortChangeState"),
        (129, "TrapLink"),
        (130, "TrapLink"),
        (131, "TrapLink"),
        (144, "TrapChangeCapability"),
        (145, "TrapSysGuidChange"),
        (256, "TrapBadMKey"),
        (257, "TrapBadKey"),
        (258, "TrapBadKey"),
        (259, "TrapSwitchBadPKey"),
        (2048, "TrapLinkWidth"),
    ];
    let case = |(number, name): (u16, &'static str)| {
        let mut data = [0; 64];
        let content = content(name);
        data[..content.len()].copy_from_slice(&content);
        let notice = weft_wire::sm::Notice::of(&Trap::decode(number, &data), 2, Lid(0x77));
        let smp = Smp {
            method: method::TRAP,
            ..Smp::get(AttributeId::NOTICE, 0, u64::from(number), 0)
        };
        let mut mad = Vec::new();
        smp.write_lid_routed(&notice.to_bytes(), &mut mad);
        Case {
            packet: packet(mad, 0),
            parts: vec![("MadHeader", 0), ("Notice", 32), (name, 64)],
        }
    };
    traps.into_iter().map(case).collect()
}

fn general(class: u8, method: u8, attribute: u16, modifier: u32) -> MadHeader {
    MadHeader {
        base_version: version::OPA,
        mgmt_class: class,
        class_version: version::OPA,
        method,
        attribute_id: attribute,
        attribute_modifier: modifier,
        transaction_id: 0x99AA,
        ..MadHeader::default()
    }
}

/// Datagrams of performance management, with what follows the common header.
fn performance() -> Vec<Case> {
    let ports = [(32, 1_u64 << 3 | 1 << 5)];
    let lanes = (36, 0x8005_u64 & 0xFFFF);
    let two = 2 << 24;
    let mut cases = vec![
        counters(
            pm::attribute::PORT_STATUS,
            method::GET,
            1 << 24,
            &["PortStatusReq"],
            &[],
        ),
        counters(
            pm::attribute::PORT_STATUS,
            method::GET_RESP,
            1 << 24,
            &["PortStatus", "VlStatus", "VlStatus"],
            &[(4, 0x0000_8001)],
        ),
        counters(
            pm::attribute::CLEAR_PORT_STATUS,
            method::SET,
            1 << 24,
            &["ClearPortStatus"],
            &[],
        ),
    ];
    let (port, lane) = ("DataPortCounters", "VlDataCounters");
    cases.push(counters(
        pm::attribute::DATA_PORT_COUNTERS,
        method::GET_RESP,
        two,
        &[
            "DataPortCountersHeader",
            port,
            lane,
            lane,
            lane,
            port,
            lane,
            lane,
            lane,
        ],
        &[ports[0], lanes],
    ));
    let (port, lane) = ("ErrorPortCounters", "VlErrorCounters");
    cases.push(counters(
        pm::attribute::ERROR_PORT_COUNTERS,
        method::GET_RESP,
        two,
        &[
            "ErrorPortCountersHeader",
            port,
            lane,
            lane,
            lane,
            port,
            lane,
            lane,
            lane,
        ],
        &[ports[0], lanes],
    ));
    cases.push(counters(
        pm::attribute::ERROR_INFO,
        method::GET_RESP,
        two,
        &["ErrorInfoHeader", "PortErrorInfo", "PortErrorInfo"],
        &[ports[0]],
    ));
    cases
}

/// A datagram with `parts` one after the other; `masks` overwrites words of the payload: 8 bytes at
/// offset 32 and less, which is a port mask, 4 bytes elsewhere.
fn counters(
    attribute: u16,
    method: u8,
    modifier: u32,
    names: &[&'static str],
    masks: &[(usize, u64)],
) -> Case {
    let mut payload = Vec::new();
    let mut parts = vec![("MadHeader", 0)];
    for name in names {
        parts.push((*name, MadHeader::LEN + payload.len()));
        payload.extend(content(name));
    }
    for (at, value) in masks {
        match at {
            32 => {
                payload[..32].fill(0);
                bits::store(&mut payload, 24, 8, *value);
            }
            36 => bits::store(&mut payload, 32, 4, *value),
            at => bits::store(&mut payload, *at, 4, *value),
        }
    }
    let mut mad = general(class::PERF, method, attribute, modifier).to_bytes();
    mad.extend(payload);
    Case {
        packet: packet(mad, 1),
        parts,
    }
}

/// An answer of subnet or performance administration with `count` records.
fn records(class: u8, attribute: u16, name: &'static str, count: usize) -> Case {
    let stride = entry(name).len.next_multiple_of(8);
    let mut data = Vec::new();
    let mut parts = vec![("MadHeader", 0), ("RmppHeader", 24), ("SaHeader", 36)];
    for index in 0..count {
        parts.push((name, rmpp::DATA_AT + index * stride));
        data.extend(content(name));
        data.resize((index + 1) * stride, 0);
    }
    let mut class_header = [0; rmpp::CLASS_LEN];
    let header = sa::SaHeader {
        sm_key: 0,
        attribute_offset: (stride / 8) as u16,
        component_mask: 0,
    };
    header.encode(&mut class_header);
    let response = method::GET_TABLE | method::RESPONSE;
    let envelope = rmpp::Envelope {
        mad: general(class, response, attribute, 0),
        class: class_header,
    };
    let mut sender = rmpp::Sender::new(envelope, data, rmpp::SEGMENT_DATA_MAX, 3);
    let mut mad = Vec::new();
    assert!(sender.poll(&mut mad));
    Case {
        packet: packet(mad, 1),
        parts,
    }
}

fn administration() -> Vec<Case> {
    let subnet = [
        (sa::attribute::CLASS_PORT_INFO, "ClassPortInfo", 1),
        (sa::attribute::INFORM_INFO, "InformInfo", 1),
        (sa::attribute::NODE_RECORD, "NodeRecord", 2),
        (sa::attribute::PORT_INFO_RECORD, "PortInfoRecord", 2),
        (sa::attribute::SC_TO_SC_RECORD, "ScScRecord", 2),
        (sa::attribute::SWITCH_INFO_RECORD, "SwitchInfoRecord", 2),
        (sa::attribute::LINEAR_FDB_RECORD, "LinearFdbRecord", 2),
        (sa::attribute::MULTICAST_FDB_RECORD, "MulticastFdbRecord", 2),
        (sa::attribute::SM_INFO_RECORD, "SmInfoRecord", 2),
        (sa::attribute::LINK_RECORD, "LinkRecord", 3),
        (sa::attribute::SERVICE_RECORD, "ServiceRecord", 2),
        (sa::attribute::P_KEY_TABLE_RECORD, "PKeyTableRecord", 2),
        (sa::attribute::MC_MEMBER_RECORD, "McMemberRecord", 2),
        (sa::attribute::TRACE_RECORD, "TraceRecord", 3),
        (sa::attribute::SL_TO_SC_RECORD, "SlScRecord", 2),
        (sa::attribute::SC_TO_SL_RECORD, "ScSlRecord", 2),
        (sa::attribute::SC_TO_VLNT_RECORD, "ScVlRecord", 2),
        (sa::attribute::SC_TO_VLT_RECORD, "ScVlRecord", 2),
        (sa::attribute::SC_TO_VLR_RECORD, "ScVlRecord", 2),
        (sa::attribute::CABLE_INFO_RECORD, "CableInfoRecord", 1),
        (
            sa::attribute::PORT_GROUP_TABLE_RECORD,
            "PortGroupTableRecord",
            2,
        ),
        (
            sa::attribute::BUFFER_CONTROL_RECORD,
            "BufferControlRecord",
            2,
        ),
        (sa::attribute::FABRIC_INFO_RECORD, "FabricInfoRecord", 1),
        (sa::attribute::VF_INFO_RECORD, "VfInfoRecord", 2),
        (
            sa::attribute::CONGESTION_INFO_RECORD,
            "CongestionInfoRecord",
            1,
        ),
        (
            sa::attribute::SWITCH_CONGESTION_RECORD,
            "SwitchCongestionRecord",
            1,
        ),
        (
            sa::attribute::SWITCH_PORT_CONGESTION_RECORD,
            "SwitchPortCongestionRecord",
            1,
        ),
        (
            sa::attribute::HFI_CONGESTION_RECORD,
            "HfiCongestionRecord",
            1,
        ),
        (
            sa::attribute::HFI_CONGESTION_CONTROL_RECORD,
            "HfiCongestionControlRecord",
            1,
        ),
        (sa::attribute::INFORM_INFO_RECORD, "InformInfoRecord", 1),
    ];
    let performance = [
        (pa::attribute::GROUP_LIST, "GroupList", 2),
        (pa::attribute::PORT_COUNTERS, "PortCounters", 1),
        (pa::attribute::CLEAR_PORT_COUNTERS, "ClearPortCounters", 1),
        (
            pa::attribute::CLEAR_ALL_PORT_COUNTERS,
            "ClearAllPortCounters",
            1,
        ),
        (pa::attribute::PM_CONFIG, "PmConfig", 1),
        (pa::attribute::VF_LIST, "VfList", 2),
        (pa::attribute::VF_PORT_COUNTERS, "VfPortCounters", 1),
        (
            pa::attribute::CLEAR_VF_PORT_COUNTERS,
            "ClearVfPortCounters",
            1,
        ),
        (pa::attribute::FOCUS_PORTS, "FocusPort", 2),
    ];
    let subnet =
        subnet.map(|(attribute, name, count)| records(class::SUBN_ADM, attribute, name, count));
    let performance =
        performance.map(|(attribute, name, count)| records(class::PA, attribute, name, count));
    subnet.into_iter().chain(performance).collect()
}

/// All of them.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = subnet_management();
    cases.extend(traps());
    cases.extend(performance());
    cases.extend(administration());
    cases
}
