//! `weft why`: what a change comes from.

use std::process::ExitCode;

use serde_json::{Value, json};
use weft_api::time::{timestamp_ms, unix_ms};
use weft_api::v1;
use weft_api::v1::explain_change_request::Subject;
use weft_fabric::text::count;

use super::part;
use crate::args::{Args, WhyArgs};
use crate::connect::{Effort, connect};
use crate::error::CliError;
use crate::moment::{local_fine, now_ms, parse, zone};
use crate::output::{self, one_line};
use crate::pager::Pages;
use crate::sweep::{certificate_json, port_json, written_json};
use crate::time::utc_json;

/// What begins the ID of an event, and a point.
const EVENT: &str = "event:";
const PORT: &str = "port:";
/// Switches that a line names.
const SWITCHES_MAX: usize = 4;

pub(crate) async fn run(all: &Args, args: &WhyArgs) -> Result<ExitCode, CliError> {
    let subject = subject(&args.subject, &args.ends)?;
    let to = args.to.as_deref().map(|to| parse(to, now_ms())).transpose();
    let to = to.map_err(|why| CliError::Usage(format!("--to: {why}")))?;
    let session = connect(&all.daemon).await?;
    let mut service = session.services(Effort::Work).changes();
    let explained = service.explain_change(v1::ExplainChangeRequest {
        subject: Some(subject),
        to: to.map(timestamp_ms),
    });
    let explained = session.answer(Effort::Work, explained).await?;
    if args.json {
        output::json(&as_json(&explained))?;
        return Ok(ExitCode::SUCCESS);
    }
    let zone = zone(to.unwrap_or_else(now_ms));
    let mut pages = Pages::new(all.no_pager);
    pages.text(format_args!(
        "From the change back to its cause ({zone}):\n"
    ))?;
    let lines: String = explained.causes.iter().map(lines).collect();
    pages.text(lines)?;
    for warning in &explained.warnings {
        pages.text(format_args!("{}\n", one_line(warning)))?;
    }
    pages.end()?;
    Ok(ExitCode::SUCCESS)
}

fn subject(text: &str, ends: &[String]) -> Result<Subject, CliError> {
    let wrong = |why: &str| CliError::Usage(format!("'{text}': {why}"));
    if text == "route" {
        let [from, to] = ends else {
            return Err(wrong("expected its two ends, such as 'route node1 node2'"));
        };
        return Ok(Subject::Route(v1::RouteEnds {
            source: part(from),
            destination: part(to),
        }));
    }
    if !ends.is_empty() {
        return Err(wrong("only a route has ends"));
    }
    if let Some(id) = text.strip_prefix(EVENT) {
        return Ok(Subject::EventId(id.to_owned()));
    }
    match text.strip_prefix(PORT) {
        Some(point) => Ok(Subject::Point(part(point))),
        None => Err(wrong(
            "expected 'route' with two ends, port:POINT or event:ID",
        )),
    }
}

/// A cause: when and what; what belongs to it further to the right.
fn lines(cause: &v1::Cause) -> String {
    let time = local_fine(unix_ms(cause.time));
    let mut lines = format!("{time}  {}\n", one_line(&cause.what));
    if cause.kind() == v1::CauseKind::Route {
        lines += &way("before", &cause.before);
        lines += &way("after", &cause.after);
    }
    if !cause.switches.is_empty() {
        let first = cause.switches.iter().take(SWITCHES_MAX);
        let first = first.map(|switch| format!("{} {}", one_line(&switch.name), switch.blocks));
        let more = match cause.switches.len().saturating_sub(SWITCHES_MAX) {
            0 => String::new(),
            more => format!(" and {} more", count(more, "switch")),
        };
        let first: Vec<String> = first.collect();
        lines += &format!("    blocks: {}{more}\n", first.join(", "));
    }
    if let Some(proved) = &cause.certificate {
        lines += &format!(
            "    certificate: {} complete, {} not connected,\n      {} without a cycle\n",
            count(proved.routes, "route"),
            proved.disconnected,
            count(proved.dependencies, "dependency"),
        );
    }
    lines + &places(cause)
}

