//! JSON documents, which may be longer than a frame.

use crate::frame::{FRAME_MAX, FrameError};

/// Bytes of a document in a frame that is full; another one follows it.
pub(crate) const PART_LEN: usize = FRAME_MAX - 1;
/// Most bytes of a document.
pub const DOCUMENT_MAX: usize = 16 << 20;

/// A document that comes in parts: the content of Control or ControlReply frames.
#[derive(Debug, Default)]
pub struct Document(Vec<u8>);

impl Document {
    /// Adds the next part; the whole document when that was the last.
    ///
    /// # Errors
    /// [`FrameError::Document`] when it is longer than [`DOCUMENT_MAX`].
    pub fn add(&mut self, part: &[u8]) -> Result<Option<Vec<u8>>, FrameError> {
        let len = self.0.len() + part.len();
        if len > DOCUMENT_MAX {
            return Err(FrameError::Document { len });
        }
        self.0.extend_from_slice(part);
        Ok((part.len() < PART_LEN).then(|| std::mem::take(&mut self.0)))
    }
}

/// The parts of a document: all are full but the last, which may be empty.
pub(crate) fn parts(document: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = document.len() / PART_LEN * PART_LEN;
    let (full, last) = document.split_at(whole);
    full.chunks(PART_LEN).chain([last])
}
