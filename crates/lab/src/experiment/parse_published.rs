//! The line `published` of a scenario.

use std::cmp::Ordering;
use std::sync::Arc;

use super::parse::ScenarioError;
use super::parse_sweep::{Sweep, swept, value};
use super::published::{Bound, Published, Wanted};
use super::registry::Registry;
use super::values::{Checked, decimal, signed};

/// Largest value that can be published, and largest percentage.
const VALUE_MAX: f64 = 1e15;
const PERCENT_MAX: f64 = 1e6;
const FORM: &str = "METRIC VALUE PERCENT% or METRIC [at-least|above VALUE] [at-most|below VALUE], \
    then at VALUE … for some values of what is swept, or with several sweeps at WORD VALUE …, then given REASON if it cannot but come out";

/// A figure with the swept values for which it was published.
#[derive(Debug, Clone)]
pub(super) struct Figure {
    pub(super) published: Published,
    /// Empty for all.
    at: Vec<At>,
    pub(super) line: usize,
}

impl Figure {
    /// The text after `published`.
    pub(super) fn read(line: usize, text: &str, registry: &Registry) -> Checked<Self> {
        let (text, given) = match text.split_once(" given") {
            Some((_, "")) => return Err("given says no reason".to_owned()),
            Some((figure, reason)) if reason.starts_with(' ') => (figure, Some(reason.trim())),
            _ => (text, None),
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let end = words.iter().position(|word| *word == "at");
        let (figure, at) = words.split_at(end.unwrap_or(words.len()));
        let at = groups(at.get(1..).unwrap_or_default());
        if end.is_some() && (at.is_empty() || at.iter().any(|one| one.values.is_empty())) {
            return Err(format!("{text:?} is not of the form {FORM}"));
        }
        for (place, one) in at.iter().enumerate() {
            let is_same = |other: &At| other.word.is_none() || other.word == one.word;
            if at[..place].iter().any(is_same) {
                let word = one.word.as_deref().unwrap_or_default();
                return Err(format!(
                    "{text:?} has values of {word} twice, allowed: at {word} VALUE …"
                ));
            }
        }
        let published = match figure {
            [name, number, percent] if !is_bound(number) => {
                near(registry.metric(name)?, number, percent)?
            }
            [name, bounds @ ..] if matches!(bounds.len(), 2 | 4) => {
                within(registry.metric(name)?, bounds)?
            }
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

    /// Keys that a second line may not publish again: the metric at each of its values, or where there are values of
    /// several sweeps, at all of them together.
    pub(super) fn names(&self) -> Vec<String> {
        let metric = &self.published.metric;
        match &self.at[..] {
            [] => vec![format!("published {metric}")],
            [at] => (at.values.iter())
                .map(|value| format!("published {metric} at {}", at.told(value)))
                .collect(),
            all => {
                let told = all.iter().map(|at| at.told(&at.values.join(" ")));
                let told: Vec<String> = told.collect();
                vec![format!("published {metric} at {}", told.join(" "))]
            }
        }
    }

    /// Whether each of its values is swept.
    pub(super) fn check(&self, sweeps: &[Arc<Sweep>]) -> Checked<()> {
        self.at.iter().try_for_each(|at| at.check(sweeps))
    }

    /// Whether it is about cases in which what is swept under a name has this value.
    pub(super) fn counts_at(&self, word: &str, there: f64) -> Checked<bool> {
        for at in self.at.iter().filter(|at| at.is_of(word)) {
            let values = at.values.iter().map(|text| value(word, text));
            if !values.collect::<Checked<Vec<f64>>>()?.contains(&there) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Some values of a sweep.
#[derive(Debug, Clone)]
struct At {
    /// What is swept; none for the only one.
    word: Option<String>,
    /// As written.
    values: Vec<String>,
}

/// VALUE … or WORD VALUE … WORD VALUE ….
fn groups(words: &[&str]) -> Vec<At> {
    let mut all: Vec<At> = Vec::new();
    for text in words {
        match (swept(text), all.last_mut()) {
            (Ok(word), _) => all.push(At {
                word: Some(word),
                values: Vec::new(),
            }),
            (Err(_), Some(at)) => at.values.push((*text).to_owned()),
            (Err(_), None) => all.push(At {
                word: None,
                values: vec![(*text).to_owned()],
            }),
        }
    }
    all
}

impl At {
    fn is_of(&self, word: &str) -> bool {
        self.word.as_deref().is_none_or(|own| own == word)
    }

    fn told(&self, values: &str) -> String {
        match &self.word {
            Some(word) => format!("{word} {values}"),
            None => values.to_owned(),
        }
    }

    fn check(&self, sweeps: &[Arc<Sweep>]) -> Checked<()> {
        let told = || self.told(&self.values.join(" "));
        let words = || sweeps.iter().map(|sweep| sweep.word.as_str());
        let sweep = match (&self.word, sweeps) {
            (_, []) => return Err(format!("at {}: nothing is swept", told())),
            (None, [_, _, ..]) => {
                let forms: Vec<String> = words().map(|word| format!("{word} VALUE …")).collect();
                let (told, forms) = (told(), forms.join(", "));
                return Err(format!("at {told}: of which sweep? allowed: at {forms}"));
            }
            (None, [only]) => only,
            (Some(word), all) => all
                .iter()
                .find(|sweep| sweep.word == *word)
                .ok_or_else(|| {
                    let swept: Vec<&str> = words().collect();
                    format!("{word} is not swept, allowed: {}", swept.join(", "))
                })?,
        };
        let number = |text: &String| value(&sweep.word, text);
        let swept: Vec<f64> = sweep.values.iter().map(number).collect::<Checked<_>>()?;
        for at in &self.values {
            if !swept.contains(&number(at)?) {
                let (word, allowed) = (&sweep.word, sweep.values.join(", "));
                return Err(format!("{word} {at} is not swept, allowed: {allowed}"));
            }
        }
        Ok(())
    }
}

/// The figures of a case: of those of one metric, the one for values of the most sweeps takes precedence.
///
/// # Errors
/// Two of one metric for values of as many sweeps; with the line of the second.
pub(super) fn preferred(figures: Vec<Figure>) -> Result<Vec<Figure>, ScenarioError> {
    let mut counting: Vec<Figure> = Vec::new();
    for figure in figures {
        let metric = &figure.published.metric;
        let mut others = counting.iter_mut();
        match others.find(|other| other.published.metric == *metric) {
            None => counting.push(figure),
            Some(other) => match figure.at.len().cmp(&other.at.len()) {
                Ordering::Less => {}
                Ordering::Greater => *other = figure,
                Ordering::Equal => {
                    let (one, line) = (other.line, figure.line);
                    let what = format!(
                        "published {metric} is in line {one} already for some of these values, allowed: values apart, or \
                         of more sweeps in one line"
                    );
                    return Err(ScenarioError { line, what });
                }
            },
        }
    }
    Ok(counting)
}

fn is_bound(word: &str) -> bool {
    matches!(word, "at-least" | "above" | "at-most" | "below")
}

fn near(metric: String, number: &str, percent: &str) -> Checked<Published> {
    let within = percent.strip_suffix('%');
    let within = within.ok_or_else(|| format!("{percent:?} is no percentage such as 1%"))?;
    Ok(Published {
        metric,
        wanted: Wanted::Near {
            value: decimal(number, VALUE_MAX)?,
            within: decimal(within, PERCENT_MAX)?,
        },
        given: None,
    })
}

fn within(metric: String, words: &[&str]) -> Checked<Published> {
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
        metric,
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
