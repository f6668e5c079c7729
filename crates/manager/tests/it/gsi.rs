//! The server of a management class: requests come out whole and once, answers arrive whole over a
//! network that loses, repeats and reorders, and everything is bounded.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use weft_fabric::{Lid, Sl, Tick};
use weft_manager::gsi::{Answer, Form, Limits, Request, Server};
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class, method, status, version};
use weft_wire::id::PKey;
use weft_wire::packet::Packet;
use weft_wire::rmpp::{
    self, CLASS_LEN, Envelope, RMPP_AT, Received, Receiver, RmppHeader, Sender, kind,
};

const SERVER: Lid = Lid(1);

fn mad_header(form: Form, method: u8, transaction_id: u64) -> MadHeader {
    let (base_version, class_version) = match form {
        Form::Opa => (version::OPA, version::OPA),
        Form::Ib => (version::IB, version::IB_SA),
    };
    MadHeader {
        base_version,
        class_version,
        mgmt_class: class::SUBN_ADM,
        method,
        transaction_id,
        attribute_id: 0x11,
        ..MadHeader::default()
    }
}

fn packet(lid: u32, mad: Vec<u8>) -> Packet {
    Packet {
        slid: Lid(lid),
        dlid: SERVER,
        sl: Sl(2),
        pkey: PKey(0x7FFF),
        dest_qp: 1,
        src_qp: 1,
        mad,
    }
}

/// A request of one datagram.
fn request(lid: u32, form: Form, method: u8, transaction: u64, data: &[u8]) -> Packet {
    let envelope = Envelope {
        mad: mad_header(form, method, transaction),
        class: [7; CLASS_LEN],
    };
    let mut mad = Vec::new();
    envelope.write(&RmppHeader::default(), data, &mut mad);
    packet(lid, mad)
}

fn rmpp_of(packet: &Packet) -> RmppHeader {
    RmppHeader::decode(&packet.mad[RMPP_AT..]).unwrap()
}

fn status_of(packet: &Packet) -> u16 {
    MadHeader::decode(&packet.mad).unwrap().status
}

fn table(len: usize) -> Answer {
    Answer {
        status: status::OK,
        class: [9; CLASS_LEN],
        data: Arc::new((0..len).map(|index| (index % 251) as u8).collect()),
    }
}

fn drain(server: &mut Server) -> Vec<Packet> {
    std::iter::from_fn(|| server.poll()).collect()
}

#[test]
fn a_get_is_one_datagram_of_its_form() {
    for (form, len, expected) in [
        (Form::Opa, 116, 56 + 120),
        (Form::Opa, 5_000, 2_048),
        (Form::Ib, 64, 256),
        (Form::Ib, 5_000, 256),
    ] {
        let mut server = Server::new(class::SUBN_ADM, Limits::default());
        let got = server.received(Tick(0), &request(5, form, method::GET, 9, &[1, 2, 3]));
        let got = got.unwrap();
        assert_eq!(
            (got.from.lid, got.form, got.data.as_slice()),
            (Lid(5), form, &[1, 2, 3][..])
        );
        server.answer(Tick(0), &got, table(len));
        let sent = drain(&mut server);
        assert_eq!(sent.len(), 1);
        let answer = &sent[0];
        assert_eq!(answer.mad.len(), expected);
        assert_eq!(
            (answer.dlid, answer.slid, answer.sl),
            (Lid(5), SERVER, Sl(2))
        );
        assert_eq!(
            answer.pkey,
            PKey(0xFFFF),
            "a limited member takes only a full one's"
        );
        assert_eq!(
            MadHeader::decode(&answer.mad).unwrap().method,
            method::GET_RESP
        );
        assert_eq!(rmpp_of(answer), RmppHeader::default());
        assert!(server.deadline().is_none());
    }
}

#[test]
fn a_table_goes_in_segments_even_when_it_is_empty() {
    for (method, answered) in [
        (method::GET_TABLE, 0x92),
        (method::GET_TRACE_TABLE, 0x92),
        (method::GET_MULTI, 0x94),
    ] {
        let mut server = Server::new(class::SUBN_ADM, Limits::default());
        let got = server
            .received(Tick(0), &request(5, Form::Opa, method, 9, &[]))
            .unwrap();
        server.answer(Tick(0), &got, table(0));
        let sent = drain(&mut server);
        let rmpp = rmpp_of(&sent[0]);
        assert_eq!(
            (rmpp.rmpp_type, rmpp.first, rmpp.last),
            (kind::DATA, true, true)
        );
        assert_eq!(MadHeader::decode(&sent[0].mad).unwrap().method, answered);
    }
}

