//! Requests with their outcomes, read back.

use std::collections::VecDeque;
use std::path::Path;

use super::chain::{Hash, parts};
use super::entry::{Asked, Body, Ended, Entry};
use super::log::files;
use super::verify::lines;
use crate::error::HistoryError;

/// Requests that may be open at the same time: more are told without their outcome.
const OPEN_MAX: usize = 1_024;

/// A request with its outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Sequence number of the request.
    pub sequence: u64,
    /// When it was asked for, nanoseconds since 1970.
    pub unix_time_ns: u64,
    /// Hash of the line of the request.
    pub hash: Hash,
    /// The request.
    pub asked: Asked,
    /// When it ended and what came of it; none where the daemon ended before, or it is still under way.
    pub ended: Option<(u64, Ended)>,
}

/// Reads requests of a time, nanoseconds since 1970, in the order in which they were asked for. Lines that are no
/// entries are left out: `verify` tells about them.
///
/// # Errors
/// A file cannot be read.
pub fn read(
    dir: &Path,
    span_ns: (u64, u64),
    each: &mut dyn FnMut(Record),
) -> Result<(), HistoryError> {
    let mut open = VecDeque::new();
    for (_, path) in files(dir)? {
        let read = lines(&path, &mut |line| {
            let Some((hash, json)) = line.ok().and_then(parts) else {
                return;
            };
            if let Ok(entry) = serde_json::from_str(json) {
                take(&mut open, entry, hash);
            }
            while open.len() > OPEN_MAX || open.front().is_some_and(is_whole) {
                give(open.pop_front(), span_ns, each);
            }
        });
        match read {
            // It was the oldest, and is removed.
            Err(error) if error.is_gone() => {}
            read => read?,
        }
    }
    while let Some(record) = open.pop_front() {
        give(Some(record), span_ns, each);
    }
    Ok(())
}

fn is_whole(record: &Record) -> bool {
    record.ended.is_some()
}

fn take(open: &mut VecDeque<Record>, entry: Entry, hash: Hash) {
    match entry.body {
        Body::Asked(asked) => open.push_back(Record {
            sequence: entry.sequence,
            unix_time_ns: entry.unix_time_ns,
            hash,
            asked,
            ended: None,
        }),
        Body::Ended(ended) => {
            let of = open.iter_mut().find(|record| record.sequence == ended.of);
            if let Some(record) = of {
                record.ended = Some((entry.unix_time_ns, ended));
            }
        }
        Body::Torn { .. } => {}
    }
}

fn give(record: Option<Record>, span_ns: (u64, u64), each: &mut dyn FnMut(Record)) {
    let Some(record) = record else { return };
    if (span_ns.0..=span_ns.1).contains(&record.unix_time_ns) {
        each(record);
    }
}
