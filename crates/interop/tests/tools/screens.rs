//! opatop, driven through its screens in a terminal.

use std::time::{Duration, Instant};

use weft_interop::Terminal;
use weft_peers::program;

use crate::pair::Pair;

/// Time limit for a screen to appear.
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

/// The lines of the screen that says `title` and ends with `end`, without those that differ anyhow, once two looks in
/// succession have found them the same: opatop draws line by line.
fn whole(terminal: &Terminal, title: &str, end: &str) -> Result<Vec<String>, String> {
    let until = Instant::now() + PATIENCE;
    let mut before = None;
    loop {
        let screen = screen(terminal, title, end);
        if let Ok(lines) = &screen
            && before.as_ref() == Some(lines)
        {
            return screen;
        }
        if Instant::now() >= until {
            let last = screen.unwrap_or_else(|screen| vec![screen]);
            return Err(format!("no {title:?} that stays: {}", last.join("\n")));
        }
        before = screen.ok();
        std::thread::sleep(PAUSE);
    }
}

/// The lines of the screen without those that differ anyhow, or the screen as it is where it is not yet the one that says
/// `title` and ends with `end`.
fn screen(terminal: &Terminal, title: &str, end: &str) -> Result<Vec<String>, String> {
    let screen = terminal.text();
    if !(screen.contains(title) && screen.contains(end)) {
        return Err(screen);
    }
    let fixed = |line: &&str| !VOLATILE.iter().any(|text| line.contains(text));
    let lines = screen.trim_end().lines().filter(fixed);
    Ok(lines.map(|line| line.trim_end().to_owned()).collect())
}

/// Screens that differ.
pub(crate) fn differences(pair: &Pair) -> Vec<String> {
    if program("tmux").is_none() || program("opatop").is_none() {
        return Vec::new();
    }
    let terminals =
        [&pair.weft, &pair.vendor].map(|fabric| Terminal::start(fabric, "node1", "opatop"));
    let mut wrong = Vec::new();
    for (key, title, end) in SCREENS {
        println!("opatop: key {key:?}, screen {title:?}");
        if !key.is_empty() {
            terminals.iter().for_each(|terminal| terminal.press(key));
        }
        let shown = terminals.each_ref().map(|one| whole(one, title, end));
        let what = match shown {
            [Ok(weft), Ok(vendor)] if weft == vendor => continue,
            [Ok(weft), Ok(vendor)] => {
                let (weft, vendor) = (weft.join("\n"), vendor.join("\n"));
                format!("{weft}\n-- but --\n{vendor}")
            }
            [Err(what), _] | [_, Err(what)] => what,
        };
        wrong.push(format!("opatop, key {key:?}:\n{what}"));
    }
    wrong
}
