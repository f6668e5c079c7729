//! How lines look. What is wrong, and each class of load, differs in more than its colour.

use super::Way;

/// What is wrong with the links of a line; of several, the last one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    Well,
    Drained,
    Degraded,
    Lost,
}

/// A kind of line: its class in the SVG, what the legend says, colour, width and dashes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Style {
    pub(super) class: &'static str,
    pub(super) legend: &'static str,
    pub(super) color: &'static str,
    pub(super) width: f32,
    pub(super) dashes: &'static str,
}

const fn style(
    class: &'static str,
    legend: &'static str,
    color: &'static str,
    width: f32,
    dashes: &'static str,
) -> Style {
    Style {
        class,
        legend,
        color,
        width,
        dashes,
    }
}

/// Up to this share of a link's rate, and how it looks.
const LOADS: [(f64, Style); 5] = [
    (0.1, style("load0", "up to 10 %", "#94a3b8", 0.8, "")),
    (0.25, style("load1", "10 to 25 %", "#60a5fa", 1.4, "")),
    (0.5, style("load2", "25 to 50 %", "#1d4ed8", 2.2, "")),
    (0.75, style("load3", "50 to 75 %", "#f59e0b", 3.2, "")),
    (1.0, style("load4", "over 75 %", "#b91c1c", 4.6, "")),
];

pub(super) const WELL: Style = style("well", "link", "#64748b", 0.9, "");

/// All that have a place in the style sheet.
pub(super) fn all() -> impl Iterator<Item = Style> {
    let states = [State::Well, State::Drained, State::Degraded, State::Lost].map(of_state);
    let ways = [Way::Base, Way::Dispersive, Way::Adaptive].map(of_way);
    let loads = LOADS.map(|(_, style)| style);
    states.into_iter().chain(ways).chain(loads)
}

pub(super) fn of_state(state: State) -> Style {
    match state {
        State::Well => WELL,
        State::Drained => style("drained", "drained", "#334155", 1.8, "12 3 2 3"),
        State::Degraded => style("degraded", "slower than it could be", "#c2410c", 2.2, "7 4"),
        State::Lost => style("lost", "down", "#dc2626", 2.2, "1.5 4"),
    }
}

pub(super) fn of_way(way: Way) -> Style {
    match way {
        Way::Base => style("base", "route of the base LID", "#1d4ed8", 3.4, ""),
        Way::Dispersive => style("dispersive", "routes of other LIDs", "#047857", 3.0, "10 4"),
        Way::Adaptive => style("adaptive", "adaptive alternatives", "#a21caf", 2.4, "3 3"),
    }
}

pub(super) fn of_load(share: f64) -> Style {
    let class = LOADS.iter().find(|(most, _)| share <= *most);
    class.unwrap_or(&LOADS[LOADS.len() - 1]).1
}

pub(super) fn loads() -> impl Iterator<Item = Style> {
    LOADS.into_iter().map(|(_, style)| style)
}
