//! Recordings of the managers of a run, in memory.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weft_replay::{Frozen, Header, Recorder, Sink, Writer};

/// The recordings of a run, in order: one for each manager that was started, or several.
#[derive(Debug, Clone, Default)]
pub struct Tape(Arc<Mutex<Files>>);

#[derive(Debug, Default)]
struct Files {
    all: Vec<Vec<u8>>,
    turns: Option<Turns>,
}

/// When a recording goes on in another one.
#[derive(Debug)]
struct Turns {
    random: ChaCha8Rng,
    /// Inputs from one to the next in the middle.
    inputs: u32,
}

impl Tape {
    /// One that goes on in another recording, which begins with a checkpoint, at random: after so many inputs in the middle.
    pub fn turning(seed: u64, inputs: u32) -> Self {
        let random = ChaCha8Rng::seed_from_u64(seed);
        let inputs = inputs.max(1);
        let turns = Some(Turns { random, inputs });
        let all = Vec::new();
        Self(Arc::new(Mutex::new(Files { all, turns })))
    }

    /// The recordings, as the bytes of files. What a manager that still runs has done lately may be missing.
    pub fn files(&self) -> Vec<Vec<u8>> {
        self.with(|files| files.all.clone())
    }

    /// A recorder for the next manager.
    ///
    /// # Errors
    /// Where zstd cannot begin.
    pub fn recorder(&self, source: &str) -> io::Result<Recorder> {
        let writer = self.track(source)?;
        Ok(Recorder::new(Box::new(Chunks {
            tape: self.clone(),
            source: source.to_owned(),
            writer,
        })))
    }

    /// The next recording.
    fn track(&self, source: &str) -> io::Result<Writer<Track>> {
        let number = self.with(|files| {
            files.all.push(Vec::new());
            files.all.len() - 1
        });
        let tape = self.clone();
        Writer::new(Track { tape, number }, &Header::new(0, source))
    }

    fn with<T>(&self, look: impl FnOnce(&mut Files) -> T) -> T {
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
        self.tape.with(|files| files.all[self.number].extend(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct Chunks {
    tape: Tape,
    source: String,
    writer: Writer<Track>,
}

impl Sink for Chunks {
    fn take(&mut self, chunk: Vec<u8>) -> bool {
        self.writer.chunk(&chunk).is_ok()
    }

    fn is_full(&self) -> bool {
        self.tape.with(|files| {
            let turns = files.turns.as_mut();
            turns.is_some_and(|turns| turns.random.random_range(0..turns.inputs) == 0)
        })
    }

    fn begin_next(&mut self, with: Frozen) -> bool {
        let Ok(writer) = self.tape.track(&self.source) else {
            return false;
        };
        self.writer = writer;
        let mut is_written = true;
        with.write(|chunk| is_written &= self.writer.chunk(chunk).is_ok());
        is_written
    }
}
