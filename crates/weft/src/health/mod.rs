//! `weft health`.

mod data;
mod text;

use std::io::{IsTerminal, stdout};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;
use weft_api::time::unix_s;
use weft_api::v1;
use weft_fabric::text::count;

use crate::args::{Args, Health, HealthCommand};
use crate::connect::{Effort, Session, connect};
use crate::error::CliError;
use crate::output;
use crate::pager::paged;
use crate::style::Styles;
use text::Layout;

/// Exit codes of a page that is not green.
const YELLOW: u8 = 10;
const RED: u8 = 11;
/// Exit code of a page that is not about the fabric: another manager is its master.
const NOT_MASTER: u8 = 12;
/// Columns where there is no terminal.
const COLUMNS: usize = 80;
/// Clears a terminal and goes to its first line.
const CLEAR: &str = "\u{1b}[2J\u{1b}[H";

pub(crate) async fn run(args: &Args, command: &Health) -> Result<ExitCode, CliError> {
    let session = connect(&args.daemon).await?;
    if let Some(HealthCommand::Forget {
        point,
        dry_run,
        json,
    }) = &command.command
    {
        return forget(&session, point, *dry_run, *json).await;
    }
    let at = command.at.moment()?;
    if at.is_some() && command.watch.is_some() {
        let why = "--at shows one page of the past and does not go with --watch";
        return Err(CliError::Usage(why.to_owned()));
    }
    loop {
        let mut service = session.services(Effort::Look).health();
        let page = service.get_health(v1::GetHealthRequest { at });
        let page = session.answer(Effort::Look, page).await?;
        command.at.tell(page.moment.as_ref())?;
        print(args, command, &page)?;
        let Some(pause) = command.watch else {
            return Ok(exit_code(&page));
        };
        tokio::time::sleep(pause).await;
    }
}

fn print(args: &Args, command: &Health, page: &v1::GetHealthResponse) -> Result<(), CliError> {
    if command.json {
        return output::json(&data::json(page));
    }
    if command.csv {
        return output::text(data::csv(page));
    }
    // Ages are those of then.
    let then = page.moment.as_ref().map(|shown| unix_s(shown.time));
    let layout = Layout {
        styles: Styles::stdout(args.color),
        columns: columns(),
        all: command.all,
        now: then.unwrap_or_else(now),
    };
    let clear = match command.watch {
        Some(_) if stdout().is_terminal() => CLEAR,
        _ => "",
    };
    let no_pager = args.no_pager || command.watch.is_some();
    paged(&format!("{clear}{}", layout.page(page)), no_pager)
}

/// Columns of the terminal, or 80.
fn columns() -> usize {
    let asked = std::env::var("COLUMNS").ok();
    let asked = asked.and_then(|columns| columns.parse().ok());
    let terminal = || {
        let size = ratatui::crossterm::terminal::size();
        let size = size.ok().filter(|_| stdout().is_terminal());
        size.map(|(columns, _)| columns.into())
    };
    let columns: usize = asked.or_else(terminal).unwrap_or(COLUMNS);
    columns.clamp(30, 200)
}

fn exit_code(page: &v1::GetHealthResponse) -> ExitCode {
    match page.color() {
        v1::HealthColor::Red => ExitCode::from(RED),
        v1::HealthColor::Yellow => ExitCode::from(YELLOW),
        _ if !is_master(page) => ExitCode::from(NOT_MASTER),
        v1::HealthColor::Green | v1::HealthColor::Unspecified => ExitCode::SUCCESS,
    }
}

/// Whether the page is about the fabric; a daemon of an earlier version does not say.
fn is_master(page: &v1::GetHealthResponse) -> bool {
    matches!(page.role.as_str(), "Master" | "")
}

async fn forget(
    session: &Session,
    point: &str,
    dry_run: bool,
    json: bool,
) -> Result<ExitCode, CliError> {
    let mut service = session.services(Effort::Look).health();
    let forgotten = service.forget_gone(v1::ForgetGoneRequest {
        point: point.to_owned(),
        validate_only: dry_run,
    });
    let v1::ForgetGoneResponse { nodes, links } = session.answer(Effort::Look, forgotten).await?;
    if json {
        output::json(&json!({ "nodes": nodes, "links": links, "dry_run": dry_run }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let verb = match dry_run {
        true => "would forget",
        false => "forgot",
    };
    output::text(match nodes + links {
        0 => format!("{point}: nothing of it is gone\n"),
        _ => format!(
            "{verb} {} and {} that are gone\n",
            count(nodes, "node"),
            count(links, "link")
        ),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// A colour in lower case.
pub(crate) fn color(color: v1::HealthColor) -> &'static str {
    match color {
        v1::HealthColor::Unspecified => "unknown",
        v1::HealthColor::Green => "green",
        v1::HealthColor::Yellow => "yellow",
        v1::HealthColor::Red => "red",
    }
}
