//! Tables of measured and published values.

use std::fmt::{self, Write};

use weft_dataplane::packets::MILLI;

use super::links::SHOWN;
use super::perform::{Measurement, Outcome, PERCENTILES, asked_latencies};
use super::published::{Published, Verdict, Wanted};
use super::scenario::{Case, Point, Scenario, Swept};
use super::values::micros;

/// Markdown: one row for each measurement of each case, and a table for each curve.
pub fn table(scenario: &Scenario, outcomes: &[Outcome]) -> String {
    let mut text = format!("## {}\n", scenario.title);
    let single = |case: &Case| case.point.is_none();
    if scenario.cases.iter().any(single) {
        metrics(&mut text, scenario, outcomes);
    }
    curves(&mut text, scenario, outcomes);
    if scenario.cases.iter().any(single) {
        runs(&mut text, scenario, outcomes);
    }
    for (case, outcome) in scenario.cases.iter().zip(outcomes) {
        links(&mut text, case, outcome);
    }
    latencies(&mut text, scenario, outcomes);
    let verdicts = verdicts(scenario, outcomes);
    if verdicts != Verdicts::default() {
        let _ = writeln!(text, "\n{verdicts}");
    }
    text
}

/// Numbers of published figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verdicts {
    /// They came out, and could have failed to.
    pub held: usize,
    /// They did not come out, or were not measured.
    pub missed: usize,
    /// They came out, as they must.
    pub given: usize,
}

impl fmt::Display for Verdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let could = self.held + self.missed;
        if could == 0 {
            let given = self.given;
            return write!(
                f,
                "{given} published figures follow from inputs and are no hits."
            );
        }
        write!(f, "{} of {could} published figures came out", self.held)?;
        match self.given {
            0 => f.write_str("."),
            given => write!(f, "; {given} more follow from inputs and are no hits."),
        }
    }
}

/// How many published figures came out.
pub fn verdicts(scenario: &Scenario, outcomes: &[Outcome]) -> Verdicts {
    let mut all = Verdicts::default();
    for (case, outcome) in scenario.cases.iter().zip(outcomes) {
        for figure in case.figures() {
            let measured = outcome.get(&figure.metric).map(|one| one.value);
            match figure.verdict(measured) {
                Verdict::Missed => all.missed += 1,
                Verdict::Given => all.given += 1,
                Verdict::Held => all.held += 1,
            }
        }
    }
    all
}

/// Cost of running the cases that are on no curve.
fn runs(text: &mut String, scenario: &Scenario, outcomes: &[Outcome]) {
    text.push_str("\n| case | virtual time, ms | packet-hops | lost | routes moved |\n");
    text.push_str("| --- | ---: | ---: | ---: | ---: |\n");
    let cases = scenario.cases.iter().zip(outcomes);
    for (case, outcome) in cases.filter(|(case, _)| case.point.is_none()) {
        let millis = outcome.span as f64 / MILLI as f64;
        let _ = writeln!(
            text,
            "| {} | {millis:.3} | {} | {} | {} |",
            cell(&case.name),
            outcome.hops,
            outcome.lost,
            outcome.moved
        );
    }
}

fn metrics(text: &mut String, scenario: &Scenario, outcomes: &[Outcome]) {
    text.push_str("\n| case | metric | measured | published | difference |\n");
    text.push_str("| --- | --- | ---: | ---: | ---: |\n");
    for row in rows(scenario, outcomes).filter(|row| row.case.point.is_none()) {
        let (published, difference) = row
            .published
            .map_or_else(Default::default, |figure| beside(figure, row.measured));
        let measured = row
            .measured
            .map_or(NOT_MEASURED.to_owned(), |(value, unit)| {
                with_unit(value, unit)
            });
        let _ = writeln!(
            text,
            "| {} | {} | {measured} | {published} | {difference} |",
            cell(&row.case.name),
            row.metric
        );
    }
}

const NOT_MEASURED: &str = "not measured";
const NOT_MEASURED_MARKED: &str = "not measured ✗";

