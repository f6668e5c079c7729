//! What a result hangs on: each assumed constant of the model by itself at the least and at the most that it may be.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::assumed::Assumed;
use super::parse::CASES_MAX;
use super::perform::{Measurement, Outcome};
use super::registry::Registry;
use super::report::{cell, digits, with_unit};
use super::scenario::{AtBound, Case, Scenario, Swept};
use super::values::{Checked, at_most};
use super::{chart_tornado, parse_sweep};

/// A metric of a case, and how it changes.
pub(super) struct Tornado<'a> {
    /// The case.
    pub(super) case: &'a str,
    /// The measurement with all that is assumed.
    pub(super) base: &'a Measurement,
    /// Assumed constants, those that change most first.
    pub(super) bars: Vec<Bar>,
}

/// An assumed constant, and the metric at the least and at the most of it; none where it was not measured.
pub(super) struct Bar {
    pub(super) assumed: Assumed,
    pub(super) values: [Option<f64>; 2],
}

impl Tornado<'_> {
    /// The change of a bar at each bound: in percent of the measurement with all that is assumed, whatever its sign, or as
    /// it is where that is 0.
    pub(super) fn changes(&self, bar: &Bar) -> [Option<f64>; 2] {
        let base = self.base.value;
        let change = |value: f64| match base == 0.0 {
            true => value,
            false => 100.0 * (value - base) / base.abs(),
        };
        bar.values.map(|value| value.map(change))
    }

    /// Unit of the changes.
    pub(super) fn unit(&self) -> &str {
        match self.base.value == 0.0 {
            true => &self.base.unit,
            false => "%",
        }
    }
}

impl Bar {
    /// The longest way from the base.
    fn length(&self, base: f64) -> f64 {
        let ways = self
            .values
            .iter()
            .flatten()
            .map(|value| (value - base).abs());
        ways.fold(0.0, f64::max)
    }
}

/// Each case, followed by the same with each assumed constant at each of its bounds. A constant that a case sets is
/// not assumed there, and one that nothing of it reads cannot matter.
///
/// # Errors
/// An unknown metric, or more cases than a scenario may have.
pub fn spread(scenario: &Scenario, of: &str, registry: &Registry) -> Checked<Scenario> {
    registry.metric(of)?;
    let mut cases = Vec::new();
    for case in &scenario.cases {
        cases.push(case.clone());
        for assumed in Assumed::ALL {
            if assumed.is_taken(case) && is_used(scenario, case, assumed) {
                for text in assumed.bounds {
                    cases.push(at_bound(case, &assumed, text)?);
                }
            }
        }
        at_most(
            cases.len(),
            CASES_MAX,
            "cases at the bounds of assumed constants",
        )?;
    }
    Ok(Scenario {
        cases,
        ..scenario.clone()
    })
}

/// Whether a constant can matter to a case, or to what it is compared with.
fn is_used(scenario: &Scenario, case: &Case, assumed: Assumed) -> bool {
    let series = |one: &Case| one.point.as_ref().map(|point| point.series.clone());
    let is_baseline = |one: &&Case| {
        let name = case.baseline.as_ref();
        name.is_some() && (name == Some(&one.name) || name == series(one).as_ref())
    };
    let mut baselines = scenario.cases.iter().filter(is_baseline);
    assumed.is_used(case) || baselines.any(|one| assumed.is_used(one))
}

fn at_bound(case: &Case, assumed: &Assumed, text: &str) -> Checked<Case> {
    let word = assumed.word;
    Ok(Case {
        name: format!("{}, {word} {text}", case.name),
        assumed: Some(AtBound {
            case: case.name.clone(),
            constant: Swept {
                word: word.to_owned(),
                value: parse_sweep::value(word, text)?,
                text: text.to_owned(),
            },
        }),
        ..assumed.apply(case, text)?
    })
}

