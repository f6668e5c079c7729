//! opatop, driven through its screens in a terminal.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use weft_interop::Fabric;
use weft_interop::peers::program;

use crate::pair::Pair;

/// How long a screen may take to come.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(200);

/// Keys, what the screen says then, and what it ends with.
const SCREENS: &[(&str, &str, &str)] = &[
    ("", "Master-SM:", "Imginfo View"),
    ("P", "PM Config:", "PM Memory Size"),
    ("u", "Master-SM:", "Imginfo View"),
    ("I", "Image Info:", "PortGUID"),
    ("u", "Master-SM:", "Imginfo View"),
    ("0", "Group Info Sel: All", "P S C:"),
    ("C", "Group Config", "node1"),
    ("u", "Group Info Sel: All", "P S C:"),
    ("u", "Master-SM:", "Imginfo View"),
    ("V", "1 Admin", "Master-SM:"),
];
/// Lines that differ: when images were taken, how long that took, and what is kept in memory.
const VOLATILE: [&str; 4] = [
    "opatop: Img:",
    "Sweep Start:",
    "Sweep Duration:",
    "PM Memory Size",
];

/// A terminal with opatop on one of the fabrics; its server is ended when this is dropped.
struct Terminal {
    socket: PathBuf,
}

impl Terminal {
    fn start(fabric: &Fabric) -> Self {
        let socket = fabric.directory().join("tmux");
        let mut command = fabric.command("node1", "tmux");
        command.arg("-S").arg(&socket);
        command.args(["new-session", "-d", "-x", "100", "-y", "50", "opatop"]);
        assert!(command.status().unwrap().success(), "no terminal");
        Self { socket }
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        let output = command.arg("-S").arg(&self.socket).args(arguments).output();
        String::from_utf8_lossy(&output.unwrap().stdout).into_owned()
    }

    /// Presses a key and waits for a screen; gives its lines without those that differ anyhow.
    fn press(&self, key: &str, title: &str, end: &str) -> Vec<String> {
        if !key.is_empty() {
            self.tmux(&["send-keys", key]);
        }
        let until = Instant::now() + PATIENCE;
        loop {
            let screen = self.tmux(&["capture-pane", "-p"]);
            if screen.contains(title) && screen.contains(end) {
                let fixed = |line: &&str| !VOLATILE.iter().any(|text| line.contains(text));
                let lines = screen.trim_end().lines().filter(fixed);
                return lines.map(|line| line.trim_end().to_owned()).collect();
            }
            assert!(
                Instant::now() < until,
                "key {key:?}: no {title:?}: {screen}"
            );
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// Screens that differ.
pub(crate) fn differences(pair: &Pair) -> Vec<String> {
    if program("tmux").is_none() || program("opatop").is_none() {
        return Vec::new();
    }
    let terminals = [&pair.weft, &pair.vendor].map(Terminal::start);
    let mut wrong = Vec::new();
    for (key, title, end) in SCREENS {
        println!("opatop: key {key:?}, screen {title:?}");
        let [weft, vendor] = terminals
            .each_ref()
            .map(|terminal| terminal.press(key, title, end));
        if weft != vendor {
            let (weft, vendor) = (weft.join("\n"), vendor.join("\n"));
            wrong.push(format!("opatop, key {key:?}:\n{weft}\n-- but --\n{vendor}"));
        }
    }
    wrong
}
