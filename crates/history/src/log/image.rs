//! A reading of the counters as a frame: of each port what has changed since the reading before, in order of ports. The
//! first frame of a log has all of every port.

use super::varint::{put, put_text, take, take_text};
use crate::row::{PortKey, PortRow, PortValues, TEXT_MAX, Totals, UNKNOWN, known_quality};

/// Bits of the word that says what follows of a port: each counter's, that of the name, that the port is gone, and that of
/// the quality of its link.
const NAME: u64 = 1 << 27;
const GONE: u64 = 1 << 28;
const QUALITY: u64 = 1 << 29;

/// What a frame has of a port.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change<'a> {
    pub(crate) key: PortKey,
    pub(crate) name: Option<&'a str>,
    pub(crate) gone: bool,
    /// What is added to each counter.
    pub(crate) added: Totals,
    /// The new quality of its link, [`UNKNOWN`] where it is known no more; none where it stays.
    quality: Option<u8>,
}

/// A frame that is read.
#[derive(Debug, Clone)]
pub(crate) struct ImageFrame<'a> {
    pub(crate) time_ms: i64,
    left: u64,
    guid: u64,
    rest: &'a [u8],
}

/// Makes a frame of a reading; both are in order of ports. Milliseconds since 1970.
pub(crate) fn encode_image(time_ms: i64, before: &[PortRow], now: &[PortRow]) -> Vec<u8> {
    let mut entries = Entries::default();
    let mut before = before.iter().peekable();
    for row in now {
        while let Some(gone) = before.next_if(|old| old.key < row.key) {
            entries.gone(gone.key);
        }
        entries.changed(before.next_if(|old| old.key == row.key), row);
    }
    before.for_each(|gone| entries.gone(gone.key));
    let mut payload = Vec::with_capacity(entries.bytes.len() + 20);
    put(&mut payload, time_ms as u64);
    put(&mut payload, entries.count);
    payload.extend_from_slice(&entries.bytes);
    payload
}

#[derive(Debug, Default)]
struct Entries {
    bytes: Vec<u8>,
    count: u64,
    guid: u64,
}

impl Entries {
    fn begin(&mut self, key: PortKey, word: u64) {
        self.count += 1;
        put(&mut self.bytes, key.guid.wrapping_sub(self.guid));
        self.guid = key.guid;
        self.bytes.push(key.port);
        put(&mut self.bytes, word);
    }

    fn gone(&mut self, key: PortKey) {
        self.begin(key, GONE);
    }

    fn changed(&mut self, before: Option<&PortRow>, now: &PortRow) {
        let mut word = 0;
        let old = before.map_or(PortValues::NONE, |before| before.values);
        let totals = || now.values.totals.iter().zip(&old.totals);
        for (place, (now, old)) in totals().enumerate() {
            word |= u64::from(now != old) << place;
        }
        if now.values.link_quality != old.link_quality {
            word |= QUALITY;
        }
        let renamed = before.is_none_or(|before| before.name != now.name);
        if renamed {
            word |= NAME;
        }
        if word == 0 {
            return;
        }
        self.begin(now.key, word);
        if renamed {
            put_text(&mut self.bytes, cut(&now.name));
        }
        for (now, old) in totals().filter(|(now, old)| now != old) {
            put(&mut self.bytes, now.wrapping_sub(*old));
        }
        if word & QUALITY != 0 {
            let quality = now.values.link_quality;
            self.bytes.push(quality.unwrap_or(UNKNOWN));
        }
    }
}

/// The beginning of a text, where it is too long.
pub(super) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_MAX)]
}

impl<'a> ImageFrame<'a> {
    /// Begins to read a frame; none where it is no image's.
    pub(crate) fn new(payload: &'a [u8]) -> Option<Self> {
        let mut rest = payload;
        let time_ms = i64::try_from(take(&mut rest)?).ok()?;
        let left = take(&mut rest)?;
        Some(Self {
            time_ms,
            left,
            guid: 0,
            rest,
        })
    }

