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
    let text = match listed.incidents.is_empty() {
        true => "no incident is saved\n".to_owned(),
        false => listed.incidents.iter().map(lines).collect(),
    };
    output::text(text)?;
    Ok(ExitCode::SUCCESS)
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
