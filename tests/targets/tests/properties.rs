//! Bodies of the fuzz targets, on nearly valid inputs.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use proptest::prelude::*;
use weft_fabric::Tick;
use weft_fuzz_targets::three_hosts::FABRIC;
use weft_fuzz_targets::{agents, conversation, frames, performance};
use weft_manager::pm::{Pm, PmInput, PmOutput, PmSettings};
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class, method, version};
use weft_wire::sm::AttributeId;

/// A header that agents look at, with everything else at random.
fn plausible() -> impl Strategy<Value = Vec<u8>> {
    let classes = prop_oneof![Just(0x01u8), Just(0x81), Just(0x04), Just(0x03)];
    let methods = prop_oneof![
        Just(1u8),
        Just(2),
        Just(5),
        Just(7),
        Just(0x81),
        any::<u8>()
    ];
    let attributes = prop_oneof![
        proptest::sample::select(AttributeId::ALL).prop_map(|attribute| attribute.0),
        0x40u16..0x45,
        any::<u16>(),
    ];
    let modifier = prop_oneof![
        any::<u32>(),
        (0u32..4, 0u32..16).prop_map(|(count, port)| count << 24 | port),
    ];
    let hops = (0u8..4, 0u8..4);
    let rest = proptest::collection::vec(any::<u8>(), 0..2100);
    (classes, methods, attributes, modifier, hops, rest).prop_map(
        |(class, method, attribute, modifier, hops, rest)| {
            let mut mad = vec![0x80, class, 0x80, method, 0, 0, hops.0, hops.1];
            mad.extend_from_slice(&[0; 8]);
            mad.extend_from_slice(&attribute.to_be_bytes());
            mad.extend_from_slice(&[0; 2]);
            mad.extend_from_slice(&modifier.to_be_bytes());
            mad.extend_from_slice(&rest);
            mad
        },
    )
}

/// An SMP with such a header that comes to the switch, or to the host's own node.
fn arriving() -> impl Strategy<Value = Vec<u8>> {
    (plausible(), any::<bool>()).prop_map(|(mut mad, switch)| {
        mad[4..6].fill(0);
        mad[6] = 0;
        mad[7] = u8::from(switch);
        mad.resize(mad.len().max(180), 0);
        // No M_Key, permissive LIDs, and out of port 1.
        mad[24..32].fill(0);
        mad[32..40].fill(0xFF);
        mad[41] = 1;
        mad
    })
}

/// Whole datagrams with a valid header, so that the code behind it is reached.
fn datagram() -> impl Strategy<Value = Vec<u8>> {
    let attribute = prop_oneof![1u16..2, 0x40u16..0x45, 0xA0u16..0xB9];
    let method = prop_oneof![
        Just(method::GET),
        Just(method::SET),
        Just(method::GET_TABLE),
        Just(method::GET_RESP)
    ];
    let class = prop_oneof![Just(class::PERF), Just(class::PA)];
    let body = prop::collection::vec(any::<u8>(), 0..400);
    (class, method, attribute, any::<u32>(), 0u32..64, body).prop_map(
        |(mgmt_class, method, attribute_id, modifier, transaction, body)| {
            let header = MadHeader {
                base_version: version::OPA,
                mgmt_class,
                class_version: version::OPA,
                method,
                attribute_id,
                attribute_modifier: modifier,
                transaction_id: u64::from(transaction) | 1 << 16,
                ..MadHeader::default()
            };
            let mut mad = header.to_bytes();
            mad.extend_from_slice(&body);
            mad
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_do_no_harm_to_agents(mad in proptest::collection::vec(any::<u8>(), 0..2200)) {
        agents::run(&mad);
    }

    #[test]
    fn any_request_does_no_harm_to_agents(mad in plausible()) {
        agents::run(&mad);
    }

    #[test]
    fn any_content_does_no_harm_to_agents(mads in proptest::collection::vec(arriving(), 1..8)) {
        let mut bytes = Vec::new();
        for mad in &mads {
            bytes.extend_from_slice(&(mad.len() as u16).to_be_bytes());
            bytes.extend_from_slice(mad);
        }
        conversation::run(&bytes);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_frames_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..4096)) {
        frames::run(&bytes);
    }

    #[test]
    fn any_content_is_a_frame_or_an_error(
        tag in 0u8..15,
        content in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut bytes = (content.len() as u32 + 1).to_be_bytes().to_vec();
        bytes.push(tag);
        bytes.extend_from_slice(&content);
        frames::run(&bytes);
    }
}

proptest! {
    #[test]
    fn no_datagram_brings_the_manager_down(mads in prop::collection::vec(datagram(), 0..40)) {
        let mut bytes = Vec::new();
        for mad in mads {
            bytes.extend((mad.len() as u16).to_be_bytes());
            bytes.extend(mad);
        }
        performance::run(&bytes);
    }

    /// Agents that answer every request, at the right transaction, with bytes of their own.
    #[test]
    fn lying_agents_end_the_sweep_all_the_same(noise in prop::collection::vec(any::<u8>(), 1..256), keep_head: bool) {
        let mut pm = Pm::new(PmSettings::default());
        pm.handle(Tick(0), PmInput::Published(Arc::clone(&FABRIC)));
        let mut images = 0;
        for step in 1..10_000u64 {
            let Some(output) = pm.poll() else { break };
            match output {
                PmOutput::Image(_) => images += 1,
                PmOutput::Send(mut request) => {
                    std::mem::swap(&mut request.slid, &mut request.dlid);
                    request.mad[3] = method::GET_RESP;
                    let from = if keep_head { 60 } else { 24 };
                    request.mad.resize(2048, 0);
                    let noise = noise.iter().cycle();
                    request.mad[from..].iter_mut().zip(noise).for_each(|(to, from)| *to = *from);
                    pm.handle(Tick(step), PmInput::Received(request));
                }
                PmOutput::Event(_) | PmOutput::Cleared(_) | PmOutput::Recall(_) => {}
            }
        }
        prop_assert_eq!(images, 1);
    }
}
