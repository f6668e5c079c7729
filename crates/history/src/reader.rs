//! The reading end: it needs nothing of the recorder but its files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::budget::closed_bytes;
use crate::error::HistoryError;
use crate::gaps::{self, Gap};
use crate::log::{ImageFrame, decode_events, frames};
use crate::row::{EventRow, PortKey, PortValues};
use crate::segment::{Listed, SegmentName, SegmentReader, list};
use crate::states::{
    Reading, StateAnswer, StateId, StateQuestion, newest_ms, oldest_ms, state, states_in,
};
use crate::tables::{Resolution, Table};
use crate::wanted::{Rows, Wanted};

/// Most points of all ports in one answer.
pub const POINTS_MAX: usize = 200_000;
/// Rows before the first point from which its rate is, milliseconds before it at least.
const BEFORE_MS: i64 = 60_000;
/// Attempts to read a directory that is changed meanwhile.
const ATTEMPTS: usize = 5;

/// Reads a history.
#[derive(Debug, Clone)]
pub struct Reader {
    root: PathBuf,
}

/// Totals of a port at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Time of the reading, milliseconds since 1970.
    pub time_ms: i64,
    /// Since the sample before, milliseconds: rates are over this time. 0 for the first.
    pub span_ms: i64,
    /// What was read.
    pub values: PortValues,
    /// Increase a second; none for the first, and where totals have begun again.
    pub rates: Option<[f64; crate::COUNTERS.len()]>,
}

/// Which events.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    /// Only these kinds; empty for all.
    pub kinds: Vec<String>,
    /// Only of nodes whose name is one of these, or whose GUID in digits or `0x` is; empty for all.
    pub nodes: Vec<String>,
}

/// What is kept of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptTable {
    /// Which.
    pub table: Table,
    /// Bytes of its files.
    pub bytes: u64,
    /// Files.
    pub files: u64,
    /// Time of the oldest row, milliseconds since 1970.
    pub oldest_ms: Option<i64>,
    /// Time of the newest.
    pub newest_ms: Option<i64>,
}

/// What is kept of states.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptStates {
    /// Bytes of their files.
    pub bytes: u64,
    /// Files.
    pub files: u64,
    /// Time of the oldest record, milliseconds since 1970.
    pub oldest_ms: Option<i64>,
    /// Time of the newest.
    pub newest_ms: Option<i64>,
}

/// What is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// Of each table.
    pub tables: Vec<KeptTable>,
    /// Of states.
    pub states: KeptStates,
    /// Bytes of all files.
    pub bytes: u64,
    /// Times of which nothing is known, in order of recording.
    pub gaps: Vec<Gap>,
    /// Files that are set aside because they are damaged.
    pub damaged: u64,
}

impl Reader {
    /// Reads the history in this directory.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// What is kept.
    ///
    /// # Errors
    /// That a directory cannot be read.
    pub fn kept(&self) -> Result<Kept, HistoryError> {
        let mut kept = Kept {
            gaps: gaps::read(&self.root),
            ..Kept::default()
        };
        let gaps_len = std::fs::metadata(gaps::path(&self.root)).map_or(0, |meta| meta.len());
        for table in Table::ALL {
            let listed = list(&table.dir(&self.root))?;
            let mut times: Vec<i64> = Vec::new();
            for (name, ..) in &listed.segments {
                times.extend([name.from_ms, name.to_ms]);
            }
            for (_, path, _) in listed.open_logs() {
                // It may have become a segment meanwhile.
                let bytes = std::fs::read(path).unwrap_or_default();
                times.extend(log_times(table, &bytes));
            }
            let logs: u64 = listed.logs.iter().map(|(.., len)| len).sum();
            let bytes = closed_bytes(&listed) + logs;
            kept.bytes += bytes;
            kept.damaged += listed
                .others
                .iter()
                .filter(|(path, _)| is_damaged(path))
                .count() as u64;
            kept.tables.push(KeptTable {
                table,
                bytes,
                files: (listed.segments.len() + listed.logs.len() + listed.others.len()) as u64,
                oldest_ms: times.iter().min().copied(),
                newest_ms: times.iter().max().copied(),
            });
        }
        let states = states_in(&self.root)?;
        let others = states.others.iter();
        kept.damaged += others.clone().filter(|(path, _)| is_damaged(path)).count() as u64;
        kept.states = KeptStates {
            bytes: states.files.iter().map(|file| file.len).sum::<u64>()
                + others.map(|(_, len)| *len).sum::<u64>(),
            files: (states.files.len() + states.others.len()) as u64,
            oldest_ms: oldest_ms(&states.files),
            newest_ms: newest_ms(&states.files),
        };
        kept.bytes += gaps_len + kept.states.bytes;
        Ok(kept)
    }

