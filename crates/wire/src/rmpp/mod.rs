//! Messages of several segments (RMPP), of subnet administration and performance administration:
//! common header, RMPP header, a header of the class (20 bytes), data.
//!
//! Neither side has a clock: the owner calls [`Sender::timeout`] when it has waited long enough.

pub mod header;
mod kept;
pub mod receiver;
pub mod sender;

pub use header::{RmppHeader, kind, status};
pub use receiver::{Received, Receiver};
pub use sender::{Progress, Sender};

use crate::bits::store;
use crate::header::{MadHeader, method};
use crate::layout::Layout;

/// Offset of the RMPP header in a datagram.
pub const RMPP_AT: usize = MadHeader::LEN;
/// Offset of the class header.
pub const CLASS_AT: usize = RMPP_AT + RmppHeader::LEN;
/// Bytes of the header of the class.
pub const CLASS_LEN: usize = 20;
/// Offset of the data.
pub const DATA_AT: usize = CLASS_AT + CLASS_LEN;
/// Most bytes of data in an Omni-Path segment.
pub const SEGMENT_DATA_MAX: usize = 1992;
/// Most bytes of data in an InfiniBand segment.
pub const SEGMENT_DATA_MAX_IB: usize = 200;

/// Why a transfer cannot continue: an ABORT with `status` notifies the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("RMPP transfer aborted with status {status}: {reason}")]
pub struct Abort {
    /// See [`status`].
    pub status: u8,
    /// The error.
    pub reason: &'static str,
}

/// Common start of all datagrams of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope {
    /// Common header.
    pub mad: MadHeader,
    /// Header of the class.
    pub class: [u8; CLASS_LEN],
}

impl Envelope {
    /// Writes a datagram over `out`: the headers, `rmpp` and `data`.
    pub fn write(&self, rmpp: &RmppHeader, data: &[u8], out: &mut Vec<u8>) {
        out.clear();
        out.resize(DATA_AT, 0);
        self.mad.encode(out);
        rmpp.encode(out.get_mut(RMPP_AT..).unwrap_or_default());
        for (at, byte) in (CLASS_AT..).zip(self.class) {
            store(out, at, 1, u64::from(byte));
        }
        out.extend_from_slice(data);
    }

    /// Writes an ACK that the receiver of a transfer sends, to the datagrams that start with this.
    pub fn write_ack(&self, segment_num: u32, window_last: u32, out: &mut Vec<u8>) {
        let rmpp = RmppHeader {
            rmpp_type: kind::ACK,
            segment_num,
            payload_len: window_last,
            ..control()
        };
        self.reversed().write(&rmpp, &[], out);
    }

    /// Writes an ABORT that the receiver of a transfer sends.
    pub fn write_abort(&self, abort: &Abort, out: &mut Vec<u8>) {
        let rmpp = RmppHeader {
            rmpp_type: kind::ABORT,
            rmpp_status: abort.status,
            ..control()
        };
        self.reversed().write(&rmpp, &[], out);
    }

    /// The headers of datagrams in the other direction: the response bit turned over.
    fn reversed(&self) -> Self {
        Self {
            mad: MadHeader {
                method: self.mad.method ^ method::RESPONSE,
                ..self.mad
            },
            class: self.class,
        }
    }
}

/// The header of a datagram that carries no data.
fn control() -> RmppHeader {
    RmppHeader {
        rmpp_version: header::VERSION,
        active: true,
        ..RmppHeader::default()
    }
}
