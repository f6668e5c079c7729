//! Messages of several segments arrive whole over a lossy link, or end with a reason.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class, method};
use weft_wire::rmpp::{
    CLASS_LEN, DATA_AT, Envelope, Progress, RMPP_AT, Received, Receiver, RmppHeader,
    SEGMENT_DATA_MAX, SEGMENT_DATA_MAX_IB, Sender, kind, status,
};

fn envelope() -> Envelope {
    let mad = MadHeader {
        mgmt_class: class::SUBN_ADM,
        method: method::GET_TABLE | method::RESPONSE,
        transaction_id: 77,
        ..MadHeader::default()
    };
    Envelope {
        mad,
        class: std::array::from_fn(|index| index as u8),
    }
}

fn header(mad: &[u8]) -> RmppHeader {
    RmppHeader::decode(&mad[RMPP_AT..]).unwrap()
}

fn message(len: usize) -> Vec<u8> {
    (0..len)
        .map(|index| (index * 7 + index / 251) as u8)
        .collect()
}

/// Segments of a message sent with the whole window open.
fn segments(len: usize, segment_len: usize) -> Vec<Vec<u8>> {
    let mut sender = Sender::new(envelope(), message(len), segment_len, 0);
    let mut segments = Vec::new();
    let mut out = Vec::new();
    while sender.poll(&mut out) {
        segments.push(out.clone());
        let ack = RmppHeader {
            rmpp_type: kind::ACK,
            segment_num: segments.len() as u32,
            payload_len: u32::MAX,
            ..RmppHeader::default()
        };
        sender.handle(&ack).unwrap();
    }
    segments
}

#[test]
fn lengths_count_the_class_header_of_each_segment() {
    for (len, segment_len, count, first, last) in [
        (0, SEGMENT_DATA_MAX, 1, 20, 20),
        (1, SEGMENT_DATA_MAX, 1, 21, 21),
        (1992, SEGMENT_DATA_MAX, 1, 2012, 2012),
        (1993, SEGMENT_DATA_MAX, 2, 1993 + 40, 21),
        (5000, SEGMENT_DATA_MAX, 3, 5060, 5000 - 3984 + 20),
        (401, SEGMENT_DATA_MAX_IB, 3, 461, 21),
    ] {
        let segments = segments(len, segment_len);
        assert_eq!(segments.len(), count, "{len} bytes");
        for (index, segment) in segments.iter().enumerate() {
            let rmpp = header(segment);
            let expected = match index {
                0 => first,
                index if index + 1 == count => last,
                _ => 0,
            };
            assert_eq!(rmpp.payload_len, expected, "{len} bytes, segment {index}");
            assert_eq!((rmpp.first, rmpp.last), (index == 0, index + 1 == count));
            assert_eq!(rmpp.segment_num as usize, index + 1);
        }
    }
}

#[test]
fn the_first_segment_waits_for_its_acknowledgement() {
    let mut sender = Sender::new(envelope(), message(10_000), SEGMENT_DATA_MAX, 3);
    let mut out = Vec::new();
    assert!(sender.poll(&mut out));
    assert!(!sender.poll(&mut out), "the window is one segment at first");
    let ack = RmppHeader {
        rmpp_type: kind::ACK,
        segment_num: 1,
        payload_len: 3,
        ..RmppHeader::default()
    };
    assert_eq!(sender.handle(&ack), Ok(Progress::Continue));
    assert!(sender.poll(&mut out) && sender.poll(&mut out));
    assert!(!sender.poll(&mut out));
}

#[test]
fn a_silent_receiver_ends_the_transfer_after_the_retries() {
    let mut sender = Sender::new(envelope(), message(10), SEGMENT_DATA_MAX, 2);
    let mut out = Vec::new();
    for _ in 0..2 {
        assert!(sender.poll(&mut out));
        assert_eq!(sender.timeout(), Ok(()));
    }
    assert_eq!(
        sender.timeout().unwrap_err().status,
        status::TOO_MANY_RETRIES
    );
}

#[test]
fn the_sender_refuses_what_makes_no_sense() {
    let reply = |rmpp_type, segment_num, payload_len, rmpp_status| RmppHeader {
        rmpp_type,
        segment_num,
        payload_len,
        rmpp_status,
        ..RmppHeader::default()
    };
    for (rmpp, expected) in [
        (reply(kind::ACK, 2, 9, 0), status::SEGMENT_TOO_BIG),
        (reply(kind::ACK, 1, 0, 0), status::WINDOW_TOO_SMALL),
        (
            reply(kind::STOP, 0, 0, status::RESOURCES_EXHAUSTED),
            status::RESOURCES_EXHAUSTED,
        ),
        (
            reply(kind::ABORT, 0, 0, status::UNSPECIFIED),
            status::UNSPECIFIED,
        ),
        (reply(kind::DATA, 1, 0, 0), status::BAD_TYPE),
    ] {
        let mut sender = Sender::new(envelope(), message(5000), SEGMENT_DATA_MAX, 2);
        assert!(sender.poll(&mut Vec::new()));
        assert_eq!(
            sender.handle(&rmpp).unwrap_err().status,
            expected,
            "{rmpp:?}"
        );
    }
}

