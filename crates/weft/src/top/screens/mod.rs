//! The screens, each from the state into lines.

mod fabrics;
mod help;
mod histogram;
mod image;
mod port;
mod ports;
mod summary;

use super::page::{Page, Row};
use super::state::{Screen, State};
use super::table;
use crate::args::ScreenName;

/// The screens of the keys 1 to 6.
pub(super) const NAMES: [ScreenName; 6] = [
    ScreenName::Links,
    ScreenName::Summary,
    ScreenName::Ports,
    ScreenName::Fabrics,
    ScreenName::Histogram,
    ScreenName::Image,
];

/// The content of the present screen.
pub(super) fn page(state: &State) -> Page {
    if *state.screen() == Screen::Help {
        return help::page();
    }
    let Some(data) = &state.data else {
        return Page {
            title: "weft top".to_owned(),
            rows: vec![Row::plain(
                "waiting for the performance manager's first two readings of the counters",
            )],
            ..Page::default()
        };
    };
    match state.screen() {
        Screen::Help => help::page(),
        Screen::Port(key) => port::page(state, data, *key),
        Screen::Named(ScreenName::Links) => table::page(&data.loads, state.order),
        Screen::Named(ScreenName::Summary) => summary::page(data),
        Screen::Named(ScreenName::Ports) => ports::page(state, data),
        Screen::Named(ScreenName::Fabrics) => fabrics::page(data),
        Screen::Named(ScreenName::Histogram) => histogram::page(data),
        Screen::Named(ScreenName::Image) => image::page(data),
    }
}
