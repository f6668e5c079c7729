//! The inputs of a recording in the order in which they came. In the file the manager and subnet administration have chunks of
//! their own, which hold up to some hundred milliseconds each.

use std::collections::VecDeque;
use std::io::Read;
use std::time::Duration;

use crate::file::{FileError, Header};
use crate::inputs::{Entry, Inputs, What};

/// By so much a chunk may come late: one of a thread that was busy for longer is given where it is in the file.
const LATE: Duration = Duration::from_secs(10);
/// Bytes of inputs that wait for an earlier one of the other row at most.
const HELD_MAX: usize = 256 << 20;

/// Reads them. Of two at the same time the manager's is first.
pub(crate) struct Ordered<R> {
    inputs: Inputs<R>,
    /// Those of the manager, and of subnet administration.
    rows: [VecDeque<Entry>; 2],
    held: usize,
    has_begun: bool,
    /// What reading came to at the end.
    end: Option<Result<(), FileError>>,
}

impl<R: Read> Ordered<R> {
    /// # Errors
    /// [`FileError`] where it is no recording.
    pub(crate) fn new(from: R) -> Result<Self, FileError> {
        Ok(Self {
            inputs: Inputs::new(from)?,
            rows: [VecDeque::new(), VecDeque::new()],
            held: 0,
            has_begun: false,
            end: None,
        })
    }

    pub(crate) fn header(&self) -> &Header {
        self.inputs.header()
    }

    /// The byte of the file at which the recording is torn, once all before has been given.
    pub(crate) fn torn_at(&self) -> Option<u64> {
        let is_at_end = self.end.is_some() && self.rows.iter().all(VecDeque::is_empty);
        self.inputs.torn_at().filter(|_| is_at_end)
    }

    /// The next one; none at the end. A recording's first input is first, whatever its time.
    ///
    /// # Errors
    /// [`FileError`] where the recording cannot be read from here on.
    pub(crate) fn next(&mut self) -> Result<Option<Entry>, FileError> {
        while self.end.is_none() && !self.is_settled() {
            match self.inputs.next() {
                Ok(Some(entry)) => self.hold(entry),
                Ok(None) => self.end = Some(Ok(())),
                Err(error) => self.end = Some(Err(error)),
            }
        }
        if let Some(entry) = self.earliest() {
            self.has_begun = true;
            return Ok(Some(entry));
        }
        let end = self.end.replace(Ok(()));
        end.unwrap_or(Ok(())).map(|()| None)
    }

    fn hold(&mut self, entry: Entry) {
        self.held += entry.bytes();
        let row = usize::from(matches!(entry.what, What::Sa(_)));
        self.rows[row].push_back(entry);
    }

    /// Whether nothing that is not read yet can be earlier than the earliest that is.
    fn is_settled(&self) -> bool {
        match &self.rows {
            [manager, sa] if !self.has_begun => !manager.is_empty() || !sa.is_empty(),
            [manager, sa] if manager.is_empty() || sa.is_empty() => {
                let row = if sa.is_empty() { manager } else { sa };
                let ends = row.front().zip(row.back());
                let is_long = ends.is_some_and(|(first, last)| last.at.since(first.at) >= LATE);
                is_long || self.held > HELD_MAX
            }
            _ => true,
        }
    }

    fn earliest(&mut self) -> Option<Entry> {
        let [manager, sa] = &mut self.rows;
        let entry = match (manager.front(), sa.front()) {
            (Some(first), Some(other)) if other.at < first.at => sa.pop_front(),
            (Some(_), _) => manager.pop_front(),
            (None, _) => sa.pop_front(),
        }?;
        self.held -= entry.bytes();
        Some(entry)
    }
}

#[cfg(test)]
#[path = "ordered_tests.rs"]
mod tests;