    /// The state of a time or of a sweep. Of times that were recorded twice, because the clock went back, the later
    /// record counts. A state lasts until the next record, where that is at most [`STATE_LASTS_MS`](crate::STATE_LASTS_MS)
    /// later and not the first one of another run. Damaged files are left out, each with a word to `warn`.
    ///
    /// # Errors
    /// That files cannot be read.
    pub fn state(
        &self,
        question: StateQuestion,
        warn: &mut dyn FnMut(String),
    ) -> Result<StateAnswer, HistoryError> {
        self.state_if(question, &|_| true, warn)
    }

    /// The same, without its pieces where they are not wanted.
    ///
    /// # Errors
    /// That files cannot be read.
    pub fn state_if(
        &self,
        question: StateQuestion,
        wants: &dyn Fn(StateId) -> bool,
        warn: &mut dyn FnMut(String),
    ) -> Result<StateAnswer, HistoryError> {
        state(&self.root, question, &mut Reading { wants, warn })
    }

    /// Totals and rates of ports after `from_ms` and up to `to_ms`: the last reading of each step, or every reading
    /// where the step is 0. All in milliseconds. Where readings as fine are no longer there, coarser ones are used. Of
    /// times that were recorded twice, because the clock went back, the later record counts. Damaged files are left
    /// out, each with a word to `warn`.
    ///
    /// # Errors
    /// That files cannot be read, or that there are more than [`POINTS_MAX`] points.
    pub fn samples(
        &self,
        ports: &[PortKey],
        (from_ms, to_ms): (i64, i64),
        step_ms: i64,
        warn: &mut dyn FnMut(String),
    ) -> Result<Vec<Vec<Sample>>, HistoryError> {
        let rows = attempts(|| self.rows(ports, (from_ms, to_ms), step_ms, warn))?;
        let of = |key: &PortKey| rows.get(key).map(Vec::as_slice).unwrap_or_default();
        let sampled = ports.iter().map(|key| sample(of(key), from_ms, step_ms));
        Ok(sampled.collect())
    }

    fn rows(
        &self,
        ports: &[PortKey],
        (from_ms, to_ms): (i64, i64),
        step_ms: i64,
        warn: &mut dyn FnMut(String),
    ) -> Result<BTreeMap<PortKey, Rows>, HistoryError> {
        let wanted = Resolution::of_step(step_ms.max(1));
        let earlier = from_ms.saturating_sub(2 * step_ms.max(wanted.period_ms()).max(BEFORE_MS));
        let mut rows = Wanted::new(ports, (earlier, to_ms));
        self.fill(&mut rows, wanted, (earlier, to_ms), warn)?;
        Ok(rows.ports)
    }

    /// Reads the rows of a time that are wanted.
    pub(crate) fn fill(
        &self,
        rows: &mut Wanted,
        resolution: Resolution,
        span: (i64, i64),
        warn: &mut dyn FnMut(String),
    ) -> Result<(), HistoryError> {
        // Before the segments: one that becomes a segment meanwhile is read twice, or is gone and all is read again.
        let listed = list(&Table::Counters(Resolution::Image).dir(&self.root))?;
        for (resolution, name, path) in self.chosen(resolution, span)? {
            let read = rows.segment(&path, &name, resolution);
            skip_damaged(read, warn)?;
        }
        for (_, path, _) in listed.open_logs() {
            rows.log(path)?;
        }
        Ok(())
    }

