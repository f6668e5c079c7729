//! `weft top`: `data` is what the daemon has told, `state` where the user is and what keys do, `screens` what is
//! shown, `screen` the terminal.

mod columns;
mod data;
mod group;
mod order;
mod page;
mod rewind;
mod screen;
mod screens;
mod source;
mod state;
mod table;

use std::io::{IsTerminal, stdout};
use std::process::ExitCode;

use serde_json::Value;

use crate::args::{Args, ScreenName, Top};
use crate::connect::connect;
use crate::error::CliError;
use crate::output;
use crate::style::Styles;
use source::{Source, Want};
use state::State;

/// Number of links requested for a screen, which scrolls.
const LINKS_ON_SCREEN: u32 = 1_000;
/// Columns of what is printed elsewhere than in a terminal.
const WIDTH: usize = 80;

pub(crate) async fn run(args: &Args, command: &Top) -> Result<ExitCode, CliError> {
    if command.screen == ScreenName::Links && command.sort.of_links().is_none() {
        let sort = command.sort.name();
        return Err(CliError::Usage(format!(
            "links cannot be sorted by {sort}, only by utilization, data, wait or congestion; `--screen ports` can"
        )));
    }
    let mut source = Source::new(connect(&args.daemon).await?);
    let mut state = State::new(command.screen, command.sort);
    state.at = command.at.moment()?;
    if command.json || command.once || !stdout().is_terminal() {
        print(&mut source, state, command).await?;
    } else {
        let colors = Styles::stdout(args.color);
        screen::run(source, state, colors.is_on()).await?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints one screen.
async fn print(source: &mut Source, mut state: State, command: &Top) -> Result<(), CliError> {
    state.width = output::terminal().map_or(WIDTH, |(columns, _)| columns);
    let mut want = Want::of(&state);
    want.links = command.links;
    want.ports = command.screen != ScreenName::Links;
    let data = source.read(want).await?;
    command.at.tell(data.loads.moment.as_ref())?;
    if command.screen == ScreenName::Links && command.json {
        return output::json(&table::json(&data.loads));
    }
    let reading = table::reading_json(&data.loads);
    state.take(Ok(data));
    let mut page = state.page();
    page.rows.truncate(command.links as usize);
    if command.json {
        let rows = page.rows.into_iter().map(|row| row.json);
        let rows: Vec<Value> = rows.filter(|row| !row.is_null()).collect();
        let mut shown = reading;
        shown.insert("rows".to_owned(), rows.into());
        return output::json(&Value::Object(shown));
    }
    let rows = page.rows.into_iter().map(|row| row.text);
    let lines = [page.title, page.head].into_iter().chain(rows);
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    output::text(lines.join("\n") + "\n")
}
