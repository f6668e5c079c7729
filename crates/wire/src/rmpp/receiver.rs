//! The receiving side of a transfer.

use crate::header::MadHeader;
use crate::layout::Layout;
use crate::rmpp::header::{RmppHeader, VERSION, kind, status};
use crate::rmpp::kept::{read_message, write_message};
use crate::rmpp::{Abort, CLASS_AT, CLASS_LEN, DATA_AT, Envelope, RMPP_AT};
use weft_state::{Reader, State, StateError, Writer};

/// Result of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// Nothing to do yet.
    Nothing,
    /// Send an ACK: last segment received in order, last one that may be sent.
    Ack {
        /// Last segment received in order.
        segment_num: u32,
        /// Last segment that may be sent.
        window_last: u32,
    },
    /// Send that ACK; the message is complete.
    Complete {
        /// Last segment received in order.
        segment_num: u32,
    },
}

/// Reassembles segments, in order and within a limit; requests out-of-order ones again.
#[derive(Debug, Clone)]
pub struct Receiver {
    data: Vec<u8>,
    envelope: Option<Envelope>,
    received: u32,
    window: u32,
    window_last: u32,
    limit: usize,
    complete: bool,
}

impl Receiver {
    /// A receiver of a message of at most `limit` bytes that lets `window` segments (at least one)
    /// come before it acknowledges.
    pub fn new(limit: usize, window: u32) -> Self {
        Self {
            data: Vec::new(),
            envelope: None,
            received: 0,
            window: window.max(1),
            window_last: 1,
            limit,
            complete: false,
        }
    }

    /// Processes a datagram of RMPP type DATA.
    ///
    /// # Errors
    /// The segment contradicts itself or the message would be too long; send an ABORT.
    pub fn push(&mut self, mad: &[u8]) -> Result<Received, Abort> {
        let rmpp = segment_header(mad)?;
        if rmpp.first != (rmpp.segment_num == 1) || rmpp.segment_num == 0 {
            return refuse(
                status::INCONSISTENT_FIRST,
                "first flag contradicts the number",
            );
        }
        if self.complete || rmpp.segment_num != self.received + 1 {
            return Ok(self.ack());
        }
        let data = segment_data(mad, &rmpp)?;
        if self.data.len() + data.len() > self.limit {
            return refuse(status::RESOURCES_EXHAUSTED, "the message is too long");
        }
        if rmpp.first {
            self.envelope = envelope(mad);
        }
        self.data.extend_from_slice(data);
        self.received += 1;
        self.complete = rmpp.last;
        Ok(self.after_segment())
    }

    fn after_segment(&mut self) -> Received {
        if self.complete {
            return Received::Complete {
                segment_num: self.received,
            };
        }
        if self.received < self.window_last {
            return Received::Nothing;
        }
        self.window_last = self.received.saturating_add(self.window);
        self.ack()
    }

    fn ack(&self) -> Received {
        Received::Ack {
            segment_num: self.received,
            window_last: self.window_last.max(self.received),
        }
    }

    /// The headers of the first segment, once it has come.
    pub fn envelope(&self) -> Option<&Envelope> {
        self.envelope.as_ref()
    }

    /// The message, once it is complete.
    pub fn message(&self) -> Option<&[u8]> {
        self.complete.then_some(&self.data)
    }
}

impl State for Receiver {
    fn write(&self, to: &mut Writer<'_>) {
        let Self {
            data,
            envelope,
            received,
            window,
            window_last,
            limit,
            complete,
        } = self;
        envelope.write(to);
        // There is no data before the first segment's headers.
        if let Some(envelope) = envelope {
            write_message(envelope, data, to);
        }
        for number in [received, window, window_last] {
            number.write(to);
        }
        limit.write(to);
        complete.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let envelope: Option<Envelope> = State::read(from)?;
        Ok(Self {
            data: match envelope {
                Some(_) => read_message(from)?,
                None => Vec::new(),
            },
            envelope,
            received: State::read(from)?,
            window: State::read(from)?,
            window_last: State::read(from)?,
            limit: State::read(from)?,
            complete: State::read(from)?,
        })
    }
}

fn refuse<T>(status: u8, reason: &'static str) -> Result<T, Abort> {
    Err(Abort { status, reason })
}

/// The RMPP header of a segment.
fn segment_header(mad: &[u8]) -> Result<RmppHeader, Abort> {
    if mad.len() < DATA_AT {
        return refuse(status::UNSPECIFIED, "the datagram is too short");
    }
    let Ok(rmpp) = RmppHeader::decode(mad.get(RMPP_AT..).unwrap_or_default()) else {
        return refuse(status::UNSPECIFIED, "the datagram is too short");
    };
    if rmpp.rmpp_version != VERSION {
        return refuse(status::UNSUPPORTED_VERSION, "the version is not 1");
    }
    if rmpp.rmpp_type != kind::DATA || !rmpp.active {
        return refuse(status::BAD_TYPE, "the datagram is no active segment");
    }
    Ok(rmpp)
}

/// The segment's data: all of it, or in the last segment the length in its header.
fn segment_data<'a>(mad: &'a [u8], rmpp: &RmppHeader) -> Result<&'a [u8], Abort> {
    let data = mad.get(DATA_AT..).unwrap_or_default();
    if !rmpp.last {
        return match data.is_empty() {
            true => refuse(status::INCONSISTENT_LAST, "a segment without data"),
            false => Ok(data),
        };
    }
    let len = (rmpp.payload_len as usize).checked_sub(CLASS_LEN);
    match len.and_then(|len| data.get(..len)) {
        Some(data) => Ok(data),
        None => refuse(
            status::INCONSISTENT_LAST,
            "the last segment's length is wrong",
        ),
    }
}

fn envelope(mad: &[u8]) -> Option<Envelope> {
    let class = mad.get(CLASS_AT..DATA_AT)?.try_into().ok()?;
    Some(Envelope {
        mad: MadHeader::decode(mad).ok()?,
        class,
    })
}
