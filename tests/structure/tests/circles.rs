//! Calls between the files of the manager have no cycles.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use weft_structure::Structure;

/// The election's files call each other: they are one machine in four parts.
const LARGEST: usize = 4;

#[test]
fn no_circle_of_calls_in_the_manager_is_larger_than_the_elections() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/manager/src");
    let structure = Structure::read(&root).unwrap();
    let circles = structure.circles();
    // That there is one shows that circles are found.
    assert!(!circles.is_empty());
    assert!(circles[0].len() <= LARGEST, "{circles:#?}");
}
