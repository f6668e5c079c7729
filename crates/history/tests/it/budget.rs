//! The budget holds at every moment, and the finest and oldest goes first.

use weft_history::{Reader, Recorder, Table};

use crate::model::{Counting, START, bytes};

#[test]
fn the_budget_holds_and_what_is_removed_is_rolled_up_before() {
    let dir = tempfile::tempdir().expect("a directory");
    let budget = 2 << 20;
    let mut recorder = Recorder::open(dir.path(), budget).expect("a recorder");
    let mut fabric = Counting::new(3, 60);
    let key = fabric.ports[0].key;
    let count = 6 * 60 * 12;
    for number in 0..count {
        recorder
            .image(START + 10_000 * number, fabric.reading())
            .expect("room");
        let used = bytes(dir.path());
        assert!(used <= budget, "{used} bytes after reading {number}");
        assert_eq!(recorder.usage().bytes, used);
    }
    let kept = Reader::new(dir.path()).kept().expect("what is kept");
    let oldest: Vec<i64> = kept
        .tables
        .iter()
        .filter(|one| matches!(one.table, Table::Counters(_)))
        .map(|one| (one.oldest_ms.unwrap_or(i64::MAX) - START) / 600_000)
        .collect();
    assert!(
        oldest[0] > oldest[1] && oldest[0] > 6,
        "readings are removed first: {oldest:?}"
    );
    let read = Reader::new(dir.path()).samples(&[key], (START - 1, i64::MAX / 4), 0, &mut |word| {
        panic!("{word}")
    });
    let samples = read.expect("readings").remove(0);
    assert!(
        samples
            .is_sorted_by(|a, b| a.time_ms < b.time_ms && a.values.totals[0] <= b.values.totals[0])
    );
    let spans: Vec<i64> = samples
        .windows(2)
        .map(|pair| pair[1].time_ms - pair[0].time_ms)
        .collect();
    assert!(
        spans[0] >= 60_000,
        "old times have a coarser resolution: {:?}",
        &spans[..5]
    );
    assert!(
        spans.last().is_some_and(|span| *span <= 60_000),
        "{spans:?}"
    );
}

#[test]
fn a_small_budget_costs_no_reading() {
    let dir = tempfile::tempdir().expect("a directory");
    let budget = 1 << 20;
    let mut recorder = Recorder::open(dir.path(), budget).expect("a recorder");
    let mut fabric = Counting::new(9, 600);
    let mut told = Vec::new();
    for number in 0..6 * 60 * 3 {
        let recorded = recorder.image(START + 10_000 * number, fabric.reading());
        recorded.unwrap_or_else(|error| panic!("reading {number}: {error}"));
        told.extend(recorder.warnings());
    }
    assert!(bytes(dir.path()) <= budget);
    let is_room = |word: &String| word.contains("do not fit into the budget of 1048576 bytes");
    assert!(told.iter().all(is_room), "{told:?}");
}

#[test]
fn a_reading_larger_than_the_budget_is_refused_and_the_next_one_recorded() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut recorder = Recorder::open(dir.path(), 1 << 20).expect("a recorder");
    let mut large = Counting::new(4, 30_000);
    let refused = recorder
        .image(START, large.reading())
        .expect_err("too large")
        .to_string();
    assert!(
        refused.ends_with("do not fit into the budget of 1048576 bytes"),
        "{refused}"
    );
    let mut small = Counting::new(4, 30);
    recorder
        .image(START + 10_000, small.reading())
        .expect("room");
    assert!(bytes(dir.path()) < 1 << 20);
}
