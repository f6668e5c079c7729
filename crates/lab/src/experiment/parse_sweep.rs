//! The line `sweep` of a scenario.

use super::hardware_numbers::Number;
use super::parse::{ScenarioError, at};
use super::parse_case::Partial;
use super::parse_published::preferred;
use super::parse_traffic::{BYTES_MAX, with_bytes};
use super::scenario::{Point, Swept};
use super::values::{Checked, decimal, number, unknown};

/// Parameters that can be swept, besides the hardware's numbers.
const SWEPT: [&str; 10] = [
    "bytes",
    "hoq-life",
    "switch-lifetime",
    "stall-count",
    "buffer",
    "uplinks",
    "gone",
    "lmc",
    "lanes",
    "ranks",
];

/// A parameter that can be swept.
pub(super) fn swept(word: &str) -> Checked<String> {
    if SWEPT.contains(&word) || Number::find(word).is_some() {
        return Ok(word.to_owned());
    }
    let allowed: Vec<&str> = SWEPT.into_iter().chain(Number::words()).collect();
    Err(unknown("thing to sweep", word, &allowed.join(", ")))
}

/// Most lines `sweep` of a case: results have a column for each.
pub(super) const SWEEPS_MAX: usize = 3;

/// A line `sweep`.
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
        let mut words = text.split_whitespace();
        let word = swept(words.next().unwrap_or_default())?;
        let values: Vec<String> = words.map(str::to_owned).collect();
        if values.is_empty() {
            return Err(format!("no values to sweep {word} over"));
        }
        let mut seen = Vec::new();
        for text in &values {
            let value = value(&word, text)?;
            if seen.contains(&value) {
                return Err(format!("{text} is swept twice"));
            }
            seen.push(value);
        }
        Ok(Self { word, values, line })
    }
}

impl Partial {
    /// Number of resulting cases.
    pub(super) fn points(&self) -> usize {
        let counts = self.sweeps.iter().map(|sweep| sweep.values.len());
        counts.fold(1, usize::saturating_mul)
    }

    /// The case at each combination of the values of its sweeps, those of the first next to each other.
    pub(super) fn spread(&self) -> Result<Vec<Self>, ScenarioError> {
        for figure in &self.published {
            at(figure.line, figure.check(&self.sweeps))?;
        }
        let mut cases = vec![self.clone()];
        for sweep in &self.sweeps {
            let mut points = Vec::new();
            for text in &sweep.values {
                for case in &cases {
                    points.push(at(sweep.line, case.point(sweep, text))?);
                }
            }
            cases = points;
        }
        for case in &mut cases {
            case.published = preferred(std::mem::take(&mut case.published))?;
        }
        Ok(cases)
    }

    fn point(&self, sweep: &Sweep, text: &str) -> Checked<Self> {
        let word = sweep.word.as_str();
        let mut case = self.clone();
        case.name = format!("{}, {word} {text}", self.name);
        match (word, &mut case.traffic) {
            ("bytes", Some((traffic, _))) => *traffic = with_bytes(traffic, text)?,
            _ => case.apply(sweep.line, word, text)?,
        }
        let there = value(word, text)?;
        case.published.clear();
        for figure in &self.published {
            if figure.counts_at(word, there)? {
                case.published.push(figure.clone());
            }
        }
        let swept = Swept {
            word: word.to_owned(),
            value: there,
            text: text.to_owned(),
        };
        match &mut case.point {
            Some(point) => point.others.push(swept),
            None => {
                case.point = Some(Point {
                    series: self.name.clone(),
                    first: swept,
                    others: Vec::new(),
                });
            }
        }
        Ok(case)
    }
}

/// A value where it stands on a curve.
pub(super) fn value(word: &str, text: &str) -> Checked<f64> {
    match (word, Number::find(word)) {
        ("gone", _) => decimal(text.strip_suffix('%').unwrap_or(text), 100.0),
        (_, Some(one)) => one.form.read(text).map(|value| one.form.on_curve(value)),
        (_, None) => number(text, 0, BYTES_MAX).map(|value| value as f64),
    }
}
