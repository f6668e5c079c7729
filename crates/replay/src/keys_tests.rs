use weft_manager::Settings;
use weft_wire::Layout;
use weft_wire::sm::{AttributeId, Notice, PortInfo, SmInfo, TrapBadMKey};
use weft_wire::smp::Smp;

use weft_state::{State, Writer};
use weft_wire::header::{method, version};
use weft_wire::rmpp::{Envelope, Receiver, RmppHeader, Sender, kind};
use weft_wire::sa::{SaHeader, ServiceRecord, attribute};

use super::*;

const KEY: u64 = 0x1122_3344_5566_7788;
const OTHER: u64 = 0x99AA_BBCC_DDEE_FF00;

fn offset<T: Layout>(field: &str) -> usize {
    let field = T::FIELDS.iter().find(|entry| entry.name == field).unwrap();
    field.offset
}

#[test]
fn the_places_of_keys_are_those_of_the_structures() {
    assert_eq!(offset::<PortInfo>("m_key"), PORT_INFO_M_KEY);
    assert_eq!(offset::<SmInfo>("sm_key"), SM_INFO_SM_KEY);
    let data = offset::<Notice>("data");
    assert_eq!(data + offset::<TrapBadMKey>("m_key"), NOTICE_M_KEY);
}

#[test]
fn a_key_becomes_the_same_number_everywhere_and_stays_so() {
    let mut keys = Keys::default();
    let mut settings = Settings {
        m_key: KEY,
        ..Settings::default()
    };
    keys.in_settings(&mut settings);
    let masked = settings.m_key;
    assert_ne!(masked, KEY);
    assert_eq!(
        (keys.mask(KEY), keys.mask(masked), keys.mask(0)),
        (masked, masked, 0)
    );
    assert_ne!(keys.mask(OTHER), masked);
    assert_eq!(settings.election.sm_key, 0);
}

#[test]
fn no_key_stays_in_a_datagram() {
    let mut keys = Keys::default();
    for (attribute, at, len) in [
        (AttributeId::PORT_INFO, PORT_INFO_M_KEY, PortInfo::LEN),
        (AttributeId::SM_INFO, SM_INFO_SM_KEY, SmInfo::LEN),
    ] {
        let mut data = vec![0; len];
        data[at..at + 8].copy_from_slice(&OTHER.to_be_bytes());
        let smp = Smp::set(attribute, 1, 7, KEY);
        let mut mad = Vec::new();
        smp.write_lid_routed(&data, &mut mad);
        keys.in_datagram(&mut mad);
        for key in [KEY, OTHER] {
            let mut windows = mad.windows(8);
            assert!(
                !windows.any(|bytes| bytes == key.to_be_bytes()),
                "{attribute:?}"
            );
        }
        let mut again = mad.clone();
        keys.in_datagram(&mut again);
        assert_eq!(again, mad);
    }
}

#[test]
fn a_key_behind_the_head_is_seen_and_none_where_there_is_none() {
    for (attribute, at, len) in [
        (AttributeId::PORT_INFO, PORT_INFO_M_KEY, PortInfo::LEN),
        (
            AttributeId::PORT_INFO,
            PORT_INFO_STRIDE + PORT_INFO_M_KEY,
            2 * PORT_INFO_STRIDE,
        ),
        (AttributeId::NODE_INFO, 40, 48),
    ] {
        for key in [0, OTHER] {
            let mut data = vec![0; len];
            data[at..at + 8].copy_from_slice(&key.to_be_bytes());
            let mut mad = Vec::new();
            Smp::set(attribute, 1, 7, KEY).write_lid_routed(&data, &mut mad);
            let mut masked = mad.clone();
            Keys::default().in_datagram(&mut masked);
            let is_masked = masked[SMP_M_KEY + 8..] != mad[SMP_M_KEY + 8..];
            let is_only = Keys::around_the_only(&mad).is_some();
            assert_eq!(is_only, !is_masked, "{attribute:?} {key}");
        }
    }
}

/// The headers of an answer or a request with records of services, and a key.
fn envelope() -> Envelope {
    let header = SaHeader {
        sm_key: KEY,
        attribute_offset: (ServiceRecord::LEN / 8) as u16,
        ..SaHeader::default()
    };
    let mut class = [0; SaHeader::LEN];
    header.encode(&mut class);
    Envelope {
        mad: MadHeader {
            base_version: version::OPA,
            mgmt_class: class::SUBN_ADM,
            method: method::GET_RESP,
            attribute_id: attribute::SERVICE_RECORD,
            ..MadHeader::default()
        },
        class,
    }
}

/// So many records with keys, which the segments of an answer cut at any place.
fn records(count: usize) -> Vec<u8> {
    let mut record = [1; ServiceRecord::LEN];
    record[40..48].copy_from_slice(&KEY.to_be_bytes());
    record[48..56].copy_from_slice(&OTHER.to_be_bytes());
    record.repeat(count)
}

fn has_key(bytes: &[u8]) -> bool {
    let keys = [KEY, OTHER].map(u64::to_be_bytes);
    bytes
        .windows(8)
        .any(|eight| keys.iter().any(|key| eight == key))
}

/// What is written of a value, and the same made of it.
fn kept<T: State>(value: &T) -> (Vec<u8>, T) {
    let mut keys = Keys::default();
    let mut writer = Writer::new(&mut keys);
    value.write(&mut writer);
    let bytes = writer.into_bytes();
    let again = weft_state::read(&bytes).unwrap();
    (bytes, again)
}

#[test]
fn no_key_stays_in_a_transfer_under_way() {
    let mut answer = Sender::new(envelope(), records(40), 1992, 3);
    let mut segment = Vec::new();
    assert!(answer.poll(&mut segment));
    assert!(has_key(&segment));
    let (bytes, mut again) = kept(&answer);
    assert!(!has_key(&bytes));
    again.rewind();
    let mut other = Vec::new();
    assert!(again.poll(&mut other));
    assert!(!has_key(&other));
    assert_eq!(other.len(), segment.len());
    assert_eq!(other[DATA_AT..][..40], segment[DATA_AT..][..40]);

    let mut request = Receiver::new(1 << 16, 8);
    request.push(&segment).unwrap();
    let (bytes, again) = kept(&request);
    assert!(!has_key(&bytes));
    assert!(again.envelope().unwrap().mad == envelope().mad);
}

#[test]
fn no_key_stays_in_any_segment_and_the_rest_of_it_does() {
    let mut answer = Sender::new(envelope(), records(40), 1992, 3);
    let mut whole = Vec::new();
    let mut segment = Vec::new();
    for number in 1..=answer.segments() {
        assert!(answer.poll(&mut segment), "{number}");
        let ack = RmppHeader {
            rmpp_type: kind::ACK,
            segment_num: number,
            payload_len: number + 1,
            ..RmppHeader::default()
        };
        answer.handle(&ack).unwrap();
        Keys::default().in_datagram(&mut segment);
        whole.extend_from_slice(&segment[DATA_AT..]);
    }
    assert!(!has_key(&whole));
    for (at, byte) in whole.iter().enumerate() {
        let is_key = (40..56).contains(&(at % ServiceRecord::LEN));
        assert!(is_key || *byte == 1, "byte {at}");
    }
}
