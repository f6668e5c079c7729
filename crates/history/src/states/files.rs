//! The files of states, and their records without contents.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::frame::{HEAD, Head, Kind};
use crate::error::HistoryError;
use crate::log::{HEADER, MAGIC, payload_len};
use crate::segment::list;

/// A file of states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StateFile {
    pub(crate) number: u64,
    pub(crate) path: PathBuf,
    pub(crate) len: u64,
}

/// The files of states in the order of recording, and other files beside them with their bytes.
#[derive(Debug, Default)]
pub(crate) struct StateFiles {
    pub(crate) files: Vec<StateFile>,
    pub(crate) others: Vec<(PathBuf, u64)>,
}

/// Lists the files of states of a history.
pub(crate) fn states_in(root: &Path) -> Result<StateFiles, HistoryError> {
    let listed = list(&super::dir(root))?;
    let file = |(number, path, len)| StateFile { number, path, len };
    Ok(StateFiles {
        files: listed.logs.into_iter().map(file).collect(),
        others: listed.others,
    })
}

/// A record whose contents are not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) head: Head,
    /// Where its frames lie in the file.
    pub(super) frames: Range<u64>,
}

/// The records of a file.
#[derive(Debug, Default)]
pub(super) struct Entries {
    pub(super) all: Vec<Entry>,
    /// Why there may be more that cannot be read; none at the end of the file and at a torn tail.
    pub(super) damage: Option<&'static str>,
}

/// The first record of a file; none where it has none.
pub(super) fn first(path: &Path) -> Result<Option<Head>, HistoryError> {
    let file = File::open(path).map_err(HistoryError::io(path))?;
    let found = frame(&file, MAGIC.len() as u64);
    let found = found.map_err(HistoryError::io(path))?;
    Ok(match found {
        Found::Frame(head, _) => Some(head),
        _ => None,
    })
}

/// The records of a file.
pub(super) fn entries(path: &Path) -> Result<Entries, HistoryError> {
    let failed = HistoryError::io(path);
    let file = File::open(path).map_err(&failed)?;
    let len = file.metadata().map_err(&failed)?.len();
    let mut entries = Entries::default();
    let (mut at, mut begin) = (MAGIC.len() as u64, None);
    while at < len {
        match frame(&file, at).map_err(&failed)? {
            Found::Frame(head, end) if end <= len => {
                let from = *begin.get_or_insert(at);
                at = end;
                if head.flags.last {
                    let frames = from..end;
                    entries.all.push(Entry { head, frames });
                    begin = None;
                }
            }
            Found::Frame(..) | Found::Torn => break,
            Found::Damaged => {
                entries.damage = Some("the head of a record has another checksum");
                break;
            }
        }
    }
    Ok(entries)
}

enum Found {
    /// A head, and where the frame ends.
    Frame(Head, u64),
    Torn,
    Damaged,
}

/// The frame at a place.
fn frame(file: &File, at: u64) -> io::Result<Found> {
    let mut bytes = [0; HEADER + HEAD];
    let mut got = 0;
    while got < bytes.len() {
        match file.read_at(&mut bytes[got..], at + got as u64) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    // A file that was made longer before its bytes were there ends in zeros.
    if got < bytes.len() || bytes.iter().all(|byte| *byte == 0) {
        return Ok(Found::Torn);
    }
    let len = payload_len(&bytes);
    let payload = &bytes[HEADER..];
    // A mark is nothing but its head.
    let whole = crc32c::crc32c(payload).to_le_bytes() == bytes[8..HEADER];
    Ok(match Head::decode(payload).zip(len) {
        Some((head, len)) if head.kind != Kind::Mark || len == HEAD && whole => {
            Found::Frame(head, at + (HEADER + len) as u64)
        }
        _ => Found::Damaged,
    })
}
