//! A log that is appended to.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::frame::{End, HEADER, MAGIC, PAYLOAD_MAX, encode, frames};
use crate::error::HistoryError;
use crate::segment::sync_dir;

/// A log and how far it is acknowledged.
#[derive(Debug)]
pub(crate) struct LogFile {
    path: PathBuf,
    file: File,
    /// Bytes that are synced; what lies behind is of a write that failed.
    len: u64,
    /// Whether something may lie behind.
    dirty: bool,
}

/// A log that was opened again.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) log: LogFile,
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
    /// What was set aside, and why.
    pub(crate) damage: Option<String>,
}

impl LogFile {
    /// Opens a log, or makes it. A torn tail is cut; what is damaged, and all behind it, goes to a file beside it with
    /// `.damaged` at the end of its name.
    pub(crate) fn open(path: &Path) -> Result<Opened, HistoryError> {
        let failed = HistoryError::io(path);
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).mode(0o600);
        let file = options.truncate(false).open(path).map_err(&failed)?;
        let mut bytes = std::fs::read(path).map_err(&failed)?;
        let found = frames(&bytes);
        let mut log = Self {
            path: path.to_owned(),
            file,
            len: found.good as u64,
            dirty: found.good < bytes.len(),
        };
        let mut damage = None;
        if let End::Damaged(why) = found.end {
            damage = Some(log.set_aside(&bytes[found.good..], why)?);
        }
        log.clean()?;
        if found.good == 0 {
            log.write([MAGIC.to_vec()])?;
            sync_dir(path)?;
        }
        bytes.truncate(found.good);
        Ok(Opened { log, bytes, damage })
    }

    fn set_aside(&self, rest: &[u8], why: &str) -> Result<String, HistoryError> {
        let aside = self.path.with_extension("log.damaged");
        std::fs::write(&aside, rest).map_err(HistoryError::io(&aside))?;
        let (path, good) = (self.path.display(), self.len);
        let (len, aside) = (rest.len(), aside.display());
        Ok(format!(
            "{path} is damaged at byte {good}: {why}; its last {len} bytes are set aside in {aside}"
        ))
    }

    /// Sets aside what does not say what it should, from a byte on.
    pub(crate) fn set_aside_from(
        &mut self,
        bytes: &[u8],
        from: usize,
        why: &str,
    ) -> Result<String, HistoryError> {
        (self.len, self.dirty) = (from as u64, true);
        let said = self.set_aside(&bytes[from..], why)?;
        self.clean()?;
        Ok(said)
    }

    /// Bytes of the file.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has a frame.
    pub(crate) fn has_frames(&self) -> bool {
        self.len > MAGIC.len() as u64
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a frame; when that returns, it is on the disk. After a failure the log is as before.
    pub(crate) fn append(&mut self, payload: &[u8]) -> Result<(), HistoryError> {
        self.append_all(&[payload])
    }

    /// Appends several frames: all or none of them.
    pub(crate) fn append_all<T: AsRef<[u8]>>(
        &mut self,
        payloads: &[T],
    ) -> Result<(), HistoryError> {
        let lens = payloads.iter().map(|payload| payload.as_ref().len());
        if let Some(len) = lens.max().filter(|len| *len > PAYLOAD_MAX) {
            return Err(HistoryError::Input(format!(
                "{len} bytes at once: at most {PAYLOAD_MAX}"
            )));
        }
        self.clean()?;
        let frames = payloads.iter().map(|payload| encode(payload.as_ref()));
        self.write(frames)
    }

    /// Bytes that a payload takes.
    pub(crate) fn cost(payload: &[u8]) -> u64 {
        (HEADER + payload.len()) as u64
    }

    fn write(&mut self, parts: impl IntoIterator<Item = Vec<u8>>) -> Result<(), HistoryError> {
        self.dirty = true;
        let mut end = self.len;
        let mut written = parts.into_iter().try_for_each(|part| {
            let begin = end;
            end += part.len() as u64;
            self.file.write_all_at(&part, begin)
        });
        if written.is_ok() {
            written = self.file.sync_data();
        }
        if let Err(error) = written {
            // If that fails too, the next write cuts it.
            let _ = self.clean();
            return Err(HistoryError::io(&self.path)(error));
        }
        self.len = end;
        self.dirty = false;
        Ok(())
    }

    /// Cuts what a failed write has left.
    fn clean(&mut self) -> Result<(), HistoryError> {
        if self.dirty {
            let failed = HistoryError::io(&self.path);
            self.file.set_len(self.len).map_err(failed)?;
            self.dirty = false;
        }
        Ok(())
    }
}