    /// The next port; `Ok(None)` after the last.
    ///
    /// # Errors
    /// That the frame is not as it should be.
    pub(crate) fn next(&mut self) -> Result<Option<Change<'a>>, &'static str> {
        if self.left == 0 {
            return match self.rest {
                [] => Ok(None),
                _ => Err("a frame has more bytes than ports"),
            };
        }
        self.left -= 1;
        self.entry().map(Some).ok_or("a frame ends within a port")
    }

    fn entry(&mut self) -> Option<Change<'a>> {
        let rest = &mut self.rest;
        self.guid = self.guid.wrapping_add(take(rest)?);
        let (port, after) = rest.split_first()?;
        *rest = after;
        let key = PortKey {
            guid: self.guid,
            port: *port,
        };
        let word = take(rest)?;
        let name = match word & NAME {
            0 => None,
            _ => Some(take_text(rest)?),
        };
        let mut added = [0; _];
        for (place, added) in added.iter_mut().enumerate() {
            if word & 1 << place != 0 {
                *added = take(rest)?;
            }
        }
        let mut quality = None;
        if word & QUALITY != 0 {
            let (first, after) = rest.split_first()?;
            (quality, *rest) = (Some(*first), after);
        }
        Some(Change {
            key,
            name,
            gone: word & GONE != 0,
            added,
            quality,
        })
    }
}

impl Change<'_> {
    /// What a port is after the change; none where it is gone.
    pub(crate) fn apply<N: Default>(
        &self,
        before: Option<(N, PortValues)>,
        name: impl Fn(&str) -> N,
    ) -> Option<(N, PortValues)> {
        if self.gone {
            return None;
        }
        let (mut known, mut values) = before.unwrap_or_else(|| (N::default(), PortValues::NONE));
        if let Some(new) = self.name {
            known = name(new);
        }
        for (total, added) in values.totals.iter_mut().zip(self.added) {
            *total = total.wrapping_add(added);
        }
        if let Some(quality) = self.quality {
            values.link_quality = known_quality(quality);
        }
        Some((known, values))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Ports of a reading: those of few numbers that are there, with few different counts.
    fn reading() -> impl Strategy<Value = Vec<PortRow>> {
        let port = (
            (0_u64..4, 0_u8..3),
            (
                "[ab]",
                proptest::collection::vec(0_u64..3, 3),
                proptest::option::of(0_u8..6),
            ),
        );
        proptest::collection::btree_map(port.0, port.1, 0..8).prop_map(|ports| {
            let row = |((guid, port), (name, counts, link_quality)): (
                (u64, u8),
                (String, Vec<u64>, _),
            )| {
                let mut totals = [0; _];
                for (place, count) in counts.into_iter().enumerate() {
                    totals[place * 13] = if count == 2 { u64::MAX } else { count };
                }
                PortRow {
                    key: PortKey {
                        guid: guid << 61,
                        port,
                    },
                    name: name.into(),
                    values: PortValues {
                        totals,
                        link_quality,
                    },
                }
            };
            ports.into_iter().map(row).collect()
        })
    }

    proptest! {
        #[test]
        fn readings_come_back(readings in proptest::collection::vec(reading(), 1..6)) {
            let mut known = BTreeMap::new();
            let mut before = Vec::new();
            for (number, now) in readings.into_iter().enumerate() {
                let payload = encode_image(number as i64, &before, &now);
                let mut frame = ImageFrame::new(&payload).unwrap();
                prop_assert_eq!(frame.time_ms, number as i64);
                while let Some(change) = frame.next().unwrap() {
                    let old = known.remove(&change.key);
                    if let Some(new) = change.apply(old, str::to_owned) {
                        known.insert(change.key, new);
                    }
                }
                let rows: Vec<PortRow> = (known.iter())
                    .map(|(key, (name, values))| PortRow { key: *key, name: name.as_str().into(), values: *values })
                    .collect();
                prop_assert_eq!(&rows, &now);
                before = now;
            }
        }

        #[test]
        fn any_bytes_are_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Some(mut frame) = ImageFrame::new(&bytes) {
                while let Ok(Some(_)) = frame.next() {}
            }
        }
    }
}
