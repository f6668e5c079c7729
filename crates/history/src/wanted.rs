//! Rows of counters that a question is about, gathered from segments and open logs.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::HistoryError;
use crate::log::{HEADER, ImageFrame, MAGIC, frames};
use crate::reader::POINTS_MAX;
use crate::row::{PortKey, PortValues};
use crate::segment::{Batch, Group, SegmentName, SegmentReader};
use crate::side_by_side::side_by_side;
use crate::tables::{Resolution, Table};

/// Rows of a port, in order of time.
pub(crate) type Rows = Vec<(i64, PortValues)>;

/// Rows of the ports that are asked for.
pub(crate) struct Wanted {
    pub(crate) ports: BTreeMap<PortKey, Rows>,
    from_ms: i64,
    to_ms: i64,
    left: usize,
    /// Of every port so many rows, the last ones; none for all rows of the ports that are named.
    last: Option<usize>,
}

/// Rows of a port that follow each other in a file.
struct Run {
    key: PortKey,
    /// The earliest time of all of them, milliseconds since 1970: what was recorded before for a later one counts no more.
    least_ms: i64,
    /// Those that are wanted.
    rows: Rows,
}

impl Wanted {
    /// All rows of these ports from one time to another, milliseconds since 1970.
    pub(crate) fn new(ports: &[PortKey], (from_ms, to_ms): (i64, i64)) -> Self {
        Self {
            ports: ports.iter().map(|key| (*key, Vec::new())).collect(),
            from_ms,
            to_ms,
            left: POINTS_MAX,
            last: None,
        }
    }

    /// Of every port at most so many rows, the last ones.
    pub(crate) fn last(count: usize, span: (i64, i64)) -> Self {
        Self {
            left: usize::MAX,
            last: Some(count),
            ..Self::new(&[], span)
        }
    }

    fn has(&self, key: &PortKey) -> bool {
        self.last.is_some() || self.ports.contains_key(key)
    }

    fn push(&mut self, run: Run) -> Result<(), HistoryError> {
        let rows = match self.last {
            Some(_) => self.ports.entry(run.key).or_default(),
            None => match self.ports.get_mut(&run.key) {
                Some(rows) => rows,
                None => return Ok(()),
            },
        };
        // What was recorded later counts.
        while rows.pop_if(|(last, _)| *last >= run.least_ms).is_some() {
            self.left = self.left.saturating_add(1);
        }
        self.left = self.left.checked_sub(run.rows.len()).ok_or_else(|| {
            let why = format!("more than {POINTS_MAX} readings: ask for fewer ports, a shorter time or a longer step");
            HistoryError::Input(why)
        })?;
        rows.extend(run.rows);
        if let Some(most) = self.last {
            rows.drain(..rows.len().saturating_sub(most));
        }
        Ok(())
    }

    /// Rows of a segment, read by several threads.
    pub(crate) fn segment(
        &mut self,
        path: &Path,
        name: &SegmentName,
        resolution: Resolution,
    ) -> Result<(), HistoryError> {
        let segment = SegmentReader::open(path, name, Table::Counters(resolution))?;
        let may_have = |group: &usize| {
            let mut nodes = self.ports.keys();
            self.last.is_some() || nodes.any(|key| segment.may_have_node(*group, key.guid))
        };
        let groups: Vec<usize> = (0..segment.groups()).filter(may_have).collect();
        let read = side_by_side(&groups, &|group| self.runs(&segment.group(*group)?));
        for runs in read {
            runs?.into_iter().try_for_each(|run| self.push(run))?;
        }
        Ok(())
    }

    /// What is wanted of a row group; of other rows only their places are read.
    fn runs(&self, group: &Group<'_>) -> Result<Vec<Run>, HistoryError> {
        let places = group.places()?;
        let (mut runs, mut kept) = (Vec::new(), Vec::new());
        let mut first = 0;
        while first < places.len() {
            let key = places.key(first);
            let others = (first..places.len()).find(|row| places.key(*row) != key);
            let end = others.unwrap_or(places.len());
            if self.has(&key) {
                let (least_ms, rows) = self.choose(&places, first..end);
                let (from, times) = (kept.len(), rows.iter().map(|row| places.time(*row)));
                runs.push((key, least_ms, times.collect::<Vec<_>>(), from));
                kept.extend(rows);
            }
            first = end;
        }
        let values = group.values(&kept)?;
        let run = |(key, least_ms, times, from): (PortKey, i64, Vec<i64>, usize)| {
            let values = values[from..].iter().copied();
            let rows = times.into_iter().zip(values).collect();
            Run {
                key,
                least_ms,
                rows,
            }
        };
        Ok(runs.into_iter().map(run).collect())
    }