/// The tornado of each case that has this metric; of what [`spread`] made.
fn tornados<'a>(
    scenario: &'a Scenario,
    outcomes: &'a [Outcome],
    metric: &'a str,
) -> impl Iterator<Item = Tornado<'a>> {
    let mut begin = 0;
    let each = scenario.cases.chunk_by(|_, next| next.assumed.is_some());
    let each = each.map(move |cases| {
        let end = begin + cases.len();
        let outcomes = outcomes.get(begin..end).unwrap_or_default();
        begin = end;
        (cases, outcomes)
    });
    each.filter_map(move |(cases, outcomes)| {
        let (case, outcome) = (cases.first()?, outcomes.first()?);
        let value = |assumed: &Assumed, text: &str| {
            let is_meant = |one: &Swept| one.word == assumed.word && one.text == text;
            let place = cases
                .iter()
                .position(|one| one.constant().is_some_and(is_meant))?;
            Some(outcomes.get(place)?.get(metric).map(|one| one.value))
        };
        let bar = |assumed: Assumed| {
            let [least, most] = assumed.bounds.map(|text| value(&assumed, text));
            let values = [least?, most?];
            Some(Bar { assumed, values })
        };
        let mut bars: Vec<Bar> = Assumed::ALL.into_iter().filter_map(bar).collect();
        let base = outcome.get(metric)?;
        bars.sort_by(|a, b| b.length(base.value).total_cmp(&a.length(base.value)));
        (!bars.is_empty()).then_some(Tornado {
            case: &case.name,
            base,
            bars,
        })
    })
}

/// Checks that a case has this metric.
///
/// # Errors
/// None has it; with what was measured.
pub fn check(scenario: &Scenario, outcomes: &[Outcome], metric: &str) -> Checked<()> {
    if tornados(scenario, outcomes, metric).next().is_some() {
        return Ok(());
    }
    let measured = outcomes.iter().flat_map(|one| &one.measurements);
    let names: BTreeSet<&str> = measured.map(|one| one.metric.as_ref()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    Err(format!(
        "no case that assumes a constant has {metric}, measured: {}",
        names.join(", ")
    ))
}

/// Markdown: a table for each case that has this metric.
pub fn table(scenario: &Scenario, outcomes: &[Outcome], metric: &str) -> String {
    let mut text = format!("## {}, what {metric} hangs on\n", scenario.title);
    for one in tornados(scenario, outcomes, metric) {
        let (base, unit) = (one.base.value, &one.base.unit);
        let name = match one.case {
            "" => String::new(),
            name => format!("{name}: "),
        };
        let _ = writeln!(text, "\n{name}{metric} {}\n", with_unit(base, unit));
        let change = match one.unit() {
            "" => "change".to_owned(),
            unit => format!("change, {unit}"),
        };
        let _ = writeln!(
            text,
            "| assumed | taken | bounds | at the least | at the most | {change} |"
        );
        text.push_str("| --- | ---: | ---: | ---: | ---: | ---: |\n");
        for bar in &one.bars {
            let Assumed {
                word,
                taken,
                bounds: [least, most],
                ..
            } = bar.assumed;
            let values = bar.values.map(|value| value.map_or("–".to_owned(), digits));
            let change =
                |one: Option<f64>| one.map_or("–".to_owned(), |one| format!("{one:+.2}"));
            let ([low, high], [less, more]) = (values, one.changes(bar).map(change));
            let _ = writeln!(
                text,
                "| {} | {taken} | {least} to {most} | {low} | {high} | {less}, {more} |",
                cell(word)
            );
        }
    }
    text
}

/// A plot for each case that has this metric, as SVG, with its title.
pub fn plots(scenario: &Scenario, outcomes: &[Outcome], metric: &str) -> Vec<(String, String)> {
    let plot = |one: Tornado<'_>| {
        let title = match one.case {
            "" => format!("What {metric} hangs on"),
            name => format!("What {metric} hangs on: {name}"),
        };
        let svg = chart_tornado::draw(&one, &title);
        (title, svg)
    };
    tornados(scenario, outcomes, metric).map(plot).collect()
}
