//! `weft log`.

use std::process::ExitCode;

use serde_json::{Value, json};
use tokio_stream::StreamExt;
use weft_api::time::{timestamp_ms, unix_ms};
use weft_api::v1;

use super::{Span, USUAL_MS, warn};
use crate::args::{Args, PastLog};
use crate::connect::{Effort, connect};
use crate::error::CliError;
use crate::moment::local;
use crate::output;
use crate::pager::Pages;
use crate::time::utc_of;
use crate::watch;

pub(crate) async fn run(all: &Args, args: &PastLog) -> Result<ExitCode, CliError> {
    let span = Span::new(args.from.as_deref(), args.to.as_deref(), USUAL_MS)?;
    let session = connect(&all.daemon).await?;
    let mut service = session.services(Effort::Work).history();
    let events = service.list_past_events(v1::ListPastEventsRequest {
        from: Some(timestamp_ms(span.from_ms)),
        to: Some(timestamp_ms(span.to_ms)),
        kinds: args.kind.clone(),
        nodes: args.node.clone(),
    });
    let mut events = session.answer(Effort::Work, events).await?;
    let mut pages = Pages::new(all.no_pager);
    if !args.json {
        pages.text(format_args!("Events from {}\n", span.words()))?;
    }
    let mut count = 0_u64;
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(event) => event,
            Err(status) => return Err(session.explain(Effort::Work, status).await),
        };
        warn(&event.warnings);
        if event.kind.is_empty() {
            continue;
        }
        count += 1;
        match args.json {
            true => output::json_line(&as_json(&event))?,
            false => pages.text(line(&event))?,
        }
    }
    if count == 0 && !args.json {
        pages.text("none\n")?;
    }
    pages.end()?;
    Ok(ExitCode::SUCCESS)
}

/// The event as `weft watch` prints it; in the recorder's words where this version does not know it.
fn line(event: &v1::ListPastEventsResponse) -> String {
    let known = event.event.as_ref().filter(|known| known.content.is_some());
    let words = known.map_or_else(|| event.message.clone(), watch::line);
    let words = words.replace('\n', " ");
    let mark = match event.severity.as_str() {
        "info" => "",
        severity => &format!("{severity}: "),
    };
    format!("{} {mark}{words}\n", local(unix_ms(event.time)))
}

fn as_json(event: &v1::ListPastEventsResponse) -> Value {
    let data = event
        .event
        .as_ref()
        .and_then(|known| known.content.as_ref());
    json!({
        "time": utc_of(event.time),
        "event": event.kind,
        "severity": event.severity,
        "node_guid": match event.node_guid {
            0 => Value::Null,
            guid => format!("{guid:#018x}").into(),
        },
        "node_name": event.node_name,
        "port": event.port,
        "message": event.message,
        "run": event.run,
        "sequence": event.sequence,
        "data": data.map(|content| watch::content_json(content).1),
    })
}