#[test]
fn what_is_not_for_it_is_dropped_and_what_it_does_not_speak_is_refused() {
    let mut server = Server::new(class::SUBN_ADM, Limits::default());
    let good = request(5, Form::Opa, method::GET, 9, &[]);
    let changed = |change: &dyn Fn(&mut Packet)| {
        let mut packet = good.clone();
        change(&mut packet);
        packet
    };
    for dropped in [
        changed(&|packet| packet.mad[1] = class::PA),
        changed(&|packet| packet.mad.truncate(55)),
        changed(&|packet| packet.dest_qp = 0),
        changed(&|packet| packet.slid = Lid::PERMISSIVE),
    ] {
        assert_eq!(server.received(Tick(0), &dropped), None);
        assert_eq!(drain(&mut server), []);
    }
    let odd = changed(&|packet| packet.mad[2] = 9);
    assert_eq!(server.received(Tick(0), &odd), None);
    let refused = drain(&mut server);
    assert_eq!(status_of(&refused[0]), status::UNSUPPORTED_CLASS_OR_VERSION);
    assert!(server.received(Tick(0), &good).is_some());
}

#[test]
fn a_request_in_progress_is_handed_out_once() {
    let mut server = Server::new(class::SUBN_ADM, Limits::default());
    let asked = request(5, Form::Opa, method::GET_TABLE, 9, &[]);
    let got = server.received(Tick(0), &asked).unwrap();
    assert_eq!(server.received(Tick(1), &asked), None, "not answered yet");
    server.answer(Tick(1), &got, table(10_000));
    assert_eq!(server.received(Tick(2), &asked), None, "being answered");
    assert_eq!(server.counters().duplicates, 2);
    let other = request(5, Form::Opa, method::GET_TABLE, 10, &[]);
    assert!(server.received(Tick(2), &other).is_some());
}

#[test]
fn beyond_its_limits_it_says_busy() {
    let limits = Limits {
        transfers: 3,
        transfers_per_requester: 2,
        transfer_bytes: 30_000,
        ..Limits::default()
    };
    let mut server = Server::new(class::SUBN_ADM, limits);
    let mut ask = |lid, transaction, len| {
        let asked = request(lid, Form::Opa, method::GET_TABLE, transaction, &[]);
        if let Some(got) = server.received(Tick(0), &asked) {
            server.answer(Tick(0), &got, table(len));
        }
        let sent = drain(&mut server);
        status_of(sent.last().unwrap())
    };
    assert_eq!(ask(5, 1, 10_000), status::OK);
    assert_eq!(ask(5, 2, 10_000), status::OK);
    assert_eq!(ask(5, 3, 10_000), status::BUSY, "two for one requester");
    assert_eq!(ask(6, 4, 20_000), status::BUSY, "too many bytes");
    assert_eq!(ask(6, 5, 10_000), status::OK);
    assert_eq!(ask(7, 6, 10), status::BUSY, "three in all");
    assert_eq!(server.counters().busy, 3);
}

#[test]
fn a_receiver_that_is_gone_costs_a_bounded_number_of_segments() {
    let mut server = Server::new(class::SUBN_ADM, Limits::default());
    let asked = request(5, Form::Opa, method::GET_TABLE, 9, &[]);
    let got = server.received(Tick(0), &asked).unwrap();
    server.answer(Tick(0), &got, table(10_000));
    let mut sent = drain(&mut server);
    let mut now = Tick(0);
    while let Some(deadline) = server.deadline() {
        assert!(deadline > now);
        now = deadline;
        server.expire(now);
        sent.extend(drain(&mut server));
    }
    assert_eq!(
        sent.len(),
        9,
        "the first segment, seven times again, an ABORT"
    );
    let last = rmpp_of(sent.last().unwrap());
    assert_eq!(
        (last.rmpp_type, last.rmpp_status),
        (kind::ABORT, rmpp::status::TOO_MANY_RETRIES)
    );
    assert!(now < Tick(0) + Limits::default().transfer_patience);
    assert_eq!(server.transfers(), 0);
}

#[test]
fn timeouts_follow_the_measured_round_trips() {
    let mut server = Server::new(class::SUBN_ADM, Limits::default());
    let mut now = Tick(0);
    for transaction in 0..20 {
        let asked = request(5, Form::Opa, method::GET_TABLE, transaction, &[]);
        let got = server.received(now, &asked).unwrap();
        server.answer(now, &got, table(100));
        let segment = drain(&mut server).remove(0);
        now = now + Duration::from_millis(100);
        let _ = server.received(now, &ack(&segment, 1, 1));
        assert_eq!(server.transfers(), 0);
    }
    let asked = request(6, Form::Opa, method::GET_TABLE, 99, &[]);
    let got = server.received(now, &asked).unwrap();
    server.answer(now, &got, table(100));
    let wait = server.deadline().unwrap().since(now);
    assert!((100..130).contains(&wait.as_millis()), "{wait:?}");
}

