//! The file that is appended to, and those before it.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::chain::{Hash, parts};
use super::entry::{Body, Entry};
use crate::error::HistoryError;
use crate::segment::sync_dir;

/// Bytes after which a file is closed and another one begins.
pub const FILE_LEN_MAX: u64 = 4 << 20;
/// Files that are kept; the oldest goes first.
pub const FILES_MAX: usize = 16;
/// Longest line, bytes.
pub const LINE_MAX: usize = 64 << 10;

const ENDING: &str = ".audit";

/// Appends entries. One at a time in a directory.
#[derive(Debug)]
pub struct AuditLog {
    dir: PathBuf,
    path: PathBuf,
    file: File,
    /// Bytes that are synced.
    len: u64,
    /// Sequence number of the next entry.
    next: u64,
    /// Hash of the last line.
    last: Hash,
}

/// A file of the record: the sequence number of its first entry, and where it is.
pub(super) type Listed = (u64, PathBuf);

/// The files of a directory, oldest first.
pub(super) fn files(dir: &Path) -> Result<Vec<Listed>, HistoryError> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(HistoryError::io(dir))? {
        let path = entry.map_err(HistoryError::io(dir))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let first = name.and_then(|name| name.strip_suffix(ENDING)?.parse().ok());
        files.extend(first.map(|first| (first, path)));
    }
    files.sort_unstable();
    Ok(files)
}

fn path(dir: &Path, first: u64) -> PathBuf {
    dir.join(format!("{first:012}{ENDING}"))
}

impl AuditLog {
    /// Opens the record of a directory, or makes it. A torn end is cut off, and an entry tells so.
    ///
    /// # Errors
    /// Files cannot be read or written.
    pub fn open(dir: &Path) -> Result<Self, HistoryError> {
        std::fs::create_dir_all(dir).map_err(HistoryError::io(dir))?;
        let (first, path) = match files(dir)?.pop() {
            Some(last) => last,
            None => (1, path(dir, 1)),
        };
        let bytes = match std::fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(HistoryError::io(&path))?,
        };
        let whole = bytes.iter().rposition(|byte| *byte == b'\n');
        let whole = whole.map_or(0, |end| end + 1);
        let (last, next) = end(&bytes[..whole], first);
        let mut log = Self {
            dir: dir.to_owned(),
            file: open(&path)?,
            path,
            len: whole as u64,
            next,
            last,
        };
        if whole < bytes.len() {
            log.cut()?;
        }
        if whole == 0 {
            log.last = before(dir, first)?;
            log.begin()?;
        }
        sync_dir(&log.path)?;
        if whole < bytes.len() {
            let bytes = (bytes.len() - whole) as u64;
            log.append(now(), Body::Torn { bytes })?;
        }
        Ok(log)
    }

    /// Appends an entry; when that returns, it is on the disk. Returns its sequence number and hash. After a failure the
    /// record is as before.
    ///
    /// # Errors
    /// The entry is longer than [`LINE_MAX`], or cannot be written.
    pub fn append(&mut self, unix_time_ns: u64, body: Body) -> Result<(u64, Hash), HistoryError> {
        if self.len >= FILE_LEN_MAX {
            self.begin_another()?;
        }
        let sequence = self.next;
        let entry = Entry {
            sequence,
            unix_time_ns,
            body,
        };
        let json = serde_json::to_string(&entry);
        let json = json.map_err(|error| HistoryError::Input(error.to_string()))?;
        let hash = self.last.next(&json);
        let line = format!("{hash} {json}\n");
        if line.len() > LINE_MAX {
            let len = line.len();
            let why = format!("an entry of {len} bytes: at most {LINE_MAX}");
            return Err(HistoryError::Input(why));
        }
        self.write(&line)?;
        (self.next, self.last) = (sequence + 1, hash);
        Ok((sequence, hash))
    }

    /// Writes the first line of a file: the hash of the line before.
    fn begin(&mut self) -> Result<(), HistoryError> {
        self.write(&format!("{}\n", self.last))
    }

    fn write(&mut self, line: &str) -> Result<(), HistoryError> {
        let written = self.file.write_all_at(line.as_bytes(), self.len);
        if let Err(error) = written.and_then(|()| self.file.sync_data()) {
            // If that fails too, the next line is written over it.
            let _ = self.cut();
            return Err(HistoryError::io(&self.path)(error));
        }
        self.len += line.len() as u64;
        Ok(())
    }

    fn cut(&mut self) -> Result<(), HistoryError> {
        let cut = self.file.set_len(self.len);
        let synced = cut.and_then(|()| self.file.sync_data());
        synced.map_err(HistoryError::io(&self.path))
    }

    fn begin_another(&mut self) -> Result<(), HistoryError> {
        let path = path(&self.dir, self.next);
        let mut another = Self {
            dir: self.dir.clone(),
            file: open(&path)?,
            path,
            len: 0,
            next: self.next,
            last: self.last,
        };
        // It may be there from an attempt that failed.
        another.cut()?;
        another.begin()?;
        sync_dir(&another.path)?;
        *self = another;
        let files = files(&self.dir)?;
        let old = files.len().saturating_sub(FILES_MAX);
        for (_, path) in &files[..old] {
            std::fs::remove_file(path).map_err(HistoryError::io(path))?;
        }
        Ok(())
    }
}

fn open(path: &Path) -> Result<File, HistoryError> {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).mode(0o600);
    let opened = options.truncate(false).open(path);
    opened.map_err(HistoryError::io(path))
}

/// Hash of the last of these lines of a file, and the sequence number after it.
///
/// Nothing is verified here: the record goes on behind a damaged line too, and `verify` finds that line.
fn end(lines: &[u8], first: u64) -> (Hash, u64) {
    let lines = String::from_utf8_lossy(lines);
    let entries = lines.lines().count().saturating_sub(1) as u64;
    let last = lines.lines().next_back().unwrap_or_default();
    let (hash, json) = parts(last).unwrap_or((Hash::FIRST, ""));
    let sequence = serde_json::from_str::<Entry>(json).map(|entry| entry.sequence);
    let next = sequence.map_or(first.saturating_add(entries), |last| last.saturating_add(1));
    (hash, next)
}

/// Hash that ends the file before the one with this first entry.
fn before(dir: &Path, first: u64) -> Result<Hash, HistoryError> {
    let files = files(dir)?;
    let Some((_, path)) = files.iter().rfind(|(other, _)| *other < first) else {
        return Ok(Hash::FIRST);
    };
    let bytes = std::fs::read(path).map_err(HistoryError::io(path))?;
    Ok(end(&bytes, first).0)
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}
