//! The screens, each from the state into lines.

mod fabric_ports;
mod fabrics;
mod group;
mod help;
mod histogram;
mod image;
mod pair;
mod port;
mod ports;
mod settings;
mod summary;

use super::group::Group;
use super::page::{Page, Row};
use super::state::{Screen, State};
use super::table;
use crate::args::ScreenName;

/// The screens of the keys 1 to 7.
pub(super) const NAMES: [ScreenName; 7] = [
    ScreenName::Links,
    ScreenName::Summary,
    ScreenName::Ports,
    ScreenName::Fabrics,
    ScreenName::Histogram,
    ScreenName::Image,
    ScreenName::Settings,
];

fn is_of_fabrics(screen: &Screen) -> bool {
    matches!(
        screen,
        Screen::Named(ScreenName::Fabrics) | Screen::Fabric(_) | Screen::FabricPort(..)
    )
}

/// The content of the present screen.
pub(super) fn page(state: &State) -> Page {
    if *state.screen() == Screen::Help {
        return help::page();
    }
    let Some(data) = &state.data else {
        return Page {
            title: "weft top".to_owned(),
            rows: Row::sentence(
                "waiting for the performance manager's first two readings of the counters",
                state.width,
            ),
            ..Page::default()
        };
    };
    if data.loads.moment.is_some() && is_of_fabrics(state.screen()) {
        return Page {
            title: table::heading(&data.loads, "virtual fabrics", state.width),
            rows: Row::sentence(
                "counters of virtual fabrics are not kept, so there are none of the past; l shows the last reading",
                state.width,
            ),
            ..Page::default()
        };
    }
    match state.screen() {
        Screen::Help => help::page(),
        Screen::Port(key) => port::page(state, data, *key),
        Screen::Pair(from, to) => pair::page(state, data, (*from, *to)),
        Screen::Group(group) => group::page(state, data, group),
        Screen::Ports(group) => ports::page(state, data, group),
        Screen::Fabric(name) => fabric_ports::page(state, data, name),
        Screen::FabricPort(name, key) => port::of_fabric(state, data, name, *key),
        Screen::Named(ScreenName::Links) => table::page(&data.loads, state.order, state.width),
        Screen::Named(ScreenName::Summary) => summary::page(state, data),
        Screen::Named(ScreenName::Ports) => ports::page(state, data, &Group::All),
        Screen::Named(ScreenName::Fabrics) => fabrics::page(state, data),
        Screen::Named(ScreenName::Histogram) => histogram::page(state, data),
        Screen::Named(ScreenName::Image) => image::page(state, data),
        Screen::Named(ScreenName::Settings) => settings::page(state, data),
    }
}
