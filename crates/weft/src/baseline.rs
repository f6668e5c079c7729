//! `weft baseline`.

use std::process::ExitCode;

use serde_json::json;
use weft_api::v1;
use weft_fabric::text::count;

use crate::args::{BaselineCommand, Daemon};
use crate::connect::{Effort, Session, connect};
use crate::error::CliError;
use crate::output;
use crate::time::{utc_json, utc_of};

pub(crate) async fn run(daemon: &Daemon, command: &BaselineCommand) -> Result<ExitCode, CliError> {
    let session = connect(daemon).await?;
    match command {
        BaselineCommand::Save { name, replace } => save(&session, name, *replace).await,
        BaselineCommand::List { json } => list(&session, *json).await,
        BaselineCommand::Remove { name } => remove(&session, name).await,
    }
}

async fn save(session: &Session, name: &str, replace: bool) -> Result<ExitCode, CliError> {
    let mut service = session.services(Effort::Work).fabric();
    let saved = service.save_baseline(v1::SaveBaselineRequest {
        name: name.to_owned(),
        replace,
    });
    let saved = session.answer(Effort::Work, saved).await?.baseline;
    let saved = saved.unwrap_or_default();
    output::text(format!(
        "saved {}; to compare: weft check topology --baseline {name}\n",
        contents(&saved)
    ))?;
    Ok(ExitCode::SUCCESS)
}

async fn list(session: &Session, json: bool) -> Result<ExitCode, CliError> {
    let mut service = session.services(Effort::Look).fabric();
    let listed = service.list_baselines(v1::ListBaselinesRequest {});
    let all = session.answer(Effort::Look, listed).await?.baselines;
    if json {
        output::json(&all.iter().map(as_json).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let widest = all.iter().map(|one| one.name.len()).max().unwrap_or(0);
    let lines = all.iter().map(|one| match one.saved_time {
        None => format!("{:widest$}  its file cannot be read\n", one.name),
        time @ Some(_) => {
            let (name, time) = (&one.name, utc_of(time));
            format!("{name:widest$}  {time}  {}\n", contents(one))
        }
    });
    output::text(match all.is_empty() {
        true => "no baseline is saved; to save one: weft baseline save NAME\n".to_owned(),
        false => lines.collect(),
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn remove(session: &Session, name: &str) -> Result<ExitCode, CliError> {
    let mut service = session.services(Effort::Work).fabric();
    let name = name.to_owned();
    let removed = service.remove_baseline(v1::RemoveBaselineRequest { name: name.clone() });
    session.answer(Effort::Work, removed).await?;
    output::text(format!("removed baseline {name}\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn contents(of: &v1::Baseline) -> String {
    let (hfis, switches) = (count(of.hfis, "HFI"), count(of.switches, "switch"));
    format!("{hfis}, {switches}, {}", count(of.links, "link"))
}

fn as_json(one: &v1::Baseline) -> serde_json::Value {
    json!({
        "name": one.name,
        "saved": utc_json(one.saved_time),
        "hfis": one.hfis,
        "switches": one.switches,
        "links": one.links,
    })
}
