//! The line `published` of a scenario.

use super::parse_sweep::{Sweep, value};
use super::published::{Bound, Published, Wanted};
use super::values::{Checked, decimal, metric, signed};

/// Largest value that can be published, and largest percentage.
const VALUE_MAX: f64 = 1e15;
const PERCENT_MAX: f64 = 1e6;
const FORM: &str = "METRIC VALUE PERCENT% or METRIC [at-least|above VALUE] [at-most|below VALUE], \
    then at VALUE … for some values of what is swept, then given REASON if it cannot but come out";

/// A figure with the swept values for which it was published.
#[derive(Debug, Clone)]
pub(super) struct Figure {
    pub(super) published: Published,
    /// As written; empty for all.
    pub(super) at: Vec<String>,
    pub(super) line: usize,
}

impl Figure {
    /// The text after `published`.
    pub(super) fn read(line: usize, text: &str) -> Checked<Self> {
        let (text, given) = match text.split_once(" given") {
            Some((_, "")) => return Err("given says no reason".to_owned()),
            Some((figure, reason)) if reason.starts_with(' ') => (figure, Some(reason.trim())),
            _ => (text, None),
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let end = words.iter().position(|word| *word == "at");
        let (figure, at) = words.split_at(end.unwrap_or(words.len()));
        let at: Vec<String> = at.iter().skip(1).map(|word| (*word).to_owned()).collect();
        if end.is_some() && at.is_empty() {
            return Err(format!("{text:?} is not of the form {FORM}"));
        }
        let published = match figure {
            [name, number, percent] if !is_bound(number) => near(name, number, percent)?,
            [name, bounds @ ..] if matches!(bounds.len(), 2 | 4) => within(name, bounds)?,
            _ => return Err(format!("{text:?} is not of the form {FORM}")),
        };
        Ok(Self {
            published: Published {
                given: given.map(str::to_owned),
                ..published
            },
            at,
            line,
        })
    }

    /// Keys that a second line may not publish again: the metric at each of its values.
    pub(super) fn names(&self) -> Vec<String> {
        let metric = &self.published.metric;
        match self.at.is_empty() {
            true => vec![format!("published {metric}")],
            false => (self.at.iter())
                .map(|at| format!("published {metric} at {at}"))
                .collect(),
        }
    }

    /// Whether each of its values is swept.
    pub(super) fn check(&self, sweep: Option<&Sweep>) -> Checked<()> {
        let Some(first) = self.at.first() else {
            return Ok(());
        };
        let Some(sweep) = sweep else {
            return Err(format!("at {first}: nothing is swept"));
        };
        let number = |text: &String| value(&sweep.word, text);
        let swept: Vec<f64> = sweep.values.iter().map(number).collect::<Checked<_>>()?;
        for at in &self.at {
            if !swept.contains(&number(at)?) {
                let (word, allowed) = (&sweep.word, sweep.values.join(", "));
                return Err(format!("{word} {at} is not swept, allowed: {allowed}"));
            }
        }
        Ok(())
    }

    fn counts_at(&self, word: &str, there: f64) -> Checked<bool> {
        for at in &self.at {
            if value(word, at)? == there {
                return Ok(true);
            }
        }
        Ok(self.at.is_empty())
    }
}

/// The figures for a swept value: one for some values takes precedence over one for all.
pub(super) fn at_value(figures: &[Figure], word: &str, there: f64) -> Checked<Vec<Figure>> {
    let mut counting: Vec<Figure> = Vec::new();
    for figure in figures {
        if !figure.counts_at(word, there)? {
            continue;
        }
        let metric = &figure.published.metric;
        let same = |other: &Figure| other.published.metric == *metric;
        match counting.iter().position(same) {
            Some(_) if figure.at.is_empty() => {}
            Some(place) => counting[place] = figure.clone(),
            None => counting.push(figure.clone()),
        }
    }
    Ok(counting)
}

fn is_bound(word: &str) -> bool {
    matches!(word, "at-least" | "above" | "at-most" | "below")
}

fn near(name: &str, number: &str, percent: &str) -> Checked<Published> {
    let within = percent.strip_suffix('%');
    let within = within.ok_or_else(|| format!("{percent:?} is no percentage such as 1%"))?;
    Ok(Published {
        metric: metric(name)?,
        wanted: Wanted::Near {
            value: decimal(number, VALUE_MAX)?,
            within: decimal(within, PERCENT_MAX)?,
        },
        given: None,
    })
}

fn within(name: &str, words: &[&str]) -> Checked<Published> {
    let (mut least, mut most) = (None, None);
    for pair in words.chunks(2) {
        let [word, number] = pair else { continue };
        let end = match *word {
            "at-least" | "above" => &mut least,
            "at-most" | "below" => &mut most,
            _ => {
                return Err(format!(
                    "unknown bound {word:?}, allowed: at-least, above, at-most, below"
                ));
            }
        };
        if end.is_some() {
            return Err(format!("{word} {number}: there is such a bound already"));
        }
        *end = Some(Bound {
            value: signed(number, VALUE_MAX)?,
            strict: matches!(*word, "above" | "below"),
        });
    }
    let published = Published {
        metric: metric(name)?,
        wanted: Wanted::Within { least, most },
        given: None,
    };
    match least.zip(most) {
        Some((least, most)) if least.value > most.value => {
            Err(format!("nothing is {}", published.with_unit("")))
        }
        _ => Ok(published),
    }
}