/// A published figure, and the difference of the measured one.
fn beside(figure: &Published, measured: Option<(f64, &str)>) -> (String, String) {
    let unit = measured.map_or("", |(_, unit)| unit);
    let published = figure.with_unit(unit);
    let value = measured.map(|(value, _)| value);
    let mark = match (figure.verdict(value), &figure.given) {
        (Verdict::Missed, _) => " ✗".to_owned(),
        (_, Some(reason)) => format!(" given: {}", cell(reason)),
        (_, None) => String::new(),
    };
    let difference = value.and_then(|value| figure.difference(value));
    let difference = difference.map_or(String::new(), |percent| format!("{percent:+.2} %"));
    (
        published,
        format!("{difference}{mark}").trim_start().to_owned(),
    )
}

/// For each case that is swept the measurements at each value, one column per metric.
fn curves(text: &mut String, scenario: &Scenario, outcomes: &[Outcome]) {
    let cases: Vec<(&Case, &Outcome)> = scenario.cases.iter().zip(outcomes).collect();
    let mut seen: Vec<&str> = Vec::new();
    for point in scenario.cases.iter().filter_map(|case| case.point.as_ref()) {
        if seen.contains(&point.series.as_str()) {
            continue;
        }
        seen.push(&point.series);
        let of = |case: &Case| {
            case.point
                .as_ref()
                .is_some_and(|one| one.series == point.series)
        };
        let of: Vec<_> = cases.iter().filter(|(case, _)| of(case)).copied().collect();
        let words: Vec<&str> = point.all().map(|one| one.word.as_str()).collect();
        curve(text, &point.series, &words, &of);
    }
}

fn curve(text: &mut String, name: &str, words: &[&str], cases: &[(&Case, &Outcome)]) {
    let metrics = columns(cases);
    let with_method = cases.iter().any(|(_, outcome)| outcome.method.is_some());
    let mut head: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    head.extend(with_method.then(|| "method".to_owned()));
    let titles = metrics.iter().map(|(metric, unit)| match *unit {
        "" => (*metric).to_owned(),
        unit => format!("{metric}, {unit}"),
    });
    head.extend(titles);
    let _ = writeln!(text, "\n{name}:\n\n| {} |", head.join(" | "));
    let _ = writeln!(text, "|{}", " ---: |".repeat(head.len()));
    for (case, outcome) in cases {
        let values = case.point.iter().flat_map(Point::all);
        let mut cells: Vec<String> = values.map(|one| one.value.to_string()).collect();
        cells.extend(with_method.then(|| outcome.method.clone().unwrap_or_default()));
        let cell = |(metric, _): &(&str, &str)| at(case, outcome, metric);
        cells.extend(metrics.iter().map(cell));
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    let figures = figures(cases, &metrics);
    if !figures.is_empty() {
        let _ = writeln!(text, "\nPublished: {}.", figures.join("; "));
    }
}

/// Published figures of a curve, with the swept values if they are not for all.
fn figures(cases: &[(&Case, &Outcome)], units: &[(&str, &str)]) -> Vec<String> {
    let mut seen: Vec<(&Published, Vec<String>)> = Vec::new();
    for (case, _) in cases {
        let place = case.point.as_ref().map_or_else(String::new, place);
        for figure in case.figures() {
            let known = seen.iter_mut().find(|(other, _)| *other == figure);
            match known {
                Some((_, at)) => at.push(place.clone()),
                None => seen.push((figure, vec![place.clone()])),
            }
        }
    }
    let words = |(figure, at): (&Published, Vec<String>)| {
        let unit = units.iter().find(|(metric, _)| *metric == figure.metric);
        let wanted = figure.with_unit(unit.map_or("", |(_, unit)| unit));
        let given = figure.given.as_ref();
        let given = given.map_or(String::new(), |reason| format!(" (given: {reason})"));
        match at.len() == cases.len() {
            true => format!("{} {wanted}{given}", figure.metric),
            false => format!("{} {wanted} at {}{given}", figure.metric, at.join(", ")),
        }
    };
    seen.into_iter().map(words).collect()
}

/// Where a case stands: the value, or each one with its name.
fn place(point: &Point) -> String {
    let named = |one: &Swept| format!("{} {}", one.word, one.value);
    match point.others.is_empty() {
        true => point.first.value.to_string(),
        false => point.all().map(named).collect::<Vec<_>>().join(" "),
    }
}

/// Measured or published metrics of a curve, with units if known.
fn columns<'a>(cases: &[(&'a Case, &'a Outcome)]) -> Vec<(&'a str, &'a str)> {
    let measured = cases.iter().flat_map(|(_, outcome)| &outcome.measurements);
    let measured = measured.map(|one| (one.metric.as_ref(), one.unit.as_ref()));
    let published = cases.iter().flat_map(|(case, _)| case.figures());
    let published = published.map(|figure| (figure.metric.as_str(), ""));
    let mut columns: Vec<(&str, &str)> = Vec::new();
    for (metric, unit) in measured.chain(published) {
        if columns.iter().all(|(other, _)| *other != metric) {
            columns.push((metric, unit));
        }
    }
    columns
}