    /// The segments to read, in order of recording: of the wanted resolution, then what is not there yet from finer and
    /// what is there no more from coarser ones.
    fn chosen(
        &self,
        wanted: Resolution,
        (from_ms, to_ms): (i64, i64),
    ) -> Result<Vec<(Resolution, SegmentName, PathBuf)>, HistoryError> {
        let (finer, coarser) = Resolution::ALL.split_at(wanted as usize + 1);
        let mut chosen: Vec<(Resolution, SegmentName, PathBuf)> = Vec::new();
        for resolution in finer.iter().rev().chain(coarser) {
            let listed = list(&Table::Counters(*resolution).dir(&self.root))?;
            let taken: Vec<(u64, u64)> = (chosen.iter())
                .map(|(_, name, _)| (name.first, name.last))
                .collect();
            for (name, path, _) in listed.segments {
                let known = |number| {
                    taken
                        .iter()
                        .any(|(first, last)| (*first..=*last).contains(&number))
                };
                if !(name.first..=name.last).all(known) {
                    chosen.push((*resolution, name, path));
                }
            }
        }
        chosen.retain(|(_, name, _)| name.from_ms <= to_ms);
        // One that was recorded after the clock went back says what no longer counts, also where it ends before.
        let overlapping = chosen.iter().filter(|(_, name, _)| from_ms <= name.to_ms);
        let first = overlapping.map(|(_, name, _)| name.first).min();
        chosen.retain(|(_, name, _)| {
            from_ms <= name.to_ms || first.is_some_and(|first| first < name.first)
        });
        // Of two that begin with the same log the longer one is read first: it is the coarser.
        chosen.sort_by_key(|(resolution, name, _)| (name.first, std::cmp::Reverse(*resolution)));
        Ok(chosen)
    }

    /// Hands over events from `from_ms` to `to_ms`, milliseconds since 1970, both included, in the order of recording,
    /// until `sink` returns false.
    ///
    /// # Errors
    /// That files cannot be read.
    pub fn events(
        &self,
        (from_ms, to_ms): (i64, i64),
        filter: &EventFilter,
        sink: &mut dyn FnMut(EventRow) -> bool,
        warn: &mut dyn FnMut(String),
    ) -> Result<(), HistoryError> {
        let dir = Table::Events.dir(&self.root);
        let mut done = 0;
        let is_wanted =
            |event: &EventRow| (from_ms..=to_ms).contains(&event.time_ms) && filter.has(event);
        for _ in 0..ATTEMPTS {
            let Listed { segments, logs, .. } = list(&dir)?;
            for (name, path, _) in segments {
                if name.last <= done {
                    continue;
                }
                if name.from_ms <= to_ms && from_ms <= name.to_ms {
                    let mut sink = |event: EventRow| !is_wanted(&event) || sink(event);
                    let read = segment_events(&path, &name, (from_ms, to_ms), &mut sink);
                    if skip_damaged(read, warn)? == Some(false) {
                        return Ok(());
                    }
                }
                done = name.last;
            }
            let mut again = false;
            let closed = done;
            for (number, path, _) in logs.into_iter().filter(|(number, ..)| *number > closed) {
                let Ok(bytes) = std::fs::read(&path) else {
                    // It has become a segment.
                    again = true;
                    break;
                };
                let payloads = frames(&bytes).payloads.into_iter();
                let events = payloads.filter_map(|range| decode_events(&bytes[range]));
                for event in events.flatten().filter(|event| is_wanted(event)) {
                    if !sink(event) {
                        return Ok(());
                    }
                }
                done = number;
            }
            if !again {
                break;
            }
        }
        Ok(())
    }
}

