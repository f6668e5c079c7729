//! `weft who`: changes of a part of the fabric, the newest first.

use std::process::ExitCode;

use serde_json::{Value, json};
use weft_api::time::{timestamp_ms, unix_ms};
use weft_api::v1;
use weft_api::v1::list_changes_request::Object;
use weft_fabric::text::asker;

use super::part;
use crate::args::{Args, Who};
use crate::connect::{Effort, connect};
use crate::error::CliError;
use crate::moment::{local, now_ms, parse, zone};
use crate::output::{self, one_line};
use crate::pager::Pages;
use crate::sweep::port_json;
use crate::time::utc_json;

/// What begins the number of a plan, and the name of a virtual fabric.
const PLAN: &str = "plan:";
const VIRTUAL_FABRIC: &str = "vf:";

pub(crate) async fn run(all: &Args, args: &Who) -> Result<ExitCode, CliError> {
    let now = now_ms();
    let read = |option: &str, text: &Option<String>| match text {
        None => Ok(None),
        Some(text) => parse(text, now)
            .map(Some)
            .map_err(|why| CliError::Usage(format!("{option}: {why}"))),
    };
    let (from, to) = (read("--from", &args.from)?, read("--to", &args.to)?);
    let object = args.object.as_deref().map(object).transpose()?;
    let session = connect(&all.daemon).await?;
    let mut service = session.services(Effort::Work).changes();
    let listed = service.list_changes(v1::ListChangesRequest {
        from: from.map(timestamp_ms),
        to: to.map(timestamp_ms),
        limit: args.limit,
        object,
    });
    let listed = session.answer(Effort::Work, listed).await?;
    for warning in &listed.warnings {
        output::complain("weft: ", warning);
    }
    if args.json {
        for change in &listed.changes {
            output::json_line(&as_json(change))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let of = args.object.as_deref().unwrap_or("everything");
    let mut pages = Pages::new(all.no_pager);
    pages.text(heading(of, from, to.unwrap_or(now)))?;
    let lines: String = listed.changes.iter().map(lines).collect();
    pages.text(lines)?;
    match (listed.changes.len(), listed.more) {
        (0, _) => pages.text("none\n")?,
        (_, true) => pages.text(
            "There are older ones: --limit shows more of them, --to those before a time.\n",
        )?,
        _ => {}
    }
    pages.end()?;
    Ok(ExitCode::SUCCESS)
}

/// What changes are asked for.
fn object(text: &str) -> Result<Object, CliError> {
    if let Some(number) = text.strip_prefix(PLAN) {
        let wrong = || {
            CliError::Usage(format!(
                "'{text}': expected the number of a plan, such as {PLAN}7"
            ))
        };
        return number.parse().map(Object::PlanId).map_err(|_| wrong());
    }
    Ok(match text.strip_prefix(VIRTUAL_FABRIC) {
        Some(name) => Object::VirtualFabric(name.to_owned()),
        None => Object::Point(part(text)),
    })
}

fn heading(of: &str, from: Option<i64>, to: i64) -> String {
    let of = one_line(of);
    match from {
        None => format!("Changes of {of} up to {} ({})\n", local(to), zone(to)),
        Some(from) => format!(
            "Changes of {of}\nfrom {} to {} ({})\n",
            local(from),
            local(to),
            zone(to)
        ),
    }
}

/// A change: when, what and the outcome; who; why.
fn lines(change: &v1::Change) -> String {
    let time = local(unix_ms(change.time));
    let is_asked = change.origin() == v1::ChangeOrigin::Person;
    let outcome = match (is_asked, change.result.as_str()) {
        (false, _) => String::new(),
        (true, "") => ": no outcome".to_owned(),
        (true, "ok") => ": done".to_owned(),
        (true, result) => format!(": {}", result.replace('_', " ")),
    };
    let mut lines = format!("{time}  {}{outcome}\n", one_line(&change.what));
    lines += &format!("    by {}\n", one_line(&by(change, is_asked)));
    for (name, text) in [("reason", &change.reason), ("refusal", &change.message)] {
        if !text.is_empty() {
            lines += &format!("    {name}: {}\n", one_line(text));
        }
    }
    let places = places(change);
    if !places.is_empty() {
        lines += &format!("    {places}\n");
    }
    lines
}

fn by(change: &v1::Change, is_asked: bool) -> String {
    if !is_asked {
        return "the manager".to_owned();
    }
    let who = match asker(&change.author, &change.peer, "") {
        nobody if nobody.is_empty() => "somebody who is not known".to_owned(),
        who => who,
    };
    match change.way.as_str() {
        "" | "grpc" => who,
        "signal" => "a signal to the daemon".to_owned(),
        way => format!("{who} with {way}"),
    }
}

/// Where to find it again: sweep, plan, record and event.
fn places(change: &v1::Change) -> String {
    let numbers = [
        ("sweep", change.sweep),
        ("plan", change.plan_id),
        ("record", change.record),
    ];
    let numbers = numbers.into_iter().filter(|(_, number)| *number > 0);
    let mut places: Vec<String> = numbers
        .map(|(name, number)| format!("{name} {number}"))
        .collect();
    if !change.event_id.is_empty() {
        places.push(format!("event:{}", one_line(&change.event_id)));
    }
    places.join(", ")
}

fn as_json(change: &v1::Change) -> Value {
    let origin = match change.origin() {
        v1::ChangeOrigin::Person => "person",
        _ => "manager",
    };
    let ports: Vec<Value> = change
        .ports
        .iter()
        .map(|port| port_json(Some(port)))
        .collect();
    json!({
        "time": utc_json(change.time),
        "origin": origin,
        "author": change.author,
        "peer": change.peer,
        "way": change.way,
        "what": change.what,
        "reason": change.reason,
        "result": change.result,
        "message": change.message,
        "ports": ports,
        "kind": change.kind,
        "plan": change.plan_id,
        "sweep": change.sweep,
        "record": change.record,
        "event": change.event_id,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_in_short_lines_and_text_from_outside_is_escaped() {
        let change = v1::Change {
            origin: v1::ChangeOrigin::Person.into(),
            author: "alice".to_owned(),
            peer: "::1".to_owned(),
            way: "grpc".to_owned(),
            what: "disable edge1:3".to_owned(),
            reason: "RMA-1\u{1b}[31m\nx".to_owned(),
            result: "ok".to_owned(),
            record: 7,
            event_id: "18ab-41".to_owned(),
            ..v1::Change::default()
        };
        let told = lines(&change);
        let (_, told) = told.split_once("  ").expect("a time");
        assert_eq!(
            told,
            "disable edge1:3: done\n    by alice at ::1\n    reason: RMA-1\\x1b[31m x\n    record 7, event:18ab-41\n"
        );
        let found = v1::Change {
            what: "link edge1:3 to core1:1 vanished".to_owned(),
            sweep: 4,
            ..v1::Change::default()
        };
        let told = lines(&found);
        assert!(
            told.ends_with("vanished\n    by the manager\n    sweep 4\n"),
            "{told}"
        );
    }

    #[test]
    fn objects_are_read() {
        for (text, expected) in [
            ("plan:7", Some(Object::PlanId(7))),
            ("plan:x", None),
            (
                "vf:Default",
                Some(Object::VirtualFabric("Default".to_owned())),
            ),
            ("edge1", Some(Object::Point("node:edge1".to_owned()))),
            (
                "node:edge1:port:3",
                Some(Object::Point("node:edge1:port:3".to_owned())),
            ),
        ] {
            assert_eq!(object(text).ok(), expected, "{text}");
        }
    }
}
