//! The state of a time or of a sweep.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bytes::Bytes;

use super::files::{Entries, Entry, StateFile, entries, first, states_in};
use super::frame::{HEAD, Head, Kind, body};
use super::record::Op;
use super::{STATE_LASTS_MS, StateHead, patch};
use crate::error::HistoryError;
use crate::log::{HEADER, payload_len, take};
use crate::side_by_side::side_by_side;

/// Attempts to read files that are removed meanwhile.
const ATTEMPTS: usize = 5;

/// Which state is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateQuestion {
    /// That of a time, milliseconds since 1970.
    At(i64),
    /// That at the end of a sweep, of the last run that had one of this number.
    Sweep(u64),
    /// The last one of a generation, of the last run that had it.
    Generation(u64),
}

/// The pieces of a state by their keys.
pub type StatePieces = BTreeMap<Vec<u8>, Bytes>;

/// Which record has a state: two answers with the same one have the same pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateId {
    file: u64,
    /// Where the record begins in it.
    at: u64,
    /// Since when it was so: files may be numbered anew when all are gone.
    since: StateHead,
}

/// A state of the past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastState {
    /// The time that was asked for, at which the sweep ended, or at which the generation was seen last, milliseconds since 1970.
    pub time_ms: i64,
    /// The sweep that was the last one then.
    pub sweep: u64,
    /// The record that has the state: since when it was so.
    pub since: StateHead,
    /// The record that has it.
    pub id: StateId,
    /// Its pieces by their keys; empty where they were not to be read.
    pub pieces: StatePieces,
}

/// What is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateAnswer {
    /// The state.
    Known(Box<PastState>),
    /// Nothing is known of this time or sweep.
    Unknown {
        /// The last record before the time, where there is one.
        before: Option<StateHead>,
        /// The first one after it.
        after: Option<StateHead>,
    },
}

/// Time of the newest record, milliseconds since 1970; none where there is none.
pub(crate) fn newest_ms(files: &[StateFile]) -> Option<i64> {
    let newest = files.iter().rev().find_map(|file| {
        // It may have gone meanwhile.
        entries(&file.path).ok()?.all.last().cloned()
    })?;
    Some(newest.head.state.time_ms)
}

/// Time of the oldest record, milliseconds since 1970.
pub(crate) fn oldest_ms(files: &[StateFile]) -> Option<i64> {
    let mut firsts = files.iter().filter_map(|file| first(&file.path).ok()?);
    firsts.next().map(|head| head.state.time_ms)
}

/// How to read.
pub(crate) struct Reading<'a> {
    /// Whether the pieces of a state are to be read.
    pub(crate) wants: &'a dyn Fn(StateId) -> bool,
    /// Takes a word for each damaged file, which is left out.
    pub(crate) warn: &'a mut dyn FnMut(String),
}

/// Reads a state.
pub(crate) fn state(
    root: &Path,
    question: StateQuestion,
    how: &mut Reading<'_>,
) -> Result<StateAnswer, HistoryError> {
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let files = states_in(root)?.files;
        let read = match question {
            StateQuestion::At(time_ms) => at(&files, time_ms, how),
            StateQuestion::Sweep(sweep) => at_sweep(&files, sweep, how),
            StateQuestion::Generation(generation) => at_generation(&files, generation, how),
        };
        match read {
            Err(error) if error.is_gone() => last = Some(error),
            other => return other,
        }
    }
    Err(last.unwrap_or_else(|| HistoryError::Input("no attempt".to_owned())))
}

