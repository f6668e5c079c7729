//! opatop, driven through its screens in a terminal.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use weft_interop::Fabric;
use weft_peers::program;

use crate::pair::Pair;

/// Time limit for a screen to appear, and to be equal on both.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(200);

/// Keys, the title of the resulting screen, and its end.
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
/// Lines that differ: times and durations of images, and memory use.
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

    fn press(&self, key: &str) {
        if !key.is_empty() {
            self.tmux(&["send-keys", key]);
        }
    }

    /// The lines of the screen without those that differ anyhow, or the screen as it is where it is not
    /// yet the one that says `title` and ends with `end`.
    fn screen(&self, title: &str, end: &str) -> Result<Vec<String>, String> {
        let screen = self.tmux(&["capture-pane", "-p"]);
        if !(screen.contains(title) && screen.contains(end)) {
            return Err(screen);
        }
        let fixed = |line: &&str| !VOLATILE.iter().any(|text| line.contains(text));
        let lines = screen.trim_end().lines().filter(fixed);
        Ok(lines.map(|line| line.trim_end().to_owned()).collect())
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
        terminals.iter().for_each(|terminal| terminal.press(key));
        match wait_until_same(&terminals, title, end) {
            Ok(looks) => println!("  alike at look {looks}"),
            Err(what) => wrong.push(format!("opatop, key {key:?}:\n{what}")),
        }
    }
    wrong
}

/// Waits until both show the screen with equal content; returns the number of readings. opatop polls
/// every few seconds, and draws line by line.
fn wait_until_same(terminals: &[Terminal; 2], title: &str, end: &str) -> Result<u32, String> {
    let until = Instant::now() + PATIENCE;
    let mut looks = 0;
    loop {
        looks += 1;
        let screens = terminals
            .each_ref()
            .map(|terminal| terminal.screen(title, end));
        let late = Instant::now() >= until;
        match screens {
            [Ok(weft), Ok(vendor)] if weft == vendor => return Ok(looks),
            [Ok(weft), Ok(vendor)] if late => {
                let (weft, vendor) = (weft.join("\n"), vendor.join("\n"));
                return Err(format!("{weft}\n-- but --\n{vendor}"));
            }
            [Err(screen), _] | [_, Err(screen)] if late => {
                return Err(format!("no {title:?}: {screen}"));
            }
            _ => std::thread::sleep(PAUSE),
        }
    }
}
