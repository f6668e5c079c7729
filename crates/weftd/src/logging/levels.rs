//! The log level, which a client may change while the daemon runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing_subscriber::{EnvFilter, Registry, reload};

/// Most bytes of a level.
const FILTER_MAX: usize = 512;

/// Levels by name.
const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

/// What sets the level at the start: options and variables, which go before the configuration.
const COMMAND_LINE: &str = "the command line";
/// `LogLevel`, `LogMode` and the masks of opafm.xml, or the defaults.
const CONFIGURATION: &str = "the configuration";

/// The log level in force.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct LogLevel {
    /// A level, or module=level pairs.
    pub(crate) filter: String,
    /// What set it.
    pub(crate) set_by: &'static str,
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
    /// The filter for the log, and the handle to change it: the filter of the command line where there is one, else that
    /// of the configuration.
    ///
    /// # Errors
    /// Why the filter cannot be used.
    pub(super) fn new(
        command_line: Option<&str>,
        configured: &str,
    ) -> Result<(Self, reload::Layer<EnvFilter, Registry>), String> {
        let (filter, set_by) = match command_line {
            Some(filter) => (filter, COMMAND_LINE),
            None => (configured, CONFIGURATION),
        };
        let (layer, handle) = reload::Layer::new(parse(filter)?);
        let start = LogLevel {
            filter: filter.to_owned(),
            set_by,
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
        Self::new(None, "info").unwrap().0
    }

    /// Puts the filter of a configuration that was read again in force, where it is another one than before and the
    /// command line has none.
    pub(crate) fn reconfigure(&self, configured: &str) {
        let level = LogLevel {
            filter: configured.to_owned(),
            set_by: CONFIGURATION,
        };
        let is_news = {
            let mut levels = self.lock();
            let is_news = levels.start.set_by == CONFIGURATION && levels.start != level;
            if is_news {
                levels.start = level.clone();
            }
            is_news
        };
        if is_news {
            // What a configuration makes can be used.
            let _ = self.put_in_force(level);
        }
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
        assert_eq!(levels.reset().unwrap().set_by, CONFIGURATION);
    }

    #[test]
    fn a_configuration_counts_where_it_changes_and_the_command_line_has_no_level() {
        let levels = LogLevels::of_tests();
        levels.set("debug", "a client").unwrap();
        levels.reconfigure("info");
        assert_eq!(levels.now().filter, "debug", "it is as before");
        levels.reconfigure("warn");
        let now = levels.now();
        assert_eq!((&*now.filter, now.set_by), ("warn", CONFIGURATION));

        let (levels, _layer) = LogLevels::new(Some("trace"), "info").unwrap();
        levels.reconfigure("warn");
        assert_eq!(levels.now().filter, "trace");
    }
}
