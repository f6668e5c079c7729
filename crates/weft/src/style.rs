//! Colours, on a terminal only.

use std::io::{IsTerminal, stderr, stdout};

use anstyle::{AnsiColor, Style};

use crate::args::Color;

pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const PLACE: Style = Style::new().bold();

/// Whether to colour one stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Styles(bool);

impl Styles {
    pub(crate) fn stdout(color: Color) -> Self {
        Self::of(color, stdout().is_terminal())
    }

    pub(crate) fn stderr(color: Color) -> Self {
        Self::of(color, stderr().is_terminal())
    }

    fn of(color: Color, terminal: bool) -> Self {
        Self(match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                terminal && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty())
            }
        })
    }

    /// Whether there are colours.
    pub(crate) fn is_on(self) -> bool {
        self.0
    }

    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if self.0 {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}
