//! From an event back to what it comes from.

use std::collections::BTreeSet;

use serde_json::Value;
use weft_api::time::{timestamp_ms, unix_ms};
use weft_api::v1;
use weft_api::v1::watch_response::Content;
use weft_fabric::text::asker;
use weft_history::{HistoryError, PortKey, audit};

use super::super::Sources;
use super::super::asked::{Asked, Plans};
use super::super::happened::{Happened, sweep_reason, trap_words};
use super::super::named::{KnownNames, number};
use super::episode::Episode;

/// What a sweep found, and what came before it, at most.
const FINDINGS_MAX: usize = 16;
const TRAPS_MAX: usize = 16;
/// From something that was changed to the sweep that finds its consequence.
const BEFORE_MS: i64 = 120_000;

/// Kinds of what a sweep finds.
const FINDINGS: [&str; 6] = [
    "link_vanished",
    "link_appeared",
    "node_vanished",
    "node_appeared",
    "link_unused",
    "link_used_again",
];
/// Kinds of what concerns a link that comes or goes thereby.
const AT_LINKS: [&str; 7] = [
    "port_changed",
    "port_quarantined",
    "port_released",
    "trap_storm",
    "multicast_storm",
    "link_isolated",
    "link_errors_over",
];

/// Kinds of what the manager does by itself for a reason that it tells, and of orders.
const ROOTS: [&str; 9] = [
    "config_reloaded",
    "link_isolated",
    "multicast_storm",
    "plan_in_force",
    "port_changed",
    "port_quarantined",
    "port_released",
    "topology_fault",
    "trap_storm",
];

/// Whether nothing more is to be expected behind an event.
fn is_root(event: &Happened) -> bool {
    ROOTS.contains(&event.row.kind.as_str())
}

/// The causes of an event, the nearest first.
pub(super) fn chain(
    sources: &Sources<'_>,
    episode: &Episode,
    warnings: &mut Vec<String>,
) -> Result<Vec<v1::Cause>, HistoryError> {
    let requests = requests(sources, episode)?;
    let of = episode.event();
    let kind = of.row.kind.as_str();
    let mut causes = Vec::new();
    let of_tables = kind == "sweep_ended" || FINDINGS.contains(&kind);
    causes.extend(
        episode
            .of_sweep("sweep_ended")
            .filter(|_| of_tables)
            .and_then(tables),
    );
    let started = episode.of_sweep("sweep_started");
    let begins = started.is_some_and(|event| sweep_reason(&event.body) == "start");
    let findings: Vec<&Happened> = match kind {
        // The first sweep finds everything.
        "sweep_ended" | "sweep_started" if begins => Vec::new(),
        "sweep_ended" | "sweep_started" => findings(episode).collect(),
        _ => vec![of],
    };
    causes.extend(findings.iter().map(|event| happened(event)));
    causes.extend(started.map(|event| v1::Cause {
        kind: v1::CauseKind::Sweep.into(),
        ..happened(event)
    }));
    let traps = started.map(|started| traps(episode, started));
    causes.extend(traps.into_iter().flatten());
    let mut behind = orders(episode, &findings, started);
    behind.retain(|event| event.row.sequence != of.row.sequence);
    for event in &behind {
        causes.push(asked_or_happened(&requests, event));
    }
    if kind != "sweep_ended" && of.is_asked_for() {
        causes.extend(request_of(&requests, of).map(|asked| person(&asked.change)));
    }
    let is_forced = started.is_some_and(|event| sweep_reason(&event.body) == "forced");
    if let Some(started) = started.filter(|_| is_forced && behind.is_empty()) {
        causes.extend(sweep_order(&requests, started).map(|asked| person(&asked.change)));
    }
    // What is told last, unless that is a sweep or a trap.
    let last = behind.last().copied();
    let last = last.or_else(|| started.is_none().then_some(of));
    let is_asked = |cause: &v1::Cause| cause.kind() == v1::CauseKind::Person;
    let is_known = causes.last().is_some_and(is_asked) || last.is_some_and(is_root);
    if !is_known && !begins {
        warnings.push(
            "no order of anybody and no defence of the manager is known before it".to_owned(),
        );
    }
    Ok(causes)
}

