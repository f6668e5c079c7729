//! `weft incident`: copies of the recording of the subnet manager's inputs.

use std::process::ExitCode;

use serde_json::{Value, json};
use weft_api::v1;

use crate::args::{Daemon, IncidentCommand, IncidentSave};
use crate::asked::author;
use crate::connect::{Effort, Session, connect};
use crate::counters::units::bytes_of;
use crate::error::CliError;
use crate::output::{self, one_line};
use crate::time::{utc_json, utc_of};

pub(crate) async fn run(daemon: &Daemon, command: &IncidentCommand) -> Result<ExitCode, CliError> {
    let session = connect(daemon).await?;
    match command {
        IncidentCommand::Save(args) => save(&session, args).await,
        IncidentCommand::List { json } => list(&session, *json).await,
    }
}

async fn save(session: &Session, args: &IncidentSave) -> Result<ExitCode, CliError> {
    let mut service = session.services(Effort::Work).incidents();
    let saved = service.save_incident(v1::SaveIncidentRequest {
        reason: args.reason.clone(),
        author: author(),
    });
    let saved = session.answer(Effort::Work, saved).await?;
    let incident = saved.incident.unwrap_or_default();
    match args.json {
        true => output::json(&as_json(&incident))?,
        false => {
            let file = one_line(&incident.file);
            output::text(format!(
                "saved {} on the daemon's host\n{file}\n`weft-lab replay FILE` runs it again\n",
                bytes_of(incident.bytes as f64)
            ))?;
        }
    }
    if let Some(ended) = saved.recording.as_ref().and_then(ended) {
        output::complain("weft: ", &ended);
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(session: &Session, json: bool) -> Result<ExitCode, CliError> {
    let mut service = session.services(Effort::Look).incidents();
    let listed = service.list_incidents(v1::ListIncidentsRequest {});
    let listed = session.answer(Effort::Look, listed).await?;
    if json {
        output::json(&listed.incidents.iter().map(as_json).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let text: String = match listed.incidents.is_empty() {
        true => "no incident is saved\n".to_owned(),
        false => listed.incidents.iter().map(lines).collect(),
    };
    let recording = listed.recording.as_ref().map(recorded);
    output::text(recording.unwrap_or_default() + &text)?;
    Ok(ExitCode::SUCCESS)
}

/// What is recorded now.
fn recorded(recording: &v1::Recording) -> String {
    let goes_on = || {
        format!(
            "recording since {}: {} of {}",
            utc_of(recording.begin),
            bytes_of(recording.bytes as f64),
            bytes_of(recording.budget as f64)
        )
    };
    ended(recording).unwrap_or_else(goes_on) + "\n"
}

/// That a recording has ended, and what follows; none while it goes on.
fn ended(recording: &v1::Recording) -> Option<String> {
    let end = recording.end?;
    Some(format!(
        "RECORDING ENDED {}, begun {}:\n    {}\n    nothing later is recorded until the next start of weftd",
        utc_of(Some(end)),
        utc_of(recording.begin),
        one_line(&recording.end_reason)
    ))
}

/// When, what and how much; then why, and the file.
fn lines(incident: &v1::Incident) -> String {
    let why = match &incident.reason[..] {
        "" => String::new(),
        reason => format!("    {}\n", one_line(reason)),
    };
    format!(
        "{}  {}, {}\n{why}    {}\n",
        utc_of(incident.time),
        one_line(&incident.kind).replace('-', " "),
        bytes_of(incident.bytes as f64),
        one_line(&incident.file)
    )
}

fn as_json(incident: &v1::Incident) -> Value {
    json!({
        "file": incident.file,
        "time": utc_json(incident.time),
        "kind": incident.kind,
        "reason": incident.reason,
        "bytes": incident.bytes,
    })
}
