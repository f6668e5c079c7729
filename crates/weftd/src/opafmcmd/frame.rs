//! Frames on the socket between the vendor's `opafmcmd` and a manager.
//!
//! A frame is a header of 32 bytes and its payload. Integers are in the machine's byte order: both ends run on one
//! machine. Offsets in the header: 0 version, 1 response code, 8 command, 16 number of the transaction, 24 length of
//! the payload. A client opens with a frame that carries a fixed key; every frame is answered with one of the same
//! length, or the client waits for ever.

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes of a header.
pub(super) const HEADER_LEN: usize = 32;
/// Most bytes of a payload: those that fit the client's own buffer.
pub(super) const PAYLOAD_MAX: usize = 32_768 - HEADER_LEN;
/// Version of the frames; both ends must have the same.
const VERSION: u8 = 1;
/// Response code of a frame that was accepted.
const ACCEPTED: u8 = 1;
/// What a client opens with.
const KEY: u64 = 0x0006_6A82_3948_2938;

/// Commands of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Opens the connection.
    Connect,
    /// Ends it.
    Disconnect,
    Ping,
    /// Carries a message.
    Data,
}

/// A frame of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    pub(super) transaction: u64,
    pub(super) payload: Vec<u8>,
}

/// Why a client's bytes are no frame.
#[derive(Debug, Error)]
pub(super) enum FrameError {
    #[error("it has version {0} of the protocol, expected {VERSION}")]
    Version(u8),
    #[error("its frame has the unknown command {0}, expected 1 to 4")]
    Command(u64),
    #[error("its frame has {0} bytes of payload, at most {PAYLOAD_MAX} are allowed")]
    Length(u64),
    #[error(transparent)]
    Read(#[from] std::io::Error),
}

impl Frame {
    /// Reads the next frame; none where the client has closed the connection before it.
    pub(super) async fn read(
        stream: &mut (impl AsyncRead + Unpin),
    ) -> Result<Option<Self>, FrameError> {
        let mut header = [0; HEADER_LEN];
        if stream.read(&mut header[..1]).await? == 0 {
            return Ok(None);
        }
        stream.read_exact(&mut header[1..]).await?;
        let (kind, transaction, len) = decode(&header)?;
        let mut payload = vec![0; len];
        stream.read_exact(&mut payload).await?;
        Ok(Some(Self {
            kind,
            transaction,
            payload,
        }))
    }

    /// Whether it opens a connection as the vendor's client does.
    pub(super) fn opens(&self) -> bool {
        self.kind == Kind::Connect && self.payload == KEY.to_ne_bytes()
    }

    /// The bytes of its answer: the same frame, accepted, with the payload as it is now.
    pub(super) fn answer(&self) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_LEN];
        (bytes[0], bytes[1]) = (VERSION, ACCEPTED);
        bytes[8..16].copy_from_slice(&number(self.kind).to_ne_bytes());
        bytes[16..24].copy_from_slice(&self.transaction.to_ne_bytes());
        bytes[24..32].copy_from_slice(&(self.payload.len() as u64).to_ne_bytes());
        bytes.extend(&self.payload);
        bytes
    }
}

fn decode(header: &[u8; HEADER_LEN]) -> Result<(Kind, u64, usize), FrameError> {
    if header[0] != VERSION {
        return Err(FrameError::Version(header[0]));
    }
    let kind = match word(header, 8) {
        1 => Kind::Connect,
        2 => Kind::Disconnect,
        3 => Kind::Ping,
        4 => Kind::Data,
        other => return Err(FrameError::Command(other)),
    };
    let len = word(header, 24);
    match usize::try_from(len) {
        Ok(len) if len <= PAYLOAD_MAX => Ok((kind, word(header, 16), len)),
        _ => Err(FrameError::Length(len)),
    }
}

fn number(kind: Kind) -> u64 {
    match kind {
        Kind::Connect => 1,
        Kind::Disconnect => 2,
        Kind::Ping => 3,
        Kind::Data => 4,
    }
}

/// Eight bytes at an offset; 0 where there are fewer.
pub(super) fn word(bytes: &[u8], at: usize) -> u64 {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
    word.map_or(0, |word| u64::from_ne_bytes(*word))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn header(version: u8, command: u64, len: u64) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_LEN];
        bytes[0] = version;
        bytes[8..16].copy_from_slice(&command.to_ne_bytes());
        bytes[16..24].copy_from_slice(&7_u64.to_ne_bytes());
        bytes[24..32].copy_from_slice(&len.to_ne_bytes());
        bytes
    }

    #[tokio::test]
    async fn a_frame_is_read_and_answered_at_its_length() {
        let mut bytes = header(VERSION, 1, 8);
        bytes.extend(KEY.to_ne_bytes());
        let frame = Frame::read(&mut &bytes[..]).await.unwrap().unwrap();
        assert!(frame.opens());
        let answer = frame.answer();
        assert_eq!(answer.len(), bytes.len());
        assert_eq!(answer[1], ACCEPTED);
        assert_eq!((&answer[8..], answer[0]), (&bytes[8..], VERSION));
        assert_eq!(Frame::read(&mut &[][..]).await.unwrap(), None);
    }

    #[tokio::test]
    async fn other_bytes_are_refused_before_anything_is_reserved_for_them() {
        for (bytes, said) in [
            (header(2, 1, 0), "version 2"),
            (header(VERSION, 5, 0), "unknown command 5"),
            (header(VERSION, 4, PAYLOAD_MAX as u64 + 1), "at most 32736"),
            (header(VERSION, 4, u64::MAX), "at most 32736"),
            (header(VERSION, 4, 9), "early eof"),
            (vec![VERSION; 9], "early eof"),
        ] {
            let error = Frame::read(&mut &bytes[..]).await.unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