fn at(
    files: &[StateFile],
    time_ms: i64,
    how: &mut Reading<'_>,
) -> Result<StateAnswer, HistoryError> {
    let mut next: Option<Head> = None;
    for file in files.iter().rev() {
        let Some(begin) = first(&file.path)? else {
            continue;
        };
        // What was recorded later counts, also where the clock has gone back.
        if begin.state.time_ms > time_ms {
            next = Some(begin);
            continue;
        }
        let entries = entries_of(file, how.warn)?;
        let place = entries
            .all
            .partition_point(|entry| entry.head.state.time_ms <= time_ms);
        let Some(target) = place.checked_sub(1) else {
            // Its first record is not complete.
            continue;
        };
        let within = entries.all.get(place).map(|entry| entry.head);
        let follows = Follows {
            next: within.or(next),
            cut: within.is_none() && entries.damage.is_some(),
        };
        if follows.ends_ms(&entries.all[target].head) < time_ms {
            return Ok(StateAnswer::Unknown {
                before: Some(entries.all[target].head.state),
                after: follows.next.map(|head| head.state),
            });
        }
        return known(file, &entries, target, Some(time_ms), follows.next, how);
    }
    Ok(StateAnswer::Unknown {
        before: None,
        after: next.map(|head| head.state),
    })
}

/// What comes after a record.
struct Follows {
    next: Option<Head>,
    /// Whether something between cannot be read.
    cut: bool,
}

impl Follows {
    /// How long the state of a record is known to last, milliseconds since 1970.
    fn ends_ms(&self, record: &Head) -> i64 {
        let from = record.state.time_ms;
        let lasting = from + STATE_LASTS_MS;
        if self.cut || record.flags.ends {
            return from;
        }
        match self.next {
            None => lasting,
            Some(next) if next.flags.begins || next.state.time_ms > lasting => from,
            Some(next) => next.state.time_ms.max(from),
        }
    }
}

fn at_sweep(
    files: &[StateFile],
    sweep: u64,
    how: &mut Reading<'_>,
) -> Result<StateAnswer, HistoryError> {
    let mut last: Option<(&StateFile, Entries, usize)> = None;
    for file in files.iter().rev() {
        let entries = entries_of(file, how.warn)?;
        let is_of = |entry: &Entry| entry.head.state.sweep == sweep;
        let ended = |entry: &Entry| is_of(entry) && entry.head.flags.sweep_ended;
        if let Some(target) = entries.all.iter().position(ended) {
            return known(file, &entries, target, None, None, how);
        }
        let begins = (entries.all.first()).is_some_and(|entry| entry.head.flags.begins);
        if last.is_none()
            && let Some(target) = entries.all.iter().rposition(is_of)
        {
            last = Some((file, entries, target));
        }
        if last.is_some() && begins {
            break;
        }
    }
    match last {
        Some((file, entries, target)) => known(file, &entries, target, None, None, how),
        None => Ok(StateAnswer::Unknown {
            before: None,
            after: None,
        }),
    }
}

fn at_generation(
    files: &[StateFile],
    generation: u64,
    how: &mut Reading<'_>,
) -> Result<StateAnswer, HistoryError> {
    for file in files.iter().rev() {
        let entries = entries_of(file, how.warn)?;
        let is_of = |entry: &Entry| entry.head.state.generation == generation;
        if let Some(target) = entries.all.iter().rposition(is_of) {
            return known(file, &entries, target, None, None, how);
        }
    }
    Ok(StateAnswer::Unknown {
        before: None,
        after: None,
    })
}

fn entries_of(file: &StateFile, warn: &mut dyn FnMut(String)) -> Result<Entries, HistoryError> {
    let entries = entries(&file.path)?;
    if let Some(why) = entries.damage {
        let error = HistoryError::damaged(&file.path, why);
        warn(format!("{error}; what follows there is left out"));
    }
    Ok(entries)
}

