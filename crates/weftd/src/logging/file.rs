//! The log file (`LogFile`).

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing_subscriber::fmt::MakeWriter;

/// A file that the log is appended to. It can be opened again after it was moved away.
#[derive(Debug, Clone)]
pub(crate) struct LogFile {
    path: Arc<Path>,
    file: Arc<Mutex<File>>,
}

impl LogFile {
    /// Opens it, for its owner and group.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        let file = append(&path)?;
        Ok(Self {
            path: path.into(),
            file: Arc::new(Mutex::new(file)),
        })
    }

    /// Opens it again; where that fails, the file that is open goes on.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub(crate) fn reopen(&self) -> io::Result<()> {
        let file = append(&self.path)?;
        *self.lock() = file;
        Ok(())
    }

    /// Its name.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn lock(&self) -> MutexGuard<'_, File> {
        // A panic under this lock leaves at worst a line that ends early.
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o640).open(path)
}

/// Writes lines to the file that is open.
pub(crate) struct Line<'a>(MutexGuard<'a, File>);

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self.lock())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_moved_away_is_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        let (path, moved) = (dir.path().join("log"), dir.path().join("log.1"));
        let log = LogFile::open(path.clone()).unwrap();
        log.make_writer().write_all(b"one\n").unwrap();
        std::fs::rename(&path, &moved).unwrap();
        log.make_writer().write_all(b"two\n").unwrap();
        log.reopen().unwrap();
        log.make_writer().write_all(b"three\n").unwrap();
        assert_eq!(std::fs::read_to_string(&moved).unwrap(), "one\ntwo\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "three\n");
        assert!(LogFile::open(path.join("no")).is_err());
    }
}
