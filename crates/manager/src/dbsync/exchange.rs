//! One request to a standby and its answer, both in segments.

use std::time::Duration;

use weft_fabric::{Lid, Sl, Tick};
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class, method, status, version};
use weft_wire::id::PKey;
use weft_wire::packet::Packet;
use weft_wire::rmpp::{
    CLASS_LEN, Envelope, Progress, Received, Receiver, RmppHeader, SEGMENT_DATA_MAX, Sender, kind,
};
use weft_wire::sa::SaHeader;

use crate::gsi::{Form, headers};

/// The vendor's number (OUI), in the header of its classes.
const VENDOR_OUI: [u8; 3] = [0x00, 0x06, 0x6A];
/// Wait for an ACK.
const ACK_WITHIN: Duration = Duration::from_secs(1);
/// Wait for the answer once all segments have arrived: the standby takes in the whole table first.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Timeouts in a row after which it is given up.
const RETRIES: u32 = 3;
/// Bytes of an answer.
const ANSWER_MAX: usize = 4096;
/// Segments of an answer that may come before one is acknowledged.
const WINDOW: u32 = 8;

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    /// See [`weft_wire::dbsync::attribute`].
    pub(super) table: u16,
    /// See [`weft_wire::dbsync::action`].
    pub(super) action: u32,
    pub(super) data: Vec<u8>,
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing yet.
    Open,
    /// The answer's data.
    Answered(Vec<u8>),
    /// The standby refuses, with a status.
    Refused(u16),
    /// It does not answer, or what it sends makes no sense.
    Failed(&'static str),
}

/// A request under way.
#[derive(Debug)]
pub(super) struct Exchange {
    transaction_id: u64,
    own: Lid,
    to: Lid,
    sender: Sender,
    /// All segments have arrived.
    is_sent: bool,
    answer: Receiver,
    due: Tick,
}

impl Exchange {
    /// From the port at `own` to the one at `to`.
    pub(super) fn new(
        now: Tick,
        transaction_id: u64,
        (own, to): (Lid, Lid),
        question: Question,
    ) -> Self {
        let stride = question
            .data
            .len()
            .next_multiple_of(8)
            .min(SEGMENT_DATA_MAX);
        let header = SaHeader {
            attribute_offset: (stride / 8) as u16,
            ..SaHeader::default()
        };
        let mut class_header = [0; CLASS_LEN];
        header.encode(&mut class_header);
        // Kernels find by it who serves a vendor's class.
        class_header[1..4].copy_from_slice(&VENDOR_OUI);
        let envelope = Envelope {
            mad: MadHeader {
                base_version: version::OPA,
                class_version: version::OPA,
                mgmt_class: class::SM_DBSYNC,
                method: method::GET_TABLE,
                transaction_id,
                attribute_id: question.table,
                attribute_modifier: question.action,
                ..MadHeader::default()
            },
            class: class_header,
        };
        Self {
            transaction_id,
            own,
            to,
            sender: Sender::new(envelope, question.data, SEGMENT_DATA_MAX, RETRIES),
            is_sent: false,
            answer: Receiver::new(ANSWER_MAX, WINDOW),
            due: now + ACK_WITHIN,
        }
    }

    /// When [`Self::expire`] is due.
    pub(super) fn deadline(&self) -> Tick {
        self.due
    }

    /// Sends the segments that the standby lets come.
    pub(super) fn send(&mut self, out: &mut impl Extend<Packet>) {
        let mut mad = Vec::new();
        while !self.is_sent && self.sender.poll(&mut mad) {
            out.extend([self.packet(mad.clone())]);
        }
    }

    fn packet(&self, mut mad: Vec<u8>) -> Packet {
        Form::Opa.pad(&mut mad);
        Packet {
            slid: self.own,
            dlid: self.to,
            sl: Sl(0),
            pkey: PKey::MGMT_FULL,
            dest_qp: 1,
            src_qp: 1,
            mad,
        }
    }

    /// Whether a datagram belongs to it.
    pub(super) fn is_for(&self, packet: &Packet, mad: &MadHeader) -> bool {
        packet.slid == self.to
            && packet.pkey == PKey::MGMT_FULL
            && mad.transaction_id == self.transaction_id
            && method::is_response(mad.method)
    }

    /// Takes a datagram of the standby's.
    pub(super) fn received(
        &mut self,
        now: Tick,
        packet: &Packet,
        out: &mut impl Extend<Packet>,
    ) -> Outcome {
        let Some((mad, rmpp, class)) = headers(&packet.mad) else {
            return Outcome::Open;
        };
        match (rmpp.active, rmpp.rmpp_type) {
            (true, kind::ACK) if !self.is_sent => self.acknowledged(now, &rmpp, out),
            (true, kind::ACK) => Outcome::Open,
            (true, kind::STOP | kind::ABORT) => Outcome::Failed("it broke off the transfer"),
            (true, kind::DATA) => {
                // Who answers has all.
                self.is_sent = true;
                self.segment(now, &Envelope { mad, class }, &packet.mad, out)
            }
            _ if mad.status != status::OK => Outcome::Refused(mad.status),
            _ => Outcome::Answered(Vec::new()),
        }
    }

    fn acknowledged(
        &mut self,
        now: Tick,
        rmpp: &RmppHeader,
        out: &mut impl Extend<Packet>,
    ) -> Outcome {
        match self.sender.handle(rmpp) {
            Ok(Progress::Done) => {
                self.is_sent = true;
                self.due = now + ANSWER_WITHIN;
            }
            Ok(Progress::Continue) => {
                self.due = now + ACK_WITHIN;
                self.send(out);
            }
            Err(abort) => return Outcome::Failed(abort.reason),
        }
        Outcome::Open
    }

    fn segment(
        &mut self,
        now: Tick,
        theirs: &Envelope,
        mad: &[u8],
        out: &mut impl Extend<Packet>,
    ) -> Outcome {
        let (segment, window) = match self.answer.push(mad) {
            Ok(Received::Nothing) => return Outcome::Open,
            Ok(Received::Ack {
                segment_num,
                window_last,
            }) => (segment_num, window_last),
            Ok(Received::Complete { segment_num }) => (segment_num, segment_num),
            Err(abort) => return Outcome::Failed(abort.reason),
        };
        let mut ack = Vec::new();
        theirs.write_ack(segment, window, &mut ack);
        out.extend([self.packet(ack)]);
        self.due = now + ANSWER_WITHIN;
        let code = theirs.mad.status;
        match self.answer.message() {
            Some(_) if code != status::OK => Outcome::Refused(code),
            Some(data) => Outcome::Answered(data.to_vec()),
            None => Outcome::Open,
        }
    }

    /// Sends again what was not acknowledged in time, or gives up.
    pub(super) fn expire(&mut self, now: Tick, out: &mut impl Extend<Packet>) -> Outcome {
        if self.due > now {
            return Outcome::Open;
        }
        if self.is_sent {
            return Outcome::Failed("it has taken the request and does not answer");
        }
        if self.sender.timeout().is_err() {
            return Outcome::Failed("it does not answer");
        }
        self.due = now + ACK_WITHIN;
        self.send(out);
        Outcome::Open
    }
}
