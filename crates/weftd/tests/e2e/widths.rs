//! What people read in a terminal fits it: the commands of the documents, at 80 columns.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::harness::{READ_OFTEN, Start, configure, wait_for};
use crate::terminal::Terminal;

const COLUMNS: usize = 80;
/// Commands at a time.
const BATCH: usize = 8;
/// Output that is not for people, or has a format of others: opareport's, XML, Slurm's.
const NOT_FOR_PEOPLE: [&str; 9] = [
    "--json",
    "--csv",
    "weft report",
    "weft slurm",
    "--effective",
    ">",
    "|",
    "&",
    "fm dump",
];
/// What does not end, or takes long.
const ENDLESS: [&str; 4] = ["--watch", "weft watch", "weft support", "--address"];

/// The commands of the documents for people that end by themselves.
fn commands(workspace: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in fs::read_dir(workspace.join("docs")).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_none_or(|name| name != "md") {
            continue;
        }
        for line in fs::read_to_string(file).unwrap().lines() {
            let line = line.strip_prefix("$ ").unwrap_or(line);
            let command = line.split(" #").next().unwrap_or_default().trim();
            let is_skipped = |text: &&str| command.contains(*text);
            let is_plain_report = command.starts_with("weft report") && command.contains("--plain");
            let is_endless = ENDLESS.iter().any(|text| command.contains(text))
                || command.starts_with("weft top") && !command.contains("--once");
            let is_wanted = is_plain_report || !NOT_FOR_PEOPLE.iter().any(is_skipped);
            if command.starts_with("weft ") && is_wanted && !is_endless {
                found.insert(command.to_owned());
            }
        }
    }
    found
}

#[test]
fn no_command_of_the_documents_prints_lines_wider_than_the_terminal() {
    if weft_peers::program("tmux").is_none() {
        return;
    }
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let start = Start::new("pgft:2;4,2;1,2;1,2");
    configure(&start.dir.path().join("opafm.xml"), &READ_OFTEN);
    let daemon = start.up();
    wait_for(|| daemon.top());
    for shared in ["config", "examples"] {
        let shared_at = workspace.join(shared).canonicalize().unwrap();
        symlink(shared_at, daemon.dir.path().join(shared)).unwrap();
    }
    let commands: Vec<String> = commands(&workspace).into_iter().collect();
    assert!(commands.len() > 80, "{commands:#?}");
    let terminal = Terminal::start(daemon.dir.path(), (COLUMNS, 24), &daemon.api);
    for (batch, all) in commands.chunks(BATCH).enumerate() {
        let each = |(at, command): (usize, &String)| format!("echo '@ {batch} {at}'; {command}\n");
        let script: String = all.iter().enumerate().map(each).collect();
        let end = format!("@ {batch} end");
        let file = daemon.dir.path().join("batch");
        fs::write(file, format!("{script}echo '{end}'\n")).unwrap();
        terminal.run("sh batch </dev/null");
        terminal.waits(|lines| lines.contains(&end));
    }
    let mut wide = Vec::new();
    let mut shown = 0;
    let mut command = "";
    for line in terminal.all_lines() {
        if let Some((batch, at)) = line.strip_prefix("@ ").and_then(|at| at.split_once(' ')) {
            let place = (batch.parse::<usize>().unwrap(), at.parse::<usize>().ok());
            command = place.1.map_or("", |at| &commands[place.0 * BATCH + at]);
            shown += usize::from(place.1.is_some());
            continue;
        }
        // A command to copy stays on one line.
        let is_command = line.trim_start().starts_with("next: weft ");
        if line.chars().count() > COLUMNS && !is_command {
            wide.push(format!("{command}: {line}"));
        }
    }
    assert_eq!(shown, commands.len(), "some output has scrolled away");
    assert!(wide.is_empty(), "{wide:#?}");
}
