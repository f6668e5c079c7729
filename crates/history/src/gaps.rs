//! Times of which nothing is known.

use std::path::{Path, PathBuf};

use crate::error::HistoryError;
use crate::log::{LogFile, frames};

/// Gaps that are kept; above that the older half is forgotten.
const GAPS_MAX: usize = 1_000;
/// Longest reason, bytes.
const WHY_MAX: usize = 1_000;

/// A time of which nothing is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// Last reading before it, milliseconds since 1970.
    pub from_ms: i64,
    /// First one after it.
    pub to_ms: i64,
    /// Why, in words.
    pub why: String,
}

/// The file of gaps.
#[derive(Debug)]
pub(crate) struct Gaps {
    log: LogFile,
    pub(crate) kept: Vec<Gap>,
}

pub(crate) fn path(root: &Path) -> PathBuf {
    root.join("gaps.log")
}

impl Gaps {
    pub(crate) fn open(root: &Path) -> Result<(Self, Option<String>), HistoryError> {
        let opened = LogFile::open(&path(root))?;
        let kept = decode(&opened.bytes);
        let gaps = Self {
            log: opened.log,
            kept,
        };
        Ok((gaps, opened.damage))
    }

    pub(crate) fn len(&self) -> u64 {
        self.log.len()
    }

    /// Bytes that one more takes at most.
    pub(crate) fn cost() -> u64 {
        (WHY_MAX + 100) as u64
    }

    pub(crate) fn add(&mut self, mut gap: Gap) -> Result<(), HistoryError> {
        gap.why.truncate(gap.why.floor_char_boundary(WHY_MAX));
        if self.kept.len() >= GAPS_MAX {
            let path = self.log.path().to_owned();
            let kept = self.kept.split_off(GAPS_MAX / 2);
            let beside = path.with_extension("tmp");
            // One of an earlier attempt.
            let _ = std::fs::remove_file(&beside);
            let mut fresh = LogFile::open(&beside)?.log;
            for gap in &kept {
                fresh.append(&encode(gap))?;
            }
            std::fs::rename(&beside, &path).map_err(HistoryError::io(&path))?;
            (self.log, self.kept) = (LogFile::open(&path)?.log, kept);
        }
        self.log.append(&encode(&gap))?;
        self.kept.push(gap);
        Ok(())
    }
}

/// Gaps of a directory, for readers.
pub(crate) fn read(root: &Path) -> Vec<Gap> {
    std::fs::read(path(root)).map_or_else(|_| Vec::new(), |bytes| decode(&bytes))
}

fn encode(gap: &Gap) -> Vec<u8> {
    let mut payload = Vec::from(gap.from_ms.to_le_bytes());
    payload.extend(gap.to_ms.to_le_bytes());
    payload.extend(gap.why.as_bytes());
    payload
}

fn decode(bytes: &[u8]) -> Vec<Gap> {
    let gap = |payload: &[u8]| {
        let (from, rest) = payload.split_first_chunk()?;
        let (to, why) = rest.split_first_chunk()?;
        Some(Gap {
            from_ms: i64::from_le_bytes(*from),
            to_ms: i64::from_le_bytes(*to),
            why: String::from_utf8_lossy(why).into_owned(),
        })
    };
    let payloads = frames(bytes).payloads.into_iter();
    payloads.filter_map(|range| gap(&bytes[range])).collect()
}
