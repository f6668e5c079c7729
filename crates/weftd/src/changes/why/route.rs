//! The last sweep that changed a way.

use std::collections::VecDeque;

use weft_api::time::timestamp_ms;
use weft_api::v1;
use weft_api::v1::watch_response::Content;
use weft_history::{EventFilter, EventRow, HistoryError, Reader};

use super::way::{End, Way, is_same, way_at};

/// Sweeps that wrote tables and are looked at, the newest: for each a state of the past is read.
const SWEEPS_MAX: usize = 64;

/// When the state before a sweep is looked for, milliseconds after its start.
const RECORDED_MS: [i64; 4] = [-1, 50, 250, 1_000];

/// A sweep that wrote tables.
struct Wrote {
    id: (u64, u64),
    number: u64,
    /// That of the snapshot that it published.
    generation: u64,
    from_ms: i64,
    to_ms: i64,
}

/// A sweep that changed a way.
pub(super) struct Changed {
    /// The event of its end: the run of the daemon, and its number there.
    pub(super) id: (u64, u64),
    /// What changed.
    pub(super) cause: v1::Cause,
}

/// The end of the last sweep up to a time that changed the way, and the change; in words, why none is known.
///
/// # Errors
/// That files cannot be read.
pub(super) fn last_change(
    reader: &Reader,
    ends: (End, End),
    to_ms: i64,
    warnings: &mut Vec<String>,
) -> Result<Result<Changed, String>, HistoryError> {
    let words = format!("to {}", ends.1.name);
    let Some((mut after, _)) = way_at(reader, to_ms, &ends, warnings)? else {
        let why = format!(
            "nothing is known of the fabric up to {}",
            timestamp_ms(to_ms)
        );
        return Ok(Err(why));
    };
    let (mut sweeps, more) = sweeps(reader, to_ms, warnings)?;
    let oldest = sweeps.front().map(|sweep| sweep.from_ms);
    while let Some(sweep) = sweeps.pop_back() {
        let before = way_before(reader, &sweep, sweeps.back(), &ends, warnings)?;
        if before
            .as_ref()
            .is_some_and(|before| is_same(before, &after))
        {
            continue;
        }
        let what = match (&before, after.is_empty()) {
            (None, _) => format!("sweep {} made the way {words}", sweep.number),
            (_, true) => format!("the way {words} was lost in sweep {}", sweep.number),
            (_, false) => format!("sweep {} changed the way {words}", sweep.number),
        };
        let cause = v1::Cause {
            kind: v1::CauseKind::Route.into(),
            time: Some(timestamp_ms(sweep.to_ms)),
            what,
            sweep: sweep.number,
            event_id: crate::grpc::token(sweep.id.0, sweep.id.1),
            before: before.unwrap_or_default(),
            after: std::mem::take(&mut after),
            ..v1::Cause::default()
        };
        let id = sweep.id;
        return Ok(Ok(Changed { id, cause }));
    }
    Ok(Err(match (oldest, more) {
        (Some(oldest), true) => format!(
            "the last {SWEEPS_MAX} sweeps that wrote tables, from {} on, did not change the way {words}",
            timestamp_ms(oldest)
        ),
        _ => format!("no sweep that is known has changed the way {words}"),
    }))
}

/// The way before a sweep. What the one before it published is recorded a little after its end.
fn way_before(
    reader: &Reader,
    sweep: &Wrote,
    last: Option<&Wrote>,
    ends: &(End, End),
    warnings: &mut Vec<String>,
) -> Result<Option<Way>, HistoryError> {
    let last = last.filter(|last| last.id.0 == sweep.id.0);
    let published = last.map_or(0, |last| last.generation);
    let mut found = None;
    for later_ms in RECORDED_MS {
        found = way_at(reader, sweep.from_ms + later_ms, ends, warnings)?;
        if found
            .as_ref()
            .is_none_or(|(_, generation)| *generation >= published)
        {
            break;
        }
    }
    Ok(found.map(|(way, _)| way))
}

/// Sweeps that wrote tables, in order, and whether there were earlier ones.
fn sweeps(
    reader: &Reader,
    to_ms: i64,
    warnings: &mut Vec<String>,
) -> Result<(VecDeque<Wrote>, bool), HistoryError> {
    let filter = EventFilter {
        kinds: vec!["sweep_ended".to_owned()],
        nodes: Vec::new(),
    };
    let (mut sweeps, mut more) = (VecDeque::new(), false);
    let mut sink = |row: EventRow| {
        sweeps.extend(wrote(&row));
        if sweeps.len() > SWEEPS_MAX {
            sweeps.pop_front();
            more = true;
        }
        true
    };
    reader.events((0, to_ms), &filter, &mut sink, &mut |word| {
        warnings.push(word)
    })?;
    Ok((sweeps, more))
}

fn wrote(row: &EventRow) -> Option<Wrote> {
    let event = weft_api::event_of_json(&row.kind, &row.body, timestamp_ms(row.time_ms));
    let Some(Content::SweepEnded(sweep)) = event.content else {
        return None;
    };
    let elapsed_ms = weft_api::time::ns(sweep.elapsed) / 1_000_000;
    (sweep.blocks > 0).then(|| Wrote {
        id: (row.run, row.sequence),
        number: sweep.number,
        generation: sweep.generation,
        from_ms: row.time_ms - elapsed_ms as i64,
        to_ms: row.time_ms,
    })
}
