//! Signs of life on a terminal, for what takes long.

use std::io::{IsTerminal, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A progress line on standard error with the elapsed time; nothing if that is not a
/// terminal. Removed on drop.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn start(what: &str) -> Self {
        if !stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar)
    }

    /// Sets the current activity.
    pub(crate) fn now(&self, what: impl Into<String>) {
        self.0.set_message(what.into());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
