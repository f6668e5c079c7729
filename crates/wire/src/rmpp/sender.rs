//! The sending side of a transfer.

use std::sync::Arc;

use weft_state::{Reader, State, StateError, Writer};

use crate::rmpp::header::{RmppHeader, VERSION, kind, status};
use crate::rmpp::kept::{read_answer, write_answer};
use crate::rmpp::{Abort, CLASS_LEN, Envelope};

/// Effect of a receiver's datagram on the transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// More segments may be sent.
    Continue,
    /// All has arrived.
    Done,
}

/// Cuts a message into segments and sends them within the receiver's window.
///
/// Call [`Self::poll`] until it has nothing more, then wait for the receiver's datagrams
/// ([`Self::handle`]) or for time to pass ([`Self::timeout`]).
#[derive(Debug, Clone)]
pub struct Sender {
    envelope: Envelope,
    data: Arc<Vec<u8>>,
    segment_len: usize,
    next: u32,
    sent: u32,
    acknowledged: u32,
    window_last: u32,
    retries_left: u32,
    retries: u32,
}

impl Sender {
    /// A transfer of `data` in segments of at most `segment_len` bytes (at least 1 is taken), each
    /// with the headers of `envelope`; after `retries` timeouts in a row it gives up.
    pub fn new(
        envelope: Envelope,
        data: impl Into<Arc<Vec<u8>>>,
        segment_len: usize,
        retries: u32,
    ) -> Self {
        Self {
            envelope,
            data: data.into(),
            segment_len: segment_len.max(1),
            next: 1,
            sent: 0,
            acknowledged: 0,
            window_last: 1,
            retries_left: retries,
            retries,
        }
    }

    /// Segments of the message, at least one.
    pub fn segments(&self) -> u32 {
        self.data.len().div_ceil(self.segment_len).max(1) as u32
    }

    /// The last segment that the receiver has acknowledged, 0 for none.
    pub fn acknowledged(&self) -> u32 {
        self.acknowledged
    }

    /// The last segment that has been sent, 0 for none.
    pub fn sent(&self) -> u32 {
        self.sent
    }

    /// The last segment that may be sent before the next ACK.
    pub fn window_end(&self) -> u32 {
        self.window_last.min(self.segments())
    }

    /// Segments that were sent, since it last started again, and that no ACK has covered.
    pub fn in_flight(&self) -> u32 {
        self.next.saturating_sub(self.acknowledged + 1)
    }

    /// Starts again after the last acknowledged segment: the receiver said that it lacks the next
    /// one. Costs no retry.
    pub fn rewind(&mut self) {
        self.next = self.acknowledged + 1;
    }

    /// Writes the next segment over `out`, if the window lets it out.
    pub fn poll(&mut self, out: &mut Vec<u8>) -> bool {
        if self.next > self.window_end() {
            return false;
        }
        self.write(self.next, out);
        self.sent = self.sent.max(self.next);
        self.next += 1;
        true
    }

    fn write(&self, segment_num: u32, out: &mut Vec<u8>) {
        let count = self.segments();
        let start = (segment_num as usize - 1) * self.segment_len;
        let rest = self.data.get(start..).unwrap_or_default();
        let part = rest.get(..self.segment_len).unwrap_or(rest);
        let (first, last) = (segment_num == 1, segment_num == count);
        let payload_len = match (first, last) {
            (true, _) => self.data.len() + CLASS_LEN * count as usize,
            (false, true) => part.len() + CLASS_LEN,
            (false, false) => 0,
        };
        let rmpp = RmppHeader {
            rmpp_version: VERSION,
            rmpp_type: kind::DATA,
            r_resp_time: 0x1F,
            first,
            last,
            active: true,
            rmpp_status: 0,
            segment_num,
            payload_len: payload_len as u32,
        };
        self.envelope.write(&rmpp, part, out);
    }

    /// Processes an ACK, STOP or ABORT.
    ///
    /// # Errors
    /// The receiver stopped the transfer, or its datagram makes no sense.
    pub fn handle(&mut self, rmpp: &RmppHeader) -> Result<Progress, Abort> {
        let abort = |status, reason| Err(Abort { status, reason });
        match rmpp.rmpp_type {
            kind::ACK if rmpp.segment_num > self.sent => abort(
                status::SEGMENT_TOO_BIG,
                "an ACK of segments that were not sent",
            ),
            kind::ACK if rmpp.payload_len < rmpp.segment_num => abort(
                status::WINDOW_TOO_SMALL,
                "an ACK whose window ends before the segment",
            ),
            kind::ACK => Ok(self.acknowledge(rmpp.segment_num, rmpp.payload_len)),
            kind::STOP | kind::ABORT => abort(rmpp.rmpp_status, "the receiver stopped it"),
            _ => abort(status::BAD_TYPE, "neither ACK nor STOP nor ABORT"),
        }
    }

    fn acknowledge(&mut self, segment_num: u32, window_last: u32) -> Progress {
        if segment_num > self.acknowledged {
            self.acknowledged = segment_num;
            self.next = self.next.max(segment_num + 1);
            self.retries_left = self.retries;
        }
        self.window_last = self.window_last.max(window_last);
        if self.acknowledged == self.segments() {
            Progress::Done
        } else {
            Progress::Continue
        }
    }

    /// The receiver has been silent for too long: starts again after the last acknowledged
    /// segment.
    ///
    /// # Errors
    /// There were too many timeouts in a row.
    pub fn timeout(&mut self) -> Result<(), Abort> {
        self.retries_left = self.retries_left.checked_sub(1).ok_or(Abort {
            status: status::TOO_MANY_RETRIES,
            reason: "no ACK after the last retry",
        })?;
        self.next = self.acknowledged + 1;
        Ok(())
    }
}

impl State for Sender {
    fn write(&self, to: &mut Writer<'_>) {
        let Self {
            envelope,
            data,
            segment_len,
            next,
            sent,
            acknowledged,
            window_last,
            retries_left,
            retries,
        } = self;
        State::write(envelope, to);
        write_answer(envelope, data, to);
        segment_len.write(to);
        for number in [next, sent, acknowledged, window_last, retries_left, retries] {
            number.write(to);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let envelope = State::read(from)?;
        Ok(Self {
            envelope,
            data: read_answer(&envelope, from)?,
            segment_len: usize::read(from)?.max(1),
            next: State::read(from)?,
            sent: State::read(from)?,
            acknowledged: State::read(from)?,
            window_last: State::read(from)?,
            retries_left: State::read(from)?,
            retries: State::read(from)?,
        })
    }
}
