//! `weft emulator`.

use std::fmt::Write;
use std::process::ExitCode;

use serde_json::{Value, json};
use weft_api::emulator_v1 as v1;
use weft_fabric::text::count;

use crate::args::{Daemon, Emulator, Traffic, TrafficStart};
use crate::asked::author;
use crate::connect::{Effort, connect};
use crate::error::CliError;
use crate::output;
use crate::unreported;

/// Characters of a pattern in the table.
const PATTERN_MAX: usize = 60;
const GIGA: f64 = 1e9;

pub(crate) async fn run(daemon: &Daemon, command: &Emulator) -> Result<ExitCode, CliError> {
    let Emulator::Traffic(command) = command;
    let session = connect(daemon).await?;
    let mut service = session.services(Effort::Look).emulator();
    match command {
        Traffic::Start(args) => {
            let started = service.start_traffic(v1::StartTrafficRequest {
                job: Some(job(args)),
                reason: args.reason.clone(),
                author: author(),
            });
            session.answer(Effort::Look, started).await?;
            let done = format!("started {}\n", args.name);
            unreported::or_keep(output::text(&done), &done)?;
        }
        Traffic::Stop(args) => {
            let what = args.name.clone().unwrap_or("all traffic".to_owned());
            let stopped = service.stop_traffic(v1::StopTrafficRequest {
                name: args.name.clone().unwrap_or_default(),
                reason: args.reason.clone(),
                author: author(),
            });
            session.answer(Effort::Look, stopped).await?;
            let done = format!("stopped {what}\n");
            unreported::or_keep(output::text(&done), &done)?;
        }
        Traffic::List { json } => {
            let listed = service.list_traffic(v1::ListTrafficRequest {});
            let listed = session.answer(Effort::Look, listed).await?;
            match json {
                true => output::json(&listed_json(&listed))?,
                false => output::text(listed_text(&listed))?,
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn job(args: &TrafficStart) -> v1::TrafficJob {
    v1::TrafficJob {
        name: args.name.clone(),
        pattern: args.pattern.join(" "),
        rate_percent: args.rate,
        payload: args.payload,
    }
}

fn listed_text(listed: &v1::ListTrafficResponse) -> String {
    if listed.jobs.is_empty() {
        return "no traffic\n".to_owned();
    }
    let mut text = format!(
        "{:<16} {:>9} {:>9} {:>9} {:>7} {:>7}  PATTERN\n",
        "NAME", "GB/S", "SLOWEST", "FASTEST", "SENDERS", "BLOCKED"
    );
    for status in &listed.jobs {
        let job = status.job.clone().unwrap_or_default();
        let mut pattern: String = job.pattern.chars().take(PATTERN_MAX).collect();
        if pattern.len() < job.pattern.len() {
            pattern.push('…');
        }
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<16} {:>9.2} {:>9.2} {:>9.2} {:>7} {:>7}  {pattern}",
            job.name,
            status.bytes_per_second / GIGA,
            status.slowest / GIGA,
            status.fastest / GIGA,
            status.senders,
            status.blocked,
        );
    }
    let _ = writeln!(
        text,
        "{} moved by adaptive routing",
        count(listed.routes_moved, "route")
    );
    text
}

fn listed_json(listed: &v1::ListTrafficResponse) -> Value {
    let jobs = listed.jobs.iter().map(|status| {
        let job = status.job.clone().unwrap_or_default();
        json!({
            "name": job.name,
            "pattern": job.pattern,
            "rate_percent": job.rate_percent,
            "payload": job.payload,
            "senders": status.senders,
            "blocked": status.blocked,
            "gb_per_second": status.bytes_per_second / GIGA,
            "slowest_gb_per_second": status.slowest / GIGA,
            "fastest_gb_per_second": status.fastest / GIGA,
        })
    });
    let jobs: Vec<Value> = jobs.collect();
    json!({ "jobs": jobs, "routes_moved": listed.routes_moved })
}
