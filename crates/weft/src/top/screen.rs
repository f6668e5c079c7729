//! The terminal.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;
use ratatui::{DefaultTerminal, Frame};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use weft_api::time::unix_s;

use super::data::Data;
use super::page::{first_parts, sentence};
use super::source::{Source, Want};
use super::state::{State, Step};
use crate::error::CliError;
use crate::output::one_line;

/// Polling interval; the daemon has new data after each sweep of its performance manager.
const REFRESH: Duration = Duration::from_secs(1);
/// Queue length for key presses; further ones block the reader.
const KEYS_AHEAD: usize = 64;
/// Most lines of an error.
const TROUBLE_LINES: usize = 4;
/// Keys, the most important first.
const KEYS: [&str; 4] = ["q quit", "? keys", "1-7 screens", "/ filter"];

/// Shows screens until the user quits or a signal ends the program; the terminal is then as before.
pub(super) async fn run(source: Source, mut state: State, colors: bool) -> Result<(), CliError> {
    let mut terminal = ratatui::try_init()?;
    let ended = show(&mut terminal, source, &mut state, colors).await;
    ratatui::try_restore()?;
    ended
}

/// Reads the keyboard on a separate thread, which ends with the program or its receiver.
fn keyboard() -> mpsc::Receiver<Event> {
    let (sender, keys) = mpsc::channel(KEYS_AHEAD);
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if sender.blocking_send(event).is_err() {
                return;
            }
        }
    });
    keys
}

/// Reads from the daemon beside the keyboard, so that keys act while it does not answer.
fn reader(
    mut source: Source,
    mut wants: watch::Receiver<Want>,
) -> mpsc::Receiver<(Want, Result<Data, String>)> {
    let (sender, reads) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let want = wants.borrow_and_update().clone();
            let read = source
                .read(want.clone())
                .await
                .map_err(|error| error.to_string());
            if sender.send((want, read)).await.is_err() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(REFRESH) => {}
                changed = wants.changed() => if changed.is_err() { return },
            }
        }
    });
    reads
}

async fn show(
    terminal: &mut DefaultTerminal,
    source: Source,
    state: &mut State,
    colors: bool,
) -> Result<(), CliError> {
    let (mut term, mut int) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    let mut hangup = signal(SignalKind::hangup())?;
    let (ask, wants) = watch::channel(Want::of(state));
    let mut reads = reader(source, wants);
    let mut keys = keyboard();
    let mut ticks = tokio::time::interval(REFRESH);
    loop {
        state.width = usize::from(terminal.size()?.width);
        terminal.draw(|frame| draw(state, colors, now(), frame))?;
        tokio::select! {
            _ = term.recv() => return Ok(()),
            _ = int.recv() => return Ok(()),
            _ = hangup.recv() => return Ok(()),
            _ = ticks.tick() => {}
            read = reads.recv() => match read {
                Some((want, read)) if want == Want::of(state) => state.take(read),
                Some(_) => {}
                None => return Ok(()),
            },
            key = keys.recv() => match key {
                None => return Ok(()),
                Some(Event::Key(key)) if key.kind == KeyEventKind::Press => match state.press(key) {
                    Step::Quit => return Ok(()),
                    Step::Read => {
                        ask.send_replace(Want::of(state));
                    }
                    Step::Stay => {}
                },
                Some(_) => {}
            },
        }
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

fn draw(state: &State, colors: bool, now: u64, frame: &mut Frame<'_>) {
    let page = state.page();
    let head = u16::from(!page.head.is_empty());
    let last = last(state, now);
    let parts = [
        Constraint::Length(1),
        Constraint::Length(head),
        Constraint::Min(0),
        Constraint::Length(last.len() as u16),
    ];
    let [top, names, body, bottom] = Layout::vertical(parts).areas(frame.area());
    frame.render_widget(Paragraph::new(page.title), top);
    let reversed = Style::new().add_modifier(Modifier::REVERSED);
    frame.render_widget(Paragraph::new(page.head).style(reversed), names);
    let height = usize::from(body.height);
    let first = state.chosen().saturating_sub(height.saturating_sub(1));
    let shown = page.rows.iter().enumerate().skip(first).take(height);
    let lines = shown.map(|(place, row)| {
        let mut style = Style::new();
        if row.alert {
            style = style.add_modifier(Modifier::BOLD);
        }
        if row.alert && colors {
            style = style.fg(Color::Yellow);
        }
        if place == state.chosen() {
            style = style.add_modifier(Modifier::REVERSED);
        }
        Line::styled(row.text.clone(), style)
    });
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), body);
    frame.render_widget(Paragraph::new(last.join("\n")), bottom);
}

/// The last lines: what is wrong, or what is typed, or the age of the image and the keys.
fn last(state: &State, now: u64) -> Vec<String> {
    let time = state.data.as_ref().map(|data| unix_s(data.loads.time));
    let age = time.map(|time| format!("{} s old", now.saturating_sub(time)));
    let filter = match (state.typing, state.filter()) {
        (true, filter) => Some(format!("/{}_", one_line(filter))),
        (false, "") => None,
        (false, filter) => Some(format!("/{}", one_line(filter))),
    };
    let frozen = state.frozen.then(|| "FROZEN".to_owned());
    let parts = [filter, frozen, age];
    let mut parts: Vec<String> = parts.into_iter().flatten().collect();
    if let Some(trouble) = &state.trouble {
        parts.push(one_line(trouble));
        let mut lines = sentence(&parts.join("  "), state.width);
        lines.truncate(TROUBLE_LINES);
        return lines;
    }
    match state.typing {
        true => parts.push("Enter keeps  Esc clears".to_owned()),
        false => parts.extend(KEYS.map(str::to_owned)),
    }
    vec![first_parts(&parts, "  ", state.width)]
}

#[cfg(test)]
mod tests;