/// Measured value at one point of a curve, marked if it differs from the published one.
fn at(case: &Case, outcome: &Outcome, metric: &str) -> String {
    match (outcome.get(metric), case.figure(metric)) {
        (Some(one), Some(figure)) if !figure.holds(one.value) => format!("{} ✗", interval(one)),
        (Some(one), _) => interval(one),
        (None, Some(_)) => NOT_MEASURED_MARKED.to_owned(),
        (None, None) => "–".to_owned(),
    }
}

/// A value, with the least and the most of several runs where these differ.
fn interval(one: &Measurement) -> String {
    match one
        .spread
        .map(|(least, most)| (digits(least), digits(most)))
    {
        Some((least, most)) if least != most => {
            format!("{} ({least} to {most})", digits(one.value))
        }
        _ => digits(one.value),
    }
}

pub(super) fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "" => digits(value),
        unit => format!("{} {unit}", digits(value)),
    }
}

fn links(text: &mut String, case: &Case, outcome: &Outcome) {
    let mut shown = outcome
        .links
        .iter()
        .filter(|link| link.is_shown())
        .peekable();
    if shown.peek().is_none() {
        return;
    }
    let _ = writeln!(text, "\nBusiest links, {}:\n", case.name);
    for link in shown.take(SHOWN) {
        let _ = writeln!(text, "    {link}");
    }
}

/// Percentiles of the times of messages and packets, of the cases that ask for them.
fn latencies(text: &mut String, scenario: &Scenario, outcomes: &[Outcome]) {
    let mut all = asked_latencies(scenario, outcomes).peekable();
    if all.peek().is_none() {
        return;
    }
    let heads = PERCENTILES.map(|percent| match percent {
        100.0 => "longest".to_owned(),
        percent => format!("p{percent}"),
    });
    let _ = writeln!(
        text,
        "\nTimes of messages and packets, us:\n\n| case | count | {} |",
        heads.join(" | ")
    );
    let _ = writeln!(text, "| --- |{}", " ---: |".repeat(1 + heads.len()));
    for (name, histogram) in all {
        let times = PERCENTILES.into_iter();
        let times = times.filter_map(|percent| histogram.percentile(percent));
        let times: Vec<String> = times.map(|time| digits(micros(time))).collect();
        let (count, name) = (histogram.count(), cell(&name));
        let _ = writeln!(text, "| {name} | {count} | {} |", times.join(" | "));
    }
}

/// CSV with one header for all experiments; names with commas or quotes are quoted.
pub fn csv<'a>(all: impl IntoIterator<Item = (&'a Scenario, &'a [Outcome])>) -> String {
    let mut text =
        "experiment,case,metric,measured,unit,published,within_percent,bounds,verdict,curve,over,at,least,most\n"
            .to_owned();
    for (scenario, outcomes) in all {
        for row in rows(scenario, outcomes) {
            let _ = writeln!(text, "{},{}", quoted(&scenario.title), line(&row));
        }
    }
    text
}

