//! What is longer than a terminal goes through a pager.

use crate::harness::{Start, text, wait_for};
use crate::terminal::Terminal;

/// Fewer lines than the page of health has.
const LINES: usize = 8;

/// A small terminal.
struct Shown {
    terminal: Terminal,
    commands: usize,
}

impl Shown {
    /// What a command prints, with its exit code in the last line.
    fn of(&mut self, command: &str) -> Vec<String> {
        self.commands += 1;
        let end = format!("{}: code ", self.commands);
        self.terminal
            .run(&format!("clear; {command}; echo '{end}'$?"));
        let is_end = |line: &String| line.starts_with(&end);
        let mut lines = self.terminal.waits(|lines| lines.iter().any(is_end));
        let at = lines.iter().position(is_end).unwrap();
        lines[at] = lines[at].replace(&end, "code ");
        lines.truncate(at + 1);
        lines
    }
}

#[test]
fn what_is_longer_than_the_terminal_goes_through_a_pager_that_may_be_left() {
    let daemon = Start::new("fattree:16,radix=4").up();
    daemon.weft_ok(&["sweep", "--wait"]);
    let page = || text(&daemon.weft(&["health"]).stdout);
    wait_for(|| page().contains("HFIs are up").then_some(()));
    let terminal = Terminal::start(daemon.dir.path(), (80, LINES), &daemon.api);
    let mut shown = Shown {
        terminal,
        commands: 0,
    };
    for command in [
        "health",
        "log --from -1h",
        "report links --plain",
        "port show node:edge1:port:1",
        "who",
        "why route node1 node8",
    ] {
        let lines = shown.of(&format!("PAGER='head -n 2' weft {command}"));
        assert_eq!(lines.len(), 3, "{command}: {lines:#?}");
        assert_eq!(lines[2], "code 0", "{command}: {lines:#?}");
        let all = shown.of(&format!("PAGER='head -n 2' weft --no-pager {command}"));
        assert_eq!(all.len(), LINES - 1, "{command}: {all:#?}");
    }
    // Short output, and output that nobody looks at, is not.
    let lines = shown.of("PAGER='head -n 0' weft route drains");
    assert_eq!(lines.len(), 2, "{lines:#?}");
    let lines = shown.of("PAGER='head -n 0' weft health | grep -c attachment");
    assert_eq!(lines, ["1", "code 0"]);
}