/// An event as a cause.
fn happened(event: &Happened) -> v1::Cause {
    let kind = match event.row.kind.as_str() {
        "trap" => v1::CauseKind::Trap,
        _ => v1::CauseKind::Event,
    };
    let trap = match kind {
        v1::CauseKind::Trap => number(event.body.get("number")).unwrap_or(0),
        _ => 0,
    };
    v1::Cause {
        kind: kind.into(),
        time: Some(timestamp_ms(event.row.time_ms)),
        what: event.words(),
        event_id: event.id(),
        sweep: event.sweep,
        trap,
        ..v1::Cause::default()
    }
}

/// A request as a cause.
pub(super) fn person(change: &v1::Change) -> v1::Cause {
    let who = match change.way.as_str() {
        "signal" => "a signal to the daemon".to_owned(),
        _ => asker(&change.author, &change.peer, "somebody"),
    };
    let mut what = format!("{who} asked: {}", change.what);
    if !change.reason.is_empty() {
        what += &format!(" ({})", change.reason);
    }
    v1::Cause {
        kind: v1::CauseKind::Person.into(),
        time: change.time,
        what,
        event_id: change.event_id.clone(),
        sweep: change.sweep,
        record: change.record,
        ..v1::Cause::default()
    }
}

/// The tables that a sweep wrote; none where it wrote none.
fn tables(ended: &Happened) -> Option<v1::Cause> {
    let time = timestamp_ms(ended.row.time_ms);
    let event = weft_api::event_of_json(&ended.row.kind, &ended.row.body, time);
    let Some(Content::SweepEnded(sweep)) = event.content else {
        return None;
    };
    if sweep.blocks == 0 {
        return None;
    }
    // The last phase, activation, comes after all tables.
    let ns = |time: Option<&weft_api::time::Duration>| weft_api::time::ns(time.copied());
    let after_ms = ns(sweep.phase_elapsed.get(3)) / 1_000_000;
    let written = timestamp_ms(ended.row.time_ms - after_ms as i64);
    Some(v1::Cause {
        kind: v1::CauseKind::Tables.into(),
        time: Some(written),
        what: ended.words(),
        event_id: ended.id(),
        sweep: sweep.number,
        blocks: sweep.blocks,
        switches: sweep.written_switches,
        certificate: sweep.certificate,
        ..v1::Cause::default()
    })
}

fn findings(episode: &Episode) -> impl Iterator<Item = &Happened> {
    let is_one = |event: &&Happened| FINDINGS.contains(&event.row.kind.as_str());
    episode.sweep().filter(is_one).take(FINDINGS_MAX)
}

/// The traps that a sweep answers, the last first.
fn traps(episode: &Episode, started: &Happened) -> Vec<v1::Cause> {
    let told = started.body.get("traps").and_then(Value::as_array);
    let told = told.into_iter().flatten().rev().take(TRAPS_MAX);
    let causes = told.map(|trap| {
        let of = number(trap.get("number"));
        let mut before = episode.before();
        let event = before.find(|event| {
            event.row.kind == "trap" && of.is_some() && number(event.body.get("number")) == of
        });
        // Of a flood of traps not each is an event.
        event.map_or_else(
            || v1::Cause {
                kind: v1::CauseKind::Trap.into(),
                time: Some(timestamp_ms(started.row.time_ms)),
                what: trap_words(trap),
                trap: of.unwrap_or(0),
                ..v1::Cause::default()
            },
            happened,
        )
    });
    causes.collect()
}

