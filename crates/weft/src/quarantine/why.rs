//! `weft quarantine why`.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use weft_api::time::{duration, seconds, unix_ns};
use weft_api::v1;
use weft_fabric::text::count;

use super::{as_json, by_hand, error_state, span};
use crate::connect::{Effort, Session};
use crate::error::CliError;
use crate::output;
use crate::port::resolve;
use crate::sweep::{port_json, port_name};
use crate::time::utc_of;

/// Times that are printed of a port, the last ones; JSON has all.
const TIMES_MAX: usize = 10;

pub(super) async fn run(session: &Session, point: &str, json: bool) -> Result<ExitCode, CliError> {
    for (port, _) in resolve(session, point, false).await? {
        let request = v1::ExplainQuarantineRequest { port: Some(port) };
        let mut service = session.services(Effort::Look).ports();
        let explained = service.explain_quarantine(request);
        let explained = session.answer(Effort::Look, explained).await?;
        match json {
            true => output::json(&explained_json(&explained))?,
            false => output::text(text(&explained))?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn text(explained: &v1::ExplainQuarantineResponse) -> String {
    let ends: String = explained.ends.iter().map(end).collect();
    let traffic = traffic(explained);
    format!(
        "{ends}link: {}\n{traffic}{}",
        link(explained),
        thresholds(explained.thresholds.as_ref())
    )
}

/// One end of the link: whether it is in quarantine, and when its link was lost.
fn end(end: &v1::PortLosses) -> String {
    let name = port_name(end.port.as_ref());
    let losses = &end.lost_times;
    let went_down = match losses.len() {
        0 => "its link did not go down within WindowSize".to_owned(),
        1 => "its link went down once within WindowSize".to_owned(),
        count => format!("its link went down {count} times within WindowSize"),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_nanos() as u64);
    let left_out = losses.len().saturating_sub(TIMES_MAX);
    let earlier = match left_out {
        0 => String::new(),
        earlier => format!("  {} before that\n", count(earlier, "time")),
    };
    let times = losses.iter().skip(left_out);
    let times = times.map(|at| {
        let ago = duration(now.saturating_sub(unix_ns(Some(*at))));
        format!("  {} ({} ago)\n", utc_of(Some(*at)), span(Some(ago)))
    });
    let times: String = times.collect();
    format!(
        "{name}: {}\n  {went_down}\n{earlier}{times}",
        state(end.entry.as_ref())
    )
}

fn state(entry: Option<&v1::QuarantinedPort>) -> String {
    let Some(entry) = entry else {
        return "not in quarantine".to_owned();
    };
    let since = span(entry.age);
    let left = span(entry.left);
    if entry.by_errors {
        return error_state(entry);
    }
    if entry.by_topology {
        return format!(
            "in quarantine for {since}, until fabric and file agree: {}",
            entry.comment
        );
    }
    if entry.refused {
        return format!(
            "in quarantine for {since}, until the device is right: {}",
            entry.comment
        );
    }
    match (entry.by_hand, entry.quarantined) {
        (true, _) => format!(
            "in quarantine for {since}, {}, until 'weft quarantine release'",
            by_hand(&entry.comment)
        ),
        (false, true) => {
            format!("in quarantine for {since}, comes back by itself in {left} without a loss")
        }
        (false, false) => {
            format!("held back for {since}, comes back by itself in {left} without a loss")
        }
    }
}

fn link(explained: &v1::ExplainQuarantineResponse) -> String {
    match explained.link_use() {
        v1::LinkUse::Unspecified => "not known".to_owned(),
        v1::LinkUse::Down => "down".to_owned(),
        v1::LinkUse::Used => "up, and routes may use it".to_owned(),
        v1::LinkUse::UsedAllTheSame => {
            "up, and used all the same: a part of the fabric would be cut off without it".to_owned()
        }
        v1::LinkUse::UsedUntilSweep => "up, and used until the next sweep has ended".to_owned(),
        v1::LinkUse::LeftOut => format!("up, and routes leave it out: {}", explained.unused_reason),
    }
}

/// What leads over a link between switches, and the way from one end to the other.
fn traffic(explained: &v1::ExplainQuarantineResponse) -> String {
    if explained.way.is_empty() {
        return String::new();
    }
    let way: Vec<String> = explained
        .way
        .iter()
        .map(|port| port_name(Some(port)))
        .collect();
    format!(
        "routes over it: {}, multicast {}\nfrom this end to the other packets leave by: {}\n",
        explained.routes,
        explained.multicast,
        way.join(", ")
    )
}

fn thresholds(thresholds: Option<&v1::LossThresholds>) -> String {
    match thresholds {
        None => "thresholds: LongTermPortQuarantine is off, losses are not counted\n".to_owned(),
        Some(v1::LossThresholds { window, high, low }) => format!(
            "thresholds: in quarantine from {} within {} (HighThreshold, WindowSize)\n  \
             until there are no more than {low} (LowThreshold)\n",
            count(high, "loss"),
            span(*window)
        ),
    }
}

fn explained_json(explained: &v1::ExplainQuarantineResponse) -> Value {
    let link_use = explained.link_use().as_str_name();
    let link_use = link_use.trim_start_matches("LINK_USE_").to_lowercase();
    let ends = explained.ends.iter().map(|end| {
        json!({
            "port": port_json(end.port.as_ref()),
            "lost": end.lost_times.iter().map(|at| utc_of(Some(*at))).collect::<Vec<_>>(),
            "entry": end.entry.as_ref().map(as_json),
        })
    });
    let thresholds = explained.thresholds.map(|thresholds| {
        json!({
            "window_s": seconds(thresholds.window),
            "high": thresholds.high,
            "low": thresholds.low,
        })
    });
    json!({
        "ends": ends.collect::<Vec<_>>(),
        "thresholds": thresholds,
        "link_use": link_use,
        "unused_reason": explained.unused_reason,
        "routes": explained.routes,
        "multicast": explained.multicast,
        "way": explained.way.iter().map(|port| port_json(Some(port))).collect::<Vec<_>>(),
    })
}
