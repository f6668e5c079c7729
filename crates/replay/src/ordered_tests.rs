#![allow(clippy::unwrap_used)]

use super::*;
use crate::file::Writer;
use crate::recorder::{RECEIVED, SA_TICK, TICK};
use crate::sa::SaRest;

const SECOND: u64 = 1_000_000_000;

/// A chunk of inputs of a kind, each so many nanoseconds after the one before it in its row.
fn chunk(kind: u8, passed: &[u64]) -> Vec<u8> {
    let mut chunk = vec![0];
    for passed in passed {
        chunk.push(kind);
        crate::recorder::put_number(&mut chunk, *passed);
        chunk.extend([0; 2]);
    }
    chunk.extend([0; 8]);
    chunk
}

fn recording(chunks: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, &Header::new(0, "a test")).unwrap();
    for chunk in chunks {
        writer.chunk(chunk).unwrap();
    }
    file
}

/// The names and times, seconds, up to the end or to an error.
fn read(chunks: &[Vec<u8>]) -> (Vec<(&'static str, u64)>, Option<String>) {
    let file = recording(chunks);
    let mut inputs = Ordered::new(&file[..]).unwrap();
    let mut all = Vec::new();
    loop {
        match inputs.next() {
            Ok(Some(entry)) => all.push((entry.what.name(), entry.at.0 / SECOND)),
            Ok(None) => return (all, None),
            Err(error) => return (all, Some(error.to_string())),
        }
    }
}

#[test]
fn inputs_of_both_come_in_the_order_of_their_times() {
    let (all, error) = read(&[
        chunk(TICK, &[2 * SECOND, SECOND, SECOND]),
        chunk(SA_TICK, &[SECOND, 2 * SECOND, SECOND]),
        chunk(TICK, &[SECOND]),
    ]);
    let expected = [
        // What a recording begins with is first.
        ("tick", 2),
        ("sa-tick", 1),
        ("tick", 3),
        ("sa-tick", 3),
        ("tick", 4),
        ("sa-tick", 4),
        ("tick", 5),
    ];
    assert_eq!((&all[..], error), (&expected[..], None));
}

#[test]
fn a_rest_is_where_the_manager_is_before_the_first_state_and_at_the_last_input_after_it() {
    let rests = || SaRest::Disk.chunk();
    let (all, error) = read(&[
        chunk(TICK, &[2 * SECOND, SECOND]),
        rests(),
        chunk(TICK, &[SECOND]),
    ]);
    let expected = [("tick", 2), ("tick", 3), ("sa-rests", 3), ("tick", 4)];
    assert_eq!((&all[..], error), (&expected[..], None));

    let (all, error) = read(&[
        chunk(TICK, &[2 * SECOND, 3 * SECOND]),
        chunk(SA_TICK, &[4 * SECOND]),
        rests(),
    ]);
    let expected = [("tick", 2), ("sa-tick", 4), ("sa-rests", 4), ("tick", 5)];
    assert_eq!((&all[..], error), (&expected[..], None));
}

#[test]
fn what_comes_too_late_is_where_it_is_in_the_file() {
    let (all, error) = read(&[
        chunk(TICK, &[SECOND, SECOND, 9 * SECOND, SECOND]),
        chunk(SA_TICK, &[SECOND]),
    ]);
    let expected = [
        ("tick", 1),
        // The manager's of 12 seconds says that none of 2 is to come.
        ("tick", 2),
        ("sa-tick", 1),
        ("tick", 11),
        ("tick", 12),
    ];
    assert_eq!((&all[..], error), (&expected[..], None));
}

#[test]
fn what_is_before_damage_is_given_first() {
    let mut damaged = chunk(RECEIVED, &[SECOND]);
    damaged[1] = 99;
    let (all, error) = read(&[
        chunk(TICK, &[SECOND, SECOND]),
        chunk(SA_TICK, &[SECOND]),
        damaged,
    ]);
    assert_eq!(all, [("tick", 1), ("sa-tick", 1), ("tick", 2)]);
    let error = error.unwrap();
    assert!(error.contains("an input of kind 99"), "{error}");
}
