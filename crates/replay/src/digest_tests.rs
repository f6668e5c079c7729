#![allow(clippy::unwrap_used)]

use std::slice::from_ref;

use weft_fabric::Guid;
use weft_manager::{CommandError, Output, SaOutput};
use weft_wire::Layout;
use weft_wire::id::{Lid, PKey, Sl};
use weft_wire::packet::Packet;
use weft_wire::sm::{AttributeId, NodeInfo, PortInfo};
use weft_wire::smp::Smp;

use super::{Compared, Digest};
use crate::inputs::Expected;
use crate::keys::Keys;
use crate::outputs::Outputs;

/// Offset of M_Key.
const SMP_M_KEY: usize = 24;

/// A datagram of subnet management with this M_Key, from a LID to another one.
fn datagram(attribute: AttributeId, data: &[u8], m_key: u64) -> Packet {
    let mut mad = Vec::new();
    Smp::set(attribute, 1, 7, m_key).write_lid_routed(data, &mut mad);
    Packet::lid_routed(Lid(0x0102_0304), Lid(0x0506_0708), mad)
}

fn digest(packets: &[Packet]) -> u64 {
    let mut outputs = Outputs::default();
    for packet in packets {
        outputs.add(&Output::Send(packet.clone()));
    }
    let mut digest = Digest::default();
    digest.add(&mut outputs.read(), usize::MAX, &Keys::default());
    digest.value()
}

/// Another digest of the same outputs needs another number in the first line of a file.
#[test]
fn the_format_has_these_digests() {
    let sent = datagram(AttributeId::NODE_INFO, &[3; NodeInfo::LEN], 7);
    let node = Guid(0x0011_7501_0200_0001);
    let outputs = [
        Output::Send(sent),
        Output::Persist(vec![1, 2, 3]),
        Output::Reply {
            id: 9,
            result: Err(CommandError::NoNode { node }),
        },
    ];
    let keys = Keys::default();
    let (mut all, mut digest) = (Outputs::default(), Digest::default());
    let ends = outputs.map(|output| {
        all.add(&output);
        all.memory()
    });
    let mut rest = all.read();
    let digests = ends.map(|end| {
        digest.add(&mut rest, end, &keys);
        digest.value()
    });
    assert_eq!(
        digests,
        [
            0x942c_dd22_457d_3d31,
            0x1799_f3bf_2ddc_7dba,
            0x644a_f991_bcce_44f6,
        ]
    );
}

#[test]
fn each_bit_of_a_datagram_counts() {
    let mut seen = Vec::new();
    for len in [0, 23, 31, 32, 33, 63, 64, 80] {
        let mut whole = datagram(AttributeId::NODE_INFO, &[0; NodeInfo::LEN], 0);
        whole.mad.resize(len, 0);
        seen.push(digest(from_ref(&whole)));
        // Any key is the first one.
        let is_of_the_key = |bit: &usize| (SMP_M_KEY..SMP_M_KEY + 8).contains(&(bit / 8));
        for bit in (0..8 * len).filter(|bit| !is_of_the_key(bit)) {
            let mut other = whole.clone();
            other.mad[bit / 8] ^= 1 << (bit % 8);
            seen.push(digest(&[other]));
        }
    }
    let all = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), all);
}

#[test]
fn addresses_and_the_order_count() {
    let one = datagram(AttributeId::NODE_INFO, &[0; NodeInfo::LEN], 0);
    let others = [
        Packet {
            slid: Lid(1),
            ..one.clone()
        },
        Packet {
            dlid: Lid(1),
            ..one.clone()
        },
        Packet {
            sl: Sl(1),
            ..one.clone()
        },
        Packet {
            pkey: PKey(1),
            ..one.clone()
        },
        Packet {
            dest_qp: 1,
            ..one.clone()
        },
        Packet {
            src_qp: 1,
            ..one.clone()
        },
    ];
    for (number, other) in others.iter().enumerate() {
        assert_ne!(digest(from_ref(other)), digest(from_ref(&one)), "{number}");
        let [this_way, other_way] = [[&one, other], [other, &one]];
        let [this_way, other_way] =
            [this_way, other_way].map(|both| digest(&both.map(Packet::clone)));
        assert_ne!(this_way, other_way, "{number}");
    }
}

#[test]
fn a_datagram_with_masked_keys_has_the_digest_of_that_with_the_keys() {
    let mut with_key = [0; PortInfo::LEN];
    with_key[112..120].copy_from_slice(&[7; 8]);
    for (attribute, data) in [
        (AttributeId::NODE_INFO, &[1; NodeInfo::LEN][..]),
        (AttributeId::PORT_INFO, &[0; PortInfo::LEN]),
        (AttributeId::PORT_INFO, &with_key),
    ] {
        let packet = datagram(attribute, data, 0x1234_5678_9ABC_DEF0);
        let mut masked = packet.clone();
        Keys::default().in_datagram(&mut masked.mad);
        assert_ne!(masked.mad, packet.mad);
        assert_eq!(digest(&[masked]), digest(&[packet]), "{attribute:?}");
    }
}

#[test]
fn what_is_compared_is_as_recorded_or_not_and_begins_anew_with_a_chunk() {
    let sent = datagram(AttributeId::NODE_INFO, &[3; NodeInfo::LEN], 7);
    let mut compared = Compared::default();
    let once = digest(from_ref(&sent));
    let twice = digest(&[sent.clone(), sent.clone()]);
    let mut add = |recorded| {
        compared.add(|to| to.add(&Output::Send(sent.clone())));
        compared.is(recorded)
    };
    assert!(add(Expected::Low(once as u16)));
    assert!(add(Expected::Whole(twice)));
    assert!(!add(Expected::Low(twice as u16)));
    assert!(add(Expected::Whole(twice)));
    compared.add(|to| to.add_sa(&SaOutput::Send(sent.clone())));
    assert!(!compared.is(Expected::Whole(once)));
    assert!(compared.is(Expected::Whole(0)));
}
