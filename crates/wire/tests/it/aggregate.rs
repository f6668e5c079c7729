//! Several attributes in one datagram, and several blocks of one.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use weft_wire::pm::{DataPortCounters, Entries, VlDataCounters, vls};
use weft_wire::sm::aggregate::{
    AggregateBuilder, MAX_SEGMENT_DATA, MAX_SEGMENTS, segments, segments_mut,
};
use weft_wire::sm::{
    AttributeId, BufferControlTable, LinearFdb, PortInfo, PortStateInfo, Repeated, ScVlMap,
    VlArbTable, decode_blocks, encode_blocks, shape,
};
use weft_wire::smp::{DIRECTED_PAYLOAD_MAX, LID_ROUTED_PAYLOAD_MAX};
use weft_wire::{DecodeError, Layout};

const CAPACITY: usize = LID_ROUTED_PAYLOAD_MAX;

#[test]
fn segments_are_limited_in_number_and_size() {
    let mut builder = AggregateBuilder::new();
    assert!(!builder.push_get(AttributeId::PORT_INFO, 0, MAX_SEGMENT_DATA + 1, CAPACITY));
    assert!(!builder.push(AttributeId::PORT_INFO, 0, &[0; 1020], CAPACITY));
    assert!(builder.push_get(AttributeId::PORT_INFO, 0, MAX_SEGMENT_DATA, CAPACITY));
    assert!(!builder.push_get(AttributeId::PORT_INFO, 0, MAX_SEGMENT_DATA, CAPACITY));
    assert_eq!((builder.count(), builder.payload().len()), (1, 1024));
    let mut builder = AggregateBuilder::new();
    while builder.push_get(AttributeId::NODE_INFO, 0, 0, usize::MAX) {}
    assert_eq!(builder.count(), MAX_SEGMENTS);
}

#[test]
fn an_agent_answers_in_place() {
    let mut builder = AggregateBuilder::new();
    for attribute in [AttributeId::NODE_DESCRIPTION, AttributeId::SWITCH_INFO] {
        assert!(builder.push_get(attribute, 0, 64, CAPACITY));
    }
    let count = builder.count();
    let mut payload = builder.finish();
    for (index, segment) in segments_mut(&mut payload, count).enumerate() {
        let mut segment = segment.unwrap();
        segment.data.fill(0xA0 + index as u8);
        segment.set_error(index == 1);
    }
    let read: Vec<_> = segments(&payload, count).map(Result::unwrap).collect();
    assert_eq!(
        read.iter().map(|segment| segment.error).collect::<Vec<_>>(),
        [false, true]
    );
    assert_eq!(read[0].data, [0xA0; 64]);
    assert_eq!(read[1].data, [0xA1; 64]);
    assert_eq!(read[1].attribute, AttributeId::SWITCH_INFO);
}

#[test]
fn a_segment_that_ends_outside_is_the_last() {
    let mut builder = AggregateBuilder::new();
    for _ in 0..3 {
        assert!(builder.push_get(AttributeId::NODE_INFO, 0, 48, CAPACITY));
    }
    let payload = builder.finish();
    let cut = &payload[..payload.len() - 1];
    let read: Vec<_> = segments(cut, 3).collect();
    assert_eq!(read.len(), 3);
    assert!(read[1].is_ok());
    assert_eq!(
        read[2],
        Err(DecodeError::Short {
            what: "Aggregate segment",
            needed: 56,
            actual: 55
        })
    );
}

#[test]
fn as_many_blocks_fit_into_a_datagram_as_the_vendor_counts() {
    fn blocks<T: Repeated>() -> (usize, usize) {
        (
            T::max_blocks(DIRECTED_PAYLOAD_MAX),
            T::max_blocks(LID_ROUTED_PAYLOAD_MAX),
        )
    }
    assert_eq!(blocks::<LinearFdb>(), (29, 31));
    assert_eq!(blocks::<ScVlMap>(), (58, 63));
    assert_eq!(blocks::<VlArbTable>(), (7, 7));
    assert_eq!(blocks::<BufferControlTable>(), (13, 14));
    assert_eq!(blocks::<PortStateInfo>(), (234, 252));
    assert_eq!(blocks::<PortInfo>(), (7, 8));
    assert_eq!(PortInfo::max_blocks(241), 0);
}

