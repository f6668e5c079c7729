//! `weft web`: the address of the page for a browser, and links that let one in.

use std::process::ExitCode;

use serde_json::json;
use weft_api::time::seconds;
use weft_api::v1;
use weft_fabric::text::count;

use crate::args::{Daemon, Web};
use crate::connect::{Effort, Session, connect};
use crate::error::CliError;
use crate::output::{self, one_line};
use crate::time::{utc_json, utc_of};

pub(crate) async fn run(daemon: &Daemon, args: &Web) -> Result<ExitCode, CliError> {
    let session = connect(daemon).await?;
    match (args.link, args.end) {
        (true, _) => link(&session, args).await?,
        (_, true) => end(&session, args).await?,
        _ => address(&session, args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn address(session: &Session, args: &Web) -> Result<(), CliError> {
    let mut service = session.services(Effort::Look).web();
    let asked = service.get_page(v1::GetPageRequest {});
    let url = session.answer(Effort::Look, asked).await?.url;
    if args.json {
        output::json(&json!({ "url": url }))
    } else if url.is_empty() {
        Err(CliError::Refused(
            "this daemon serves no page: start weftd with --web 127.0.0.1:9317".to_owned(),
        ))
    } else {
        output::text(one_line(&url) + "\n")
    }
}

async fn link(session: &Session, args: &Web) -> Result<(), CliError> {
    let mut service = session.services(Effort::Look).web();
    let asked = service.create_link(v1::CreateLinkRequest {
        role: args.role.clone(),
    });
    let made = session.answer(Effort::Look, asked).await?;
    if args.json {
        return output::json(&json!({
            "url": made.url,
            "role": made.role,
            "expire_time": utc_json(made.expire_time),
            "session_s": seconds(made.session),
        }));
    }
    // In whole on one line, however wide the terminal is: it is copied.
    output::styled(&(one_line(&made.url) + "\n"))?;
    output::text(format!(
        "lets one browser in as you, with the role {}, once, until {}; it stays in for {}, or until weft web --end\n",
        made.role,
        utc_of(made.expire_time),
        lasts(seconds(made.session))
    ))
}

/// How long a session lasts, in hours or, below two of them, in minutes.
fn lasts(seconds: f64) -> String {
    let minutes = (seconds / 60.0).floor();
    match minutes {
        minutes if minutes >= 120.0 => format!("{} hours", (minutes / 6.0).floor() / 10.0),
        minutes => count(minutes as u64, "minute"),
    }
}

async fn end(session: &Session, args: &Web) -> Result<(), CliError> {
    let mut service = session.services(Effort::Look).web();
    let asked = service.end_sessions(v1::EndSessionsRequest {
        everybody: args.everybody,
    });
    let ended = session.answer(Effort::Look, asked).await?;
    if args.json {
        return output::json(&json!({ "links": ended.links, "sessions": ended.sessions }));
    }
    output::text(format!(
        "ended {} and {}\n",
        count(ended.links, "unused link"),
        count(ended.sessions, "session")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_lasts_hours_or_minutes() {
        for (seconds, shown) in [
            (28_800.0, "8 hours"),
            (27_599.0, "7.6 hours"),
            (7_199.0, "119 minutes"),
            (119.0, "1 minute"),
            (3.0, "0 minutes"),
        ] {
            assert_eq!(lasts(seconds), shown);
        }
    }
}
