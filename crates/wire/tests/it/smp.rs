//! Subnet management packets: written, read, answered, and taken along directed routes.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use weft_wire::DecodeError;
use weft_wire::header::{method, status};
use weft_wire::id::{Lid, PortNum};
use weft_wire::sm::{AttributeId, PortModifier};
use weft_wire::smp::{
    DIRECTED_HEADER_LEN, DIRECTED_PAYLOAD_MAX, DirectedRoute, Hop, LID_ROUTED_HEADER_LEN,
    LID_ROUTED_PAYLOAD_MAX, MAX_HOPS, Smp, SmpView, advance, respond,
};

const M_KEY: u64 = 0x0123_4567_89AB_CDEF;

fn get() -> Smp {
    let modifier = PortModifier::one(PortNum(7)).bits();
    Smp::get(
        AttributeId::PORT_INFO,
        modifier,
        0x1122_3344_5566_7788,
        M_KEY,
    )
}

fn directed(ports: &[u8], payload: &[u8]) -> Vec<u8> {
    let ports: Vec<PortNum> = ports.iter().map(|port| PortNum(*port)).collect();
    let mut mad = Vec::new();
    get().write_directed(&DirectedRoute::new(&ports).unwrap(), payload, &mut mad);
    mad
}

#[test]
fn a_lid_routed_get_has_the_bytes_of_the_format() {
    let mut mad = Vec::new();
    get().write_lid_routed(&[], &mut mad);
    let expected = [
        0x80, 0x01, 0x80, 0x01, 0, 0, 0, 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, //
        0x00, 0x15, 0, 0, 0x01, 0, 0, 0x07, 0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF,
    ];
    assert_eq!(mad, expected);
}

#[test]
fn a_directed_get_has_the_bytes_of_the_format() {
    let mad = directed(&[1, 24], &[]);
    assert_eq!(mad.len(), DIRECTED_HEADER_LEN);
    assert_eq!(mad[1], 0x81);
    assert_eq!(
        mad[4..8],
        [0, 0, 0, 2],
        "direction bit, hop pointer, hop count"
    );
    assert_eq!(mad[24..32], M_KEY.to_be_bytes());
    assert_eq!(mad[32..40], [0xFF; 8], "both LIDs permissive");
    assert_eq!(mad[40..44], [0, 1, 24, 0], "the path starts at index 1");
}

#[test]
fn payload_is_padded_to_eight_bytes_and_cut_at_the_longest_datagram() {
    for (len, lid_routed_len, directed_len) in [
        (0, 0, 0),
        (1, 8, 8),
        (44, 48, 48),
        (242, 248, 248),
        (5000, LID_ROUTED_PAYLOAD_MAX, DIRECTED_PAYLOAD_MAX),
    ] {
        let payload = vec![0xA5; len];
        let mut mad = Vec::new();
        get().write_lid_routed(&payload, &mut mad);
        assert_eq!(mad.len(), LID_ROUTED_HEADER_LEN + lid_routed_len);
        let mad = directed(&[1], &payload);
        assert_eq!(mad.len(), DIRECTED_HEADER_LEN + directed_len);
        let kept = len.min(directed_len);
        assert_eq!(mad[DIRECTED_HEADER_LEN..][..kept], payload[..kept]);
        assert!(
            mad[DIRECTED_HEADER_LEN + kept..]
                .iter()
                .all(|byte| *byte == 0)
        );
    }
}

#[test]
fn what_is_no_smp_is_refused_with_a_reason() {
    let whole = directed(&[1], &[0; 8]);
    let changed = |at: usize, value: u8| {
        let mut mad = whole.clone();
        mad[at] = value;
        mad
    };
    let long = vec![0x80, 0x01]
        .into_iter()
        .chain([0; 2047])
        .collect::<Vec<u8>>();
    for (mad, text) in [
        (vec![], "MadHeader: 0 bytes, at least 24 needed"),
        (
            whole[..30].to_vec(),
            "DirectedRouteHeader: 6 bytes, at least 152 needed",
        ),
        (changed(0, 1), "SMP: base_version is 0x1, allowed: 0x80"),
        (
            changed(1, 4),
            "SMP: mgmt_class is 0x4, allowed: 0x01 or 0x81",
        ),
        (changed(7, 64), "SMP: hop_count is 0x40, allowed: 0 to 63"),
        (long, "SMP: length is 0x801, allowed: up to 2048"),
    ] {
        assert_eq!(SmpView::parse(&mad).unwrap_err().to_string(), text);
    }
    let hops = vec![PortNum(1); MAX_HOPS + 1];
    assert!(matches!(
        DirectedRoute::new(&hops),
        Err(DecodeError::Value { .. })
    ));
}

/// Ports that a directed route goes in and out by, node after node; the first enters nowhere.
type Walk = Vec<(u8, Option<u8>)>;

/// Sends a request along `ports` (out of each, into the next node by `entries`), lets the last node
/// answer, returns the answer, and records both paths.
fn round_trip(ports: &[u8], entries: &[u8], start: Vec<u8>) -> (Walk, Walk, Vec<u8>) {
    let mut mad = start;
    let (mut out, mut back) = (Walk::new(), Walk::new());
    let mut ingress = 0;
    for (node, entry) in entries.iter().chain([&0]).enumerate() {
        match advance(&mut mad, PortNum(ingress), node > 0) {
            Hop::Forward(port) => {
                out.push((ingress, Some(port.0)));
                ingress = *entry;
            }
            Hop::Deliver => {
                out.push((ingress, None));
                break;
            }
            other => panic!("node {node} of {ports:?}: {other:?}"),
        }
    }
    let request = SmpView::parse(&mad).unwrap();
    let mut answer = Vec::new();
    respond(&request, status::OK, &[1, 2, 3], &mut answer);
    let mut ingress = 0;
    for node in (0..=ports.len()).rev() {
        match advance(&mut answer, PortNum(ingress), node > 0) {
            Hop::Forward(port) => {
                back.push((ingress, Some(port.0)));
                ingress = ports[node - 1];
            }
            Hop::Deliver => {
                back.push((ingress, None));
                break;
            }
            other => panic!("back at node {node} of {ports:?}: {other:?}"),
        }
    }
    (out, back, answer)
}

