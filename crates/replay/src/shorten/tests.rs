#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use weft_fabric::Tick;
use weft_manager::{Input, Sa, SaInput, SaSettings, Settings};

use super::{ShortenError, Shown, up_to_the_fault};
use crate::Chunk;
use crate::file::{Header, Writer};
use crate::inputs::{Entry, What};
use crate::recorded::Recorded;
use crate::recorder::{Recorder, Sink};
use crate::sa::{FrozenSa, RecordedSa};

/// The chunks of one file.
#[derive(Debug, Clone, Default)]
struct Chunks(Arc<Mutex<Vec<Vec<u8>>>>);

impl Sink for Chunks {
    fn take(&mut self, chunk: Chunk) -> bool {
        self.0.lock().unwrap().push(chunk.into_bytes());
        true
    }

    fn begin_sa(&mut self, with: FrozenSa) -> bool {
        let mut chunks = self.0.lock().unwrap();
        with.write(|chunk| chunks.push(chunk.to_vec()));
        true
    }
}

#[test]
fn a_checkpoint_counts_with_all_its_bytes() {
    let entry = |what| Entry {
        at: Tick(0),
        what,
        digest: None,
        chunk_at: 0,
    };
    let checkpoint = What::Checkpoint(vec![0; 5000].into());
    let more = entry(checkpoint).bytes() - entry(What::Tick).bytes();
    assert_eq!(more, 5000);
}

/// A recording in which subnet administration begins with its state so many times, and then comes to an input.
fn recording(states: usize) -> Vec<u8> {
    let chunks = Chunks::default();
    let recorder = || Recorder::new(Box::new(chunks.clone()));
    let mut manager = Recorded::new(Tick(0), Settings::default(), None, Some(recorder()));
    manager.handle(Tick(1), Input::Tick);
    manager.flush();
    let sa = || Sa::new(SaSettings::default());
    let mut administration = RecordedSa::new(Tick(2), sa(), Some((recorder(), Tick(0))));
    for _ in 1..states {
        administration.replace(Tick(2), sa());
    }
    administration.handle(Tick(3), SaInput::Tick);
    drop(administration);
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, &Header::new(0, "a test")).unwrap();
    for chunk in chunks.0.lock().unwrap().iter() {
        writer.chunk(chunk).unwrap();
    }
    file
}

#[test]
fn what_a_state_is_restored_to_counts_as_well() {
    for states in [1, 3] {
        let file = recording(states);
        let within = |most| {
            // The start, a deadline, the states and the last input.
            let left = Cell::new(3 + states);
            let is_last = |_: Shown<'_>| left.replace(left.get() - 1) == 1;
            up_to_the_fault(&file[..], &is_last, most)
        };
        let found = within(usize::MAX).unwrap();
        assert_eq!(found.sa_starts.len(), states);
        let inputs: usize = found.entries.iter().map(Entry::bytes).sum();
        let of_states = found.entries.iter().filter_map(|entry| entry.what.state());
        let of_states: usize = of_states.map(<[u8]>::len).sum();
        assert!(of_states > 0);
        assert!(within(inputs + of_states).is_ok());
        let error = within(inputs + of_states - 1).err().unwrap();
        assert!(matches!(error, ShortenError::TooLong), "{error}");
    }
}
