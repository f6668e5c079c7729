//! The file of outcomes, which grows by each as it comes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use weft_lab::experiment::Outcome;
use weft_lab::experiment::outcome_store::{End, OutcomeStore};

use super::files::{self, replace};

/// Size limit of a state file, bytes: 10,000 runs whose latencies are spread over all buckets.
const STATE_MAX: u64 = 1 << 30;

/// An open file. No other process has it open to write.
#[derive(Debug)]
struct StateFile {
    name: PathBuf,
    file: File,
    end: End,
}

impl StateFile {
    /// Opens a file, or makes one without outcomes; those that it has.
    ///
    /// # Errors
    /// The file and the reason: it cannot be read or written, or another process writes it.
    fn open(name: &Path) -> Result<(Self, OutcomeStore), String> {
        if !name.exists() {
            let (_, text) = End::begin();
            replace(name, text.as_bytes())?;
        }
        let told = |what: &dyn std::fmt::Display| format!("{}: {what}", name.display());
        let file = OpenOptions::new().append(true).open(name);
        let file = file.map_err(|error| told(&error))?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(told(&"another process writes it"));
        }
        let (kept, end) = read(name)?;
        // What was being written when a run ended.
        file.set_len(end.length).map_err(|error| told(&error))?;
        let name = name.to_owned();
        Ok((Self { name, file, end }, kept))
    }

    /// Adds an outcome; when this returns it is on the disk.
    ///
    /// # Errors
    /// The file and the reason.
    fn add(&mut self, key: &str, outcome: &Outcome) -> Result<(), String> {
        let text = self.end.add(key, outcome);
        let written = self.file.write_all(text.as_bytes());
        let written = written.and_then(|()| self.file.sync_data());
        written.map_err(|error| format!("{}: {error}", self.name.display()))
    }
}

/// Outcomes that are there, and the file to which others are added, if there is one.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) outcomes: OutcomeStore,
    file: Option<StateFile>,
}

impl From<OutcomeStore> for Kept {
    fn from(outcomes: OutcomeStore) -> Self {
        Self {
            outcomes,
            file: None,
        }
    }
}

impl Kept {
    /// Those of a file, see [`StateFile::open`].
    ///
    /// # Errors
    /// See there.
    pub(super) fn open(file: &Path) -> Result<Self, String> {
        let (file, outcomes) = StateFile::open(file)?;
        Ok(Self {
            outcomes,
            file: Some(file),
        })
    }

    /// Adds an outcome, to the file too.
    ///
    /// # Errors
    /// See [`StateFile::add`].
    pub(super) fn add(&mut self, key: String, outcome: Outcome) -> Result<(), String> {
        let added = match &mut self.file {
            Some(file) => file.add(&key, &outcome),
            None => Ok(()),
        };
        self.outcomes.0.push((key, outcome));
        added
    }
}

/// The outcomes in a file, which another process may be writing.
///
/// # Errors
/// The file and the reason.
pub(super) fn stored(file: &Path) -> Result<OutcomeStore, String> {
    read(file).map(|(kept, _)| kept)
}

fn read(file: &Path) -> Result<(OutcomeStore, End), String> {
    let bytes = files::read(file, STATE_MAX)?;
    // A letter whose bytes are not all there is in the part that was being written.
    let text = String::from_utf8_lossy(&bytes);
    OutcomeStore::read(&text).map_err(|error| format!("{}: {error}", file.display()))
}
