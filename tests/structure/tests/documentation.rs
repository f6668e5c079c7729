//! Files that the documentation names are there.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

/// Code spans of a document that look like paths of source files.
fn named_files(text: &str) -> impl Iterator<Item = &str> {
    let spans = text.split('`').skip(1).step_by(2);
    spans.filter(|span| {
        let first = span.split('/').next().unwrap_or_default();
        [
            "crates", "tests", "benches", "config", "examples", "proto", "docs",
        ]
        .contains(&first)
            && !span.contains([' ', '*', '{'])
            && Path::new(span)
                .extension()
                .is_some_and(|extension| extension == "rs")
    })
}

#[test]
fn files_named_in_the_documentation_exist() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut named = 0;
    for entry in fs::read_dir(root.join("docs")).unwrap() {
        let document = entry.unwrap().path();
        if document
            .extension()
            .is_none_or(|extension| extension != "md")
        {
            continue;
        }
        let text = fs::read_to_string(&document).unwrap();
        for file in named_files(&text) {
            named += 1;
            let found = root.join(file).is_file();
            assert!(
                found,
                "{} names {file}, which is not there",
                document.display()
            );
        }
    }
    assert!(named > 20, "only {named} files are named: are they found?");
}

#[test]
fn a_path_in_a_code_span_is_found() {
    let text = "see `crates/manager/src/sm/mod.rs`, `weft sweep` and `crates/*/gone.rs`";
    let found: Vec<&str> = named_files(text).collect();
    assert_eq!(found, ["crates/manager/src/sm/mod.rs"]);
}
