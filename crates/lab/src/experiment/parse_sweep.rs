//! The line `sweep` of a scenario.

use super::parse::{ScenarioError, at};
use super::parse_case::Partial;
use super::parse_traffic::{BYTES_MAX, with_bytes};
use super::scenario::Point;
use super::values::{Checked, decimal, number, unknown};

/// What can be swept beside `bytes`.
const SWEPT: [&str; 8] = [
    "hoq-life",
    "switch-lifetime",
    "stall-count",
    "uplinks",
    "gone",
    "lmc",
    "lanes",
    "ranks",
];

/// What is swept.
#[derive(Debug)]
pub(super) struct Sweep {
    pub(super) word: String,
    /// The values as they stand there.
    pub(super) values: Vec<String>,
    pub(super) line: usize,
}

impl Sweep {
    /// WORD VALUE VALUE ….
    pub(super) fn read(line: usize, text: &str) -> Checked<Self> {
        let mut words = text.split_whitespace().map(str::to_owned);
        let word = words.next().unwrap_or_default();
        if word != "bytes" && !SWEPT.contains(&word.as_str()) {
            let allowed = format!("bytes, {}", SWEPT.join(", "));
            return Err(unknown("thing to sweep", &word, &allowed));
        }
        let values: Vec<String> = words.collect();
        if values.is_empty() {
            return Err(format!("no values to sweep {word} over"));
        }
        Ok(Self { word, values, line })
    }
}

impl Partial {
    /// How many cases it becomes.
    pub(super) fn points(&self) -> usize {
        self.sweep.as_ref().map_or(1, |sweep| sweep.values.len())
    }

    /// The case at each value of what it sweeps.
    pub(super) fn spread(&self) -> Result<Vec<Self>, ScenarioError> {
        let Some(sweep) = &self.sweep else {
            return Ok(vec![self.clone()]);
        };
        let points = sweep.values.iter().map(|text| self.point(sweep, text));
        at(sweep.line, points.collect())
    }

    fn point(&self, sweep: &Sweep, text: &str) -> Checked<Self> {
        let word = sweep.word.as_str();
        let mut case = self.clone();
        case.name = format!("{}, {word} {text}", self.name);
        let percent = text.strip_suffix('%').unwrap_or(text);
        let value = match word {
            "bytes" => number(text, 0, BYTES_MAX)? as f64,
            _ => decimal(percent, 1e9)?,
        };
        match (word, case.traffic.take()) {
            ("bytes", Some((traffic, line))) => {
                case.traffic = Some((with_bytes(traffic, value as u64)?, line));
            }
            (_, traffic) => {
                case.traffic = traffic;
                case.set(sweep.line, word, text)?;
            }
        }
        case.point = Some(Point {
            series: self.name.clone(),
            axis: word.to_owned(),
            value,
        });
        Ok(case)
    }
}
