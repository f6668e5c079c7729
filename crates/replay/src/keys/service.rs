//! Keys in datagrams of subnet administration: those of services, SM_Keys and M_Keys that requests may ask for, and where
//! notices may have one.

use weft_wire::Layout;
use weft_wire::header::{MadHeader, class, method, version};
use weft_wire::rmpp::{
    CLASS_AT, DATA_AT, RMPP_AT, RmppHeader, SEGMENT_DATA_MAX, SEGMENT_DATA_MAX_IB,
};
use weft_wire::sa::{
    IbPortInfoRecord, IbServiceRecord, PortInfoRecord, SaHeader, ServiceRecord, SmInfoRecord,
    attribute,
};

/// Length of a key, or of each half of a ServiceKey.
const HALF: usize = 8;
/// Offset of the attribute in a datagram.
const ATTRIBUTE_AT: usize = 16;

/// Where a record has its key.
struct Place {
    /// Length of the record.
    record: usize,
    /// Offset of the key in it.
    key: usize,
    /// Length of the key.
    len: usize,
}

/// Of the attributes with a key the vendor's form, and that of InfiniBand (IBA 1.3, 15.2.5).
fn place(attribute: u16, is_ib: bool) -> Option<Place> {
    let (record, key, len) = match (attribute, is_ib) {
        (attribute::SERVICE_RECORD, false) => (ServiceRecord::LEN, 40, 2 * HALF),
        (attribute::SERVICE_RECORD, true) => (IbServiceRecord::LEN, 32, 2 * HALF),
        (attribute::SM_INFO_RECORD, false) => (SmInfoRecord::LEN, 16, HALF),
        (attribute::SM_INFO_RECORD, true) => (32, 12, HALF),
        (attribute::PORT_INFO_RECORD, false) => (PortInfoRecord::LEN, 120, HALF),
        (attribute::PORT_INFO_RECORD, true) => (IbPortInfoRecord::LEN, 4, HALF),
        _ => return None,
    };
    Some(Place { record, key, len })
}

/// Whether a datagram is about services.
pub(crate) fn is_record(mad: &[u8]) -> bool {
    has(mad, attribute::SERVICE_RECORD)
}

/// Whether a datagram reports a notice.
pub(crate) fn is_notice(mad: &[u8]) -> bool {
    has(mad, attribute::NOTICE)
}

fn has(mad: &[u8], attribute: u16) -> bool {
    let id = mad.get(ATTRIBUTE_AT..).and_then(<[u8]>::first_chunk::<2>);
    mad.get(1) == Some(&class::SUBN_ADM) && id == Some(&attribute.to_be_bytes())
}

/// Passes on each key in a datagram, in a segment, or in a message without a number, those of services by halves; fewer
/// bytes where a segment has only some of them.
pub(super) fn each_half(mad: &mut [u8], mut take: impl FnMut(&mut [u8])) {
    let Ok(header) = MadHeader::decode(mad) else {
        return;
    };
    let is_ib = header.base_version == version::IB;
    let Some(Place {
        record,
        key,
        len: key_len,
    }) = place(header.attribute_id, is_ib)
    else {
        return;
    };
    let segment = if is_ib {
        SEGMENT_DATA_MAX_IB
    } else {
        SEGMENT_DATA_MAX
    };
    let rmpp = RmppHeader::decode(mad.get(RMPP_AT..).unwrap_or_default()).unwrap_or_default();
    let class = SaHeader::decode(mad.get(CLASS_AT..).unwrap_or_default()).unwrap_or_default();
    let is_answer = method::is_response(header.method);
    // Requests may say anything there.
    let stride = match usize::from(class.attribute_offset) * 8 {
        stride if is_answer && stride >= key + key_len => stride,
        _ => record,
    };
    let before = (rmpp.segment_num as usize).saturating_sub(1) * segment;
    let data = mad.get_mut(DATA_AT..).unwrap_or_default();
    let len = data.len();
    // Segments of requests may be of any length, and what is missing of the one record begins the next.
    if !is_answer && before > 0 {
        let begin = data.get_mut(..len.min(key + key_len));
        begin.unwrap_or_default().fill(0);
        return;
    }
    let records = (before / stride..).map(|record| record * stride + key);
    let keys = records.take_while(|key| *key < before + len);
    for half in keys.flat_map(|key| (key..key + key_len).step_by(HALF)) {
        let [start, end] = [half, half + HALF].map(|at| at.saturating_sub(before));
        if let Some(bytes) = data.get_mut(start..end.min(len)) {
            take(bytes);
        }
    }
}

/// Writes zeros over the keys in an answer, or in a segment of one.
pub(crate) fn blank_keys(mad: &mut [u8]) {
    each_half(mad, |half| half.fill(0));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment with records of `stride` bytes that are all 7.
    fn segment(
        method: u8,
        base_version: u8,
        stride: usize,
        segment_num: u32,
        len: usize,
    ) -> Vec<u8> {
        let mut mad = vec![0; DATA_AT];
        let header = MadHeader {
            base_version,
            mgmt_class: class::SUBN_ADM,
            method,
            attribute_id: attribute::SERVICE_RECORD,
            ..MadHeader::default()
        };
        header.encode(&mut mad);
        let rmpp = RmppHeader {
            segment_num,
            ..RmppHeader::default()
        };
        rmpp.encode(&mut mad[RMPP_AT..]);
        let class = SaHeader {
            attribute_offset: (stride / 8) as u16,
            ..SaHeader::default()
        };
        class.encode(&mut mad[CLASS_AT..]);
        mad.resize(DATA_AT + len, 7);
        mad
    }

    #[test]
    fn keys_of_services_are_blanked_in_every_segment_and_nothing_else_is() {
        for (base, stride, key, data) in [(0x80, 184, 40, 1992), (1, 176, 32, 200)] {
            let mut whole = Vec::new();
            for number in 1..=5 {
                let mut mad = segment(method::GET_RESP, base, stride, number, data);
                assert!(is_record(&mad));
                blank_keys(&mut mad);
                whole.extend_from_slice(&mad[DATA_AT..]);
            }
            for (at, byte) in whole.iter().enumerate() {
                let is_key = (key..key + 16).contains(&(at % stride));
                assert_eq!(*byte, if is_key { 0 } else { 7 }, "{base:#x} byte {at}");
            }
        }
    }
    /// Whoever sends a request decides about its attribute offset and the lengths of its segments.
    #[test]
    fn keys_of_requests_are_blanked_whatever_they_say_of_records_and_wherever_they_are_cut() {
        let mut whole = segment(method::SET, 0x80, 64, 0, 176);
        blank_keys(&mut whole);
        for (at, byte) in whole[DATA_AT..].iter().enumerate() {
            assert_eq!(
                *byte,
                if (40..56).contains(&at) { 0 } else { 7 },
                "byte {at}"
            );
        }
        let mut first = segment(method::SET, 0x80, 176, 1, 44);
        let mut second = segment(method::SET, 0x80, 176, 2, 132);
        blank_keys(&mut first);
        blank_keys(&mut second);
        assert_eq!(first[DATA_AT + 40..], [0; 4]);
        assert_eq!(second[DATA_AT..DATA_AT + 12], [0; 12]);
        assert!(second[DATA_AT + 56..].iter().all(|byte| *byte == 7));
    }
}
