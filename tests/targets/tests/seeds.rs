//! The corpora that are kept are run, and every target has one.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use weft_fuzz_targets::TARGETS;

fn seeds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds")
}

#[test]
fn every_seed_runs() {
    for (name, run) in TARGETS {
        let directory = seeds().join(name);
        let mut files: Vec<PathBuf> = fs::read_dir(&directory)
            .unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        assert!(!files.is_empty(), "{name} has no seed");
        for file in &files {
            // A failure is found by the last line.
            println!("{}", file.display());
            run(&fs::read(file).unwrap());
        }
        run(&[]);
    }
}

#[test]
fn every_program_of_the_fuzzer_is_a_target() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/fuzz_targets");
    let mut programs: Vec<String> = fs::read_dir(programs)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    programs.sort();
    let targets: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(programs, targets);
}
