//! A shell in a terminal of tmux, whose screen is looked at.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::harness::{PATIENCE, text, weft};
use crate::process::{output, program};

/// Interval at which the screen is looked at.
const PAUSE: Duration = Duration::from_millis(50);

/// What the shell says when it waits for a command.
const PROMPT: &str = "ready$";

/// A terminal with a shell in a directory; its server ends when this is dropped.
pub(crate) struct Terminal {
    socket: PathBuf,
}

impl Terminal {
    /// Of so many columns and lines, with `weft` on the path that asks the daemon at an address.
    pub(crate) fn start(dir: &Path, (columns, lines): (usize, usize), address: &str) -> Self {
        let socket = dir.join(format!("tmux-{columns}"));
        let settings = dir.join("tmux.conf");
        std::fs::write(
            &settings,
            "set -g status off\nset -g escape-time 0\nset -g history-limit 50000\n",
        )
        .unwrap();
        // A shell of root takes its prompt from no environment.
        let startup = dir.join("shrc");
        std::fs::write(&startup, format!("PS1='{PROMPT} '\n")).unwrap();
        let weft = weft().parent().unwrap().display();
        let mut command = program(Path::new("tmux"));
        command
            .env("WEFT_ADDRESS", address)
            .env("PATH", format!("{weft}:/usr/bin:/bin"))
            .env("ENV", &startup)
            .env("LC_ALL", "C.UTF-8")
            .env("PAGER", "cat")
            .current_dir(dir);
        command.arg("-S").arg(&socket).arg("-f").arg(&settings);
        command.args(["new-session", "-d"]);
        command.args(["-x", &columns.to_string(), "-y", &lines.to_string(), "sh"]);
        let started = output(&mut command);
        assert!(started.status.success(), "{}", text(&started.stderr));
        let terminal = Self { socket };
        terminal.waits(|lines| lines[0] == PROMPT);
        terminal
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        let said = output(command.arg("-S").arg(&self.socket).args(arguments));
        assert!(
            said.status.success(),
            "{arguments:?}: {}",
            text(&said.stderr)
        );
        text(&said.stdout)
    }

    /// Presses keys by tmux's names.
    pub(crate) fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Types a command and Enter.
    pub(crate) fn run(&self, command: &str) {
        self.tmux(&["send-keys", "-l", command]);
        self.press(&["Enter"]);
    }

    pub(crate) fn resize(&self, columns: usize, lines: usize) {
        let (columns, lines) = (columns.to_string(), lines.to_string());
        self.tmux(&["resize-window", "-x", &columns, "-y", &lines]);
    }

    /// All lines of the screen, without spaces at their ends.
    pub(crate) fn lines(&self) -> Vec<String> {
        let screen = self.tmux(&["capture-pane", "-p"]);
        screen
            .lines()
            .map(|line| line.trim_end().to_owned())
            .collect()
    }

    /// All lines since the start as they were printed, also those that did not fit into one of the terminal.
    pub(crate) fn all_lines(&self) -> Vec<String> {
        let all = self.tmux(&["capture-pane", "-p", "-J", "-S", "-"]);
        all.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    /// Waits until the screen is as wanted.
    ///
    /// # Panics
    /// When it does not become so in time.
    pub(crate) fn waits(&self, is_wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
        let until = Instant::now() + PATIENCE;
        loop {
            let lines = self.lines();
            if is_wanted(&lines) {
                return lines;
            }
            assert!(Instant::now() < until, "not on the screen: {lines:#?}");
            std::thread::sleep(PAUSE);
        }
    }

    /// Whether a program has a screen of its own, and whether there is a cursor.
    pub(crate) fn flags(&self) -> String {
        let flags = "alternate #{alternate_on}, cursor #{cursor_flag}";
        self.tmux(&["display-message", "-p", flags])
            .trim()
            .to_owned()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended with its shell.
        let _ = Command::new("tmux")
            .arg("-S")
            .arg(&self.socket)
            .arg("kill-server")
            .output();
    }
}
