//! Messages between a server and the core behind it.

use std::sync::Arc;

use weft_fabric::{Lid, Sl};
use weft_state::State;
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class, method, version};
use weft_wire::id::PKey;
use weft_wire::packet::Packet;
use weft_wire::rmpp::{
    CLASS_LEN, DATA_AT, Envelope, RmppHeader, SEGMENT_DATA_MAX, SEGMENT_DATA_MAX_IB,
};

/// Bytes of an InfiniBand datagram: always all of them.
const IB_MAD_LEN: usize = 256;

/// Form of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, State)]
pub enum Form {
    /// Base version 0x80: up to 2,048 bytes, as many as it needs.
    Opa,
    /// Base version 1: 256 bytes.
    Ib,
}

impl Form {
    /// The form that a header's versions say, none when the class is not served in it.
    pub(super) fn of(mad: &MadHeader) -> Option<Self> {
        match (mad.base_version, mad.class_version, mad.mgmt_class) {
            (version::OPA, version::OPA, _) => Some(Self::Opa),
            (version::IB, version::IB_SA, class::SUBN_ADM) => Some(Self::Ib),
            _ => None,
        }
    }

    /// Most bytes of data in one datagram.
    pub fn data_max(self) -> usize {
        match self {
            Self::Opa => SEGMENT_DATA_MAX,
            Self::Ib => SEGMENT_DATA_MAX_IB,
        }
    }

    /// Pads a datagram to the length of its form.
    pub(crate) fn pad(self, mad: &mut Vec<u8>) {
        let len = match self {
            Self::Opa => mad.len().next_multiple_of(8),
            Self::Ib => IB_MAD_LEN.max(mad.len()),
        };
        mad.resize(len, 0);
    }
}

/// The requester, and destination of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, State)]
pub struct Requester {
    /// LID of its port.
    pub lid: Lid,
    /// The LID of ours that received the request.
    pub served_lid: Lid,
    /// Service level of its request.
    pub sl: Sl,
    /// Partition key of its request.
    pub pkey: PKey,
    /// Its queue pair.
    pub qp: u32,
}

impl Requester {
    pub(super) fn of(packet: &Packet) -> Self {
        Self {
            lid: packet.slid,
            served_lid: packet.dlid,
            sl: packet.sl,
            pkey: packet.pkey,
            qp: packet.src_qp,
        }
    }

    /// A datagram back to it. The key is that of a full member: a limited member would not take
    /// one of its own kind.
    pub fn packet(&self, mad: Vec<u8>) -> Packet {
        Packet {
            slid: self.served_lid,
            dlid: self.lid,
            sl: self.sl,
            pkey: PKey(self.pkey.0 | 0x8000),
            dest_qp: self.qp,
            src_qp: 1,
            mad,
        }
    }
}

/// A whole request, or the whole answer to something that was sent to the other side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The sender.
    pub from: Requester,
    /// Its form; the answer has the same.
    pub form: Form,
    /// Its common header; of several segments, that of the first.
    pub mad: MadHeader,
    /// The header of its class ([`weft_wire::sa::SaHeader`] in subnet administration).
    pub class: [u8; CLASS_LEN],
    /// Its payload. A request of one datagram is not trimmed: padding is
    /// part of it.
    pub data: Vec<u8>,
}

impl Request {
    /// Whether it answers something, so that nothing goes back.
    pub fn is_response(&self) -> bool {
        method::is_response(self.mad.method)
    }

    /// Whether the answer goes in segments, be it one: it may have any number of records.
    pub fn wants_table(&self) -> bool {
        wants_table(self.mad.method)
    }

    /// The headers of an answer.
    pub(super) fn envelope(&self, status: u16, class: [u8; CLASS_LEN]) -> Envelope {
        Envelope {
            mad: MadHeader {
                status,
                method: response_method(self.mad.method),
                ..self.mad
            },
            class,
        }
    }

    /// An answer of one datagram.
    pub(super) fn single(&self, status: u16, class: [u8; CLASS_LEN], data: &[u8]) -> Packet {
        let data = data.get(..self.form.data_max()).unwrap_or(data);
        let mut mad = Vec::with_capacity((DATA_AT + data.len()).max(IB_MAD_LEN));
        self.envelope(status, class)
            .write(&RmppHeader::default(), data, &mut mad);
        self.form.pad(&mut mad);
        self.from.packet(mad)
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Status of the common header, 0 when all is well.
    pub status: u16,
    /// The header of the class.
    pub class: [u8; CLASS_LEN],
    /// The records. Shared, so that many can get the same table at once.
    pub data: Arc<Vec<u8>>,
}

impl Answer {
    /// An answer that says only why there is none.
    pub fn refusal(status: u16, class: [u8; CLASS_LEN]) -> Self {
        Self {
            status,
            class,
            data: Arc::default(),
        }
    }
}

/// Whether answers to a method may have several segments.
pub(super) fn wants_table(method: u8) -> bool {
    matches!(
        method,
        method::GET_TABLE | method::GET_TRACE_TABLE | method::GET_MULTI
    )
}

/// The method of the answer.
pub(super) fn response_method(method: u8) -> u8 {
    match method {
        method::GET | method::SET => method::GET_RESP,
        method::GET_TRACE_TABLE => method::GET_TABLE | method::RESPONSE,
        other => other | method::RESPONSE,
    }
}

/// Splits a datagram into its headers, none when it is too short to have them.
pub(crate) fn headers(bytes: &[u8]) -> Option<(MadHeader, RmppHeader, [u8; CLASS_LEN])> {
    let mad = MadHeader::decode(bytes).ok()?;
    let rmpp = RmppHeader::decode(bytes.get(weft_wire::rmpp::RMPP_AT..)?).ok()?;
    let class = bytes.get(weft_wire::rmpp::CLASS_AT..DATA_AT)?;
    Some((mad, rmpp, class.try_into().ok()?))
}
