//! The open file of states, and the closed ones.

use std::path::{Path, PathBuf};

use super::{DAY_MS, TIME_MAX_MS};
use crate::error::HistoryError;
use crate::log::LogFile;
use crate::states::{self, Flags, StateFile, StateHead, StateRecord, encode_mark, states_in};

/// Changes of a file: each is read before the last one can be.
const CHANGES_MAX: u32 = 256;
/// Bytes of changes that are no reason to begin a file, where a whole state has less.
const CHANGES_LEN: u64 = 64 << 10;

/// Where states are recorded.
#[derive(Debug)]
pub(super) struct States {
    dir: PathBuf,
    closed: Vec<StateFile>,
    others: Vec<(PathBuf, u64)>,
    open: Option<OpenFile>,
    /// Time of the first record of the closed ones, milliseconds since 1970.
    oldest_ms: Option<i64>,
    /// Whether nothing is known of the time before the next record.
    begins: bool,
}

#[derive(Debug)]
struct OpenFile {
    number: u64,
    log: LogFile,
    /// Bytes of its first state.
    whole_len: u64,
    changes: u32,
    first_ms: i64,
    last_ms: i64,
}

impl OpenFile {
    /// Whether a record of this time belongs to the next file.
    fn ends_before(&self, time_ms: i64) -> bool {
        let changes = self.log.len() - self.whole_len;
        time_ms < self.last_ms
            || time_ms - self.first_ms >= DAY_MS
            || self.changes >= CHANGES_MAX
            || changes > self.whole_len.max(CHANGES_LEN)
    }
}

impl States {
    /// Lists the files; the newest one is checked, as a crash may have left it.
    pub(super) fn open(root: &Path, warnings: &mut Vec<String>) -> Result<Self, HistoryError> {
        let dir = states::dir(root);
        super::make_dir(&dir)?;
        if let Some(newest) = states_in(root)?.files.last() {
            warnings.extend(LogFile::open(&newest.path)?.damage);
        }
        let listed = states_in(root)?;
        Ok(Self {
            dir,
            oldest_ms: states::oldest_ms(&listed.files),
            closed: listed.files,
            others: listed.others,
            open: None,
            begins: true,
        })
    }

    /// Whether the next state, of this time, must come with all its pieces.
    pub(super) fn must_be_whole(&self, time_ms: i64) -> bool {
        self.open
            .as_ref()
            .is_none_or(|open| open.ends_before(time_ms))
    }

    /// What a state is as frames.
    pub(super) fn payloads(&self, record: StateRecord) -> Result<Vec<Vec<u8>>, HistoryError> {
        let time_ms = record.head().time_ms;
        if !(0..TIME_MAX_MS).contains(&time_ms) {
            let why = format!("a state at {time_ms} ms");
            return Err(HistoryError::Input(why));
        }
        if !record.is_whole() && self.must_be_whole(time_ms) {
            let why = "a state of which some pieces come, where all must";
            return Err(HistoryError::Input(why.to_owned()));
        }
        record.payloads(self.begins)
    }

    /// Appends a state.
    pub(super) fn append(
        &mut self,
        time_ms: i64,
        whole: bool,
        payloads: &[Vec<u8>],
    ) -> Result<(), HistoryError> {
        match (whole, &mut self.open) {
            (false, Some(open)) => {
                open.log.append_all(payloads)?;
                (open.changes, open.last_ms) = (open.changes + 1, time_ms);
            }
            _ => self.begin(time_ms, payloads)?,
        }
        self.begins = false;
        Ok(())
    }

    /// A state could not be recorded: what comes next does not follow what is there.
    pub(super) fn lost(&mut self) {
        self.begins = true;
    }

    fn begin(&mut self, time_ms: i64, payloads: &[Vec<u8>]) -> Result<(), HistoryError> {
        let last = self.closed.last().map(|file| file.number);
        let last = last.max(self.open.as_ref().map(|open| open.number));
        let number = last.unwrap_or(0) + 1;
        let path = self.dir.join(format!("{number:010}.log"));
        let mut log = LogFile::open(&path)?.log;
        if let Err(error) = log.append_all(payloads) {
            // If it stays, it is a file without states.
            let _ = std::fs::remove_file(&path);
            return Err(error);
        }
        let open = OpenFile {
            number,
            whole_len: log.len(),
            log,
            changes: 0,
            first_ms: time_ms,
            last_ms: time_ms,
        };
        if let Some(before) = self.open.replace(open) {
            self.closed.push(StateFile {
                number: before.number,
                path: before.log.path().to_owned(),
                len: before.log.len(),
            });
            self.oldest_ms = self.oldest_ms.or(Some(before.first_ms));
        }
        Ok(())
    }

    /// Says that the last state is still so; nothing where that is not known, or its file is at its end.
    pub(super) fn mark(&mut self, state: StateHead, flags: Flags) -> Result<(), HistoryError> {
        let Some(open) = self.open.as_mut().filter(|_| !self.begins) else {
            return Ok(());
        };
        if state.time_ms < open.last_ms || state.time_ms >= TIME_MAX_MS {
            return Ok(());
        }
        open.log.append(&encode_mark(state, flags))?;
        open.last_ms = state.time_ms;
        Ok(())
    }

    /// Bytes of the files that can be removed.
    pub(super) fn closed_bytes(&self) -> u64 {
        let files = self.closed.iter().map(|file| file.len);
        files.chain(self.others.iter().map(|(_, len)| *len)).sum()
    }

    /// Bytes of all.
    pub(super) fn bytes(&self) -> u64 {
        self.closed_bytes() + self.open.as_ref().map_or(0, |open| open.log.len())
    }

    /// Time of the oldest record, milliseconds since 1970.
    pub(super) fn oldest_ms(&self) -> Option<i64> {
        self.oldest_ms
            .or(self.open.as_ref().map(|open| open.first_ms))
    }

    /// Removes what is damaged, else the oldest file; returns whether there was one.
    pub(super) fn remove_oldest(&mut self) -> Result<bool, HistoryError> {
        let other = self.others.first().map(|(path, _)| path.clone());
        let is_other = other.is_some();
        let oldest = self.closed.first().map(|file| file.path.clone());
        let Some(path) = other.or(oldest) else {
            return Ok(false);
        };
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(HistoryError::io(&path)(error));
            }
            _ => {}
        }
        match is_other {
            true => drop(self.others.remove(0)),
            false => {
                self.closed.remove(0);
                self.oldest_ms = states::oldest_ms(&self.closed);
            }
        }
        Ok(true)
    }
}
