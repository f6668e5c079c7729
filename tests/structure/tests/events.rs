//! Every line of the daemon's log has the field `event`, and the documentation lists every event.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The source files below a directory, those of tests left out.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let is_test = path.to_string_lossy().ends_with("_tests.rs");
        match path.extension() {
            _ if path.is_dir() => sources(&path, found),
            Some(extension) if extension == "rs" && !is_test => found.push(path),
            _ => {}
        }
    }
}

/// The names of the events of a source text, or the first line that has none.
fn events(text: &str) -> Result<BTreeSet<&str>, &str> {
    let is_word = |before: char| before.is_alphanumeric() || before == '_';
    let calls = ["error!(", "warn!(", "info!(", "debug!(", "trace!("];
    let calls = calls.into_iter().flat_map(|call| {
        let places = text.match_indices(call);
        let whole = places.filter(|(at, _)| !text[..*at].ends_with(is_word));
        whole.map(move |(at, _)| text[at + call.len()..].trim_start())
    });
    // Two functions are passed the name of their event.
    calls
        .filter(|rest| !rest.starts_with("event,"))
        .map(|rest| {
            let name = rest.strip_prefix("event = \"");
            let name = name.and_then(|rest| rest.split('"').next());
            name.ok_or(rest.lines().next().unwrap_or_default())
        })
        .collect()
}

#[test]
fn every_line_of_the_log_names_an_event_that_is_documented() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let guide = fs::read_to_string(root.join("docs/operations.md")).unwrap();
    let mut files = Vec::new();
    sources(&root.join("crates/weftd/src"), &mut files);
    let mut all = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let names =
            events(&text).unwrap_or_else(|line| panic!("{}: no event in {line}", file.display()));
        all.extend(names.into_iter().map(str::to_owned));
    }
    let unlisted: Vec<&String> = all
        .iter()
        .filter(|name| !guide.contains(&format!("`{name}`")))
        .collect();
    assert_eq!(
        unlisted,
        Vec::<&String>::new(),
        "docs/operations.md lacks these"
    );
    assert!(all.len() > 35, "only {} events: are they found?", all.len());
}

#[test]
fn a_line_without_an_event_is_found() {
    assert_eq!(
        events("info!(event = \"a\", x); warn!(\n    event = \"b\"); my_info!(1)"),
        Ok(BTreeSet::from(["a", "b"]))
    );
    assert_eq!(events("error!(%error, \"b\")"), Err("%error, \"b\")"));
}