#[test]
fn the_receiver_refuses_what_contradicts_itself() {
    let segments = segments(5000, SEGMENT_DATA_MAX);
    let changed = |index: usize, change: &dyn Fn(&mut RmppHeader)| {
        let mut mad = segments[index].clone();
        let mut rmpp = header(&mad);
        change(&mut rmpp);
        rmpp.encode(&mut mad[RMPP_AT..]);
        mad
    };
    for (mad, expected) in [
        (segments[0][..DATA_AT - 1].to_vec(), status::UNSPECIFIED),
        (
            changed(0, &|rmpp| rmpp.rmpp_version = 2),
            status::UNSUPPORTED_VERSION,
        ),
        (changed(0, &|rmpp| rmpp.rmpp_type = 9), status::BAD_TYPE),
        (changed(0, &|rmpp| rmpp.active = false), status::BAD_TYPE),
        (
            changed(0, &|rmpp| rmpp.first = false),
            status::INCONSISTENT_FIRST,
        ),
        (
            changed(1, &|rmpp| rmpp.first = true),
            status::INCONSISTENT_FIRST,
        ),
        (
            changed(0, &|rmpp| rmpp.segment_num = 0),
            status::INCONSISTENT_FIRST,
        ),
        (
            changed(0, &|rmpp| (rmpp.last, rmpp.payload_len) = (true, 19)),
            status::INCONSISTENT_LAST,
        ),
        (
            changed(0, &|rmpp| (rmpp.last, rmpp.payload_len) = (true, 9999)),
            status::INCONSISTENT_LAST,
        ),
        (segments[0][..DATA_AT].to_vec(), status::INCONSISTENT_LAST),
    ] {
        let mut receiver = Receiver::new(100_000, 1);
        assert_eq!(receiver.push(&mad).unwrap_err().status, expected);
        assert_eq!(receiver.message(), None);
    }
}

#[test]
fn a_message_beyond_the_limit_is_refused() {
    let segments = segments(5000, SEGMENT_DATA_MAX);
    let mut receiver = Receiver::new(4999, 64);
    assert!(receiver.push(&segments[0]).is_ok());
    assert!(receiver.push(&segments[1]).is_ok());
    assert_eq!(
        receiver.push(&segments[2]).unwrap_err().status,
        status::RESOURCES_EXHAUSTED
    );
}

/// A transfer over a link that loses what `losses` says, in turn for each datagram of both sides.
fn transfer(data: &[u8], window: u32, mut losses: impl Iterator<Item = bool>) -> Vec<u8> {
    let mut sender = Sender::new(envelope(), data.to_vec(), SEGMENT_DATA_MAX_IB, 1000);
    let mut receiver = Receiver::new(data.len(), window);
    let (mut segment, mut ack) = (Vec::new(), Vec::new());
    loop {
        while sender.poll(&mut segment) {
            if losses.next().unwrap_or(false) {
                continue;
            }
            let (segment_num, window_last) = match receiver.push(&segment).unwrap() {
                Received::Nothing => continue,
                Received::Ack {
                    segment_num,
                    window_last,
                } => (segment_num, window_last),
                Received::Complete { segment_num } => (segment_num, segment_num),
            };
            receiver.envelope().unwrap_or(&envelope()).write_ack(
                segment_num,
                window_last,
                &mut ack,
            );
            assert_eq!(ack[3], method::GET_TABLE, "an ACK goes the other way");
            let lost = losses.next().unwrap_or(false);
            if !lost && sender.handle(&header(&ack)).unwrap() == Progress::Done {
                return receiver.message().unwrap().to_vec();
            }
        }
        sender.timeout().unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_message_arrives_whole(
        len in 0..6000_usize,
        window in 1..20_u32,
        losses in prop::collection::vec(prop::bool::weighted(0.3), 0..200),
    ) {
        let data = message(len);
        prop_assert_eq!(transfer(&data, window, losses.into_iter()), data);
    }

    #[test]
    fn any_bytes_are_received_within_the_limit(
        datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 0..20),
        forced in any::<bool>(),
    ) {
        let mut receiver = Receiver::new(100, 4);
        for (index, mut mad) in datagrams.into_iter().enumerate() {
            if forced && mad.len() >= DATA_AT {
                let first = index == 0;
                let rmpp = RmppHeader {
                    rmpp_version: 1,
                    rmpp_type: kind::DATA,
                    first,
                    active: true,
                    segment_num: index as u32 + 1,
                    ..header(&mad)
                };
                rmpp.encode(&mut mad[RMPP_AT..]);
            }
            let _ = receiver.push(&mad);
            prop_assert!(receiver.message().is_none_or(|message| message.len() <= 100));
        }
    }
}

#[test]
fn an_abort_goes_the_other_way_with_its_status() {
    let mut mad = Vec::new();
    let segment = segments(1, SEGMENT_DATA_MAX).remove(0);
    let mut receiver = Receiver::new(0, 1);
    let abort = receiver.push(&segment).unwrap_err();
    envelope().write_abort(&abort, &mut mad);
    assert_eq!(mad.len(), DATA_AT);
    assert_eq!(header(&mad).rmpp_type, kind::ABORT);
    assert_eq!(header(&mad).rmpp_status, status::RESOURCES_EXHAUSTED);
    assert_eq!(mad[DATA_AT - CLASS_LEN..], envelope().class);
}
