//! Tables of what was measured beside what was published.

use std::fmt::Write;

use weft_dataplane::packets::MILLI;

use super::perform::Outcome;
use super::scenario::{Case, Scenario};

/// Markdown: one row for each measurement of each case.
pub fn table(scenario: &Scenario, outcomes: &[Outcome]) -> String {
    let mut text = format!(
        "## {}\n\n| case | metric | measured | published | difference |\n| --- | --- | ---: | ---: | ---: |\n",
        scenario.title
    );
    for row in rows(scenario, outcomes) {
        let (published, difference) = match row.published {
            Some((value, within)) => {
                let difference = 100.0 * (row.value / value - 1.0);
                let verdict = if difference.abs() <= within {
                    ""
                } else {
                    " ✗"
                };
                let unit = row.unit;
                (
                    format!("{value} {unit} ± {within} %"),
                    format!("{difference:+.2} %{verdict}"),
                )
            }
            None => (String::new(), String::new()),
        };
        let measured = format!("{} {}", digits(row.value), row.unit);
        let _ = writeln!(
            text,
            "| {} | {} | {measured} | {published} | {difference} |",
            row.case, row.metric
        );
    }
    text.push_str("\n| case | virtual time, ms | packet-hops | lost | routes moved |\n");
    text.push_str("| --- | ---: | ---: | ---: | ---: |\n");
    for (case, outcome) in scenario.cases.iter().zip(outcomes) {
        let millis = outcome.span as f64 / MILLI as f64;
        let _ = writeln!(
            text,
            "| {} | {millis:.3} | {} | {} | {} |",
            case.name, outcome.hops, outcome.lost, outcome.moved
        );
    }
    for (case, outcome) in scenario.cases.iter().zip(outcomes) {
        links(&mut text, case, outcome);
    }
    text
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

/// CSV with a header; names with commas or quotes are quoted.
pub fn csv(scenario: &Scenario, outcomes: &[Outcome]) -> String {
    let mut text = "case,metric,measured,unit,published,within_percent\n".to_owned();
    for row in rows(scenario, outcomes) {
        let (value, within) = match row.published {
            Some((value, within)) => (value.to_string(), within.to_string()),
            None => (String::new(), String::new()),
        };
        let case = quoted(row.case);
        let _ = writeln!(
            text,
            "{case},{},{},{},{value},{within}",
            row.metric, row.value, row.unit
        );
    }
    text
}

/// Whether all that was published came out.
pub fn holds(scenario: &Scenario, outcomes: &[Outcome]) -> bool {
    let cases = scenario.cases.iter().zip(outcomes);
    let mut figures = cases.flat_map(|(case, outcome)| {
        case.published.iter().map(|published| {
            let found = outcome.get(&published.metric);
            found.is_some_and(|one| {
                let difference = 100.0 * (one.value / published.value - 1.0);
                difference.abs() <= published.within
            })
        })
    });
    figures.all(|holds| holds)
}

struct Row<'a> {
    case: &'a str,
    metric: &'static str,
    value: f64,
    unit: &'static str,
    published: Option<(f64, f64)>,
}

fn rows<'a>(scenario: &'a Scenario, outcomes: &'a [Outcome]) -> impl Iterator<Item = Row<'a>> + 'a {
    let cases = scenario.cases.iter().zip(outcomes);
    cases.flat_map(|(case, outcome)| {
        outcome.measurements.iter().map(|one| {
            let mut published = case.published.iter();
            let published = published.find(|figure| figure.metric == one.metric);
            Row {
                case: &case.name,
                metric: one.metric,
                value: one.value,
                unit: one.unit,
                published: published.map(|figure| (figure.value, figure.within)),
            }
        })
    })
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// With four digits that count.
fn digits(value: f64) -> String {
    match value.abs() {
        large if large >= 1_000.0 => format!("{value:.0}"),
        large if large >= 100.0 => format!("{value:.1}"),
        large if large >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}
