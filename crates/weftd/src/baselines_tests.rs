//! Saved, compared, damaged and refused baselines.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use weft_fabric::import::import_topology;
use weft_fabric::intended::compare;
use weft_fabric::{FabricSpec, Topology};

use super::*;

fn snapshot() -> Snapshot {
    let spec: FabricSpec = "pgft:2;2,2;1,2;1,1".parse().unwrap();
    let topology: Topology = spec.generate().unwrap();
    Snapshot {
        topology: Arc::new(topology),
        ..Snapshot::default()
    }
}

#[test]
fn what_was_saved_is_the_same_fabric() {
    let dir = tempfile::tempdir().unwrap();
    let baselines = Baselines::new(Some(dir.path().join("baselines.0")));
    assert_eq!(baselines.list().unwrap(), []);
    let saved = baselines.save("before-work", &snapshot(), false).unwrap();
    assert_eq!((saved.hfis, saved.switches, saved.links), (4, 4, 8));
    assert_eq!(baselines.list().unwrap(), [saved]);
    let intended = import_topology(&baselines.read("before-work").unwrap()).unwrap();
    assert_eq!(compare(&intended, &snapshot().topology), []);
    let again = baselines.save("before-work", &snapshot(), false);
    assert!(matches!(again, Err(BaselineError::Exists(_))));
    baselines.save("before-work", &snapshot(), true).unwrap();
    baselines.remove("before-work").unwrap();
    let missing = baselines.read("before-work").unwrap_err().to_string();
    assert!(missing.ends_with("none is saved yet"), "{missing}");
}

#[test]
fn every_change_of_a_file_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let baselines = Baselines::new(Some(dir.path().to_owned()));
    baselines.save("one", &snapshot(), false).unwrap();
    let file = dir.path().join("one.topology");
    let good = std::fs::read(&file).unwrap();
    for at in (0..good.len()).step_by(97) {
        let mut bad = good.clone();
        bad[at] ^= 0x04;
        std::fs::write(&file, bad).unwrap();
        let read = baselines.read("one");
        // The counts are for people.
        let in_counts = at > good.len() - 100 && read.is_ok();
        assert!(
            matches!(read, Err(BaselineError::Damaged(_))) || in_counts,
            "at {at}"
        );
        std::fs::write(&file, &good[..at]).unwrap();
        let cut = baselines.read("one");
        assert!(matches!(cut, Err(BaselineError::Damaged(_))), "cut at {at}");
        assert_eq!(baselines.list().unwrap().len(), 1);
    }
}

#[test]
fn only_names_of_files_are_names() {
    let dir = tempfile::tempdir().unwrap();
    let baselines = Baselines::new(Some(dir.path().join("here")));
    let long = "x".repeat(NAME_MAX + 1);
    for name in [
        "", ".", "..", ".hidden", "../here", "a/b", "a b", "ü", "a\0", &long,
    ] {
        let refused = baselines.save(name, &snapshot(), true);
        assert!(matches!(refused, Err(BaselineError::Name(_))), "{name:?}");
        assert!(matches!(baselines.read(name), Err(BaselineError::Name(_))));
        assert!(matches!(
            baselines.remove(name),
            Err(BaselineError::Name(_))
        ));
    }
    for number in 0..BASELINES_MAX {
        baselines
            .save(&format!("n{number}"), &snapshot(), false)
            .unwrap();
    }
    let more = baselines.save("more", &snapshot(), false);
    assert!(matches!(more, Err(BaselineError::TooMany)));
    baselines.save("n0", &snapshot(), true).unwrap();
    let without = Baselines::new(None).save("a", &snapshot(), false);
    assert!(matches!(without, Err(BaselineError::NoDirectory)));
}
