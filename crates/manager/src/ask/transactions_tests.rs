#![allow(clippy::unwrap_used)]
use weft_fabric::PortNum;
use weft_wire::sm::AttributeId;
use weft_wire::smp::{DirectedRoute, Smp, respond};

use super::*;

const MS: u64 = 1_000_000;

fn budget() -> Budget {
    Budget {
        total: 4,
        per_target: 2,
        first_timeout_ns: 35 * MS,
        floor_ns: 8 * MS,
        ceiling_ns: 250 * MS,
        attempts: 3,
        patience_ns: 750 * MS,
    }
}

fn target(node: u32) -> Target {
    Target {
        node,
        round_trip: RoundTrip::default(),
        silent: false,
    }
}

fn request() -> Vec<u8> {
    let route = DirectedRoute::new(&[PortNum(1), PortNum(2)]).unwrap();
    let mut mad = Vec::new();
    Smp::get(AttributeId::NODE_INFO, 0, 0, 0).write_directed(&route, &[], &mut mad);
    mad
}

fn begin(transactions: &mut Transactions<u8>, now: u64) -> Vec<u8> {
    let mut mad = request();
    transactions.begin(Tick(now), target(7), 1, &mut mad);
    mad
}

fn answer_to(mad: &[u8], change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut reply = Vec::new();
    respond(&SmpView::parse(mad).unwrap(), 0, &[0; 48], &mut reply);
    change(&mut reply);
    reply
}

fn take(transactions: &mut Transactions<u8>, now: u64, mad: &[u8]) -> Option<Answered<u8>> {
    let view = SmpView::parse(mad).ok()?;
    transactions.answer(Tick(now), &view, mad)
}

#[test]
fn an_answer_ends_its_request_once() {
    let mut transactions = Transactions::new(budget());
    let mad = begin(&mut transactions, 0);
    let reply = answer_to(&mad, |_| {});
    let answered = take(&mut transactions, 5 * MS, &reply).unwrap();
    assert_eq!((answered.node, answered.tag), (7, 1));
    assert_eq!(answered.round_trip_ns, Some(5 * MS));
    assert!(
        take(&mut transactions, 6 * MS, &reply).is_none(),
        "duplicate"
    );
    assert_eq!(transactions.outstanding(), 0);
}

#[test]
fn answers_that_do_not_fit_are_ignored() {
    type Change = fn(&mut Vec<u8>);
    let wrong: [(&str, Change); 6] = [
        ("slot", |mad| mad[15] ^= 1),
        ("generation", |mad| mad[13] ^= 1),
        ("attribute", |mad| mad[17] ^= 1),
        ("modifier", |mad| mad[23] ^= 1),
        ("method", |mad| mad[3] = 0x82),
        ("path", |mad| mad[41] ^= 1),
    ];
    for (what, change) in wrong {
        let mut transactions = Transactions::new(budget());
        let mad = begin(&mut transactions, 0);
        assert!(
            take(&mut transactions, 1, &answer_to(&mad, change)).is_none(),
            "{what}"
        );
        assert_eq!(transactions.outstanding(), 1, "{what}");
    }
}

#[test]
fn the_upper_half_of_the_identifier_belongs_to_the_kernel() {
    let mut transactions = Transactions::new(budget());
    let mad = begin(&mut transactions, 0);
    let reply = answer_to(&mad, |mad| mad[8..12].fill(0xAB));
    assert!(take(&mut transactions, 1, &reply).is_some());
}

#[test]
fn timeouts_double_and_end() {
    let mut transactions = Transactions::new(budget());
    begin(&mut transactions, 0);
    let mut sent_at = vec![0];
    let attempts = loop {
        let now = transactions.deadline().unwrap();
        match transactions.expire(now).unwrap() {
            Expired::Again { .. } => sent_at.push(now.0 / MS),
            Expired::GivenUp { attempts, .. } => {
                assert!(now.0 <= budget().patience_ns);
                break attempts;
            }
        }
    };
    assert_eq!(sent_at, [0, 35, 105, 245, 495]);
    assert_eq!(attempts, 5);
    assert_eq!(transactions.deadline(), None);
}