/// The state of a record; unknown where the file is damaged before it.
fn known(
    file: &StateFile,
    entries: &Entries,
    target: usize,
    time_ms: Option<i64>,
    next: Option<Head>,
    how: &mut Reading<'_>,
) -> Result<StateAnswer, HistoryError> {
    let all = &entries.all[..=target];
    let of = all[target].head.state;
    // Before the first state of a file nothing refers to one.
    let state = all.iter().rfind(|entry| entry.head.kind != Kind::Mark);
    let (at, since) = state.map_or((0, of), |entry| (entry.frames.start, entry.head.state));
    let id = StateId {
        file: file.number,
        at,
        since,
    };
    let mut pieces = StatePieces::new();
    let read = match (how.wants)(id) {
        true => all,
        false => &[],
    };
    let source = File::open(&file.path).map_err(HistoryError::io(&file.path))?;
    for (place, entry) in read.iter().enumerate() {
        if let Err(why) = apply(&source, entry, &mut pieces) {
            let error = match why {
                Wrong::Io(error) => return Err(HistoryError::io(&file.path)(error)),
                Wrong::Content(why) => HistoryError::damaged(&file.path, why),
            };
            (how.warn)(format!("{error}; what follows there is left out"));
            let before = place.checked_sub(1).map(|before| &all[before]);
            return Ok(StateAnswer::Unknown {
                before: before.map(|entry| entry.head.state),
                after: next.map(|head| head.state),
            });
        }
    }
    Ok(StateAnswer::Known(Box::new(PastState {
        time_ms: time_ms.unwrap_or(of.time_ms),
        sweep: of.sweep,
        since,
        id,
        pieces,
    })))
}

enum Wrong {
    Io(std::io::Error),
    Content(&'static str),
}

impl From<&'static str> for Wrong {
    fn from(why: &'static str) -> Self {
        Self::Content(why)
    }
}

/// Lets a record act on the pieces.
fn apply(source: &File, entry: &Entry, pieces: &mut StatePieces) -> Result<(), Wrong> {
    if entry.head.kind == Kind::Mark {
        return Ok(());
    }
    // A file has no more bytes than memory: the budget of states is a part of that of the history.
    let mut bytes = vec![0; (entry.frames.end - entry.frames.start) as usize];
    let read = source.read_exact_at(&mut bytes, entry.frames.start);
    read.map_err(Wrong::Io)?;
    if entry.head.kind == Kind::Key {
        pieces.clear();
    }
    let (mut payloads, mut rest) = (Vec::new(), &bytes[..]);
    while !rest.is_empty() {
        let (payload, check, after) = framed(rest).ok_or("a frame is not as it was written")?;
        payloads.push((payload, check));
        rest = after;
    }
    let bodies = side_by_side(
        &payloads,
        &|(payload, check)| match crc32c::crc32c(payload) == *check {
            true => body(payload).ok_or("a part of a state cannot be decompressed"),
            false => Err("a frame has another checksum"),
        },
    );
    for body in bodies {
        let body = Bytes::from(body?);
        apply_body(&body, pieces).ok_or("a part of a state does not fit the one before")?;
    }
    Ok(())
}

/// The payload of the next frame, its checksum, and what comes after it.
fn framed(rest: &[u8]) -> Option<(&[u8], u32, &[u8])> {
    let len = payload_len(rest)?;
    let (check, _) = rest.get(8..HEADER)?.split_first_chunk()?;
    let (payload, after) = rest.get(HEADER..)?.split_at_checked(len)?;
    (payload.len() > HEAD).then_some((payload, u32::from_le_bytes(*check), after))
}

/// Values that are set stay where they are in the body.
fn apply_body(body: &Bytes, pieces: &mut StatePieces) -> Option<()> {
    let mut rest = &body[..];
    while let Some((op, after)) = rest.split_first() {
        rest = after;
        let op = Op::of(*op)?;
        let key = bytes(&mut rest)?;
        let value = bytes(&mut rest)?;
        match op {
            Op::Remove => drop(pieces.remove(key)?),
            Op::Set => drop(pieces.insert(key.to_vec(), body.slice_ref(value))),
            Op::Patch => {
                let (crc, after) = rest.split_first_chunk()?;
                rest = after;
                let piece = pieces.get_mut(key)?;
                let new = patch::apply(piece, value)?;
                if crc32c::crc32c(&new) != u32::from_le_bytes(*crc) {
                    return None;
                }
                *piece = new.into();
            }
        }
    }
    Some(())
}

fn bytes<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = usize::try_from(take(rest)?).ok()?;
    let (bytes, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(bytes)
}
