//! Where the user is, and what keys do. Nothing here knows of terminals or of the daemon.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use weft_api::v1;

use super::WIDTH;
use super::data::{Data, History, Key};
use super::group::Group;
use super::order::{self, Order};
use super::page::{Page, Target};
use super::rewind;
use super::screens;
use crate::args::ScreenName;
use crate::moment::now_ms;

/// Lines by which a page key moves.
const PAGE: usize = 10;
/// Readings by which a key goes far back or forth.
const FAR: i64 = 10;
/// Characters of a filter.
const FILTER: usize = 64;

/// A screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Screen {
    Named(ScreenName),
    Port(Key),
    /// The links between two nodes, by their GUIDs.
    Pair(u64, u64),
    Group(Group),
    /// The ports of a group.
    Ports(Group),
    /// The ports of a virtual fabric.
    Fabric(String),
    FabricPort(String, Key),
    Help,
}

/// What follows a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Stay,
    /// The daemon is asked for what the screen needs.
    Read,
    Quit,
}

/// A screen and the place on it.
#[derive(Debug, Clone)]
struct Place {
    screen: Screen,
    chosen: usize,
    filter: String,
}

#[derive(Debug)]
pub(super) struct State {
    places: Vec<Place>,
    pub(super) order: Order,
    /// Ports with the lowest values first.
    pub(super) lowest: bool,
    /// Columns of the terminal.
    pub(super) width: usize,
    /// Totals instead of rates.
    pub(super) totals: bool,
    pub(super) frozen: bool,
    /// A filter is being typed.
    pub(super) typing: bool,
    pub(super) data: Option<Data>,
    pub(super) history: History,
    /// Error of the last request.
    pub(super) trouble: Option<String>,
    /// A moment of the past that is shown, none for now.
    pub(super) at: Option<v1::Moment>,
}

impl State {
    pub(super) fn new(screen: ScreenName, order: Order) -> Self {
        Self {
            places: vec![Place::new(Screen::Named(screen))],
            order,
            lowest: false,
            width: WIDTH,
            totals: false,
            frozen: false,
            typing: false,
            data: None,
            history: History::default(),
            trouble: None,
            at: None,
        }
    }

    /// At a screen that keys lead to.
    #[cfg(test)]
    pub(super) fn at(screen: Screen) -> Self {
        let mut state = Self::new(ScreenName::Links, Order::Utilization);
        state.go(screen);
        state
    }

    pub(super) fn screen(&self) -> &Screen {
        &self.place().screen
    }

    pub(super) fn filter(&self) -> &str {
        &self.place().filter
    }

    pub(super) fn chosen(&self) -> usize {
        self.place().chosen
    }

    fn place(&self) -> &Place {
        self.places.last().unwrap_or(&NOWHERE)
    }

    fn place_mut(&mut self) -> Option<&mut Place> {
        self.places.last_mut()
    }

    /// Takes a reading, unless the screen is frozen.
    pub(super) fn take(&mut self, read: Result<Data, String>) {
        if self.frozen {
            return;
        }
        match read {
            Ok(data) => {
                if self.at.is_none() {
                    self.history.add(&data);
                }
                (self.data, self.trouble) = (Some(data), None);
            }
            Err(trouble) => self.trouble = Some(trouble),
        }
        self.stay_inside();
    }

    /// The screen's content, with the lines that the filter leaves.
    pub(super) fn page(&self) -> Page {
        let mut page = screens::page(self);
        let wanted = self.filter().to_lowercase();
        page.rows
            .retain(|row| row.whole.to_lowercase().contains(&wanted));
        page
    }

    /// Sorts ports by a value, the highest first unless the user wants the lowest.
    pub(super) fn sort<T>(&self, ports: &mut [T], value: impl Fn(&T) -> f64) {
        ports.sort_by(|a, b| {
            let rising = value(a).total_cmp(&value(b));
            if self.lowest {
                rising
            } else {
                rising.reverse()
            }
        });
    }

    pub(super) fn press(&mut self, key: KeyEvent) -> Step {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let step = match key.code {
            KeyCode::Char('c') if control => Step::Quit,
            code if self.typing => self.edit(code),
            KeyCode::Char(key) => self.letter(key),
            code => self.move_by(code),
        };
        self.stay_inside();
        step
    }

