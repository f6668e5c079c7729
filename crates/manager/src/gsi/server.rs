//! Dispatch of datagrams.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use weft_fabric::{Lid, Tick};
use weft_state::State;
use weft_wire::header::{MadHeader, method, status};
use weft_wire::packet::Packet;
use weft_wire::rmpp::{CLASS_LEN, DATA_AT, Envelope, RmppHeader, kind};

use super::message::{Answer, Form, Request, Requester, headers, wants_table};
use super::receptions::{Receptions, Step};
use super::transfers::{Ended, Transfers};

/// Limits of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub struct Limits {
    /// Requests that come in segments at once; one more is aborted.
    pub receptions: usize,
    /// Bytes of one request; a longer one is aborted.
    pub request_bytes: usize,
    /// Maximum silence of a sender between segments before its request is discarded.
    pub request_patience: Duration,
    /// Requests that the core has and has not answered; one more gets status BUSY.
    pub unanswered: usize,
    /// Answers in transfer in segments; one more gets status BUSY.
    pub transfers: usize,
    /// Answers in transfer to one requester.
    pub transfers_per_requester: usize,
    /// Bytes of all of them; beyond, an answer becomes status BUSY.
    pub transfer_bytes: usize,
    /// Segments in flight that wait for their ACKs, of all answers together; further ones wait
    /// their turn. The limit keeps many simultaneous receivers from making each other's round trips so long that segments
    /// are taken for lost.
    pub segments: usize,
    /// Segments in flight of answers whose receivers were silent when an ACK was due: lost receivers must
    /// not keep the others waiting.
    pub segments_retried: usize,
    /// Maximum duration of an answer's transfer before it is aborted.
    pub transfer_patience: Duration,
    /// Timeouts in a row after which an answer is aborted.
    pub retries: u32,
    /// Wait for an ACK before any was measured.
    pub ack_first: Duration,
    /// Shortest wait for an ACK, however short the measured round trip is.
    pub ack_floor: Duration,
    /// Longest wait for an ACK.
    pub ack_ceiling: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            receptions: 256,
            request_bytes: 64 * 1024,
            request_patience: Duration::from_secs(5),
            unanswered: 4_096,
            transfers: 8_192,
            transfers_per_requester: 64,
            transfer_bytes: 1 << 30,
            segments: 2_048,
            segments_retried: 512,
            transfer_patience: Duration::from_secs(60),
            retries: 7,
            ack_first: Duration::from_millis(250),
            ack_floor: Duration::from_millis(50),
            ack_ceiling: Duration::from_secs(2),
        }
    }
}

/// Counters of a server since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, State)]
pub struct Counters {
    /// Datagrams that came.
    pub received: u64,
    /// Datagrams that made no sense here, or that their senders may not send, and were dropped.
    pub dropped: u64,
    /// Requests handed out.
    pub requests: u64,
    /// Requests that came again while they were being answered.
    pub duplicates: u64,
    /// Requests that were answered with status BUSY.
    pub busy: u64,
    /// Answers that went in segments and arrived.
    pub transfers: u64,
    /// Answers that went in segments and were given up.
    pub transfers_failed: u64,
    /// Times that a transfer started again after a timeout.
    pub resent: u64,
}

/// Identity of a request or transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, State)]
pub(super) struct Key {
    lid: Lid,
    qp: u32,
    transaction: u64,
    form: Form,
}

/// The server side of one management class.
///
/// Give it each datagram of its class with [`Self::received`] and answer each request that comes
/// out with [`Self::answer`] (or [`Self::forget`] it). Send what [`Self::poll`] gives; call
/// [`Self::expire`] when [`Self::deadline`] has come. Time never goes back.
#[derive(Debug, Clone, State)]
pub struct Server {
    class: u8,
    limits: Limits,
    /// Requesters get no answer in place of status BUSY.
    is_silent_if_busy: bool,
    receptions: Receptions,
    transfers: Transfers,
    unanswered: BTreeSet<Key>,
    /// Taken before the state is written.
    #[state(skip)]
    outputs: VecDeque<Packet>,
    counters: Counters,
}

