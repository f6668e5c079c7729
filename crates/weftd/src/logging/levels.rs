//! The log level, which a client may change while the daemon runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing_subscriber::{EnvFilter, Registry, reload};

/// Most bytes of a level.
const FILTER_MAX: usize = 512;

/// Levels by name.
const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

/// The log level in force.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct LogLevel {
    /// A level, or module=level pairs.
    pub(crate) filter: String,
    /// What set it.
    pub(crate) set_by: &'static str,
}

/// The level for a `LogLevel` of the vendor's manager, 0 to 7.
pub(crate) fn of_vendor_level(level: u32) -> Option<&'static str> {
    Some(match level {
        0 => "error",
        1 => "warn",
        2 | 3 => "info",
        4..=6 => "debug",
        7 => "trace",
        _ => return None,
    })
}

/// Reads and changes the log level.
#[derive(Debug, Clone)]
pub(crate) struct LogLevels {
    handle: reload::Handle<EnvFilter, Registry>,
    levels: Arc<Mutex<Levels>>,
}

#[derive(Debug)]
struct Levels {
    now: LogLevel,
    /// The level where no client has set another one.
    start: LogLevel,
}

impl LogLevels {
    /// The filter for the log, and the handle to change it.
    ///
    /// # Errors
    /// Why the filter cannot be used.
    pub(super) fn new(filter: &str) -> Result<(Self, reload::Layer<EnvFilter, Registry>), String> {
        let (layer, handle) = reload::Layer::new(parse(filter)?);
        let start = LogLevel {
            filter: filter.to_owned(),
            set_by: "the command line",
        };
        let levels = Levels {
            now: start.clone(),
            start,
        };
        let levels = Arc::new(Mutex::new(levels));
        Ok((Self { handle, levels }, layer))
    }

    /// A level that no log has.
    #[cfg(test)]
    #[allow(clippy::unwrap_used)]
    pub(crate) fn of_tests() -> Self {
        Self::new("info").unwrap().0
    }

    /// The level in force.
    pub(crate) fn now(&self) -> LogLevel {
        self.lock().now.clone()
    }

    /// Puts a level in force.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub(crate) fn set(&self, filter: &str, set_by: &'static str) -> Result<LogLevel, String> {
        let level = LogLevel {
            filter: filter.to_owned(),
            set_by,
        };
        self.put_in_force(level)
    }

    /// Puts the level of the start in force.
    ///
    /// # Errors
    /// As [`LogLevels::set`].
    pub(crate) fn reset(&self) -> Result<LogLevel, String> {
        let start = self.lock().start.clone();
        self.put_in_force(start)
    }

    fn put_in_force(&self, level: LogLevel) -> Result<LogLevel, String> {
        let filter = parse(&level.filter)?;
        // Where the log has ended, no level matters.
        let _ = self.handle.reload(filter);
        self.lock().now = level.clone();
        Ok(level)
    }

    fn lock(&self) -> MutexGuard<'_, Levels> {
        // Nothing under this lock can be half done.
        self.levels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn parse(filter: &str) -> Result<EnvFilter, String> {
    let allowed =
        "expected error, warn, info, debug, trace or off, or module=level pairs with commas";
    if filter.len() > FILTER_MAX {
        return Err(format!("it is longer than {FILTER_MAX} bytes; {allowed}"));
    }
    // A filter of fields holds regular expressions, and a word that is no level would be taken for a module.
    let is_known = |part: &str| part.contains('=') || LEVELS.contains(&&*part.to_lowercase());
    if filter.contains(['[', '{']) || !filter.split(',').all(|part| is_known(part.trim())) {
        return Err(format!("it has neither a level nor such a pair; {allowed}"));
    }
    EnvFilter::try_new(filter).map_err(|error| format!("{error}; {allowed}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_set_and_reset_and_a_wrong_one_changes_nothing() {
        let levels = LogLevels::of_tests();
        assert_eq!(levels.set("debug", "a client").unwrap().filter, "debug");
        for wrong in ["loud", "weftd[x]=info", &"x".repeat(FILTER_MAX + 1)] {
            assert!(levels.set(wrong, "a client").is_err(), "{wrong}");
        }
        let now = levels.now();
        assert_eq!((&*now.filter, now.set_by), ("debug", "a client"));
        assert_eq!(levels.reset().unwrap().set_by, "the command line");
    }
}