    fn edit(&mut self, code: KeyCode) -> Step {
        let mut typing = true;
        if let Some(place) = self.place_mut() {
            match code {
                KeyCode::Char(key) if place.filter.chars().count() < FILTER => {
                    place.filter.push(key);
                }
                KeyCode::Backspace => {
                    place.filter.pop();
                }
                KeyCode::Enter => typing = false,
                KeyCode::Esc => {
                    place.filter.clear();
                    typing = false;
                }
                _ => {}
            }
        }
        self.typing = typing;
        Step::Stay
    }

    fn letter(&mut self, key: char) -> Step {
        match key {
            'q' => return Step::Quit,
            ' ' => self.frozen = !self.frozen,
            't' => self.totals = !self.totals,
            'v' => self.lowest = !self.lowest,
            '/' => self.typing = true,
            ',' => return self.step(-1),
            '.' => return self.step(1),
            '<' => return self.step(-FAR),
            '>' => return self.step(FAR),
            'l' => return self.go_to(None),
            '?' if *self.screen() != Screen::Help => self.go(Screen::Help),
            'o' => {
                let at = order::ALL.iter().position(|order| *order == self.order);
                self.order = order::ALL[at.map_or(0, |at| (at + 1) % order::ALL.len())];
                return Step::Read;
            }
            '1'..='7' => {
                let names = screens::NAMES;
                self.places.clear();
                let name = names[key as usize - '1' as usize];
                self.go(Screen::Named(name));
                return Step::Read;
            }
            key => {
                if let Some(order) = Order::of_key(key) {
                    self.order = order;
                    return Step::Read;
                }
            }
        }
        Step::Stay
    }

    /// Goes so many readings back or forth; forth beyond the last one is now.
    fn step(&mut self, readings: i64) -> Step {
        match rewind::moment(self, readings, now_ms()) {
            Some(at) => self.go_to(at),
            None => Step::Stay,
        }
    }

    fn go_to(&mut self, at: Option<v1::Moment>) -> Step {
        self.frozen = false;
        if at.is_none() != self.at.is_none() {
            self.history = History::default();
        }
        self.at = at;
        Step::Read
    }

    fn move_by(&mut self, code: KeyCode) -> Step {
        let chosen = self.chosen();
        let next = match code {
            KeyCode::Down => chosen.saturating_add(1),
            KeyCode::PageDown => chosen.saturating_add(PAGE),
            KeyCode::Up => chosen.saturating_sub(1),
            KeyCode::PageUp => chosen.saturating_sub(PAGE),
            KeyCode::Home => 0,
            KeyCode::End => usize::MAX,
            KeyCode::Enter => return self.enter(),
            KeyCode::Esc | KeyCode::Backspace => return self.back(),
            _ => chosen,
        };
        if let Some(place) = self.place_mut() {
            place.chosen = next;
        }
        Step::Stay
    }

    fn enter(&mut self) -> Step {
        let page = self.page();
        let row = page.rows.get(self.chosen());
        match row.and_then(|row| row.target.clone()) {
            None => return Step::Stay,
            Some(Target::Port(key)) => self.go(Screen::Port(key)),
            Some(Target::Pair(from, to)) => self.go(Screen::Pair(from, to)),
            Some(Target::Group(group)) => self.go(Screen::Group(group)),
            Some(Target::Fabric(name)) => self.go(Screen::Fabric(name)),
            Some(Target::FabricPort(name, key)) => {
                self.go(Screen::FabricPort(name, key));
            }
            Some(Target::Ports { group, order }) => {
                self.order = order.unwrap_or(self.order);
                self.go(Screen::Ports(group));
            }
        }
        Step::Read
    }

    fn back(&mut self) -> Step {
        if self.places.len() == 1 {
            if let Some(place) = self.place_mut() {
                place.filter.clear();
            }
            return Step::Stay;
        }
        self.places.pop();
        Step::Read
    }

    fn go(&mut self, screen: Screen) {
        self.places.push(Place::new(screen));
    }

    /// Keeps the choice on a line that there is.
    fn stay_inside(&mut self) {
        let last = self.page().rows.len().saturating_sub(1);
        if let Some(place) = self.place_mut() {
            place.chosen = place.chosen.min(last);
        }
    }
}

static NOWHERE: Place = Place {
    screen: Screen::Help,
    chosen: 0,
    filter: String::new(),
};

impl Place {
    fn new(screen: Screen) -> Self {
        Self {
            screen,
            chosen: 0,
            filter: String::new(),
        }
    }
}
