//! The page as data.

use serde_json::{Value, json};
use weft_api::v1;

use super::color;
use crate::time::utc_json;

/// Columns of a line of comma-separated values.
const HEAD: &str = "record,color,name,what,since,times,hosts,a_guid,a_name,a_port,a_serial,b_guid,b_name,b_port,\
                    b_serial,advice,next\n";

pub(super) fn json(page: &v1::GetHealthResponse) -> Value {
    let figures = page.figures.iter().map(|figure| {
        json!({
            "name": figure.name,
            "color": color(figure.color()),
            "value": figure.value,
            "rule": figure.rule,
        })
    });
    let counts = page.counts.iter();
    let counts: serde_json::Map<String, Value> = counts
        .map(|count| (count.kind.clone(), count.count.into()))
        .collect();
    json!({
        "moment": page.moment.as_ref().map(crate::at::as_json),
        "time": utc_json(page.time),
        "generation": page.generation,
        "color": color(page.color()),
        "role": page.role,
        "master": (page.master != 0).then(|| format!("{:#018x}", page.master)),
        "figures": figures.collect::<Vec<_>>(),
        "counts": counts,
        "findings": page.findings.iter().map(finding).collect::<Vec<_>>(),
    })
}

fn finding(one: &v1::HealthFinding) -> Value {
    json!({
        "kind": one.kind,
        "color": color(one.color()),
        "what": one.what,
        "a": one.a.as_ref().map(place),
        "b": one.b.as_ref().map(place),
        "since": utc_json(one.since_time),
        "times": one.times,
        "hosts": one.hosts,
        "host_names": one.host_names,
        "advice": one.advice,
        "next": one.next,
    })
}

fn place(place: &v1::HealthPlace) -> Value {
    json!({
        "guid": format!("{:#018x}", place.node_guid),
        "name": place.node_name,
        "port": (place.port != 0).then_some(place.port),
        "cable_serial": place.cable_serial,
    })
}

pub(super) fn csv(page: &v1::GetHealthResponse) -> String {
    let mut text = HEAD.to_owned();
    for figure in &page.figures {
        let fields = ["figure", color(figure.color()), &figure.name, &figure.value];
        text += &line(fields.into_iter().map(str::to_owned).chain(empty(13)));
    }
    for one in &page.findings {
        let since = utc_json(one.since_time);
        let head = [
            "finding".to_owned(),
            color(one.color()).to_owned(),
            one.kind.clone(),
            one.what.clone(),
            since.as_str().unwrap_or_default().to_owned(),
            one.times.to_string(),
            one.hosts.to_string(),
        ];
        let places = [&one.a, &one.b].into_iter().flat_map(|end| match end {
            None => empty(4).collect::<Vec<_>>(),
            Some(end) => vec![
                format!("{:#018x}", end.node_guid),
                end.node_name.clone(),
                end.port.to_string(),
                end.cable_serial.clone(),
            ],
        });
        let tail = [one.advice.clone(), one.next.clone()];
        text += &line(head.into_iter().chain(places).chain(tail));
    }
    text
}

fn empty(fields: usize) -> impl Iterator<Item = String> {
    std::iter::repeat_n(String::new(), fields)
}

fn line(fields: impl Iterator<Item = String>) -> String {
    let fields: Vec<String> = fields.map(|field| quoted(&field)).collect();
    fields.join(",") + "\n"
}

/// A field as RFC 4180 has it.
fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_the_same_columns_and_quotes_what_needs_it() {
        let place = v1::HealthPlace {
            node_name: "a \"b\", c".to_owned(),
            ..v1::HealthPlace::default()
        };
        let page = v1::GetHealthResponse {
            figures: vec![v1::HealthFigure::default()],
            findings: vec![
                v1::HealthFinding {
                    a: Some(place),
                    ..v1::HealthFinding::default()
                },
                v1::HealthFinding::default(),
            ],
            ..v1::GetHealthResponse::default()
        };
        let text = csv(&page);
        assert!(text.contains(",\"a \"\"b\"\", c\",0,"), "{text}");
        let outside = |line: &str| {
            let parts = line.split('"').step_by(2);
            parts.map(|part| part.matches(',').count()).sum::<usize>()
        };
        for line in text.lines() {
            assert_eq!(outside(line), 16, "{line}");
        }
    }
}
