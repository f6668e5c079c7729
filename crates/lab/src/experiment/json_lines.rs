//! Results as JSON Lines: an object on each line, for programs that make tables of them.

use serde_json::{Value, json};

use super::perform::Outcome;
use super::report::{Row, rows_of};
use super::scenario::{Case, Scenario};

/// All results of experiments. `kind` of a line tells what it is: a `measurement` with what was published of it,
/// or what was published and not measured; the `run` of a case, a `link` of the busiest, a `rank` of traffic from a file, a `latency` of its messages.
pub fn json_lines<'a>(all: impl IntoIterator<Item = (&'a Scenario, &'a [Outcome])>) -> String {
    let mut text = String::new();
    for (scenario, outcomes) in all {
        for (case, outcome) in scenario.cases.iter().zip(outcomes) {
            for (kind, mut line) in lines(case, outcome) {
                line["kind"] = json!(kind);
                line["experiment"] = json!(scenario.title);
                line["case"] = json!(case.name);
                if let Some(point) = &case.point {
                    line["series"] = json!(point.series);
                    line["swept"] = json!(point.axis);
                    line["at"] = json!(point.value);
                }
                text.push_str(&line.to_string());
                text.push('\n');
            }
        }
    }
    text
}

fn lines<'a>(
    case: &'a Case,
    outcome: &'a Outcome,
) -> impl Iterator<Item = (&'static str, Value)> + 'a {
    let measured = rows_of(case, outcome).map(|row| ("measurement", measurement(&row)));
    let mut run = json!({
        "virtual_us": outcome.span as f64 / 1e6,
        "packet_hops": outcome.hops,
        "lost": outcome.lost,
        "routes_moved": outcome.moved,
    });
    if let Some(method) = &outcome.method {
        run["method"] = json!(method);
    }
    let links = outcome.links.iter().map(|link| {
        let line = json!({
            "from": link.from,
            "to": link.to,
            "percent": link.percent,
            "xmit_wait": link.xmit_wait,
            "xmit_discards": link.xmit_discards,
        });
        ("link", line)
    });
    let ranks = outcome.ranks.iter().enumerate().map(|(number, rank)| {
        let line = json!({
            "rank": number,
            "us": rank.time as f64 / 1e6,
            "bytes_sent": rank.sent,
        });
        ("rank", line)
    });
    let latencies = outcome.latencies.iter().map(|(percentile, time)| {
        let line = json!({"percentile": percentile, "us": *time as f64 / 1e6});
        ("latency", line)
    });
    let one = std::iter::once(("run", run));
    measured
        .chain(one)
        .chain(links)
        .chain(ranks)
        .chain(latencies)
}

/// A figure that was published and not measured has no value, and no unit.
fn measurement(row: &Row<'_>) -> Value {
    let mut line = json!({"metric": row.metric});
    if let Some((value, unit)) = row.measured {
        line["value"] = json!(value);
        line["unit"] = json!(unit);
    }
    if let Some((least, most)) = row.spread {
        line["least"] = json!(least);
        line["most"] = json!(most);
    }
    if let (Some(figure), Some(verdict)) = (row.published, row.verdict()) {
        let unit = row.measured.map_or("", |(_, unit)| unit);
        line["published"] = json!(figure.with_unit(unit));
        line["verdict"] = json!(verdict.to_string());
    }
    line
}
