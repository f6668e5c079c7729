//! `weft operation`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weft_api::time::{self, unix_ns};
use weft_api::v1::{self, OperationState};
use weft_fabric::text::count;

use crate::args::{Daemon, OperationCommand, Why};
use crate::asked::author;
use crate::connect::{Effort, Session, connect};
use crate::error::CliError;
use crate::output;
use crate::progress::Progress;
use crate::route::{plan_json, plan_lines};
use crate::time::{duration, utc, utc_json};

/// Longest time that one call waits.
const SLICE: Duration = Duration::from_secs(30);

pub(crate) async fn run(daemon: &Daemon, command: &OperationCommand) -> Result<ExitCode, CliError> {
    let session = connect(daemon).await?;
    match command {
        OperationCommand::List { running, json } => list(&session, *running, *json).await,
        OperationCommand::Show { id, json } => show(&session, id, *json).await,
        OperationCommand::Cancel { id, why } => cancel(&session, id, why).await,
        OperationCommand::Wait { id, limit, json } => wait(&session, id, *limit, *json).await,
    }
}

async fn list(session: &Session, running: bool, json: bool) -> Result<ExitCode, CliError> {
    let mut request = v1::ListOperationsRequest::default();
    if running {
        let states = [OperationState::Planning, OperationState::Applying];
        request.states = states.map(i32::from).to_vec();
    }
    let mut operations = Vec::new();
    loop {
        let mut service = session.services(Effort::Look).operations();
        let listed = service.list_operations(request.clone());
        let listed = session.answer(Effort::Look, listed).await?;
        operations.extend(listed.operations);
        if listed.next_page_token.is_empty() {
            break;
        }
        request.page_token = listed.next_page_token;
    }
    if json {
        output::json(&operations.iter().map(as_json).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = match operations.is_empty() {
        true => "no operation is remembered\n".to_owned(),
        false => operations.iter().map(|one| line(one) + "\n").collect(),
    };
    output::text(text)?;
    Ok(ExitCode::SUCCESS)
}

async fn get(session: &Session, id: &str) -> Result<v1::Operation, CliError> {
    let mut service = session.services(Effort::Look).operations();
    let found = service.get_operation(v1::GetOperationRequest { id: id.to_owned() });
    Ok(session
        .answer(Effort::Look, found)
        .await?
        .operation
        .unwrap_or_default())
}

async fn show(session: &Session, id: &str, json: bool) -> Result<ExitCode, CliError> {
    let operation = get(session, id).await?;
    match json {
        true => output::json(&as_json(&operation))?,
        false => output::text(details(&operation))?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn cancel(session: &Session, id: &str, why: &Why) -> Result<ExitCode, CliError> {
    let mut service = session.services(Effort::Look).operations();
    let cancelled = service.cancel_operation(v1::CancelOperationRequest {
        id: id.to_owned(),
        reason: why.reason.clone(),
        author: author(),
    });
    session.answer(Effort::Look, cancelled).await?;
    output::text(format!("{id} is cancelled: nothing was changed\n"))?;
    Ok(ExitCode::SUCCESS)
}

async fn wait(
    session: &Session,
    id: &str,
    limit: Duration,
    json: bool,
) -> Result<ExitCode, CliError> {
    let until = Instant::now() + limit;
    let progress = Progress::start(&format!("waiting for {id}"));
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let request = v1::WaitOperationRequest {
            id: id.to_owned(),
            timeout: Some(time::span(left.min(SLICE))),
        };
        let mut service = session.services(Effort::Long).operations();
        let waited = service.wait_operation(request);
        let waited = session.answer(Effort::Long, waited).await?;
        let operation = waited.operation.unwrap_or_default();
        progress.now(line(&operation));
        if !waited.settled && Instant::now() < until {
            continue;
        }
        drop(progress);
        match json {
            true => output::json(&as_json(&operation))?,
            false => output::text(line(&operation) + "\n")?,
        }
        return Ok(match (waited.settled, operation.state()) {
            (false, _) => ExitCode::from(5),
            (
                true,
                OperationState::Failed | OperationState::Cancelled | OperationState::Refused,
            ) => ExitCode::from(1),
            (true, _) => ExitCode::SUCCESS,
        });
    }
}

/// An operation in one line.
pub(crate) fn line(operation: &v1::Operation) -> String {
    let what = match operation.what.as_str() {
        "" => kind(operation),
        what => what.to_owned(),
    };
    let by = asker(operation.asked.as_ref());
    format!("{}: {what}: {}{by}", operation.id, standing(operation))
}

/// The state with what belongs to it.
fn standing(operation: &v1::Operation) -> String {
    let told = |text: &str| match text {
        "" => String::new(),
        text => format!(": {text}"),
    };
    let (note, error) = (told(&operation.note), told(&operation.error));
    let state = state(operation);
    match (operation.state(), operation.plan_id) {
        (OperationState::Planned, Some(plan)) => format!("{state} as plan {plan}{error}"),
        (OperationState::Applying, _) => {
            let (done, steps) = (operation.steps_done, operation.steps);
            format!("{state}, {done} of {}{note}", count(steps, "step"))
        }
        _ => format!("{state}{note}{error}"),
    }
}

fn asker(asker: Option<&v1::OperationAsker>) -> String {
    let Some(asker) = asker else {
        return String::new();
    };
    let who = match (&*asker.author, &*asker.peer) {
        ("", "") => String::new(),
        ("", peer) => format!(", from {peer}"),
        (author, "") => format!(", by {author}"),
        (author, peer) => format!(", by {author} from {peer}"),
    };
    match asker.reason.as_str() {
        "" => who,
        reason => format!("{who} ({reason})"),
    }
}

fn details(operation: &v1::Operation) -> String {
    let mut lines = vec![line(operation)];
    let begin = unix_ns(operation.begin_time);
    lines.push(match operation.end_time {
        None => format!("since {}", utc(begin)),
        end @ Some(_) => {
            let took = unix_ns(end).saturating_sub(begin);
            format!("from {} for {}", utc(begin), duration(took))
        }
    });
    if operation.applied.is_some() {
        let by = asker(operation.applied.as_ref());
        lines.push(format!("applied{by}"));
    }
    if operation.cancelled.is_some() {
        let by = asker(operation.cancelled.as_ref());
        lines.push(format!("cancelled{by}"));
    }
    if operation.sweep > 0 {
        lines.push(format!("sweep {}", operation.sweep));
    }
    if let (Some(id), Some(plan)) = (operation.plan_id, &operation.plan) {
        lines.extend(plan_lines(id, plan));
    }
    lines.join("\n") + "\n"
}

fn state(operation: &v1::Operation) -> String {
    let name = operation.state().as_str_name();
    name.trim_start_matches("OPERATION_STATE_").to_lowercase()
}

fn kind(operation: &v1::Operation) -> String {
    let name = operation.kind().as_str_name();
    name.trim_start_matches("OPERATION_KIND_").to_lowercase()
}

/// An operation as JSON.
pub(crate) fn as_json(operation: &v1::Operation) -> Value {
    let asker = |asker: &v1::OperationAsker| json!({ "author": asker.author, "peer": asker.peer, "reason": asker.reason });
    json!({
        "id": operation.id,
        "kind": kind(operation),
        "what": operation.what,
        "state": state(operation),
        "asked": operation.asked.as_ref().map(asker),
        "applied": operation.applied.as_ref().map(asker),
        "cancelled": operation.cancelled.as_ref().map(asker),
        "begin_time": utc_json(operation.begin_time),
        "end_time": utc_json(operation.end_time),
        "steps_done": operation.steps_done,
        "steps": operation.steps,
        "plan_id": operation.plan_id,
        "plan": operation.plan.as_ref().map(plan_json),
        "sweep": operation.sweep,
        "error": operation.error,
        "note": operation.note,
    })
}
