//! Programs that run to their end, and their cost.

use std::ops::Sub;
use std::path::Path;
use std::process::Command;

use crate::Failure;

/// Simulated work, and its time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cost {
    /// Packets that crossed a link, each link counted.
    pub(super) hops: f64,
    /// On the core.
    pub(super) seconds: f64,
}

impl Cost {
    pub(super) fn rate(self) -> f64 {
        self.hops / self.seconds
    }

    /// The run that took less time.
    pub(super) fn faster(self, other: Self) -> Self {
        if other.seconds < self.seconds {
            other
        } else {
            self
        }
    }
}

impl Sub for Cost {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            hops: self.hops - other.hops,
            seconds: self.seconds - other.seconds,
        }
    }
}

pub(super) fn unclear(simulator: &str, why: impl Into<String>) -> Failure {
    Failure::Simulator {
        simulator: simulator.to_owned(),
        why: why.into(),
    }
}

/// Output of a program, and its CPU time in seconds.
pub(super) fn run(
    simulator: &str,
    program: &Path,
    dir: &Path,
    arguments: &[&str],
) -> Result<(String, f64), Failure> {
    let program = program.canonicalize().map_err(|error| {
        let why = format!(
            "{}: {error}; `benches/fetch-simulators` builds it",
            program.display()
        );
        unclear(simulator, why)
    })?;
    let output = Command::new("bash")
        .args(["-c", "TIMEFORMAT='cpu %U %S'; time \"$@\"", "time"])
        .arg(&program)
        .args(arguments)
        .current_dir(dir)
        .env("LC_ALL", "C")
        .output()
        .map_err(Failure::io("bash"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    let time = complaint
        .lines()
        .last()
        .and_then(|line| line.strip_prefix("cpu "));
    let time = time.and_then(|time| time.split(' ').map(|part| part.parse::<f64>().ok()).sum());
    match time {
        Some(seconds) if output.status.success() => Ok((said, seconds)),
        _ => Err(unclear(simulator, end(&complaint))),
    }
}

/// The last lines.
pub(super) fn end(text: &str) -> String {
    let lines: Vec<_> = text.lines().rev().take(5).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("; ")
}

/// The number after `label`, where it is last.
pub(super) fn number_after(simulator: &str, text: &str, label: &str) -> Result<f64, Failure> {
    let after = text.rsplit_once(label).map_or("", |(_, after)| after);
    let number = after.trim_start();
    let number = number.split(|c: char| c.is_whitespace() || c == ',').next();
    let number = number.and_then(|number| number.parse().ok());
    number.ok_or_else(|| {
        unclear(
            simulator,
            format!("no number after {label:?}: {}", end(text)),
        )
    })
}
