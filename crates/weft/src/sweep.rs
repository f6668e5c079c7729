//! `weft sweep`.

use std::process::ExitCode;

use serde_json::{Value, json};
use tokio_stream::StreamExt;
use tonic::Streaming;
use weft_api::time::{ns, seconds};
use weft_api::v1::{self, watch_response::Content};
use weft_fabric::text::count;

use crate::args::{Daemon, Sweep};
use crate::asked::label;
use crate::connect::{Effort, Session, connect};
use crate::error::CliError;
use crate::output;
use crate::progress::Progress;
use crate::route::is_confirmed;
use crate::time::duration;

pub(crate) async fn run(daemon: &Daemon, args: &Sweep) -> Result<ExitCode, CliError> {
    let session = connect(daemon).await?;
    if args.list {
        return list(&session, args.json).await;
    }
    if args.wait {
        return wait(&session, args).await;
    }
    let number = start(&session, &args.why.reason).await?;
    match args.json {
        true => output::json(&json!({ "number": number }))?,
        false => output::text(format_args!("sweep {number} requested\n"))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Requests a sweep; returns its number.
async fn start(session: &Session, reason: &str) -> Result<u64, CliError> {
    let mut sweeps = session.services(Effort::Look).sweeps();
    let started = sweeps.start_sweep(v1::StartSweepRequest {
        label: label(reason, ""),
    });
    Ok(session.answer(Effort::Look, started).await?.number)
}

async fn list(session: &Session, json: bool) -> Result<ExitCode, CliError> {
    let mut sweeps = session.services(Effort::Look).sweeps();
    let listed = sweeps.list_sweeps(v1::ListSweepsRequest::default());
    let sweeps = session.answer(Effort::Look, listed).await?.sweeps;
    if json {
        output::json(&sweeps.iter().map(as_json).collect::<Vec<_>>())?;
    } else {
        let lines = sweeps.iter().map(|sweep| summary(sweep) + "\n");
        output::text(lines.collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Waits for the end of a sweep.
pub(crate) struct Waiting<'a> {
    session: &'a Session,
    events: Streaming<v1::WatchResponse>,
}

impl<'a> Waiting<'a> {
    /// Starts watching; call it before requesting a sweep, so that no event is missed.
    pub(crate) async fn begin(session: &'a Session) -> Result<Self, CliError> {
        let mut watch = session.endless().watch();
        let events = watch.watch(v1::WatchRequest::default());
        let events = session.answer(Effort::Look, events).await?;
        Ok(Self { session, events })
    }

    /// The content of the next event.
    async fn next(&mut self) -> Result<Option<Content>, CliError> {
        match self.events.next().await {
            Some(Ok(event)) => Ok(event.content),
            Some(Err(status)) => Err(self.session.explain(Effort::Long, status).await),
            None => Err(CliError::Refused(
                "the daemon ended before the sweep did".to_owned(),
            )),
        }
    }

    /// Waits for the end of a sweep.
    pub(crate) async fn end(mut self, number: u64) -> Result<v1::Sweep, CliError> {
        let progress = Progress::start(&format!("sweep {number}: waiting"));
        let session = self.session;
        let swept = ended(&mut self, number, &progress);
        session.in_time(Effort::Long, swept).await
    }

    /// Waits for the end of a sweep that carries out an operation, and, where devices were slow in it, of those that ask them
    /// again: the last one.
    pub(crate) async fn settled(
        mut self,
        number: u64,
        operation: &str,
    ) -> Result<v1::Sweep, CliError> {
        let progress = Progress::start(&format!("sweep {number}: waiting"));
        let session = self.session;
        let settled = async {
            let sweep = ended(&mut self, number, &progress).await?;
            match is_confirmed(&sweep) {
                true => Ok(sweep),
                false => asked_again(&mut self, sweep, operation, &progress).await,
            }
        };
        session.in_time(Effort::Long, settled).await
    }
}

async fn wait(session: &Session, args: &Sweep) -> Result<ExitCode, CliError> {
    let waiting = Waiting::begin(session).await?;
    let sweep = waiting.end(start(session, &args.why.reason).await?).await?;
    match args.json {
        true => output::json(&as_json(&sweep))?,
        false => output::text(format_args!("{}\n", details(&sweep)))?,
    }
    Ok(match sweep.unfinished.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(1),
    })
}

async fn ended(
    waiting: &mut Waiting<'_>,
    number: u64,
    progress: &Progress,
) -> Result<v1::Sweep, CliError> {
    loop {
        match waiting.next().await? {
            Some(Content::PhaseEntered(entered)) => {
                let phase = phase_name(entered.phase());
                progress.now(format!("sweep {number}: {phase}"));
            }
            Some(Content::SweepEnded(sweep)) if sweep.number >= number => return Ok(sweep),
            _ => {}
        }
    }
}

/// Waits until an operation is settled that `sweep` has left unfinished: the last sweep.
async fn asked_again(
    waiting: &mut Waiting<'_>,
    mut sweep: v1::Sweep,
    operation: &str,
    progress: &Progress,
) -> Result<v1::Sweep, CliError> {
    loop {
        let number = sweep.number;
        progress.now(format!(
            "sweep {number} left something undone: the next one tries again"
        ));
        match waiting.next().await? {
            Some(Content::SweepEnded(later)) => sweep = later,
            Some(Content::OperationChanged(changed))
                if changed.id == operation && changed.state() != v1::OperationState::Applying =>
            {
                return Ok(sweep);
            }
            _ => {}
        }
    }
}

fn phase_name(phase: v1::SweepPhase) -> &'static str {
    match phase {
        v1::SweepPhase::Unspecified | v1::SweepPhase::Waiting => "waiting",
        v1::SweepPhase::Discover => "discovering",
        v1::SweepPhase::Plan => "planning",
        v1::SweepPhase::Program => "programming",
        v1::SweepPhase::Activate => "activating",
        v1::SweepPhase::Ended => "ended",
    }
}

pub(crate) fn reason_name(reason: v1::SweepReason) -> String {
    let name = reason.as_str_name().trim_start_matches("SWEEP_REASON_");
    name.to_lowercase()
}

/// A sweep in one line.
pub(crate) fn summary(sweep: &v1::Sweep) -> String {
    let unfinished = match sweep.unfinished.len() {
        0 => String::new(),
        things => format!(", {} unfinished", count(things, "thing")),
    };
    let unused = match sweep.unused_link_count {
        0 => String::new(),
        links => format!(", {} without data", count(links, "link")),
    };
    format!(
        "{} ({}), {}: {}, {}, {}, {} active, {}, {}{}{}",
        sweep.number,
        reason_name(sweep.reason()),
        duration(ns(sweep.elapsed)),
        count(sweep.hfis, "HFI"),
        count(sweep.switches, "switch"),
        count(sweep.links, "link"),
        count(sweep.active_ports, "port"),
        count(sweep.sent, "datagram"),
        count(sweep.sets, "set"),
        unused,
        unfinished
    )
}

fn details(sweep: &v1::Sweep) -> String {
    let mut lines = vec![format!("sweep {}", summary(sweep))];
    let names = ["discover", "plan", "program", "activate"];
    let phases = names.iter().zip(&sweep.phase_elapsed);
    let phases = phases.map(|(name, time)| format!("{name} {}", duration(ns(Some(*time)))));
    lines.push(format!("phases: {}", phases.collect::<Vec<_>>().join(", ")));
    lines.push(format!("{} examined", count(sweep.asked, "node")));
    if !sweep.routing.is_empty() {
        lines.push(format!("routing: {}", sweep.routing));
    }
    if sweep.retries + sweep.timeouts > 0 {
        lines.push(format!(
            "{}, {}",
            count(sweep.retries, "retry"),
            count(sweep.timeouts, "timeout")
        ));
    }
    lines.extend(
        sweep
            .unfinished
            .iter()
            .map(|what| format!("unfinished: {what}")),
    );
    lines.extend(sweep.unused_links.iter().map(|link| {
        let ends = unused_ends(link);
        format!("carries no data: {ends}: {}", link.reason)
    }));
    let more = (sweep.unused_link_count as usize).saturating_sub(sweep.unused_links.len());
    if more > 0 {
        lines.push(format!("carry no data: {}", count(more, "more link")));
    }
    lines.join("\n")
}

/// Both ends of a link that carries no data.
pub(crate) fn unused_ends(link: &v1::UnusedLink) -> String {
    let (a, b) = (link.a.as_ref(), link.b.as_ref());
    format!("{} - {}", port_name(a), port_name(b))
}

/// A port, with name and GUID of its node.
pub(crate) fn port_name(named: Option<&v1::NamedPort>) -> String {
    let named = named.cloned().unwrap_or_default();
    let port = named.port.unwrap_or_default();
    let (name, guid) = (named.node_name, port.node_guid);
    format!("{name} ({guid:#018x}) port {}", port.port)
}

/// A link that carries no data as JSON.
pub(crate) fn unused_json(link: &v1::UnusedLink) -> Value {
    json!({
        "a": port_json(link.a.as_ref()),
        "b": port_json(link.b.as_ref()),
        "reason": link.reason,
    })
}

/// A port with the name of its node, as JSON.
pub(crate) fn port_json(named: Option<&v1::NamedPort>) -> Value {
    let named = named.cloned().unwrap_or_default();
    let port = named.port.unwrap_or_default();
    json!({
        "guid": format!("{:#018x}", port.node_guid),
        "name": named.node_name,
        "port": port.port,
    })
}

/// A sweep as JSON.
pub(crate) fn as_json(sweep: &v1::Sweep) -> Value {
    json!({
        "number": sweep.number,
        "reason": reason_name(sweep.reason()),
        "generation": sweep.generation,
        "seconds": seconds(sweep.elapsed),
        "phase_seconds": sweep.phase_elapsed.iter().map(|time| seconds(Some(*time))).collect::<Vec<_>>(),
        "asked": sweep.asked,
        "sent": sweep.sent,
        "sets": sweep.sets,
        "retries": sweep.retries,
        "timeouts": sweep.timeouts,
        "switches": sweep.switches,
        "hfis": sweep.hfis,
        "links": sweep.links,
        "active_ports": sweep.active_ports,
        "routing": sweep.routing,
        "unfinished": sweep.unfinished,
        "unused_link_count": sweep.unused_link_count,
        "unused_links": sweep.unused_links.iter().map(unused_json).collect::<Vec<_>>(),
        "blocks": sweep.blocks,
        "written_switch_count": sweep.written_switch_count,
        "written_switches": sweep.written_switches.iter().map(written_json).collect::<Vec<_>>(),
        "certificate": sweep.certificate.as_ref().map(certificate_json),
    })
}

/// A switch whose table a sweep has changed, as JSON.
pub(crate) fn written_json(switch: &v1::WrittenSwitch) -> Value {
    json!({
        "guid": format!("{:#018x}", switch.guid),
        "name": switch.name,
        "blocks": switch.blocks,
    })
}

/// What is proved of routes, as JSON.
pub(crate) fn certificate_json(proved: &v1::RouteCertificate) -> Value {
    json!({
        "routes": proved.routes,
        "disconnected": proved.disconnected,
        "dependencies": proved.dependencies,
    })
}
