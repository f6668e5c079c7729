//! Recordings of the managers of a run, in memory.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weft_replay::{Chunk, Frozen, FrozenSa, Header, Recorder, Sink, Writer};

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
        self.recorders(source).map(|(manager, _)| manager)
    }

    /// The same, with one for its subnet administration in the same recordings.
    ///
    /// # Errors
    /// As there.
    pub fn recorders(&self, source: &str) -> io::Result<(Recorder, Recorder)> {
        let newest = Arc::new(Mutex::new(Newest {
            writer: self.track(source)?,
            number: 0,
        }));
        let chunks = Chunks {
            tape: self.clone(),
            source: source.to_owned(),
            newest: Arc::clone(&newest),
        };
        let sa_chunks = SaChunks { newest, number: 0 };
        Ok((
            Recorder::new(Box::new(chunks)),
            Recorder::new(Box::new(sa_chunks)),
        ))
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

/// The recording that is written.
#[derive(Debug)]
struct Newest {
    writer: Writer<Track>,
    /// Counts those of a manager.
    number: u64,
}

impl Newest {
    fn take(&mut self, chunk: &[u8]) -> bool {
        self.writer.chunk(chunk).is_ok()
    }
}

fn lock(newest: &Mutex<Newest>) -> MutexGuard<'_, Newest> {
    newest.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
struct Chunks {
    tape: Tape,
    source: String,
    newest: Arc<Mutex<Newest>>,
}

impl Sink for Chunks {
    fn take(&mut self, chunk: Chunk) -> bool {
        lock(&self.newest).take(&chunk.into_bytes())
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
        let mut newest = lock(&self.newest);
        newest.writer = writer;
        newest.number += 1;
        let mut is_written = true;
        with.write(|chunk| is_written &= newest.take(chunk));
        is_written
    }
}

#[derive(Debug)]
struct SaChunks {
    newest: Arc<Mutex<Newest>>,
    /// The recording that has its state.
    number: u64,
}

impl Sink for SaChunks {
    fn take(&mut self, chunk: Chunk) -> bool {
        let mut newest = lock(&self.newest);
        // What is not passed on before the manager turns to the next recording is lost.
        newest.number != self.number || newest.take(&chunk.into_bytes())
    }

    fn is_full(&self) -> bool {
        lock(&self.newest).number != self.number
    }

    fn begin_sa(&mut self, with: FrozenSa) -> bool {
        let mut newest = lock(&self.newest);
        self.number = newest.number;
        let mut is_written = true;
        with.write(|chunk| is_written &= newest.take(chunk));
        is_written
    }
}
