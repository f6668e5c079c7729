//! A terminal, for programs with screens.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::fabric::Fabric;

/// Between two keys.
const BETWEEN_KEYS: Duration = Duration::from_millis(100);

/// A terminal with a program that sits on a host; its server is ended when this is dropped.
#[derive(Debug)]
pub struct Terminal {
    socket: PathBuf,
}

impl Terminal {
    /// Starts a program in a terminal of 100 by 50 characters. It takes `tmux`.
    ///
    /// # Panics
    /// When there is none.
    pub fn start(fabric: &Fabric, host: &str, program: &str) -> Self {
        let socket = fabric.directory().join("tmux");
        let mut command = fabric.command(host, "tmux");
        command.arg("-S").arg(&socket);
        command.args(["new-session", "-d", "-x", "100", "-y", "50", program]);
        assert!(command.status().unwrap().success(), "no terminal");
        Self { socket }
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        let output = command.arg("-S").arg(&self.socket).args(arguments).output();
        String::from_utf8_lossy(&output.unwrap().stdout).into_owned()
    }

    /// Presses a key by its name in tmux.
    pub fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// Types a text as a person does, one key after the other: of keys that come together opatop takes the first, and each
    /// of the others with the next key that comes.
    pub fn type_text(&self, text: &str) {
        for key in text.chars() {
            self.tmux(&["send-keys", "-l", &key.to_string()]);
            std::thread::sleep(BETWEEN_KEYS);
        }
    }

    /// What it shows.
    pub fn text(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}