    /// The earliest time of some rows of a port, and those of them that are wanted.
    fn choose(&self, places: &Batch, rows: std::ops::Range<usize>) -> (i64, Vec<usize>) {
        let (mut least_ms, mut chosen) = (i64::MAX, Vec::new());
        for row in rows {
            let time = places.time(row);
            least_ms = least_ms.min(time);
            // What was recorded later counts.
            while chosen.pop_if(|last| places.time(*last) >= time).is_some() {}
            if (self.from_ms..=self.to_ms).contains(&time) {
                chosen.push(row);
            }
        }
        let surplus = self
            .last
            .map_or(0, |most| chosen.len().saturating_sub(most));
        (least_ms, chosen.split_off(surplus))
    }

    /// Rows of an open log, as far as it is right: its last frame may be being written.
    ///
    /// # Errors
    /// That it cannot be read.
    pub(crate) fn log(&mut self, path: &Path) -> Result<(), HistoryError> {
        // A log has no earlier reading than its first one.
        if first_ms(path).is_some_and(|first| first > self.to_ms) {
            return Ok(());
        }
        let bytes = std::fs::read(path).map_err(HistoryError::io(path))?;
        let payloads = frames(&bytes).payloads.into_iter();
        let images: Vec<ImageFrame<'_>> = payloads
            .map_while(|range| ImageFrame::new(&bytes[range]))
            .collect();
        let is_wanted =
            |image: &&ImageFrame<'_>| (self.from_ms..=self.to_ms).contains(&image.time_ms);
        let surplus = self.last.map_or(0, |most| {
            let count = images.iter().filter(is_wanted).count();
            count.saturating_sub(most)
        });
        let mut known = Known::default();
        let mut wanted = 0;
        for mut image in images {
            let time = image.time_ms;
            if time > self.to_ms {
                break;
            }
            for key in known.follow(&mut image, |key| self.has(key)) {
                let (least_ms, rows) = (time, Rows::new());
                self.push(Run {
                    key,
                    least_ms,
                    rows,
                })?;
            }
            wanted += usize::from(time >= self.from_ms);
            if time >= self.from_ms && wanted > surplus {
                for (key, values) in &known.ports {
                    self.push(Run {
                        key: *key,
                        least_ms: time,
                        rows: vec![(time, *values)],
                    })?;
                }
            }
        }
        Ok(())
    }
}

/// Ports as the last frame of a log has them, in order.
#[derive(Default)]
struct Known {
    ports: Vec<(PortKey, PortValues)>,
}

impl Known {
    /// Takes in a frame, as far as it is right; returns the ports that were not there before.
    fn follow(
        &mut self,
        image: &mut ImageFrame<'_>,
        has: impl Fn(&PortKey) -> bool,
    ) -> Vec<PortKey> {
        let (mut appeared, mut gone) = (Vec::new(), Vec::new());
        let mut at = 0;
        // Ports come in order.
        while let Ok(Some(change)) = image.next() {
            if !has(&change.key) {
                continue;
            }
            at += self.ports[at..].partition_point(|(key, _)| *key < change.key);
            let known = self.ports.get_mut(at).filter(|(key, _)| *key == change.key);
            let before = known.as_ref().map(|(_, values)| ((), *values));
            match (change.apply(before, |_| ()), known) {
                (Some((_, now)), Some((_, values))) => *values = now,
                (Some((_, now)), None) => appeared.push((change.key, now)),
                (None, _) => gone.push(change.key),
            }
        }
        if !gone.is_empty() {
            self.ports
                .retain(|(key, _)| gone.binary_search(key).is_err());
        }
        let keys = appeared.iter().map(|(key, _)| *key).collect();
        if !appeared.is_empty() {
            self.ports.extend(appeared);
            self.ports.sort_by_key(|(key, _)| *key);
        }
        keys
    }
}

/// Time of the first reading of a log, milliseconds since 1970; none where that cannot be told.
fn first_ms(path: &Path) -> Option<i64> {
    let mut head = [0; MAGIC.len() + HEADER + 10];
    File::open(path).ok()?.read_exact_at(&mut head, 0).ok()?;
    Some(ImageFrame::new(&head[MAGIC.len() + HEADER..])?.time_ms)
}
