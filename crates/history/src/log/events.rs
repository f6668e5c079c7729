//! Events as a frame.

use super::image::cut;
use super::varint::{put, put_text, take, take_text};
use crate::row::EventRow;

/// Makes a frame of events.
pub(crate) fn encode_events(events: &[EventRow]) -> Vec<u8> {
    let mut payload = Vec::new();
    put(&mut payload, events.len() as u64);
    for event in events {
        put(&mut payload, event.time_ms as u64);
        put(&mut payload, event.run);
        put(&mut payload, event.sequence);
        put(&mut payload, event.guid);
        payload.push(event.port);
        for text in [
            &event.kind,
            &event.name,
            &event.severity,
            &event.message,
            &event.body,
        ] {
            put_text(&mut payload, cut(text));
        }
    }
    payload
}

/// Reads a frame; none where it is not one of events.
pub(crate) fn decode_events(payload: &[u8]) -> Option<Vec<EventRow>> {
    let mut rest = payload;
    let count = take(&mut rest)?;
    let mut events = Vec::new();
    for _ in 0..count {
        events.push(event(&mut rest)?);
    }
    rest.is_empty().then_some(events)
}

fn event(rest: &mut &[u8]) -> Option<EventRow> {
    let time_ms = i64::try_from(take(rest)?).ok()?;
    let (run, sequence, guid) = (take(rest)?, take(rest)?, take(rest)?);
    let (port, after) = rest.split_first()?;
    *rest = after;
    let mut text = || take_text(rest).map(str::to_owned);
    Some(EventRow {
        time_ms,
        run,
        sequence,
        guid,
        port: *port,
        kind: text()?,
        name: text()?,
        severity: text()?,
        message: text()?,
        body: text()?,
    })
}