#[test]
fn blocks_start_at_their_stride() {
    let ports: Vec<PortInfo> = (1..=3)
        .map(|number| PortInfo {
            vl_high_limit: number,
            ..PortInfo::default()
        })
        .collect();
    let mut payload = Vec::new();
    encode_blocks(&ports, &mut payload);
    assert_eq!(payload.len(), 3 * 248);
    assert_eq!(payload[248 + 10..][..2], [0, 2]);
    let read: Vec<PortInfo> = decode_blocks(&payload, 3).map(Result::unwrap).collect();
    assert_eq!(read, ports);
    let short: Vec<_> = decode_blocks::<PortInfo>(&payload[..500], 9).collect();
    assert_eq!(short.iter().filter(|block| block.is_ok()).count(), 2);
    assert_eq!(short.len(), 3, "it ends after the first error");
    let shape = shape(AttributeId::PORT_INFO).unwrap();
    assert_eq!(
        (shape.total(0), shape.total(1), shape.total(3)),
        (0, 242, 738)
    );
}

#[test]
fn counters_of_lanes_follow_their_port() {
    let mask = 0x8000_0011;
    let lane = |pkts| VlDataCounters {
        port_vl_xmit_pkts: pkts,
        ..VlDataCounters::default()
    };
    let mut bytes = Vec::new();
    for port in [10, 20] {
        let counters = DataPortCounters {
            port_xmit_pkts: port,
            ..DataPortCounters::default()
        };
        bytes.extend(counters.to_bytes());
        (0..3).for_each(|index| bytes.extend(lane(port + index).to_bytes()));
    }
    let entries: Vec<_> =
        Entries::<DataPortCounters, VlDataCounters>::new(&bytes, 3, mask).collect();
    assert_eq!(entries.len(), 3);
    assert!(entries[2].is_err(), "there are two ports, not three");
    let second = entries[1].as_ref().unwrap();
    assert_eq!(second.port.port_xmit_pkts, 20);
    let lanes: Vec<_> = second
        .vls()
        .map(|(vl, part)| (vl.0, part.port_vl_xmit_pkts))
        .collect();
    assert_eq!(lanes, [(0, 20), (4, 21), (31, 22)]);
    assert_eq!(vls(mask).count(), 3);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_built_is_read(
        parts in prop::collection::vec(
            (any::<u16>(), any::<u32>(), prop::collection::vec(any::<u8>(), 0..=MAX_SEGMENT_DATA)),
            0..20,
        )
    ) {
        let mut builder = AggregateBuilder::new();
        let mut kept = Vec::new();
        for (attribute, modifier, data) in &parts {
            if builder.push(AttributeId(*attribute), *modifier, data, CAPACITY) {
                kept.push((attribute, modifier, data));
            }
        }
        prop_assert!(builder.payload().len() <= CAPACITY);
        prop_assert_eq!(builder.count(), kept.len());
        let payload = builder.finish();
        let read: Vec<_> = segments(&payload, kept.len()).map(Result::unwrap).collect();
        prop_assert_eq!(read.len(), kept.len());
        for (segment, (attribute, modifier, data)) in read.iter().zip(kept) {
            prop_assert_eq!(segment.attribute.0, *attribute);
            prop_assert_eq!(segment.modifier, *modifier);
            prop_assert!(segment.data.starts_with(data));
            prop_assert_eq!(segment.data.len(), data.len().next_multiple_of(8));
        }
    }

    #[test]
    fn any_bytes_are_read_alike_to_look_at_and_to_change(
        payload in prop::collection::vec(any::<u8>(), 0..600),
        count in any::<u8>(),
    ) {
        let mut copy = payload.clone();
        let looked: Vec<_> = segments(&payload, usize::from(count))
            .map(|segment| segment.map(|segment| (segment.attribute, segment.data.to_vec())))
            .collect();
        let changed: Vec<_> = segments_mut(&mut copy, usize::from(count))
            .map(|segment| segment.map(|segment| (segment.attribute, segment.data.to_vec())))
            .collect();
        prop_assert_eq!(&looked, &changed);
        prop_assert!(looked.len() <= usize::from(count).min(MAX_SEGMENTS));
        prop_assert!(looked.iter().rev().skip(1).all(Result::is_ok));
    }
}
