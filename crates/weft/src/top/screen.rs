//! The live view.

use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;
use ratatui::{DefaultTerminal, Frame};
use tokio::sync::mpsc;
use weft_api::v1;
use weft_fabric::text::for_terminal;

use super::table::{head, row, title};
use super::{LINKS_ON_SCREEN, Source};
use crate::args::SortBy;
use crate::error::CliError;

/// Polling interval; the daemon has new data after each sweep of its performance manager.
const REFRESH: Duration = Duration::from_secs(1);
/// Queue length for key presses; further ones block the reader.
const KEYS_AHEAD: usize = 64;
/// From this share of its rate on a link stands out.
const BUSY: f64 = 0.9;
/// Lines by which a page key scrolls.
const PAGE: usize = 10;
const KEYS: &str = "sort by: u utilization  g GB/s  w wait  c congestion   arrows scroll   q quit";

/// Shows loads until the user quits.
pub(super) async fn run(source: Source, sort: SortBy, colors: bool) -> Result<(), CliError> {
    let mut terminal = ratatui::try_init()?;
    let mut view = View::new(sort, colors);
    let ended = view.run(&mut terminal, source).await;
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

/// State of the display.
#[derive(Debug)]
struct View {
    loads: Option<v1::ListBusiestLinksResponse>,
    /// Error of the last request.
    trouble: Option<String>,
    sort: SortBy,
    /// The first link that is shown.
    first: usize,
    colors: bool,
}

impl View {
    fn new(sort: SortBy, colors: bool) -> Self {
        Self {
            loads: None,
            trouble: None,
            sort,
            first: 0,
            colors,
        }
    }

    async fn run(
        &mut self,
        terminal: &mut DefaultTerminal,
        source: Source,
    ) -> Result<(), CliError> {
        let mut keys = keyboard();
        let mut ticks = tokio::time::interval(REFRESH);
        loop {
            tokio::select! {
                _ = ticks.tick() => self.refresh(&source).await,
                key = keys.recv() => match key {
                    None => return Ok(()),
                    Some(Event::Key(key)) if key.kind == KeyEventKind::Press => {
                        let before = self.sort;
                        if self.press(key) {
                            return Ok(());
                        }
                        if self.sort != before {
                            self.refresh(&source).await;
                        }
                    }
                    Some(_) => {}
                },
            }
            terminal.draw(|frame| self.draw(frame))?;
        }
    }

    async fn refresh(&mut self, source: &Source) {
        match source.read(LINKS_ON_SCREEN, self.sort).await {
            Ok(loads) => (self.loads, self.trouble) = (Some(loads), None),
            Err(error) => self.trouble = Some(error.to_string()),
        }
    }

    /// Handles a key; returns whether it quits.
    fn press(&mut self, key: KeyEvent) -> bool {
        let links = self.loads.as_ref().map_or(0, |loads| loads.busiest.len());
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return true,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return true,
            KeyCode::Char('u') => self.sort = SortBy::Utilization,
            KeyCode::Char('g') => self.sort = SortBy::Data,
            KeyCode::Char('w') => self.sort = SortBy::Wait,
            KeyCode::Char('c') => self.sort = SortBy::Congestion,
            KeyCode::Down => self.first += 1,
            KeyCode::PageDown => self.first += PAGE,
            KeyCode::Up => self.first = self.first.saturating_sub(1),
            KeyCode::PageUp => self.first = self.first.saturating_sub(PAGE),
            KeyCode::Home => self.first = 0,
            _ => {}
        }
        self.first = self.first.min(links.saturating_sub(1));
        false
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let parts = [
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Min(0),
            Constraint::Length(1),
        ];
        let [top, names, body, bottom] = Layout::vertical(parts).areas(frame.area());
        let said = self.loads.as_ref().map(|loads| title(loads, self.sort));
        frame.render_widget(Paragraph::new(said.unwrap_or_default()), top);
        let reversed = Style::new().add_modifier(Modifier::REVERSED);
        frame.render_widget(Paragraph::new(head()).style(reversed), names);
        frame.render_widget(Paragraph::new(self.rows(body.height)), body);
        let last = self.trouble.as_deref().unwrap_or(KEYS);
        frame.render_widget(Paragraph::new(for_terminal(last)), bottom);
    }

    fn rows(&self, height: u16) -> Vec<Line<'static>> {
        let Some(loads) = &self.loads else {
            let wait = "waiting for the performance manager's first two readings of the counters";
            return vec![Line::from(wait)];
        };
        let shown = loads.busiest.iter().skip(self.first);
        let shown = shown.take(usize::from(height));
        shown
            .map(|load| Line::styled(row(load), self.style(load)))
            .collect()
    }

    fn style(&self, load: &v1::LinkLoad) -> Style {
        let busy = load.a_to_b.is_some_and(|way| way.utilization >= BUSY);
        match busy && self.colors {
            true => Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD),
            false => Style::new(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use weft_fabric::text::is_hidden;

    use super::*;
    use crate::top::table::tests::full;

    fn screen(view: &View) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| view.draw(frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let line = |y| (0..80).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..24).map(line).collect()
    }

    fn press(view: &mut View, code: KeyCode) -> bool {
        view.press(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn the_screen_has_80_columns_and_says_its_keys() {
        let mut view = View::new(SortBy::Utilization, false);
        let empty = screen(&view);
        assert!(empty[2].starts_with("waiting for"), "{empty:?}");
        assert!(empty[23].trim_end().ends_with("q quit"), "{empty:?}");
        let links = (1..=40).map(|link| full(&format!("edge{link}"), "core1"));
        view.loads = Some(v1::ListBusiestLinksResponse {
            image: 7,
            span_ns: 10_000_000_000,
            links: 40,
            busiest: links.collect(),
            ..v1::ListBusiestLinksResponse::default()
        });
        let lines = screen(&view);
        assert!(lines[0].starts_with("Image 7 of "), "{lines:?}");
        assert!(
            lines[0].contains("10.0 s; 40 links by utilization"),
            "{lines:?}"
        );
        assert!(lines[2].starts_with("edge1:5 > core1:1"), "{lines:?}");
        assert!(lines[22].starts_with("edge21:5"), "{lines:?}");
        assert!(!press(&mut view, KeyCode::PageDown));
        assert!(screen(&view)[2].starts_with("edge11:5"));
        for _ in 0..9 {
            assert!(!press(&mut view, KeyCode::PageDown));
        }
        assert!(screen(&view)[2].starts_with("edge40:5"));
    }

    #[test]
    fn nothing_from_outside_acts_on_the_screen() {
        let mut view = View::new(SortBy::Utilization, false);
        let names = ["\u{1b}[2J", "\u{9b}31mred", "a\rb\tc", "\u{202e}drawkcab"];
        let links = names.map(|name| full(name, "core1"));
        view.loads = Some(v1::ListBusiestLinksResponse {
            busiest: links.into(),
            ..v1::ListBusiestLinksResponse::default()
        });
        view.trouble = Some("no \u{1b}]0;own\u{7} answer".to_owned());
        let lines = screen(&view);
        for line in &lines {
            assert!(!line.contains(is_hidden), "{line:?}");
        }
        assert!(lines[2].starts_with("\\x1b[2J:5 > core1:1"), "{lines:?}");
        assert!(
            lines[23].starts_with("no \\x1b]0;own\\x07 answer"),
            "{lines:?}"
        );
    }

    #[test]
    fn keys_sort_and_end() {
        let mut view = View::new(SortBy::Utilization, true);
        let keys = [
            ('g', SortBy::Data),
            ('w', SortBy::Wait),
            ('c', SortBy::Congestion),
            ('u', SortBy::Utilization),
        ];
        for (key, sort) in keys {
            assert!(!press(&mut view, KeyCode::Char(key)));
            assert_eq!(view.sort, sort);
        }
        assert!(press(&mut view, KeyCode::Char('q')));
        view.trouble = Some("the daemon is stopping".to_owned());
        assert!(screen(&view)[23].starts_with("the daemon is stopping"));
    }
}