fn line(row: &Row<'_>) -> String {
    let published = row.published.map(|figure| match figure.wanted {
        Wanted::Near { value, within } => format!("{value},{within},"),
        Wanted::Within { .. } => format!(",,{}", quoted(&figure.with_unit(""))),
    });
    let published = published.unwrap_or_else(|| ",,".to_owned());
    let (measured, unit) = row
        .measured
        .map_or_else(Default::default, |(value, unit)| (value.to_string(), unit));
    let verdict = match (row.verdict(), row.measured) {
        (None, _) => String::new(),
        (Some(Verdict::Missed), None) => NOT_MEASURED_MARKED.to_owned(),
        (Some(Verdict::Missed), Some(_)) => "✗".to_owned(),
        (Some(verdict), _) => verdict.to_string(),
    };
    let case = quoted(&row.case.name);
    let metric = row.metric;
    format!(
        "{case},{metric},{measured},{unit},{published},{verdict},{}",
        curve_and_spread(row)
    )
}

/// The curve of a row over what is swept first, that word and its value there; and the least and the most of several
/// runs.
fn curve_and_spread(row: &Row<'_>) -> String {
    let point = row.case.point.as_ref().map_or(",,".to_owned(), |point| {
        let Swept { word, value, .. } = &point.first;
        format!("{},{word},{value}", quoted(&point.curve(word)))
    });
    let spread = row
        .spread
        .map_or(",".to_owned(), |(least, most)| format!("{least},{most}"));
    format!("{point},{spread}")
}

/// Whether all that was published came out.
pub fn holds(scenario: &Scenario, outcomes: &[Outcome]) -> bool {
    verdicts(scenario, outcomes).missed == 0
}

/// Something that was measured or published of a case.
pub(super) struct Row<'a> {
    case: &'a Case,
    pub(super) metric: &'a str,
    /// With its unit, `None` for published values without a measurement.
    pub(super) measured: Option<(f64, &'a str)>,
    /// The least and the most of several runs.
    pub(super) spread: Option<(f64, f64)>,
    pub(super) published: Option<&'a Published>,
}

impl Row<'_> {
    /// What became of what was published.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        let measured = self.measured.map(|(value, _)| value);
        self.published.map(|figure| figure.verdict(measured))
    }
}

/// All that was measured or published of each case.
fn rows<'a>(scenario: &'a Scenario, outcomes: &'a [Outcome]) -> impl Iterator<Item = Row<'a>> + 'a {
    let cases = scenario.cases.iter().zip(outcomes);
    cases.flat_map(|(case, outcome)| rows_of(case, outcome))
}

/// All that was measured or published of a case.
pub(super) fn rows_of<'a>(
    case: &'a Case,
    outcome: &'a Outcome,
) -> impl Iterator<Item = Row<'a>> + 'a {
    let measured = outcome.measurements.iter().map(move |one| Row {
        case,
        metric: &one.metric,
        measured: Some((one.value, &one.unit)),
        spread: one.spread,
        published: case.figure(&one.metric),
    });
    let others = case.figures().iter();
    let others = others.filter(|figure| outcome.get(&figure.metric).is_none());
    measured.chain(others.map(move |figure| Row {
        case,
        metric: &figure.metric,
        measured: None,
        spread: None,
        published: Some(figure),
    }))
}

/// A name in a table of Markdown, where a bar would end its cell.
pub(super) fn cell(name: &str) -> String {
    name.replace('|', "\\|")
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// With four digits that count.
pub(super) fn digits(value: f64) -> String {
    match value.abs() {
        large if large >= 1_000.0 => format!("{value:.0}"),
        large if large >= 100.0 => format!("{value:.1}"),
        large if large >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}
