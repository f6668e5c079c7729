//! Torn tails and flipped bits.

use std::fs;
use std::path::{Path, PathBuf};

use weft_history::{PortKey, Reader, Recorder};

use crate::model::{Counting, Model, START, files};

const BUDGET: u64 = 64 << 20;

fn log(dir: &Path) -> PathBuf {
    dir.join("counters/image/0000000001.log")
}

#[test]
fn a_log_torn_at_any_byte_loses_nothing_that_was_acknowledged() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut recorder = Recorder::open(dir.path(), BUDGET).expect("a recorder");
    let (mut fabric, mut model) = (Counting::new(5, 5), Model::default());
    let mut acknowledged = vec![(0, Model::default())];
    for number in 0..6 {
        let ports = fabric.reading();
        let time = START + 10_000 * number;
        recorder.image(time, ports.clone()).expect("room");
        model.add(time, &ports);
        let len = fs::metadata(log(dir.path())).expect("the log").len();
        acknowledged.push((len, model.clone()));
    }
    drop(recorder);
    let whole = fs::read(log(dir.path())).expect("the log");
    for len in 0..=whole.len() {
        let torn = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(log(torn.path()).parent().expect("a parent")).expect("a directory");
        fs::write(log(torn.path()), &whole[..len]).expect("a file");
        let mut recorder = Recorder::open(torn.path(), BUDGET).expect("a recorder");
        assert!(recorder.warnings().is_empty(), "{len}");
        let known = acknowledged.iter().rfind(|(end, _)| *end <= len as u64);
        let mut known = known.expect("nothing at all").1.clone();
        known.check(torn.path());
        let ports = fabric.reading();
        recorder
            .image(START + 100_000, ports.clone())
            .expect("room");
        known.add(START + 100_000, &ports);
        known.check(torn.path());
    }
}

#[test]
fn a_flipped_bit_in_the_log_is_told_and_what_follows_set_aside() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut recorder = Recorder::open(dir.path(), BUDGET).expect("a recorder");
    let mut fabric = Counting::new(6, 5);
    for number in 0..6 {
        recorder
            .image(START + 10_000 * number, fabric.reading())
            .expect("room");
    }
    drop(recorder);
    let path = log(dir.path());
    let whole = fs::read(&path).expect("the log");
    for bit in (0..8 * whole.len()).step_by(61) {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &flipped).expect("a file");
        let mut recorder = Recorder::open(dir.path(), BUDGET).expect("a recorder");
        let said = recorder.warnings().join("\n");
        assert!(
            said.contains("is damaged at byte") && said.contains("set aside in"),
            "{bit}: {said}"
        );
        let aside = fs::read(path.with_extension("log.damaged")).expect("what is set aside");
        let good = whole.len() - aside.len();
        assert!(good <= bit / 8 && aside == flipped[good..], "bit {bit}");
        assert_eq!(
            Reader::new(dir.path())
                .kept()
                .expect("what is kept")
                .damaged,
            1
        );
    }
}

#[test]
fn a_flipped_bit_in_a_segment_is_told_and_never_a_wrong_number() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut recorder = Recorder::open(dir.path(), BUDGET).expect("a recorder");
    let (mut fabric, mut model) = (Counting::new(7, 8), Model::default());
    for number in 0..100 {
        let ports = fabric.reading();
        recorder
            .image(START + 10_000 * number, ports.clone())
            .expect("room");
        model.add(START + 10_000 * number, &ports);
    }
    recorder.close().expect("segments");
    model.check(dir.path());
    let ports: Vec<PortKey> = model.0.keys().copied().collect();
    let segments = files(&dir.path().join("counters/image"));
    let segment = segments
        .iter()
        .find(|file| file.extension().is_some_and(|kind| kind == "parquet"));
    let segment = segment.expect("a segment");
    let whole = fs::read(segment).expect("a segment");
    for bit in (0..8 * whole.len())
        .step_by(499)
        .chain(8 * (whole.len() - 8)..8 * whole.len())
    {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(segment, &flipped).expect("a file");
        let mut said = Vec::new();
        let read = Reader::new(dir.path())
            .samples(&ports, (0, i64::MAX / 4), 0, &mut |word| said.push(word));
        let read = read.expect("readings");
        assert_eq!(said.len(), 1, "bit {bit}: {said:?}");
        assert!(
            said[0].contains("is damaged") && said[0].ends_with("it is left out"),
            "{said:?}"
        );
        for (key, samples) in ports.iter().zip(read) {
            let is_right = |sample: &weft_history::Sample| {
                model.0[key].contains(&(sample.time_ms, sample.values))
            };
            assert!(samples.iter().all(is_right), "bit {bit}");
        }
    }
}

#[test]
fn a_damaged_segment_is_set_aside_when_it_is_to_be_rolled_up() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut recorder = Recorder::open(dir.path(), BUDGET).expect("a recorder");
    let mut fabric = Counting::new(8, 8);
    for number in 0..6 * 65 {
        recorder
            .image(START + 10_000 * number, fabric.reading())
            .expect("room");
        if number == 100 {
            let segments = files(&dir.path().join("counters/image"));
            let mut bytes = fs::read(&segments[0]).expect("a segment");
            bytes[100] ^= 4;
            fs::write(&segments[0], bytes).expect("a file");
        }
    }
    for number in 6 * 65..6 * 80 {
        recorder
            .image(START + 10_000 * number, fabric.reading())
            .expect("room");
    }
    let said = recorder.warnings();
    assert!(
        said.len() == 1 && said[0].contains("it is set aside as"),
        "{said:?}"
    );
    assert_eq!(
        files(&dir.path().join("counters/1m")).len(),
        1,
        "the others are rolled up"
    );
}