fn way(name: &str, links: &[v1::RouteLink]) -> String {
    if links.is_empty() {
        return format!("    {name}: none\n");
    }
    let end = |port: &Option<v1::NamedPort>| {
        let port = port.clone().unwrap_or_default();
        let number = port.port.unwrap_or_default().port;
        format!("{}:{number}", one_line(&port.node_name))
    };
    let links = links
        .iter()
        .map(|link| format!("      {} -> {}\n", end(&link.from), end(&link.to)));
    format!("    {name}:\n{}", links.collect::<String>())
}

/// Where to find it again.
fn places(cause: &v1::Cause) -> String {
    let mut places = Vec::new();
    if cause.record > 0 {
        places.push(format!("record {}", cause.record));
    }
    if !cause.event_id.is_empty() {
        places.push(format!("{EVENT}{}", one_line(&cause.event_id)));
    }
    match places.is_empty() {
        true => String::new(),
        false => format!("    {}\n", places.join(", ")),
    }
}

fn as_json(explained: &v1::ExplainChangeResponse) -> Value {
    let causes: Vec<Value> = explained.causes.iter().map(cause_json).collect();
    json!({ "causes": causes, "warnings": explained.warnings })
}

fn cause_json(cause: &v1::Cause) -> Value {
    let kind = cause.kind().as_str_name().trim_start_matches("CAUSE_KIND_");
    let link = |link: &v1::RouteLink| json!({ "from": port_json(link.from.as_ref()), "to": port_json(link.to.as_ref()) });
    json!({
        "kind": kind.to_lowercase(),
        "time": utc_json(cause.time),
        "what": cause.what,
        "event": cause.event_id,
        "sweep": cause.sweep,
        "trap": cause.trap,
        "record": cause.record,
        "blocks": cause.blocks,
        "switches": cause.switches.iter().map(written_json).collect::<Vec<_>>(),
        "certificate": cause.certificate.as_ref().map(certificate_json),
        "before": cause.before.iter().map(link).collect::<Vec<_>>(),
        "after": cause.after.iter().map(link).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_read() {
        let ends = |ends: &[&str]| ends.iter().map(|end| (*end).to_owned()).collect::<Vec<_>>();
        let route = Subject::Route(v1::RouteEnds {
            source: "node:a".to_owned(),
            destination: "lid:7".to_owned(),
        });
        for (text, of, expected) in [
            ("route", &["a", "lid:7"][..], Some(route)),
            ("route", &["a"], None),
            (
                "port:edge1:3",
                &[],
                Some(Subject::Point("node:edge1:port:3".to_owned())),
            ),
            ("port:lid:7", &[], Some(Subject::Point("lid:7".to_owned()))),
            (
                "event:18ab-41",
                &[],
                Some(Subject::EventId("18ab-41".to_owned())),
            ),
            ("event:18ab-41", &["a"], None),
            ("edge1:3", &[], None),
        ] {
            assert_eq!(subject(text, &ends(of)).ok(), expected, "{text}");
        }
    }

    #[test]
    fn a_cause_is_told_in_short_lines() {
        let port = |name: &str, port| {
            let port = Some(v1::PortId { node_guid: 1, port });
            let node_name = name.to_owned();
            Some(v1::NamedPort { port, node_name })
        };
        let cause = v1::Cause {
            kind: v1::CauseKind::Route.into(),
            what: "sweep 4 changed the way to b".to_owned(),
            after: vec![v1::RouteLink {
                from: port("edge1", 3),
                to: port("core1", 1),
            }],
            event_id: "18ab-41".to_owned(),
            ..v1::Cause::default()
        };
        let told = lines(&cause);
        let (_, told) = told.split_once("  ").expect("a time");
        assert_eq!(
            told,
            "sweep 4 changed the way to b\n    before: none\n    after:\n      edge1:3 -> core1:1\n    event:18ab-41\n"
        );
    }
}
