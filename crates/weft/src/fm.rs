//! `weft fm`: the manager while it runs.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use weft_api::time::span;
use weft_api::v1;

use crate::args::{Daemon, FmCommand};
use crate::connect::{Effort, Session, connect};
use crate::download::download;
use crate::error::CliError;
use crate::loop_test;
use crate::output;
use crate::time::{utc_json, utc_of};

pub(crate) async fn run(daemon: &Daemon, command: &FmCommand) -> Result<ExitCode, CliError> {
    let session = connect(daemon).await?;
    match command {
        FmCommand::Show { json } => show(&session, *json).await?,
        FmCommand::LogLevel { level: None } => {
            let manager = manager(&session).await?;
            output::text(level_line(manager.log_level.as_ref()))?;
        }
        FmCommand::LogLevel { level: Some(level) } => set_level(&session, level).await?,
        FmCommand::Pause { time } => pause(&session, *time).await?,
        FmCommand::Resume => resume(&session).await?,
        FmCommand::RestorePriority => restore_priority(&session).await?,
        FmCommand::Counters { json, reset } => counters(&session, *json, *reset).await?,
        FmCommand::LoopTest(command) => loop_test::run(&session, command).await?,
        FmCommand::Dump { file } => dump(&session, file).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn manager(session: &Session) -> Result<v1::GetManagerResponse, CliError> {
    let mut service = session.services(Effort::Look).manager();
    let manager = service.get_manager(v1::GetManagerRequest {});
    session.answer(Effort::Look, manager).await
}

async fn show(session: &Session, json: bool) -> Result<(), CliError> {
    let manager = manager(session).await?;
    if json {
        return output::json(&manager_json(&manager));
    }
    let sweeps = match &manager.pause {
        None => "Sweeps: not paused\n".to_owned(),
        Some(pause) => format!("Sweeps: paused until {}\n", utc_of(pause.until_time)),
    };
    let elevated = match manager.elevated {
        true => ", elevated; `weft fm restore-priority` drops back to the normal one",
        false => "",
    };
    let file = match manager.log_file.as_str() {
        "" => String::new(),
        file => format!("Log file: {file}\n"),
    };
    output::text(format!(
        "{}{file}{sweeps}Priority: {}{elevated}\n",
        level_line(manager.log_level.as_ref()),
        manager.priority
    ))
}

fn manager_json(manager: &v1::GetManagerResponse) -> Value {
    let level = manager.log_level.clone().unwrap_or_default();
    json!({
        "log_level": level.filter,
        "log_level_set_by": level.set_by,
        "log_file": manager.log_file,
        "paused_since": manager.pause.map(|pause| utc_json(pause.since_time)),
        "paused_until": manager.pause.map(|pause| utc_json(pause.until_time)),
        "priority": manager.priority,
        "elevated": manager.elevated,
    })
}

fn level_line(level: Option<&v1::LogLevel>) -> String {
    let level = level.cloned().unwrap_or_default();
    format!("Log level: {}, set by {}\n", level.filter, level.set_by)
}

async fn set_level(session: &Session, level: &str) -> Result<(), CliError> {
    let filter = match level {
        "default" => String::new(),
        level => level.to_owned(),
    };
    let mut service = session.services(Effort::Look).manager();
    let set = service.set_log_level(v1::SetLogLevelRequest { filter });
    let set = session.answer(Effort::Look, set).await?;
    output::text(level_line(set.log_level.as_ref()))
}

async fn pause(session: &Session, time: Duration) -> Result<(), CliError> {
    let duration = Some(span(time));
    let mut service = session.services(Effort::Look).manager();
    let paused = service.pause_sweeps(v1::PauseSweepsRequest { duration });
    let paused = session.answer(Effort::Look, paused).await?;
    let until = utc_of(paused.pause.unwrap_or_default().until_time);
    output::text(format!("sweeps are paused until {until}\n"))
}

async fn resume(session: &Session) -> Result<(), CliError> {
    let mut service = session.services(Effort::Look).manager();
    let resumed = service.resume_sweeps(v1::ResumeSweepsRequest {});
    let resumed = session.answer(Effort::Look, resumed).await?;
    output::text(match resumed.was_paused {
        true => "sweeps are resumed, a sweep begins\n",
        false => "sweeps were not paused\n",
    })
}

async fn restore_priority(session: &Session) -> Result<(), CliError> {
    let mut service = session.services(Effort::Look).manager();
    let restored = service.restore_priority(v1::RestorePriorityRequest {});
    let restored = session.answer(Effort::Look, restored).await?;
    let now = restored.now;
    output::text(match restored.before == now {
        true => format!("the priority is {now}, it was not elevated\n"),
        false => format!(
            "the priority is {now}, it was elevated to {}; a standby that goes before takes over\n",
            restored.before
        ),
    })
}

async fn counters(session: &Session, json: bool, reset: bool) -> Result<(), CliError> {
    let mut service = session.services(Effort::Look).manager();
    let scope = v1::CounterScope::Unspecified.into();
    let counted = match reset {
        false => {
            let counted = service.get_counters(v1::GetCountersRequest { scope });
            session.answer(Effort::Look, counted).await?
        }
        true => {
            let reset = service.reset_counters(v1::ResetCountersRequest { scope });
            let before = session.answer(Effort::Look, reset).await?;
            v1::GetCountersResponse {
                counters: before.counters,
                since_time: before.since_time,
            }
        }
    };
    match json {
        true => output::json(&counters_json(&counted)),
        false => output::text(counters_text(&counted)),
    }
}

fn counters_text(counted: &v1::GetCountersResponse) -> String {
    let mut text = format!("Since {}\n", utc_of(counted.since_time));
    let mut group = "";
    for counter in &counted.counters {
        if counter.group != group {
            group = &counter.group;
            text += &format!("{group}\n");
        }
        text += &format!("{:>15}  {}\n", counter.value, counter.name);
    }
    text
}

fn counters_json(counted: &v1::GetCountersResponse) -> Value {
    let counters = counted.counters.iter().map(|counter| {
        json!({
            "group": counter.group,
            "name": counter.name,
            "value": counter.value,
        })
    });
    json!({
        "since": utc_json(counted.since_time),
        "counters": counters.collect::<Vec<_>>(),
    })
}

async fn dump(session: &Session, file: &Path) -> Result<(), CliError> {
    let mut service = session.services(Effort::Work).manager();
    let dumped = service.dump_state(v1::DumpStateRequest {});
    let to = Some(file).filter(|file| *file != Path::new("-"));
    download(session, dumped, |part| Ok(part.data), to).await
}