#[test]
fn a_repeated_ack_asks_for_what_is_missing_at_once() {
    let mut server = Server::new(class::SUBN_ADM, Limits::default());
    let asked = request(5, Form::Opa, method::GET_TABLE, 9, &[]);
    let got = server.received(Tick(0), &asked).unwrap();
    server.answer(Tick(0), &got, table(10 * 1992));
    let first = drain(&mut server).remove(0);
    let _ = server.received(Tick(1_000), &ack(&first, 1, 5));
    assert_eq!(numbers(&drain(&mut server)), [2, 3, 4, 5]);
    let _ = server.received(Tick(2_000), &ack(&first, 2, 5));
    assert_eq!(numbers(&drain(&mut server)), [0_u32; 0], "3 may still come");
    let _ = server.received(Tick(3_000), &ack(&first, 2, 5));
    let _ = server.received(Tick(3_000), &ack(&first, 2, 5));
    assert_eq!(numbers(&drain(&mut server)), [3, 4, 5], "once");
}

fn numbers(packets: &[Packet]) -> Vec<u32> {
    packets
        .iter()
        .map(|packet| rmpp_of(packet).segment_num)
        .collect()
}

/// The ACK that the receiver of `segment` sends.
fn ack(segment: &Packet, number: u32, window: u32) -> Packet {
    let envelope = Envelope {
        mad: MadHeader::decode(&segment.mad).unwrap(),
        class: [0; CLASS_LEN],
    };
    let mut mad = Vec::new();
    envelope.write_ack(number, window, &mut mad);
    packet(segment.dlid.0, mad)
}

/// A network under one virtual clock that loses, repeats and delays by seed.
struct Network {
    under_way: BTreeMap<(Tick, u64), (bool, Packet)>,
    count: u64,
    random: u64,
    loss: u64,
    repeat: u64,
}

impl Network {
    fn random(&mut self, below: u64) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.random >> 33) % below
    }

    fn send(&mut self, now: Tick, to_server: bool, packet: Packet) {
        let copies = match (self.random(100) < self.loss, self.random(100) < self.repeat) {
            (true, _) => 0,
            (false, false) => 1,
            (false, true) => 2,
        };
        for _ in 0..copies {
            let delay = Duration::from_micros(20 + self.random(60));
            self.count += 1;
            self.under_way
                .insert((now + delay, self.count), (to_server, packet.clone()));
        }
    }
}

/// Requests a table of `len` bytes over the network, until it is there or the server gave up.
fn fetch(network: &mut Network, form: Form, asked: Vec<u8>, len: usize) -> Option<Vec<u8>> {
    let mut server = Server::new(class::SUBN_ADM, Limits::default());
    let mut receiver = Receiver::new(1 << 20, 16);
    let envelope = Envelope {
        mad: mad_header(form, method::GET_MULTI, 3),
        class: [7; CLASS_LEN],
    };
    let mut sender = Sender::new(envelope, asked.clone(), form.data_max(), 1_000);
    let (mut now, mut handed_out, mut mad) = (Tick(0), 0, Vec::new());
    let mut resend = Tick(0) + Duration::from_millis(50);
    for _ in 0..200_000 {
        while sender.poll(&mut mad) {
            network.send(now, true, packet(5, mad.clone()));
        }
        while let Some(packet) = server.poll() {
            network.send(now, false, packet);
        }
        let next = network.under_way.keys().next().map(|(at, _)| *at);
        let timer = [server.deadline(), Some(resend).filter(|at| *at > now)];
        now = timer
            .into_iter()
            .flatten()
            .chain(next)
            .min()
            .unwrap_or(now + Duration::from_secs(1));
        server.expire(now);
        let due = network
            .under_way
            .first_key_value()
            .filter(|((at, _), _)| *at <= now)
            .map(|(key, _)| *key);
        let arrived = due.and_then(|key| network.under_way.remove(&key));
        if let Some((true, packet)) = &arrived
            && let Some(got) = server.received(now, packet)
        {
            assert_eq!(got.data.get(..asked.len()), Some(asked.as_slice()));
            handed_out += 1;
            server.answer(now, &got, table(len));
        }
        if let Some((false, packet)) = arrived {
            let rmpp = rmpp_of(&packet);
            match rmpp.rmpp_type {
                kind::ACK => drop(sender.handle(&rmpp)),
                kind::ABORT => return None,
                _ => match receiver.push(&packet.mad).unwrap() {
                    Received::Nothing => {}
                    Received::Ack {
                        segment_num,
                        window_last,
                    } => {
                        network.send(now, true, ack(&packet, segment_num, window_last));
                    }
                    Received::Complete { segment_num } => {
                        network.send(now, true, ack(&packet, segment_num, segment_num));
                        assert!(handed_out >= 1);
                        return receiver.message().map(<[u8]>::to_vec);
                    }
                },
            }
        } else if now >= resend && arrived.is_none() {
            let _ = sender.timeout();
            resend = now + Duration::from_millis(50);
        }
    }
    panic!("no end");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn requests_and_answers_survive_loss_repetition_and_reordering(
        seed: u64,
        loss in 0_u64..20,
        repeat in 0_u64..20,
        ib: bool,
        asked in 0_usize..9_000,
        len in 0_usize..60_000,
    ) {
        let form = if ib { Form::Ib } else { Form::Opa };
        let mut network = Network { under_way: BTreeMap::new(), count: 0, random: seed, loss, repeat };
        let asked: Vec<u8> = (0..asked).map(|index| index as u8).collect();
        let got = fetch(&mut network, form, asked, len);
        prop_assert_eq!(got, Some(table(len).data.to_vec()));
    }

    #[test]
    fn no_datagram_makes_it_panic_or_grow(
        datagrams in prop::collection::vec((0_u32..4, prop::collection::vec(any::<u8>(), 0..300)), 0..60),
    ) {
        let limits = Limits { transfers: 4, unanswered: 4, receptions: 4, ..Limits::default() };
        let mut server = Server::new(class::SUBN_ADM, limits);
        let mut held: Vec<Request> = Vec::new();
        for (at, (lid, mut bytes)) in datagrams.into_iter().enumerate() {
            let template = request(0, Form::Opa, method::GET_TABLE, 1, &[]).mad;
            for (index, byte) in template.iter().enumerate().filter(|(index, _)| !(3..4).contains(index) && !(24..36).contains(index)) {
                if let Some(to) = bytes.get_mut(index) {
                    *to = *byte;
                }
            }
            let now = Tick(at as u64 * 1_000_000);
            held.extend(server.received(now, &packet(lid, bytes)));
            if at % 3 == 0 && let Some(got) = held.pop() {
                server.answer(now, &got, table(3_000));
            }
            server.expire(now);
            prop_assert!(server.transfers() <= 4);
            prop_assert!(drain(&mut server).len() <= 64);
        }
    }
}

