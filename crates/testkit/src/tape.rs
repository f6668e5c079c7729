//! Recordings of the managers of a run, in memory.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use weft_replay::{Header, Recorder, Sink, Writer};

/// The recordings of a run, one for each manager that was started, in order.
#[derive(Debug, Clone, Default)]
pub struct Tape(Arc<Mutex<Vec<Vec<u8>>>>);

impl Tape {
    /// The recordings, as the bytes of files. What a manager that still runs has done lately may be missing.
    pub fn files(&self) -> Vec<Vec<u8>> {
        self.all(|files| files.clone())
    }

    /// A recorder for the next manager.
    ///
    /// # Errors
    /// Where zstd cannot begin.
    pub fn recorder(&self, source: &str) -> io::Result<Recorder> {
        let number = self.all(|files| {
            files.push(Vec::new());
            files.len() - 1
        });
        let file = Track {
            tape: self.clone(),
            number,
        };
        let writer = Writer::new(file, &Header::new(0, source))?;
        Ok(Recorder::new(Box::new(Chunks(writer))))
    }

    fn all<T>(&self, look: impl FnOnce(&mut Vec<Vec<u8>>) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One of its recordings.
#[derive(Debug)]
struct Track {
    tape: Tape,
    number: usize,
}

impl Write for Track {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.tape.all(|files| files[self.number].extend(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct Chunks(Writer<Track>);

impl Sink for Chunks {
    fn take(&mut self, chunk: Vec<u8>) -> bool {
        self.0.chunk(&chunk).is_ok()
    }
}
