//! Whether every line is as it was written.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::chain::{Hash, parts};
use super::entry::Entry;
use super::log::{LINE_MAX, files};
use crate::error::HistoryError;

/// Faults that are told; more are counted.
const FAULTS_MAX: usize = 100;

/// What a check of the record has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Entries that were read.
    pub entries: u64,
    /// Sequence number of the first one: more than 1 where older files were removed. 0 without an entry.
    pub first: u64,
    /// Sequence number of the last one; 0 without an entry.
    pub last: u64,
    /// Hash of the last line. Who keeps it elsewhere notices also when lines are missing at the end.
    pub head: Hash,
    /// Whether the record has a line with the hash that was to be looked for.
    pub has_known: bool,
    /// Lines that are not as they were written; at most 100.
    pub faults: Vec<Fault>,
    /// All of them.
    pub faults_in_all: u64,
}

/// A line that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Its file.
    pub path: PathBuf,
    /// Its number, from 1.
    pub line: u64,
    /// What does not agree.
    pub why: String,
}

/// Reads the whole record of a directory and follows its chain. `known` is a hash that somebody has kept.
///
/// # Errors
/// A file cannot be read.
pub fn verify(dir: &Path, known: Option<Hash>) -> Result<Verdict, HistoryError> {
    let mut check = Check {
        verdict: Verdict {
            entries: 0,
            first: 0,
            last: 0,
            head: Hash::FIRST,
            has_known: known.is_none_or(|known| known == Hash::FIRST),
            faults: Vec::new(),
            faults_in_all: 0,
        },
        known,
        begun: false,
    };
    for (first, path) in files(dir)? {
        check.file(first, &path)?;
    }
    Ok(check.verdict)
}

struct Check {
    verdict: Verdict,
    known: Option<Hash>,
    /// Whether a file has been read before.
    begun: bool,
}

impl Check {
    fn file(&mut self, first: u64, path: &Path) -> Result<(), HistoryError> {
        let mut number = 0;
        lines(path, &mut |line| {
            number += 1;
            let wrong = match line {
                Ok(line) if number == 1 => self.begin(line, first),
                Ok(line) => self.line(line),
                Err(why) => Err(why.to_owned()),
            };
            if let Err(why) = wrong {
                self.found(path, number, why);
            }
        })
    }

    fn found(&mut self, path: &Path, line: u64, why: String) {
        self.verdict.faults_in_all += 1;
        if self.verdict.faults.len() < FAULTS_MAX {
            let path = path.to_owned();
            self.verdict.faults.push(Fault { path, line, why });
        }
    }

    /// The first line of a file; `first` is the sequence number in the file's name.
    fn begin(&mut self, line: &str, first: u64) -> Result<(), String> {
        let hash = Hash::parse(line).ok_or("the file does not begin with a hash")?;
        let before = std::mem::replace(&mut self.verdict.head, hash);
        let expected = match self.begun {
            true => Some(before),
            false => (first == 1).then_some(Hash::FIRST),
        };
        if !self.begun {
            self.verdict.last = first.saturating_sub(1);
        }
        self.begun = true;
        if expected.is_some_and(|expected| expected != hash) {
            return Err(
                "the file does not go on where the one before ends: that one was changed, \
                        or a file between them was removed"
                    .to_owned(),
            );
        }
        match first == self.verdict.last + 1 {
            true => Ok(()),
            false => Err(format!(
                "the file begins with entry {first} by its name, but the last one before is {}",
                self.verdict.last
            )),
        }
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let (hash, json) = parts(line).ok_or("it does not begin with a hash")?;
        let follows = self.verdict.head.next(json) == hash;
        self.verdict.head = hash;
        self.verdict.has_known |= self.known == Some(hash);
        let entry = serde_json::from_str::<Entry>(json);
        let entry = entry.map_err(|error| format!("it is no entry: {error}"))?;
        let (sequence, last) = (entry.sequence, self.verdict.last);
        self.verdict.entries += 1;
        if self.verdict.first == 0 {
            self.verdict.first = sequence;
        }
        self.verdict.last = sequence;
        if !follows {
            return Err(format!(
                "the hash of entry {sequence} does not follow from the line before: this line or \
                 that one was changed, or lines between them were taken out"
            ));
        }
        match Some(sequence) == last.checked_add(1) {
            true => Ok(()),
            false => Err(format!("entry {sequence} comes after entry {last}")),
        }
    }
}

/// Reads the lines of a file, without their ends.
pub(super) fn lines(
    path: &Path,
    each: &mut dyn FnMut(Result<&str, &'static str>),
) -> Result<(), HistoryError> {
    let file = File::open(path).map_err(HistoryError::io(path))?;
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        line.clear();
        let limited = (&mut reader).take(LINE_MAX as u64 + 1);
        let read = read_line(limited, &mut line);
        if read.map_err(HistoryError::io(path))? == 0 {
            return Ok(());
        }
        match line.strip_suffix(b"\n") {
            Some(line) => each(std::str::from_utf8(line).map_err(|_| "it is no UTF-8")),
            None if line.len() > LINE_MAX => each(Err("it is longer than any entry")),
            // The daemon may be writing it, or was when it ended.
            None => return Ok(()),
        }
    }
}

fn read_line(mut from: impl BufRead, line: &mut Vec<u8>) -> std::io::Result<usize> {
    from.read_until(b'\n', line)
}
