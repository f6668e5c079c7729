//! `weft sweep`.

use std::io::{IsTerminal, stderr};
use std::process::ExitCode;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use tokio_stream::StreamExt;
use tonic::Streaming;
use weft_api::client::Client;
use weft_api::v1::{self, watch_response::Content};

use crate::args::{Daemon, Sweep};
use crate::connect::connect;
use crate::error::CliError;
use crate::output;
use crate::time::duration;

pub(crate) async fn run(daemon: &Daemon, args: &Sweep) -> Result<ExitCode, CliError> {
    let client = connect(daemon).await?;
    if args.list {
        return list(&client, args.json).await;
    }
    if args.wait {
        return wait(&client, args.json).await;
    }
    let response = client
        .sweeps()
        .start_sweep(v1::StartSweepRequest {})
        .await?;
    let number = response.into_inner().number;
    match args.json {
        true => output::json(&json!({ "number": number }))?,
        false => output::text(format_args!("sweep {number} asked for\n"))?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(client: &Client, json: bool) -> Result<ExitCode, CliError> {
    let response = client
        .sweeps()
        .list_sweeps(v1::ListSweepsRequest::default())
        .await?;
    let sweeps = response.into_inner().sweeps;
    if json {
        output::json(&sweeps.iter().map(as_json).collect::<Vec<_>>())?;
    } else {
        let lines = sweeps.iter().map(|sweep| summary(sweep) + "\n");
        output::text(lines.collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The end of a sweep, for who wants to see it.
pub(crate) struct Waiting(Streaming<v1::WatchResponse>);

impl Waiting {
    /// Watches; to be called before a sweep is asked for, so that no event is missed.
    pub(crate) async fn begin(client: &Client) -> Result<Self, CliError> {
        let events = client.watch().watch(v1::WatchRequest::default()).await?;
        Ok(Self(events.into_inner()))
    }

    /// Waits for the end of a sweep.
    pub(crate) async fn end(mut self, number: u64) -> Result<v1::Sweep, CliError> {
        let progress = spinner(number);
        let sweep = ended(&mut self.0, number, &progress).await;
        progress.finish_and_clear();
        sweep
    }
}

async fn wait(client: &Client, json: bool) -> Result<ExitCode, CliError> {
    let waiting = Waiting::begin(client).await?;
    let response = client
        .sweeps()
        .start_sweep(v1::StartSweepRequest {})
        .await?;
    let sweep = waiting.end(response.into_inner().number).await?;
    match json {
        true => output::json(&as_json(&sweep))?,
        false => output::text(format_args!("{}\n", details(&sweep)))?,
    }
    Ok(match sweep.unfinished.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(1),
    })
}

async fn ended(
    events: &mut Streaming<v1::WatchResponse>,
    number: u64,
    progress: &ProgressBar,
) -> Result<v1::Sweep, CliError> {
    while let Some(event) = events.next().await {
        match event?.content {
            Some(Content::PhaseEntered(entered)) => {
                progress.set_message(phase_name(entered.phase()));
            }
            Some(Content::SweepEnded(sweep)) if sweep.number >= number => return Ok(sweep),
            _ => {}
        }
    }
    Err(CliError::Refused(
        "the daemon ended before the sweep did".to_owned(),
    ))
}

/// A spinner on a terminal, nothing elsewhere.
fn spinner(number: u64) -> ProgressBar {
    if !stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix}: {msg} ({elapsed})") {
        bar.set_style(style);
    }
    bar.set_prefix(format!("sweep {number}"));
    bar.set_message("waiting");
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
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
        count => format!(", {count} things unfinished"),
    };
    format!(
        "{} ({}), {}: {} HFIs, {} switches, {} links, {} ports active, {} datagrams, {} sets{}",
        sweep.number,
        reason_name(sweep.reason()),
        duration(sweep.elapsed_ns),
        sweep.hfis,
        sweep.switches,
        sweep.links,
        sweep.active_ports,
        sweep.sent,
        sweep.sets,
        unfinished
    )
}

fn details(sweep: &v1::Sweep) -> String {
    let mut lines = vec![format!("sweep {}", summary(sweep))];
    let names = ["discover", "plan", "program", "activate"];
    let phases = names.iter().zip(&sweep.phase_ns);
    let phases = phases.map(|(name, ns)| format!("{name} {}", duration(*ns)));
    lines.push(format!("phases: {}", phases.collect::<Vec<_>>().join(", ")));
    lines.push(format!("{} nodes looked at", sweep.asked));
    if !sweep.routing.is_empty() {
        lines.push(format!("routing: {}", sweep.routing));
    }
    if sweep.retries + sweep.timeouts > 0 {
        lines.push(format!(
            "{} retries, {} timeouts",
            sweep.retries, sweep.timeouts
        ));
    }
    lines.extend(
        sweep
            .unfinished
            .iter()
            .map(|what| format!("unfinished: {what}")),
    );
    lines.join("\n")
}

/// A sweep as JSON.
pub(crate) fn as_json(sweep: &v1::Sweep) -> Value {
    json!({
        "number": sweep.number,
        "reason": reason_name(sweep.reason()),
        "generation": sweep.generation,
        "elapsed_ns": sweep.elapsed_ns,
        "phase_ns": sweep.phase_ns,
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
    })
}
