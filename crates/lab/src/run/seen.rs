//! Cases that all parts have performed until now, by what their files have grown.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::parts;
use super::work::Work;

/// Cases of a run of which a part has an outcome.
#[derive(Debug)]
pub(super) struct Seen {
    directory: PathBuf,
    /// Keys of all cases.
    all: BTreeSet<String>,
    found: BTreeSet<String>,
    /// Bytes of each file up to the end of its last outcome.
    read: BTreeMap<PathBuf, u64>,
}

impl Seen {
    /// Those of a directory, which need not be there yet.
    pub(super) fn new(directory: &Path, cases: &[&Work<'_>]) -> Self {
        Self {
            directory: directory.to_owned(),
            all: cases.iter().map(|work| work.key.clone()).collect(),
            found: BTreeSet::new(),
            read: BTreeMap::new(),
        }
    }

    /// Looks what is new; how many cases have an outcome now. Checksums are for who takes the outcomes.
    ///
    /// # Errors
    /// A directory or file that cannot be read.
    pub(super) fn look(&mut self) -> io::Result<usize> {
        let files = match parts::files(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            files => files?,
        };
        for path in files {
            let mut file = File::open(&path)?;
            let before = self.read.get(&path).copied().unwrap_or(0);
            // One that is shorter has begun anew.
            let from = if file.metadata()?.len() < before {
                0
            } else {
                before
            };
            file.seek(SeekFrom::Start(from))?;
            let mut new = Vec::new();
            file.read_to_end(&mut new)?;
            let whole = self.take(&new);
            self.read.insert(path, from + whole as u64);
        }
        Ok(self.found.len())
    }

    /// Takes the keys of whole outcomes; the bytes of these.
    fn take(&mut self, new: &[u8]) -> usize {
        let (mut key, mut at, mut whole) = (None, 0, 0);
        for line in new.split_inclusive(|byte| *byte == b'\n') {
            at += line.len();
            let mut words = line.split(|byte| *byte == b'\t');
            match (words.next(), words.next()) {
                (Some(b"case"), Some(word)) => key = std::str::from_utf8(word).ok(),
                (Some(b"sum"), _) if line.ends_with(b"\n") => {
                    let known = key.take().filter(|key| self.all.contains(*key));
                    self.found.extend(known.map(str::to_owned));
                    whole = at;
                }
                _ => {}
            }
        }
        whole
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use crate::experiment::outcome_store::End;
    use crate::experiment::{Outcome, Scenario};

    use super::*;

    /// Whatever pieces a file grows by, an outcome counts when all of it is there, and each case once.
    #[test]
    fn outcomes_count_when_they_are_whole() {
        let text = "fabric one-switch:4\ntraffic osu_bw\nsweep bytes 1 2 3";
        let scenario: Scenario = text.parse().unwrap();
        let key = |number: usize| format!("key{number}");
        let works = scenario.cases.iter().enumerate();
        let works: Vec<Work<'_>> = works
            .map(|(number, case)| Work {
                case,
                key: key(number),
            })
            .collect();
        let cases: Vec<&Work<'_>> = works.iter().collect();
        let directory = tempfile::tempdir().unwrap();
        let parts = directory.path().join("parts");
        let mut seen = Seen::new(&parts, &cases);
        assert_eq!(seen.look().unwrap(), 0);
        fs::create_dir(&parts).unwrap();
        let outcome = Outcome::default();
        let (mut end, mut text) = End::begin();
        let mut ends = vec![text.len()];
        for number in [0, 1, 7] {
            text += &end.add(&key(number), &outcome);
            ends.push(text.len());
        }
        let file = parts.join("1-of-2.state");
        for length in 0..=text.len() {
            fs::write(&file, &text[..length]).unwrap();
            let wanted = ends[1..3].iter().filter(|end| **end <= length).count();
            assert_eq!(seen.look().unwrap(), wanted, "{length} of {ends:?}");
        }
        // The same case in another file, and a file that begins anew.
        fs::write(parts.join("2-of-2.state"), &text[..ends[1]]).unwrap();
        let (mut end, begin) = End::begin();
        let again = begin + &end.add(&key(2), &outcome);
        fs::write(&file, &again).unwrap();
        assert_eq!(seen.look().unwrap(), 3);
    }
}