/// A thousand hosts send requests at once on a wire that carries `per_ms` datagrams per
/// millisecond, with `silent` of them silent from the start.
fn at_once(silent: u32, per_ms: usize) -> (Server, BTreeMap<Lid, usize>, Duration) {
    const HOSTS: u32 = 1_152;
    const BYTES: usize = 20_000;
    let mut server = Server::new(class::SUBN_ADM, Limits::default());
    let mut receivers: BTreeMap<Lid, Receiver> = BTreeMap::new();
    for lid in 2..2 + HOSTS {
        let asked = request(lid, Form::Ib, method::GET_TABLE, lid.into(), &[]);
        let asked = server.received(Tick(0), &asked).unwrap();
        server.answer(Tick(0), &asked, table(BYTES));
        if lid >= 2 + silent {
            receivers.insert(Lid(lid), Receiver::new(1 << 20, 64));
        }
    }
    let (mut wire, mut got) = (std::collections::VecDeque::new(), BTreeMap::new());
    let mut now = Tick(0);
    while got.len() < receivers.len() {
        assert!(now < Tick(30_000_000_000), "{} are served", got.len());
        now = now + Duration::from_millis(1);
        wire.extend(drain(&mut server));
        assert!(wire.len() <= Limits::default().segments + Limits::default().segments_retried);
        for _ in 0..per_ms {
            let Some(segment) = wire.pop_front() else {
                break;
            };
            let Some(receiver) = receivers.get_mut(&segment.dlid) else {
                continue;
            };
            match receiver.push(&segment.mad).unwrap() {
                Received::Nothing => continue,
                Received::Ack {
                    segment_num,
                    window_last,
                } => server.received(now, &ack(&segment, segment_num, window_last)),
                Received::Complete { segment_num } => {
                    got.insert(segment.dlid, receiver.message().unwrap().len());
                    server.received(now, &ack(&segment, segment_num, segment_num))
                }
            };
        }
        server.expire(now);
    }
    (server, got, Duration::from_nanos(now.0))
}

#[test]
fn a_thousand_tables_at_once_are_sent_once() {
    let (server, got, _) = at_once(0, 100);
    assert!(got.values().all(|len| *len == 20_000));
    assert_eq!((server.transfers(), server.counters().resent), (0, 0));
    assert_eq!(server.counters().busy, 0);
}

#[test]
fn receivers_that_are_gone_do_not_keep_others_waiting() {
    let (_, _, all_there) = at_once(0, 100);
    let (server, got, half_gone) = at_once(576, 100);
    assert_eq!(got.len(), 576);
    assert!(half_gone < all_there, "{half_gone:?} and {all_there:?}");
    assert!(server.transfers() <= 576);
}
