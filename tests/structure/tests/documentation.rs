//! Files that the documentation names are there.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

/// Documents outside of `docs`.
const OTHERS: [&str; 3] = [
    "README.md",
    ".github/CONTRIBUTING.md",
    ".github/SECURITY.md",
];

/// Code spans of a document that are paths of source files, from the repository's root or, as in
/// `manager/src/sm/mod.rs`, from `crates`.
fn named_files(text: &str) -> impl Iterator<Item = &str> {
    let spans = text.split('`').skip(1).step_by(2);
    spans.filter(|span| {
        let is_source = Path::new(span)
            .extension()
            .is_some_and(|extension| extension == "rs");
        let has_root = span.contains("/src/") || span.contains("/tests/");
        is_source && has_root && !span.contains([' ', '*', '{'])
    })
}

#[test]
fn files_named_in_the_documentation_exist() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let folders = ["docs", "docs/research"].map(|folder| fs::read_dir(root.join(folder)).unwrap());
    let guides = folders.into_iter().flatten();
    let guides = guides.map(|entry| entry.unwrap().path());
    let guides = guides.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let mut named = 0;
    for document in guides.chain(OTHERS.map(|name| root.join(name))) {
        let text = fs::read_to_string(&document).unwrap();
        for file in named_files(&text) {
            named += 1;
            let found = root.join(file).is_file() || root.join("crates").join(file).is_file();
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
    let text = "see `crates/manager/src/sm/mod.rs`, `wire/src/smp.rs`, `weft sweep` and `crates/*/src/gone.rs`";
    let found: Vec<&str> = named_files(text).collect();
    assert_eq!(found, ["crates/manager/src/sm/mod.rs", "wire/src/smp.rs"]);
}