#[test]
fn a_silent_target_gets_few_attempts() {
    let mut transactions = Transactions::new(budget());
    let silent = Target {
        silent: true,
        ..target(1)
    };
    transactions.begin(Tick(0), silent, 1, &mut request());
    let mut attempts = 0;
    while let Some(now) = transactions.deadline() {
        if let Some(Expired::GivenUp { attempts: made, .. }) = transactions.expire(now) {
            attempts = made;
        }
    }
    assert_eq!(attempts, SILENT_ATTEMPTS);
}

#[test]
fn an_answer_to_a_repeated_request_is_not_sampled() {
    let mut transactions = Transactions::new(budget());
    let mad = begin(&mut transactions, 0);
    let now = transactions.deadline().unwrap();
    assert!(matches!(
        transactions.expire(now),
        Some(Expired::Again { .. })
    ));
    let answered = take(&mut transactions, now.0 + MS, &answer_to(&mad, |_| {})).unwrap();
    assert_eq!(answered.round_trip_ns, None);
    assert_eq!(transactions.overall().smoothed_ns(), None);
}

#[test]
fn the_window_is_bounded_and_reused() {
    let mut transactions = Transactions::new(budget());
    for round in 0..1_000 {
        let mads: Vec<_> = (0..4).map(|_| begin(&mut transactions, round)).collect();
        assert!(!transactions.has_room());
        for mad in mads {
            take(&mut transactions, round, &answer_to(&mad, |_| {})).unwrap();
        }
    }
    assert_eq!(transactions.slots.len(), 4);
    assert!(transactions.timers.len() <= 4 * 4 + 65);
}

#[test]
fn an_identifier_tells_whether_its_request_writes() {
    let mut transactions = Transactions::new(budget());
    for (set, wanted) in [(false, false), (true, true), (false, false)] {
        let mut mad = request();
        if set {
            mad[METHOD_AT] = method::SET;
        }
        transactions.begin(Tick(0), target(7), 1, &mut mad);
        let reply = answer_to(&mad, |_| {});
        let id = SmpView::parse(&reply).unwrap().header.transaction_id;
        let kernel = 0x1234_5678 << 32;
        assert_eq!(is_of_a_set(id | kernel), wanted);
        assert!(take(&mut transactions, MS, &reply).is_some());
    }
}

#[test]
fn a_request_waits_longer_when_answers_have_become_slower_since_it_was_sent() {
    let mut transactions = Transactions::new(Budget {
        total: 64,
        ..budget()
    });
    let quick = begin(&mut transactions, 0);
    take(&mut transactions, MS, &answer_to(&quick, |_| {})).unwrap();
    let slow: Vec<_> = (0..20).map(|_| begin(&mut transactions, MS)).collect();
    // After 8 ms all would be sent again, but some are answered after 7 ms.
    for mad in &slow[..10] {
        take(&mut transactions, 8 * MS, &answer_to(mad, |_| {})).unwrap();
    }
    assert!(transactions.expire(Tick(9 * MS)).is_none());
    // What is not answered in that time either is sent again.
    let again = transactions.expire(Tick(40 * MS));
    assert!(matches!(again, Some(Expired::Again { .. })), "{again:?}");
}

#[test]
fn a_request_waits_no_longer_than_the_ceiling_however_slow_answers_become() {
    let mut transactions = Transactions::new(budget());
    let all: Vec<_> = (0..200).map(|_| begin(&mut transactions, 0)).collect();
    let (answered, lost) = all.split_at(62);
    // Each is answered 4 ms after the one before it.
    for (mad, now) in answered.iter().zip((4 * MS..).step_by(4 * MS as usize)) {
        take(&mut transactions, now, &answer_to(mad, |_| {})).unwrap();
        assert!(transactions.expire(Tick(now)).is_none(), "{now} ns");
    }
    let ceiling = Tick(250 * MS);
    assert_eq!(transactions.deadline(), Some(ceiling));
    let expired = std::iter::from_fn(|| transactions.expire(ceiling));
    let again = expired.filter(|expired| matches!(expired, Expired::Again { .. }));
    assert_eq!(again.count(), lost.len());
    assert_eq!(transactions.deadline(), Some(Tick(500 * MS)));
}
