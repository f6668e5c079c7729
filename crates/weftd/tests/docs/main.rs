//! The documents by task are true: each command in them is run, and what it prints is what they
//! show.
//!
//! A document gets a machine of its own (`machine`). Its `console` blocks are run from top to
//! bottom: a line that begins with `$ ` is a command, those with `> ` right below continue it, and the rest is
//! its output. An HTML
//! comment right above a block says how it differs:
//!
//! - `<!-- not run: REASON -->`: nothing of it is run;
//! - `<!-- until shown -->`: each command is repeated until its output is as shown, as devices and
//!   sweeps take their time;
//! - `<!-- exit code N -->`: the last command ends with N; all others end with 0.
//!
//! A command that ends in ` &` stays in the background; the document goes on once its output has
//! all lines that are shown. Times, durations, and ports of 127.0.0.1 may differ from what is shown,
//! `…` stands for any text, and a line of `…` alone for any lines.
//!
//! `WEFT_WRITE_DOCS=5 cargo test -p weftd --test docs` writes what commands print into the documents,
//! of repeated ones what they print when that has been the same for 5 seconds. Numbers that differ
//! each time are then to be replaced by `…` by hand; a line that stays true is not touched.
#![allow(clippy::unwrap_used)]

mod compare;
mod machine;
mod markdown;
mod run;

use std::fs;
use std::path::{Path, PathBuf};

/// Columns of the terminal for which output is shown.
const COLUMNS: usize = 80;

/// Makes a test of each document, and the list of all of them with their numbers of blocks that
/// cannot be run.
macro_rules! documents {
    ($($test:ident: $name:literal, $not_run:literal;)*) => {
        $(#[test] fn $test() { run::check(&folder().join($name)); })*

        const DOCUMENTS: &[(&str, usize)] = &[$(($name, $not_run)),*];
    };
}

documents! {
    adaptive_and_dispersive_routing: "adaptive-and-dispersive-routing.md", 0;
    add_a_rack: "add-a-rack.md", 0;
    drain: "drain.md", 0;
    find_a_bad_cable: "find-a-bad-cable.md", 0;
    moving_from_opa_fm: "moving-from-opa-fm.md", 2;
    replace_a_switch: "replace-a-switch.md", 0;
    slow_job: "slow-job.md", 0;
    tour: "tour.md", 0;
    two_managers: "two-managers.md", 0;
    virtual_fabrics: "virtual-fabrics.md", 0;
    what_if: "what-if.md", 0;
    write_an_engine: "write-an-engine.md", 0;
}

/// A document whose commands need the vendor's packages; the tests of `weft-interop` run them.
const OF_THE_VENDOR: &str = "interop.md";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn blocks(name: &str) -> Vec<markdown::Block> {
    markdown::blocks(&fs::read_to_string(folder().join(name)).unwrap())
}

#[test]
fn every_document_with_commands_to_run_is_listed() {
    for entry in fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let mut listed = DOCUMENTS
            .iter()
            .map(|(name, _)| *name)
            .chain([OF_THE_VENDOR]);
        if name.ends_with(".md") && !listed.any(|listed| listed == name) {
            assert!(blocks(&name).is_empty(), "{name} is not in the list");
        }
    }
}

#[test]
fn blocks_that_cannot_be_run_are_counted() {
    for (name, not_run) in DOCUMENTS {
        let blocks = blocks(name);
        assert!(!blocks.is_empty(), "{name} has no block of commands");
        let found = blocks.iter().filter(|block| block.not_run).count();
        assert_eq!(found, *not_run, "blocks of {name} that are not run");
    }
}

#[test]
fn commands_of_these_documents_are_in_blocks_that_are_run() {
    for (name, _) in DOCUMENTS {
        let text = fs::read_to_string(folder().join(name)).unwrap();
        for (number, line) in text.lines().enumerate() {
            let unrun = ["```sh", "```bash", "```shell", "    $ "];
            let found = unrun.iter().any(|start| line.starts_with(start));
            assert!(
                !found,
                "{name}:{}: {line}: commands go into ```console",
                number + 1
            );
        }
    }
}

/// Excerpts follow a comment `<!-- from FILE -->`, with the file's path in the workspace.
#[test]
fn excerpts_of_source_code_are_in_its_files() {
    let mut excerpts = 0;
    for (name, _) in DOCUMENTS {
        let text = fs::read_to_string(folder().join(name)).unwrap();
        for part in text.split("<!-- from ").skip(1) {
            let (file, rest) = part.split_once(" -->\n```rust\n").unwrap();
            let (excerpt, _) = rest.split_once("```\n").unwrap();
            let source = fs::read_to_string(folder().join("..").join(file)).unwrap();
            assert!(
                !excerpt.is_empty() && source.contains(excerpt),
                "{name}: {file} lacks\n{excerpt}"
            );
            excerpts += 1;
        }
    }
    assert!(excerpts > 0, "no excerpts are found");
}

#[test]
fn what_is_shown_fits_into_a_terminal() {
    for (name, _) in DOCUMENTS {
        for block in blocks(name) {
            for (number, line) in block.lines() {
                let columns = line.chars().count();
                assert!(
                    columns <= COLUMNS,
                    "{name}:{number}: {columns} columns: {line}"
                );
            }
        }
    }
}
