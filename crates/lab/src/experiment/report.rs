//! Tables of what was measured beside what was published.

use std::fmt::Write;

use weft_dataplane::packets::MILLI;

use super::perform::Outcome;
use super::scenario::{Case, Published, Scenario};

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
    text
}

/// What it took to run the cases that stand on no curve.
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
        let (published, difference) = verdict(&row);
        let measured = with_unit(row.value, row.unit);
        let _ = writeln!(
            text,
            "| {} | {} | {measured} | {published} | {difference} |",
            cell(&row.case.name),
            row.metric
        );
    }
}

fn verdict(row: &Row<'_>) -> (String, String) {
    let Some(figure) = row.published else {
        return (String::new(), String::new());
    };
    let mark = if figure.holds(row.value) { "" } else { " ✗" };
    let value = figure.value;
    let unit = if row.unit.is_empty() {
        String::new()
    } else {
        format!(" {}", row.unit)
    };
    match figure.difference(row.value) {
        Some(difference) => (
            format!("{value}{unit} ± {} %", figure.within),
            format!("{difference:+.2} %{mark}"),
        ),
        None => (format!("{value}{unit}"), mark.trim_start().to_owned()),
    }
}

/// For each curve what was measured at each value, one column a metric.
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
        curve(text, &point.series, &point.axis, &of);
    }
}

fn curve(text: &mut String, name: &str, axis: &str, cases: &[(&Case, &Outcome)]) {
    let mut metrics: Vec<(&str, &str)> = Vec::new();
    for one in cases.iter().flat_map(|(_, outcome)| &outcome.measurements) {
        if !metrics.contains(&(&one.metric, &one.unit)) {
            metrics.push((&one.metric, &one.unit));
        }
    }
    let with_method = cases.iter().any(|(_, outcome)| outcome.method.is_some());
    let mut head = vec![axis.to_owned()];
    head.extend(with_method.then(|| "method".to_owned()));
    let titles = metrics.iter().map(|(metric, unit)| match *unit {
        "" => (*metric).to_owned(),
        unit => format!("{metric}, {unit}"),
    });
    head.extend(titles);
    let _ = writeln!(text, "\n{name}:\n\n| {} |", head.join(" | "));
    let _ = writeln!(text, "|{}", " ---: |".repeat(head.len()));
    for (case, outcome) in cases {
        let value = case.point.as_ref().map_or(0.0, |point| point.value);
        let mut cells = vec![value.to_string()];
        cells.extend(with_method.then(|| outcome.method.clone().unwrap_or_default()));
        let cell = |(metric, _): &(&str, &str)| {
            let Some(one) = outcome.get(metric) else {
                return "–".to_owned();
            };
            let mut figures = case.published.iter();
            let wrong = figures.any(|figure| figure.metric == *metric && !figure.holds(one.value));
            format!("{}{}", digits(one.value), if wrong { " ✗" } else { "" })
        };
        cells.extend(metrics.iter().map(cell));
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
}

fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "" => digits(value),
        unit => format!("{} {unit}", digits(value)),
    }
}

fn links(text: &mut String, case: &Case, outcome: &Outcome) {
    if outcome.links.is_empty() {
        return;
    }
    let _ = writeln!(text, "\nBusiest links, {}:\n", case.name);
    for link in &outcome.links {
        let _ = writeln!(text, "    {link}");
    }
}

/// CSV with one header for all experiments; names with commas or quotes are quoted.
pub fn csv<'a>(all: impl IntoIterator<Item = (&'a Scenario, &'a [Outcome])>) -> String {
    let mut text = "experiment,case,metric,measured,unit,published,within_percent\n".to_owned();
    for (scenario, outcomes) in all {
        for row in rows(scenario, outcomes) {
            let (value, within) = match row.published {
                Some(figure) => (figure.value.to_string(), figure.within.to_string()),
                None => (String::new(), String::new()),
            };
            let (title, case) = (quoted(&scenario.title), quoted(&row.case.name));
            let _ = writeln!(
                text,
                "{title},{case},{},{},{},{value},{within}",
                row.metric, row.value, row.unit
            );
        }
    }
    text
}

/// Whether all that was published came out.
pub fn holds(scenario: &Scenario, outcomes: &[Outcome]) -> bool {
    let cases = scenario.cases.iter().zip(outcomes);
    let mut figures = cases.flat_map(|(case, outcome)| {
        case.published.iter().map(|published| {
            let found = outcome.get(&published.metric);
            found.is_some_and(|one| published.holds(one.value))
        })
    });
    figures.all(|holds| holds)
}

struct Row<'a> {
    case: &'a Case,
    metric: &'a str,
    value: f64,
    unit: &'a str,
    published: Option<&'a Published>,
}

fn rows<'a>(scenario: &'a Scenario, outcomes: &'a [Outcome]) -> impl Iterator<Item = Row<'a>> + 'a {
    let cases = scenario.cases.iter().zip(outcomes);
    cases.flat_map(|(case, outcome)| {
        outcome.measurements.iter().map(move |one| {
            let mut published = case.published.iter();
            Row {
                case,
                metric: &one.metric,
                value: one.value,
                unit: &one.unit,
                published: published.find(|figure| figure.metric == one.metric),
            }
        })
    })
}

/// A name in a table of Markdown, where a bar would end its cell.
fn cell(name: &str) -> String {
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