/// Reads again where a file has become another one meanwhile.
pub(crate) fn attempts<T>(
    mut read: impl FnMut() -> Result<T, HistoryError>,
) -> Result<T, HistoryError> {
    let mut last = None;
    for _ in 0..ATTEMPTS {
        match read() {
            Err(error) if error.is_gone() => last = Some(error),
            other => return other,
        }
    }
    Err(last.unwrap_or_else(|| HistoryError::Input("no attempt".to_owned())))
}

impl EventFilter {
    fn has(&self, event: &EventRow) -> bool {
        let kind = self.kinds.is_empty() || self.kinds.contains(&event.kind);
        let is_node = |node: &String| {
            let guid = match node.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).ok(),
                None => node.parse().ok(),
            };
            *node == event.name || guid.is_some_and(|guid| guid == event.guid && guid != 0)
        };
        kind && (self.nodes.is_empty() || self.nodes.iter().any(is_node))
    }
}

/// The last row of each step after `from_ms`, with rates since the one before, and the worst quality of the link.
fn sample(rows: &[(i64, PortValues)], from_ms: i64, step_ms: i64) -> Vec<Sample> {
    let (before, after) = rows.split_at(rows.partition_point(|(time, _)| *time <= from_ms));
    let step = |time: i64| match step_ms {
        0 => time,
        _ => (time - from_ms - 1).div_euclid(step_ms),
    };
    let mut last = before.last();
    let mut samples = Vec::new();
    for rows in after.chunk_by(|(a, _), (b, _)| step(*a) == step(*b)) {
        let Some(row) = rows.last() else { continue };
        let mut sample = since(last, row);
        let qualities = rows.iter().filter_map(|(_, values)| values.link_quality);
        sample.values.link_quality = qualities.min();
        samples.push(sample);
        last = Some(row);
    }
    samples
}

fn since(before: Option<&(i64, PortValues)>, (time_ms, values): &(i64, PortValues)) -> Sample {
    let span_ms = before.map_or(0, |(before, _)| time_ms - before);
    let totals = &values.totals;
    let before = before.map(|(_, before)| &before.totals);
    let rates = before
        .filter(|old| old.iter().zip(totals).all(|(old, new)| old <= new))
        .map(|old| {
            std::array::from_fn(|place| {
                (totals[place] - old[place]) as f64 * 1000.0 / span_ms as f64
            })
        });
    Sample {
        time_ms: *time_ms,
        span_ms,
        values: *values,
        rates,
    }
}

fn segment_events(
    path: &Path,
    name: &SegmentName,
    (from_ms, to_ms): (i64, i64),
    sink: &mut dyn FnMut(EventRow) -> bool,
) -> Result<bool, HistoryError> {
    let segment = SegmentReader::open(path, name, Table::Events)?;
    for group in 0..segment.groups() {
        if segment.may_have_time(group, from_ms, to_ms) {
            let batch = segment.group(group)?.all()?;
            if !(0..batch.len()).all(|row| sink(batch.event(row))) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Turns damage into a word.
fn skip_damaged<T>(
    read: Result<T, HistoryError>,
    warn: &mut dyn FnMut(String),
) -> Result<Option<T>, HistoryError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error @ HistoryError::Damaged { .. }) => {
            warn(format!("{error}; it is left out"));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn is_damaged(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "damaged")
}

/// Times of the rows of a log.
fn log_times(table: Table, bytes: &[u8]) -> Vec<i64> {
    let payloads = frames(bytes).payloads.into_iter();
    let times = payloads.map(|range| match table {
        Table::Counters(_) => ImageFrame::new(&bytes[range]).map(|frame| vec![frame.time_ms]),
        Table::Events => decode_events(&bytes[range])
            .map(|events| events.iter().map(|event| event.time_ms).collect()),
    });
    times.flatten().flatten().collect()
}
