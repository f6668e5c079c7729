//! One reading of all ports at a moment of the past.

use std::collections::BTreeMap;

use crate::error::HistoryError;
use crate::reader::{Reader, attempts};
use crate::row::{PortKey, PortValues, Totals};
use crate::tables::Resolution;
use crate::wanted::{Rows, Wanted};

/// How long before a moment its reading may be, milliseconds: first where two are in the same file, then where readings are kept
/// in detail, then where one an hour is left.
const LOOKS_MS: [i64; 3] = [60_000, 600_000, 7_500_000];

/// What all ports had counted in a reading, and in the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastReading {
    /// Its time, milliseconds since 1970.
    pub time_ms: i64,
    /// Since the reading before, milliseconds; 0 where none is kept.
    pub span_ms: i64,
    /// The ports that were read, in order.
    pub ports: Vec<PortThen>,
}

/// A port in a reading of the past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortThen {
    /// Which port.
    pub key: PortKey,
    /// What was read.
    pub values: PortValues,
    /// Those in the reading before; none where it was not read then.
    pub before: Option<Totals>,
}

impl Reader {
    /// The last reading of all ports that is kept up to a moment, milliseconds since 1970, and at most two hours before it;
    /// none where there is none. Damaged files are left out, each with a word to `warn`.
    ///
    /// # Errors
    /// That files cannot be read.
    pub fn reading(
        &self,
        at_ms: i64,
        warn: &mut dyn FnMut(String),
    ) -> Result<Option<PastReading>, HistoryError> {
        let mut found = None;
        for look_ms in LOOKS_MS {
            let span = (at_ms.saturating_sub(look_ms), at_ms);
            let read = attempts(|| {
                let mut rows = Wanted::last(2, span);
                self.fill(&mut rows, Resolution::Image, span, warn)?;
                Ok(rows)
            })?;
            found = last_of(read).or(found);
            // Where only coarse readings are left the one before is further away.
            if found.as_ref().is_some_and(|found| found.span_ms > 0) {
                break;
            }
        }
        Ok(found)
    }
}

impl PastReading {
    /// The same, with what was read at an earlier time in place of the reading before. A port that was not read then, or whose
    /// totals have begun again since, has nothing before it.
    pub fn since(&self, first: &Self) -> Self {
        let known: BTreeMap<PortKey, &Totals> = (first.ports.iter())
            .map(|port| (port.key, &port.values.totals))
            .collect();
        let ports = self.ports.iter().map(|port| {
            let before = known.get(&port.key).copied();
            PortThen {
                key: port.key,
                values: port.values,
                before: before
                    .filter(|before| goes_on(before, &port.values.totals))
                    .copied(),
            }
        });
        Self {
            time_ms: self.time_ms,
            span_ms: self.time_ms.saturating_sub(first.time_ms).max(0),
            ports: ports.collect(),
        }
    }
}

/// Whether totals count on from others: those that have begun again tell nothing of the time between.
fn goes_on(before: &Totals, now: &Totals) -> bool {
    before.iter().zip(now).all(|(old, new)| old <= new)
}

/// The newest reading among the rows, and the one before it that most of its ports have: rolled up, a port that left has a
/// last row of its own.
fn last_of(rows: Wanted) -> Option<PastReading> {
    let newest = rows.ports.values().filter_map(|rows| rows.last());
    let time_ms = newest.map(|(time, _)| *time).max()?;
    let of_then = |rows: &Rows| rows.last().is_some_and(|(time, _)| *time == time_ms);
    let before = |rows: &Rows| {
        rows.len()
            .checked_sub(2)
            .and_then(|at| rows.get(at).copied())
    };
    let mut times: BTreeMap<i64, usize> = BTreeMap::new();
    for (time, _) in rows
        .ports
        .values()
        .filter(|rows| of_then(rows))
        .filter_map(before)
    {
        *times.entry(time).or_default() += 1;
    }
    let before_ms = times.into_iter().max_by_key(|(_, ports)| *ports);
    let before_ms = before_ms.map(|(time, _)| time);
    let ports = rows.ports.iter().filter(|(_, rows)| of_then(rows));
    let ports = ports.filter_map(|(key, rows)| {
        let (_, values) = rows.last()?;
        let before = before(rows).filter(|(time, _)| Some(*time) == before_ms);
        Some(PortThen {
            key: *key,
            values: *values,
            before: before
                .map(|(_, values)| values.totals)
                .filter(|before| goes_on(before, &values.totals)),
        })
    });
    Some(PastReading {
        time_ms,
        span_ms: before_ms.map_or(0, |before| time_ms - before),
        ports: ports.collect(),
    })
}
