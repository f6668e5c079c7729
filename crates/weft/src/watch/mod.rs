//! `weft watch`: events as they come, as lines in `text` or as JSON in `json`.

mod json;
mod text;

use std::process::ExitCode;

use tokio_stream::StreamExt;
use weft_api::v1::{self, watch_response::Content};

pub(crate) use self::json::{content_json, guid};
pub(crate) use self::text::line;
use crate::args::{Daemon, Watch};
use crate::connect::{Effort, connect};
use crate::error::CliError;
use crate::output;
use crate::time::utc_of;

pub(crate) async fn run(daemon: &Daemon, args: &Watch) -> Result<ExitCode, CliError> {
    let session = connect(daemon).await?;
    let resume_token = args.resume.clone().unwrap_or_default();
    let mut service = session.endless().watch();
    let events = service.watch(v1::WatchRequest {
        resume_token,
        kinds: args.kinds.clone(),
    });
    let mut events = session.answer(Effort::Look, events).await?;
    let mut left = args.count.unwrap_or(u64::MAX);
    while left > 0 {
        let Some(event) = events.next().await else {
            return Err(CliError::Refused("the daemon ended the stream".to_owned()));
        };
        let event = match event {
            Ok(event) => event,
            Err(status) => return Err(session.explain(Effort::Look, status).await),
        };
        let counts = !matches!(event.content, Some(Content::Marker(_)) | None);
        match args.json {
            true => output::json_line(&json::event(&event))?,
            false => output::text(format_args!("{} {}\n", utc_of(event.time), line(&event)))?,
        }
        left -= u64::from(counts);
    }
    Ok(ExitCode::SUCCESS)
}

/// A phase of a sweep by its name.
fn phase(entered: &v1::PhaseEntered) -> String {
    let name = entered
        .phase()
        .as_str_name()
        .trim_start_matches("SWEEP_PHASE_");
    name.to_lowercase()
}
