//! The past: `weft log`, `weft history` and `weft counters --from`.
//!
//! | module | contents |
//! |---|---|
//! | `log` | events |
//! | `counters` | totals and rates of ports |
//! | `kept` | what is kept |

mod counters;
mod kept;
mod log;

use crate::error::CliError;
use crate::moment::{local, now_ms, parse, zone};
use crate::output;

pub(crate) use counters::run as counters;
pub(crate) use kept::run as kept;
pub(crate) use log::run as log;

/// Time that is meant where none is given, milliseconds.
const USUAL_MS: i64 = 3_600_000;

/// A time span, milliseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
}

impl Span {
    /// From two times as people write them; without the first, it begins `usual_ms` before its end.
    pub(crate) fn new(
        from: Option<&str>,
        to: Option<&str>,
        usual_ms: i64,
    ) -> Result<Self, CliError> {
        let now = now_ms();
        let read = |option: &str, text: &str| {
            parse(text, now).map_err(|why| CliError::Usage(format!("{option}: {why}")))
        };
        let to_ms = to.map_or(Ok(now), |to| read("--to", to))?;
        let from_ms = from.map_or(Ok(to_ms - usual_ms), |from| read("--from", from))?;
        match from_ms < to_ms {
            true => Ok(Self { from_ms, to_ms }),
            false => Err(CliError::Usage(format!(
                "--from, {}, is not before --to, {}",
                local(from_ms),
                local(to_ms)
            ))),
        }
    }

    /// Both ends in words, with the time zone.
    pub(crate) fn words(self) -> String {
        let Self { from_ms, to_ms } = self;
        format!("{} to {} ({})", local(from_ms), local(to_ms), zone(to_ms))
    }
}

/// Says what could not be read.
fn warn(warnings: &[String]) {
    for warning in warnings {
        output::complain("weft: ", warning);
    }
}
