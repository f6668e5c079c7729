//! Options of the history.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use weft_history::BUDGET_MIN;

/// Whether and where the past is kept.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct HistoryArgs {
    /// Keep counters, events and states of the fabric in files. An emulated fabric without --state-dir and --history-dir keeps none.
    #[arg(long, value_enum, value_name = "WHETHER", default_value_t = OnOff::On)]
    history: OnOff,
    /// Directory of the history, by default history.N in the state directory for instance N.
    #[arg(long, value_name = "DIR")]
    history_dir: Option<PathBuf>,
    /// Bytes that the files of the history may have together, with KiB, MiB, GiB or TiB: at least 16 MiB. The finest
    /// and oldest counters are removed first.
    #[arg(long, value_name = "BYTES", default_value = "8GiB", value_parser = parse_bytes)]
    history_budget: u64,
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnOff {
    On,
    Off,
}

/// Where the history is kept, and how much of it.
#[derive(Debug, Clone)]
pub(crate) struct HistoryPlace {
    pub(crate) dir: PathBuf,
    pub(crate) budget: u64,
}

impl HistoryArgs {
    /// The place, none where nothing is kept; `state` is the state directory of an instance.
    pub(crate) fn place(&self, state: Option<&Path>, instance: u16) -> Option<HistoryPlace> {
        if self.history == OnOff::Off {
            return None;
        }
        let usual = state.map(|state| state.join(format!("history.{instance}")));
        Some(HistoryPlace {
            dir: self.history_dir.clone().or(usual)?,
            budget: self.history_budget,
        })
    }
}

/// Least budget on the command line, bytes.
const LEAST: u64 = 16 * BUDGET_MIN;

fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = || "expected a number with KiB, MiB, GiB or TiB, at least 16MiB".to_owned();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match &text[digits.len()..] {
        "" | "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        "TiB" => 40,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let bytes = number.checked_mul(1 << shift);
    bytes.filter(|bytes| *bytes >= LEAST).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_read() {
        for (text, expected) in [
            ("8GiB", Some(8 << 30)),
            ("16777216", Some(16 << 20)),
            ("16MiB", Some(16 << 20)),
            ("15MiB", None),
            ("8GB", None),
            ("-1GiB", None),
            ("1.5GiB", None),
            ("99999999999TiB", None),
            ("", None),
        ] {
            assert_eq!(parse_bytes(text).ok(), expected, "{text}");
        }
    }
}