/// Orders and defences that explain what a sweep found, or why it began; the newest first.
fn orders<'a>(
    episode: &'a Episode,
    findings: &[&Happened],
    started: Option<&Happened>,
) -> Vec<&'a Happened> {
    let keys = |event: &Happened| {
        event
            .named
            .iter()
            .map(|one| one.key)
            .collect::<Vec<PortKey>>()
    };
    let ends: BTreeSet<PortKey> = findings.iter().flat_map(|event| keys(event)).collect();
    let nodes: BTreeSet<u64> = ends
        .iter()
        .filter(|key| key.port == 0)
        .map(|key| key.guid)
        .collect();
    let reason = started.map_or_else(String::new, |event| sweep_reason(&event.body));
    let sweep = episode.event().sweep;
    let latest = started.map_or(episode.event().row.time_ms, |event| event.row.time_ms);
    let of = episode.event();
    let explains = |event: &&Happened| {
        let is_at_links = keys(event)
            .iter()
            .any(|key| ends.contains(key) || nodes.contains(&key.guid));
        match event.row.kind.as_str() {
            "plan_in_force" | "plan_undone" => {
                sweep > 0 && number(event.body.get("sweep")) == Some(sweep)
            }
            "config_reloaded" | "virtual_fabrics_changed" => {
                reason == "reconfigured" && event.row.time_ms + BEFORE_MS >= latest
            }
            "link_vanished" => {
                // What a quarantine comes from.
                ["port_quarantined", "trap_storm"].contains(&of.row.kind.as_str()) && is_at_links
            }
            kind if AT_LINKS.contains(&kind) => {
                is_at_links && event.row.time_ms + BEFORE_MS >= latest
            }
            _ => false,
        }
    };
    // Of what was ordered at a port, only the last counts.
    let mut seen = BTreeSet::new();
    let is_last = |event: &&Happened| {
        let key = event.named.first().map(|one| one.key);
        let counts = AT_LINKS.contains(&event.row.kind.as_str());
        !counts || key.is_none_or(|key| seen.insert(key))
    };
    let events = episode.until_its_end().filter(explains).filter(is_last);
    events.take(FINDINGS_MAX).collect()
}

fn asked_or_happened(requests: &[Asked], event: &Happened) -> v1::Cause {
    request_of(requests, event).map_or_else(
        || {
            let mut cause = happened(event);
            if event.is_asked_for() {
                cause = person(&event.change());
            }
            cause
        },
        |asked| v1::Cause {
            event_id: event.id(),
            ..person(&asked.change)
        },
    )
}

fn request_of<'a>(requests: &'a [Asked], event: &Happened) -> Option<&'a Asked> {
    let mut newest_first = requests.iter().rev();
    newest_first.find(|asked| asked.has_led_to(event))
}

/// The request for a sweep that began.
fn sweep_order<'a>(requests: &'a [Asked], started: &Happened) -> Option<&'a Asked> {
    let before = requests.iter().rev();
    let mut before = before.filter(|asked| unix_ms(asked.change.time) <= started.row.time_ms);
    before.find(|asked| asked.is_for_a_sweep())
}

/// Requests that may have led to events of an episode.
fn requests(sources: &Sources<'_>, episode: &Episode) -> Result<Vec<Asked>, HistoryError> {
    let Some(dir) = sources.audit.as_ref().filter(|dir| dir.is_dir()) else {
        return Ok(Vec::new());
    };
    let at = episode.event().row.time_ms.max(0) as u64;
    let ns = |ms: u64| ms.saturating_mul(1_000_000);
    // Routes may be computed for long before a request ends.
    let from = ns(at.saturating_sub(15 * BEFORE_MS as u64));
    let mut names = KnownNames::default();
    episode
        .until_its_end()
        .for_each(|event| names.note(&event.named));
    let name_of = |guid| sources.name(&names, guid);
    let mut plans = Plans::default();
    let mut requests = Vec::new();
    audit::read(dir, (0, ns(at + BEFORE_MS as u64)), &mut |record| {
        let asked = Asked::of(record, &mut plans, &name_of);
        requests.extend(asked.filter(|asked| asked.time_ns >= from));
    })?;
    Ok(requests)
}