#[test]
fn a_directed_route_goes_there_and_back() {
    let (ports, entries) = ([1, 24, 7], [30, 2, 1]);
    let (out, back, answer) = round_trip(&ports, &entries, directed(&ports, &[]));
    assert_eq!(out, [(0, Some(1)), (30, Some(24)), (2, Some(7)), (1, None)]);
    assert_eq!(
        back,
        [(0, Some(1)), (7, Some(2)), (24, Some(30)), (1, None)]
    );
    let answer = SmpView::parse(&answer).unwrap();
    let route = answer.directed.unwrap();
    assert_eq!(answer.header.hop_pointer, 0);
    assert_eq!(answer.header.method, method::GET_RESP);
    assert_eq!(answer.header.status, status::DIRECTION);
    assert_eq!(answer.status(), status::OK);
    assert_eq!(route.return_path[..4], [0, 30, 2, 1]);
    assert_eq!(answer.payload, [1, 2, 3, 0, 0, 0, 0, 0]);
    assert_eq!(answer.m_key, M_KEY);
}

#[test]
fn no_hop_reaches_the_node_itself() {
    let (out, back, _) = round_trip(&[], &[], directed(&[], &[]));
    assert_eq!((out, back), (vec![(0, None)], vec![(0, None)]));
}

#[test]
fn a_route_that_starts_behind_a_lid_ends_with_it() {
    let route = DirectedRoute::after_lid(Lid(0x33), &[PortNum(5)]).unwrap();
    let mut mad = Vec::new();
    get().write_directed(&route, &[], &mut mad);
    assert_eq!(
        advance(&mut mad, PortNum(9), true),
        Hop::Forward(PortNum(5))
    );
    assert_eq!(advance(&mut mad, PortNum(3), true), Hop::Deliver);
    let mut answer = Vec::new();
    respond(
        &SmpView::parse(&mad).unwrap(),
        status::INVALID_ATTRIB,
        &[],
        &mut answer,
    );
    assert_eq!(
        advance(&mut answer, PortNum(0), true),
        Hop::Forward(PortNum(3))
    );
    assert_eq!(
        advance(&mut answer, PortNum(5), true),
        Hop::LidRoute(Lid(0x33))
    );
    assert_eq!(advance(&mut answer, PortNum(1), false), Hop::Deliver);
    assert_eq!(
        SmpView::parse(&answer).unwrap().status(),
        status::INVALID_ATTRIB
    );
}

#[test]
fn an_hfi_passes_nothing_on() {
    let mut mad = directed(&[1, 2], &[]);
    assert_eq!(
        advance(&mut mad, PortNum(0), false),
        Hop::Forward(PortNum(1))
    );
    assert_eq!(advance(&mut mad, PortNum(1), false), Hop::Discard);
}

#[test]
fn a_trap_is_answered_by_repressing_it() {
    let mut mad = Vec::new();
    let trap = Smp {
        method: method::TRAP,
        ..get()
    };
    trap.write_lid_routed(&[], &mut mad);
    let mut answer = Vec::new();
    respond(&SmpView::parse(&mad).unwrap(), status::OK, &[], &mut answer);
    let answer = SmpView::parse(&answer).unwrap();
    assert_eq!(answer.header.method, method::TRAP_REPRESS);
    assert!(answer.is_response());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_route_goes_there_and_back(
        hops in prop::collection::vec((1..=255_u8, 1..=255_u8), 0..=MAX_HOPS)
    ) {
        let (ports, entries): (Vec<u8>, Vec<u8>) = hops.into_iter().unzip();
        let (out, back, answer) = round_trip(&ports, &entries, directed(&ports, &[]));
        let there: Vec<u8> = out.iter().filter_map(|(_, egress)| *egress).collect();
        let here: Vec<u8> = back.iter().filter_map(|(_, egress)| *egress).collect();
        prop_assert_eq!(there, ports);
        prop_assert_eq!(here, entries.into_iter().rev().collect::<Vec<u8>>());
        prop_assert_eq!(SmpView::parse(&answer).unwrap().header.hop_pointer, 0);
    }

    #[test]
    fn any_bytes_are_read_and_passed_on_without_a_panic(
        mut mad in prop::collection::vec(any::<u8>(), 0..400),
        directed in any::<bool>(),
        ingress in any::<u8>(),
        is_switch in any::<bool>(),
    ) {
        for (at, byte) in [0x80, if directed { 0x81 } else { 0x01 }].into_iter().enumerate() {
            if let Some(to) = mad.get_mut(at) {
                *to = byte;
            }
        }
        if let Ok(view) = SmpView::parse(&mad) {
            let mut answer = Vec::new();
            respond(&view, status::OK, view.payload, &mut answer);
            let read = SmpView::parse(&answer).unwrap();
            prop_assert_eq!(read.header.transaction_id, view.header.transaction_id);
            prop_assert!(read.payload.starts_with(view.payload));
        }
        let len = mad.len();
        advance(&mut mad, PortNum(ingress), is_switch);
        prop_assert_eq!(mad.len(), len);
    }
}
