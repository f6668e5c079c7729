//! The file of outcomes, which grows by each as it comes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::experiment::Outcome;
use crate::experiment::outcome_store::{End, OutcomeStore};

use super::files::{self, directory};

/// Size limit of a state file, bytes.
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
        let told = |what: &dyn std::fmt::Display| format!("{}: {what}", name.display());
        let file = OpenOptions::new().append(true).create(true).open(name);
        let mut file = file.map_err(|error| told(&error))?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(told(&"another process writes it"));
        }
        begin(name, &mut file).map_err(|error| told(&error))?;
        let (kept, end) = read(name)?;
        // What was being written when a run ended.
        file.set_len(end.length).map_err(|error| told(&error))?;
        let name = name.to_owned();
        Ok((Self { name, file, end }, kept))
    }

    /// Adds an outcome; when this returns it is on the disk.
    ///
    /// # Errors
    /// The file and the reason: it cannot be written, or would be longer than can be read. It has what it had.
    fn add(&mut self, key: &str, outcome: &Outcome) -> Result<(), String> {
        let name = self.name.display();
        let mut end = self.end;
        let text = end.add(key, outcome);
        if end.length > STATE_MAX {
            return Err(format!(
                "{name} would be longer than {STATE_MAX} bytes, which is allowed: run the other cases with another file"
            ));
        }
        let written = self.file.write_all(text.as_bytes());
        match written.and_then(|()| self.file.sync_data()) {
            Ok(()) => {
                self.end = end;
                Ok(())
            }
            Err(error) => {
                // Others may be added behind it. Where that fails too, a part is left that is not whole.
                let _ = self.file.set_len(self.end.length);
                Err(format!("{name}: {error}"))
            }
        }
    }
}

/// Writes the head of a file that has none yet, or only a part of it from a run that ended there.
fn begin(name: &Path, file: &mut File) -> std::io::Result<()> {
    let (_, text) = End::begin();
    let is_begun = |head: Vec<u8>| head.len() < text.len() && text.as_bytes().starts_with(&head);
    if !files::read(name, text.len() as u64).is_ok_and(is_begun) {
        return Ok(());
    }
    file.set_len(0)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    File::open(directory(name))?.sync_all()
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
    let (end, begun) = End::begin();
    // Another process begins it just now.
    if begun.len() > bytes.len() && begun.as_bytes().starts_with(&bytes) {
        return Ok((OutcomeStore::default(), end));
    }
    // A letter whose bytes are not all there is in the part that was being written.
    let text = String::from_utf8_lossy(&bytes);
    OutcomeStore::read(&text).map_err(|error| format!("{}: {error}", file.display()))
}
