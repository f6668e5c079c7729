//! The line `sweep` of a scenario.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::hardware_numbers::Number;
use super::parse::{ScenarioError, at};
use super::parse_case::{HOSTS_MAX, Partial};
use super::parse_published::preferred;
use super::parse_traffic::{BYTES_MAX, with_bytes};
use super::scenario::{Point, Swept};
use super::values::{Checked, decimal, number, unknown};

/// Parameters that can be swept, besides the hardware's numbers.
const SWEPT: [&str; 11] = [
    "bytes",
    "hoq-life",
    "switch-lifetime",
    "stall-count",
    "buffer",
    "uplinks",
    "gone",
    "lmc",
    "lanes",
    "hosts",
    "ranks",
];

/// Settings that choose among words, which can be swept too: each word is a case of its own.
const CHOICES: [&str; 8] = [
    "engine",
    "placement",
    "stack",
    "registration",
    "lid-order",
    "queueing",
    "head-of-queue",
    "adaptive",
];

/// A number that can be swept, which a plot can have as its axis.
pub(super) fn swept(word: &str) -> Checked<String> {
    if SWEPT.contains(&word) || Number::find(word).is_some() {
        return Ok(word.to_owned());
    }
    let allowed: Vec<&str> = SWEPT.into_iter().chain(Number::words()).collect();
    Err(unknown("thing to sweep", word, &allowed.join(", ")))
}

/// Most lines `sweep` of a case: results have a column for each.
pub(super) const SWEEPS_MAX: usize = 3;

/// A number or a choice that can be swept.
fn sweepable(word: &str) -> Checked<String> {
    match CHOICES.contains(&word) {
        true => Ok(word.to_owned()),
        false => swept(word).map_err(|what| format!("{what}, {}", CHOICES.join(", "))),
    }
}

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
        let word = sweepable(words.next().unwrap_or_default())?;
        let values: Vec<String> = words.map(str::to_owned).collect();
        if values.is_empty() {
            return Err(format!("no values to sweep {word} over"));
        }
        if CHOICES.contains(&word.as_str()) {
            let mut earlier = BTreeSet::new();
            if let Some(twice) = values.iter().find(|text| !earlier.insert(*text)) {
                return Err(format!("{twice} is swept twice"));
            }
            return Ok(Self { word, values, line });
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

    /// Whether it sweeps words, not numbers.
    pub(super) fn is_choice(&self) -> bool {
        CHOICES.contains(&self.word.as_str())
    }
}

impl Partial {
    /// Number of resulting cases.
    pub(super) fn points(&self) -> usize {
        let counts = self.sweeps.iter().map(|sweep| sweep.values.len());
        counts.fold(1, usize::saturating_mul)
    }

    /// The case at each combination of the values of its sweeps, those of the first next to each other. `base` is what it is
    /// compared with: at the same choices, where both sweep them.
    pub(super) fn spread(&self, base: Option<&Self>) -> Result<Vec<Self>, ScenarioError> {
        let numbers = self.sweeps.iter().filter(|sweep| !sweep.is_choice());
        let numbers: Vec<Arc<Sweep>> = numbers.cloned().collect();
        for figure in &self.published {
            at(figure.line, figure.check(&numbers))?;
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
            if let (Some(base), Some((name, _))) = (base, &mut case.baseline) {
                let choices = base.sweeps.iter().filter(|sweep| sweep.is_choice());
                for sweep in choices {
                    let chosen = case.chosen.iter().find(|(word, _)| *word == sweep.word);
                    if let Some((word, text)) = chosen {
                        name.push_str(&format!(", {word} {text}"));
                    }
                }
            }
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
            // Drawn or not, as its line says.
            ("hosts", _) => case.hosts = Some(number(text, 1, HOSTS_MAX)? as u32),
            _ => case.apply(sweep.line, word, text)?,
        }
        if sweep.is_choice() {
            case.choose(word, text);
            return Ok(case);
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

impl Partial {
    /// Notes a choice, by which its curve is another one too.
    fn choose(&mut self, word: &str, text: &str) {
        self.chosen.push((word.to_owned(), text.to_owned()));
        if let Some(point) = &mut self.point {
            point.series = format!("{}, {word} {text}", point.series);
        }
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