impl Server {
    /// A server of management class `class` ([`weft_wire::header::class`]).
    pub fn new(class: u8, limits: Limits) -> Self {
        Self {
            class,
            receptions: Receptions::new(&limits),
            transfers: Transfers::new(limits),
            limits,
            is_silent_if_busy: false,
            unanswered: BTreeSet::new(),
            outputs: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Counters since its start.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Number of answers in transfer in segments.
    pub fn transfers(&self) -> usize {
        self.transfers.len()
    }

    /// Processes a datagram; returns the request that it completes. Datagrams of another class, or too
    /// short, are dropped.
    pub fn received(&mut self, now: Tick, packet: &Packet) -> Option<Request> {
        self.counters.received += 1;
        let Some((mad, rmpp, class)) =
            headers(&packet.mad).filter(|(mad, ..)| self.is_mine(mad, packet))
        else {
            self.counters.dropped += 1;
            return None;
        };
        let from = Requester::of(packet);
        let Some(form) = Form::of(&mad) else {
            self.refuse_version(from, mad, class);
            return None;
        };
        let key = Key {
            lid: from.lid,
            qp: from.qp,
            transaction: mad.transaction_id,
            form,
        };
        match rmpp.rmpp_type {
            kind::ACK | kind::STOP | kind::ABORT if rmpp.active => {
                self.control(now, key, &rmpp);
                None
            }
            kind::DATA if rmpp.active => self.segment(now, key, from, &packet.mad, &rmpp),
            _ => {
                let data = packet.mad.get(DATA_AT..).unwrap_or_default();
                let data = data.get(..form.data_max()).unwrap_or(data).to_vec();
                self.whole(
                    key,
                    Request {
                        from,
                        form,
                        mad,
                        class,
                        data,
                    },
                )
            }
        }
    }

    fn is_mine(&self, mad: &MadHeader, packet: &Packet) -> bool {
        mad.mgmt_class == self.class && packet.dest_qp == 1 && packet.slid.is_unicast()
    }

    /// A version that is not spoken: an OPA-style refusal, to requests only.
    fn refuse_version(&mut self, from: Requester, mad: MadHeader, class: [u8; CLASS_LEN]) {
        if method::is_response(mad.method) {
            self.counters.dropped += 1;
            return;
        }
        let form = match mad.base_version {
            weft_wire::header::version::OPA => Form::Opa,
            _ => Form::Ib,
        };
        let request = Request {
            from,
            form,
            mad,
            class,
            data: Vec::new(),
        };
        let refusal = request.single(status::UNSUPPORTED_CLASS_OR_VERSION, class, &[]);
        self.outputs.push_back(refusal);
    }

    fn control(&mut self, now: Tick, key: Key, rmpp: &RmppHeader) {
        if rmpp.rmpp_type != kind::ACK {
            self.receptions.remove(&key);
        }
        let (ended, packet) = self.transfers.control(now, key, rmpp);
        self.outputs.extend(packet);
        match ended {
            Ended::No => {}
            Ended::Done => self.counters.transfers += 1,
            Ended::Failed => self.counters.transfers_failed += 1,
        }
    }

    fn segment(
        &mut self,
        now: Tick,
        key: Key,
        from: Requester,
        bytes: &[u8],
        rmpp: &RmppHeader,
    ) -> Option<Request> {
        let (mad, _, class) = headers(bytes)?;
        if method::is_response(mad.method) {
            self.counters.dropped += 1;
            return None;
        }
        let own = Envelope { mad, class };
        if self.in_progress(&key) {
            // The ACK of the last segment was lost: say again that all is there.
            self.counters.duplicates += 1;
            if rmpp.last {
                self.acknowledge(key.form, &from, &own, rmpp.segment_num, rmpp.segment_num);
            }
            return None;
        }
        match self.receptions.segment(now, key, bytes, rmpp.first) {
            Step::Nothing => None,
            Step::Ack(segment, window) => {
                self.acknowledge(key.form, &from, &own, segment, window);
                None
            }
            Step::Abort(abort) => {
                let mut mad = Vec::new();
                own.write_abort(&abort, &mut mad);
                self.send(key.form, &from, mad);
                None
            }
            Step::Whole(segment, first, data) => {
                self.acknowledge(key.form, &from, &own, segment, segment);
                let request = Request {
                    from,
                    form: key.form,
                    mad: first.mad,
                    class: first.class,
                    data,
                };
                self.whole(key, request)
            }
        }
    }

    fn acknowledge(
        &mut self,
        form: Form,
        to: &Requester,
        own: &Envelope,
        segment: u32,
        window: u32,
    ) {
        let mut mad = Vec::new();
        own.write_ack(segment, window, &mut mad);
        self.send(form, to, mad);
    }

    fn send(&mut self, form: Form, to: &Requester, mut mad: Vec<u8>) {
        form.pad(&mut mad);
        self.outputs.push_back(to.packet(mad));
    }

    fn in_progress(&self, key: &Key) -> bool {
        self.unanswered.contains(key) || self.transfers.contains(key)
    }

    /// A whole message: answers go through, requests once, and only as many as there is room for.
    fn whole(&mut self, key: Key, request: Request) -> Option<Request> {
        if request.is_response() {
            return Some(request);
        }
        if self.in_progress(&key) {
            self.counters.duplicates += 1;
            return None;
        }
        let table = wants_table(request.mad.method);
        let room = self.unanswered.len() < self.limits.unanswered
            && (!table || self.transfers.has_room(key.lid));
        if !room {
            self.busy(&request);
            return None;
        }
        self.unanswered.insert(key);
        self.counters.requests += 1;
        Some(request)
    }

    /// Whether requesters get no answer in place of status BUSY.
    pub fn set_silent_if_busy(&mut self, silent: bool) {
        self.is_silent_if_busy = silent;
    }

    fn busy(&mut self, request: &Request) {
        self.counters.busy += 1;
        if self.is_silent_if_busy {
            return;
        }
        let packet = request.single(status::BUSY, request.class, &[]);
        self.outputs.push_back(packet);
    }

    /// Answers a request. Refusals and answers to Get, Set and the like are one datagram, truncated at
    /// its size; tables use RMPP even for a single segment.
    pub fn answer(&mut self, now: Tick, request: &Request, answer: Answer) {
        let key = key_of(request);
        self.unanswered.remove(&key);
        if answer.status == status::BUSY {
            return self.busy(request);
        }
        if !request.wants_table() || answer.status != status::OK {
            let packet = request.single(answer.status, answer.class, &answer.data);
            self.outputs.push_back(packet);
            return;
        }
        if !self.transfers.has_bytes(answer.data.len()) || self.transfers.contains(&key) {
            self.busy(request);
            return;
        }
        let envelope = request.envelope(answer.status, answer.class);
        self.transfers
            .begin(now, key, request.from, request.form, envelope, answer.data);
    }

    /// Leaves a request without an answer.
    pub fn forget(&mut self, request: &Request) {
        self.counters.dropped += 1;
        self.unanswered.remove(&key_of(request));
    }

    /// The next datagram to send, none when there is nothing more.
    pub fn poll(&mut self) -> Option<Packet> {
        self.outputs.pop_front().or_else(|| self.transfers.poll())
    }

    /// When [`Self::expire`] is to be called at the latest, none when only datagrams matter.
    pub fn deadline(&self) -> Option<Tick> {
        let deadlines = [self.transfers.deadline(), self.receptions.deadline()];
        deadlines.into_iter().flatten().min()
    }

    /// Performs everything that is due: retries, aborts, discards.
    pub fn expire(&mut self, now: Tick) {
        let aborts = self.transfers.expire(now, &mut self.counters.resent);
        self.counters.transfers_failed += aborts.len() as u64;
        self.outputs.extend(aborts);
        self.counters.dropped += self.receptions.expire(now);
    }
}

fn key_of(request: &Request) -> Key {
    Key {
        lid: request.from.lid,
        qp: request.from.qp,
        transaction: request.mad.transaction_id,
        form: request.form,
    }
}
