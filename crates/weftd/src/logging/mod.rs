//! The log: for people or machines on standard error, to the journal, or to a file.

mod file;
mod levels;
mod settings;

use std::fmt::Debug;
use std::io::IsTerminal;
use std::path::Path;

use tracing::field::Field;
use tracing::{Subscriber, warn};
use tracing_subscriber::fmt::format::{self, Writer};
use tracing_subscriber::fmt::writer::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};
use weft_fabric::text::for_terminal;

use crate::args::{Args, LogFormat};
use crate::error::DaemonError;
use file::LogFile;
pub(crate) use levels::{LogLevel, LogLevels};
pub(crate) use settings::{
    CauseLimits, LogLimits, LogSettings, of_vendor_level, with_mask, with_mode,
};

/// The log of the daemon.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    pub(crate) levels: LogLevels,
    /// `LogFile`.
    file: Option<LogFile>,
}

impl Log {
    /// Puts the settings of another configuration in force. Another file, or another facility, takes a restart.
    pub(crate) fn reconfigure(&self, settings: &LogSettings) {
        self.levels.reconfigure(&settings.filter);
        if self.path() != settings.file.as_deref() {
            warn!(
                event = "log_file_stays",
                "LogFile has changed; that takes effect with the next start of weftd"
            );
        }
    }

    /// The log file.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(LogFile::path)
    }

    /// Opens the log file again, after it was moved away.
    pub(crate) fn reopen(&self) {
        let Some(file) = &self.file else { return };
        if let Err(error) = file.reopen() {
            warn!(
                event = "log_file_unopened",
                "the log file {} cannot be opened again: {error}; lines go on to where they went before",
                file.path().display()
            );
        }
    }

    /// A log that nobody reads.
    #[cfg(test)]
    pub(crate) fn of_tests() -> Self {
        Self {
            levels: LogLevels::of_tests(),
            file: None,
        }
    }
}

/// Begins to log, by the command line and the settings of the configuration.
pub(crate) fn init(args: &Args, settings: &LogSettings) -> Result<Log, DaemonError> {
    let command_line = args.log_level.as_deref();
    let (levels, filter) = LogLevels::new(command_line, &settings.filter).map_err(|why| {
        let filter = command_line.unwrap_or(&settings.filter);
        DaemonError::Usage(format!("--log-level '{filter}': {why}"))
    })?;
    let opened = settings.file.clone().map(LogFile::open).transpose();
    let (file, unopened) = match opened {
        Ok(file) => (file, None),
        Err(error) => (None, Some(error)),
    };
    let elsewhere = !settings.file_only || file.is_none();
    let main = elsewhere
        .then(|| layer(args.log, settings.facility))
        .transpose()?;
    let to_file = file.clone().map(|file| human(file, false));
    let subscriber = tracing_subscriber::registry()
        .with(filter)
        .with(main)
        .with(to_file);
    let begun = subscriber.try_init();
    begun.map_err(|error| DaemonError::Usage(format!("--log: {error}")))?;
    if let (Some(error), Some(path)) = (unopened, &settings.file) {
        warn!(
            event = "log_file_unopened",
            "the log file {} (LogFile) cannot be opened: {error}; the log goes elsewhere only",
            path.display()
        );
    }
    Ok(Log { levels, file })
}

/// The journal or standard error.
fn layer<S>(format: LogFormat, facility: u8) -> Result<Box<dyn Layer<S> + Send + Sync>, DaemonError>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    Ok(match resolve(format) {
        LogFormat::Journald => tracing_journald::layer()
            .map_err(|error| DaemonError::Usage(format!("--log journald: {error}")))?
            .with_custom_fields([("SYSLOG_FACILITY", facility.to_string())])
            .boxed(),
        LogFormat::Json => fmt::layer()
            .json()
            .log_internal_errors(false)
            .with_writer(std::io::stderr)
            .boxed(),
        LogFormat::Human | LogFormat::Auto => {
            let colors = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            human(std::io::stderr, colors)
        }
    })
}

/// Lines for people.
fn human<S, W>(writer: W, colors: bool) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    // A failure to write cannot be reported there, and must not end the daemon.
    fmt::layer()
        .with_writer(writer)
        .with_ansi(colors)
        .log_internal_errors(false)
        .with_target(false)
        .fmt_fields(format::debug_fn(for_people))
        .boxed()
}

/// Fields that people find in the words already.
const FOR_MACHINES: [&str; 48] = [
    "a",
    "a_guid",
    "a_port",
    "action",
    "attribute",
    "author",
    "b",
    "b_guid",
    "b_port",
    "by",
    "category",
    "config_file",
    "count",
    "digest",
    "elapsed_ns",
    "error_info",
    "event",
    "generation",
    "hash",
    "instance",
    "lid",
    "master",
    "method",
    "neighbor",
    "neighbor_guid",
    "neighbor_port",
    "node",
    "node_guid",
    "number",
    "peer",
    "phase",
    "plan",
    "port",
    "reason",
    "result",
    "retries",
    "role",
    "sent",
    "sequence",
    "sets",
    "sweep",
    "threshold",
    "timeouts",
    "until_unix_ns",
    "value",
    "way",
    "what",
    "why",
];

/// The message, then further fields.
fn for_people(writer: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> std::fmt::Result {
    match field.name() {
        // A line that is not the first of its message does not look like a message of its own.
        "message" => {
            let text = format!("{value:?}").replace('\n', "\n    ");
            write!(writer, "{}", for_terminal(&text))
        }
        name if FOR_MACHINES.contains(&name) => Ok(()),
        name => write!(writer, " {name}={value:?}"),
    }
}

/// systemd sets JOURNAL_STREAM where standard error goes to the journal.
fn resolve(format: LogFormat) -> LogFormat {
    match format {
        LogFormat::Auto if std::env::var_os("JOURNAL_STREAM").is_some() => LogFormat::Journald,
        LogFormat::Auto => LogFormat::Human,
        other => other,
    }
}
