use weft_manager::Settings;
use weft_wire::Layout;
use weft_wire::sm::{AttributeId, Notice, PortInfo, SmInfo, TrapBadMKey};
use weft_wire::smp::Smp;

use weft_state::{State, Writer};
use weft_wire::header::{method, version};
use weft_wire::rmpp::{Envelope, Receiver, RmppHeader, Sender, kind};
use weft_wire::sa::{PortInfoRecord, SaHeader, ServiceRecord, SmInfoRecord, attribute};

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
    assert_eq!(offset::<Notice>("trap_number"), NOTICE_TRAP);
}

#[test]
fn a_key_becomes_the_same_number_everywhere_and_stays_so() {
    let keys = Keys::default();
    let settings = Settings {
        m_key: KEY,
        ..Settings::default()
    };
    let settings = keys.masked(settings);
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
    let keys = Keys::default();
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
        assert!(!has_key(&mad), "{attribute:?}");
        let mut again = mad.clone();
        keys.in_datagram(&mut again);
        assert_eq!(again, mad);
    }
}

/// Attributes with a key, and where it is.
fn with_keys() -> [(AttributeId, Vec<u8>, usize); 4] {
    let of = |attribute, len: usize, at: usize| {
        let mut data = vec![1; len];
        data[at..at + 8].copy_from_slice(&OTHER.to_be_bytes());
        (attribute, data, at)
    };
    let mut notice = of(AttributeId::NOTICE, Notice::LEN, NOTICE_M_KEY);
    notice.1[NOTICE_TRAP..NOTICE_TRAP + 2].copy_from_slice(&BAD_M_KEY.to_be_bytes());
    let second = PORT_INFO_STRIDE + PORT_INFO_M_KEY;
    [
        of(AttributeId::PORT_INFO, PortInfo::LEN, PORT_INFO_M_KEY),
        of(AttributeId::PORT_INFO, 2 * PORT_INFO_STRIDE, second),
        of(AttributeId::SM_INFO, SmInfo::LEN, SM_INFO_SM_KEY),
        notice,
    ]
}

/// What of these bytes is left of the key.
fn left_of(key: u64, bytes: &[u8]) -> usize {
    let key = key.to_be_bytes();
    let common = |at: usize| {
        let pairs = bytes.get(at..).unwrap_or_default().iter().zip(&key);
        pairs.take_while(|(byte, of_key)| byte == of_key).count()
    };
    (0..bytes.len()).map(common).max().unwrap_or_default()
}

#[test]
fn nothing_stays_of_a_key_in_a_datagram_that_is_cut_within_it() {
    for (attribute, data, at) in with_keys() {
        for there in 1..=8 {
            let mut mad = Vec::new();
            Smp::set(attribute, 1, 7, 0).write_lid_routed(&data, &mut mad);
            mad.truncate(LID_ROUTED_HEADER_LEN + at + there);
            assert!(left_of(OTHER, &mad) >= there);
            Keys::default().in_datagram(&mut mad);
            assert_eq!(left_of(OTHER, &mad), 0, "{attribute:?}, {there}");
        }
    }
    for there in 1..=8 {
        let mut mad = Vec::new();
        Smp::set(AttributeId::NODE_INFO, 1, 7, OTHER).write_lid_routed(&[], &mut mad);
        mad.truncate(SMP_M_KEY + there);
        Keys::default().in_datagram(&mut mad);
        assert_eq!(left_of(OTHER, &mad), 0, "M_Key, {there}");
    }
}

#[test]
fn no_key_stays_in_an_aggregate_whatever_it_says_of_its_segments() {
    let segments = with_keys().map(|(attribute, data, _)| {
        let len = data.len().next_multiple_of(8);
        let header = SegmentHeader {
            attribute_id: attribute.0,
            request_length: (len / 8) as u8,
            ..SegmentHeader::default()
        };
        let mut segment = vec![0; SegmentHeader::LEN];
        header.encode(&mut segment);
        segment.extend(data);
        segment.resize(SegmentHeader::LEN + len, 0);
        segment
    });
    let mut whole = Vec::new();
    for count in [0, 1, 4, u32::MAX] {
        let payload = segments.concat();
        let smp = Smp::set(AttributeId::AGGREGATE, count, 7, 0);
        smp.write_lid_routed(&payload, &mut whole);
        for len in LID_ROUTED_HEADER_LEN..=whole.len() {
            let mut mad = whole[..len].to_vec();
            Keys::default().in_datagram(&mut mad);
            assert_eq!(left_of(OTHER, &mad), 0, "{count} segments, {len} bytes");
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

/// Requests for records of subnet managers may be for those with an SM_Key, and one for ports may have an M_Key in it: another one
/// than that of the recording, which differs from 0 and equals itself as before.
#[test]
fn no_key_stays_in_a_request_for_records_of_managers_and_ports() {
    let (sm, port) = (attribute::SM_INFO_RECORD, attribute::PORT_INFO_RECORD);
    let sm_key = offset::<SmInfoRecord>("sm_info") + offset::<SmInfo>("sm_key");
    let m_key = offset::<PortInfoRecord>("port_info") + offset::<PortInfo>("m_key");
    // LID and reserved bytes, or LID and port, before SMInfo with its GUID first and PortInfo with M_Key first.
    for (base_version, attribute_id, len, at) in [
        (version::OPA, sm, SmInfoRecord::LEN, sm_key),
        (version::OPA, port, PortInfoRecord::LEN, m_key),
        (version::IB, sm, 32, 4 + 8),
        (version::IB, port, 68, 4),
    ] {
        let Envelope { mut mad, class } = envelope();
        mad.base_version = base_version;
        mad.method = method::GET_TABLE;
        mad.attribute_id = attribute_id;
        let mut request = vec![0; DATA_AT];
        mad.encode(&mut request);
        request[CLASS_AT..][..class.len()].copy_from_slice(&class);
        request.extend(vec![1; len]);
        request[DATA_AT + at..][..8].copy_from_slice(&OTHER.to_be_bytes());
        let keys = Keys::default();
        let mut masked = request.clone();
        keys.in_datagram(&mut masked);
        assert!(!has_key(&masked), "{base_version:#x} {attribute_id:#x}");
        assert_eq!(masked[DATA_AT + at..][..8], keys.mask(OTHER).to_be_bytes());
        let rest = |mad: &[u8]| [&mad[DATA_AT..][..at], &mad[DATA_AT + at + 8..]].concat();
        assert_eq!(rest(&masked), rest(&request));
        for there in 1..=8 {
            let mut cut = request[..DATA_AT + at + there].to_vec();
            keys.in_datagram(&mut cut);
            assert_eq!(left_of(OTHER, &cut), 0, "{attribute_id:#x}, {there}");
        }
    }
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
