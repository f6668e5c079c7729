//! What is written: each piece of work is a function of its number, so that whoever reads it knows what it should be.

use weft_history::{EventRow, PortKey, PortRow, PortValues, StateHead};

use crate::model::START;

/// Between two pieces of work, by their times: twelve make a segment of readings, and seventy-two a roll-up.
const STEP_MS: i64 = 50_000;
const PORTS: u64 = 12;
const PIECES: u64 = 12;
const PIECE_LEN: usize = 200;

/// A piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Reading,
    Events,
    State,
    /// The state is as before.
    Still,
}

impl Work {
    pub(super) fn of(number: u64) -> Self {
        match number % 8 {
            3 => Self::Events,
            6 => Self::State,
            7 => Self::Still,
            _ => Self::Reading,
        }
    }
}

pub(super) fn time_ms(number: u64) -> i64 {
    START + number as i64 * STEP_MS
}

/// The number of the piece of work of a time.
pub(super) fn number(time_ms: i64) -> Option<u64> {
    let since = time_ms - START;
    (since >= 0 && since % STEP_MS == 0).then_some((since / STEP_MS) as u64)
}

fn mixed(number: u64, salt: u64) -> u64 {
    let mixed = number
        .wrapping_add(salt << 40)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 31)
}

pub(super) fn ports() -> Vec<PortKey> {
    let key = |port| PortKey {
        guid: 0x0011_7501_0000_0000 + port / 4,
        port: (port % 4) as u8,
    };
    (0..PORTS).map(key).collect()
}

/// A reading: totals that go up, and ports that are away now and then.
pub(super) fn reading(number: u64) -> Vec<PortRow> {
    let there = (0..).zip(ports());
    let there = there.filter(|(port, _)| !mixed(number, 1_000 + port).is_multiple_of(16));
    let row = |(port, key): (u64, PortKey)| PortRow {
        key,
        name: format!("node{}", port / 4).into(),
        values: PortValues {
            totals: std::array::from_fn(|counter| {
                number << 32 | mixed(number, 100 * port + counter as u64) >> 32
            }),
            link_quality: Some(5),
        },
    };
    there.map(row).collect()
}

/// A few events.
pub(super) fn events(number: u64) -> Vec<EventRow> {
    let event = |place: u64| EventRow {
        time_ms: time_ms(number),
        run: 1,
        sequence: number * 4 + place,
        kind: format!("kind{place}"),
        guid: mixed(number, place),
        name: format!("node{place}"),
        port: place as u8,
        severity: "info".to_owned(),
        message: format!("{:x}", mixed(number, 10 + place)),
        body: format!("{{\"is\":{}}}", mixed(number, 20 + place)),
    };
    (0..=number % 3).map(event).collect()
}

pub(super) fn head(number: u64, state: u64) -> StateHead {
    StateHead {
        time_ms: time_ms(number),
        sweep: number,
        generation: state,
    }
}

/// The pieces of a state by their keys; some change with each state, others seldom.
pub(super) fn state(number: u64) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    (0..PIECES).map(move |key| {
        let value = mixed(number / (8 * (key + 1)), 50 + key);
        let bytes =
            (0..PIECE_LEN as u64 / 8).flat_map(move |word| mixed(value, word).to_le_bytes());
        (vec![key as u8], bytes.collect())
    })
}
