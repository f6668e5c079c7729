//! `weft quarantine`.

mod why;

use std::process::ExitCode;

use serde_json::{Value, json};
use weft_api::time::{Duration, ns, seconds};
use weft_api::v1;
use weft_fabric::text::count;

use crate::args::{Daemon, QuarantineAdd, QuarantineCommand};
use crate::asked::author;
use crate::connect::{Effort, Session, connect};
use crate::error::CliError;
use crate::output;
use crate::port::resolve;
use crate::sweep::{port_json, port_name};

pub(crate) async fn run(
    daemon: &Daemon,
    command: &QuarantineCommand,
) -> Result<ExitCode, CliError> {
    let session = connect(daemon).await?;
    match command {
        QuarantineCommand::List { point, json } => {
            let point = point.as_deref().unwrap_or_default();
            list(&session, point, *json).await
        }
        QuarantineCommand::Why { point, json } => why::run(&session, point, *json).await,
        QuarantineCommand::Add(add) => self::add(&session, add).await,
        QuarantineCommand::Release { point, reason } => release(&session, point, reason).await,
    }
}

/// All entries of a part of the fabric, page by page.
async fn all(session: &Session, point: &str) -> Result<Vec<v1::QuarantinedPort>, CliError> {
    let mut request = v1::ListQuarantineRequest {
        point: point.to_owned(),
        ..v1::ListQuarantineRequest::default()
    };
    let mut ports = Vec::new();
    loop {
        let mut service = session.services(Effort::Look).ports();
        let listed = service.list_quarantine(request.clone());
        let listed = session.answer(Effort::Look, listed).await?;
        ports.extend(listed.ports);
        if listed.next_page_token.is_empty() {
            return Ok(ports);
        }
        request.page_token = listed.next_page_token;
    }
}

async fn list(session: &Session, point: &str, json: bool) -> Result<ExitCode, CliError> {
    let ports = all(session, point).await?;
    if json {
        output::json(&ports.iter().map(as_json).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = match ports.is_empty() {
        true if !point.is_empty() => format!("no port of {point} is in quarantine or held back\n"),
        true => "no port is in quarantine or held back\n".to_owned(),
        false => ports.iter().map(line).collect(),
    };
    output::text(text)?;
    Ok(ExitCode::SUCCESS)
}

async fn add(session: &Session, add: &QuarantineAdd) -> Result<ExitCode, CliError> {
    for (port, name) in resolve(session, &add.point, false).await? {
        let number = port.port;
        let request = v1::QuarantinePortRequest {
            port: Some(port),
            comment: add.reason.clone(),
            force: add.force,
            validate_only: add.dry_run,
            author: author(),
        };
        let mut service = session.services(Effort::Work).ports();
        let put = service.quarantine_port(request);
        let put = session.answer(Effort::Work, put).await?;
        output::text(match add.dry_run {
            true => format!("would put port {number} of {name} into quarantine\n"),
            false => format!(
                "put port {number} of {name} into quarantine; routes leave out its link from sweep {} on\n",
                put.sweep
            ),
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn release(session: &Session, point: &str, reason: &str) -> Result<ExitCode, CliError> {
    for (port, name) in resolve(session, point, false).await? {
        let number = port.port;
        let request = v1::ReleasePortRequest {
            port: Some(port),
            author: author(),
            reason: reason.to_owned(),
        };
        let mut service = session.services(Effort::Work).ports();
        let released = service.release_port(request);
        let released = session.answer(Effort::Work, released).await?;
        output::text(format!(
            "released port {number} of {name}; sweep {} uses its link if it is up\n",
            released.sweep
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn line(port: &v1::QuarantinedPort) -> String {
    if port.by_errors {
        return error_line(port);
    }
    let state = match port.quarantined {
        true => "in quarantine",
        false => "held back",
    };
    let (name, since) = (port_name(port.port.as_ref()), span(port.age));
    if port.by_topology {
        return format!(
            "{name}: {state} for {since}, until fabric and file agree: {}\n",
            port.comment
        );
    }
    if port.refused {
        return format!(
            "{name}: {state} for {since}, until the device is right: {}\n",
            port.comment
        );
    }
    match port.by_hand {
        true => format!(
            "{name}: {state} for {since}, until it is released: {}\n",
            by_hand(&port.comment)
        ),
        false => format!(
            "{name}: {state} for {since}, {} more; its link went down {} within WindowSize\n",
            span(port.left),
            count(port.losses, "time")
        ),
    }
}

/// A link that breaks a rule for links with errors.
fn error_line(port: &v1::QuarantinedPort) -> String {
    let ends = [&port.port, &port.far].map(|end| port_name(end.as_ref()));
    format!("{} to {}: {}\n", ends[0], ends[1], error_state(port))
}

/// What is done about such a link.
fn error_state(port: &v1::QuarantinedPort) -> String {
    let (since, what) = (span(port.age), &port.comment);
    match (port.quarantined, port.dry_run) {
        (true, _) => {
            let left = span(port.left);
            format!("in quarantine for {since}, {left} more: {what}")
        }
        (false, true) => format!("dry run, would be in quarantine for {since}: {what}"),
        (false, false) => format!("in use with errors for {since}, {}: {what}", port.spared),
    }
}

/// Why a port is in quarantine that was put there.
pub(crate) fn by_hand(comment: &str) -> String {
    match comment {
        "" => "by hand".to_owned(),
        comment => format!("by hand, {comment}"),
    }
}

/// A time span in minutes and seconds.
pub(crate) fn span(time: Option<Duration>) -> String {
    match ns(time) / 1_000_000_000 {
        seconds if seconds < 60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// Whether time alone ends it.
fn comes_back(port: &v1::QuarantinedPort) -> bool {
    if port.by_errors {
        return port.quarantined;
    }
    !port.by_hand && !port.by_topology && !port.refused
}

fn as_json(port: &v1::QuarantinedPort) -> Value {
    json!({
        "port": port_json(port.port.as_ref()),
        "quarantined": port.quarantined,
        "reason": port.reason,
        "losses": port.losses,
        "since_s": seconds(port.age),
        "left_s": comes_back(port).then_some(seconds(port.left)),
        "by_hand": port.by_hand,
        "by_topology": port.by_topology,
        "refused": port.refused,
        "by_errors": port.by_errors,
        "dry_run": port.dry_run,
        "spared": port.spared,
        "far": port.far.as_ref().map(|far| port_json(Some(far))),
        "comment": port.comment,
    })
}
