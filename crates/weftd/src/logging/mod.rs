//! The log: for people or machines on standard error, or to the journal.

mod levels;

use std::fmt::Debug;
use std::io::IsTerminal;

use tracing::field::Field;
use tracing_subscriber::fmt::format::{self, Writer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};
use weft_fabric::text::for_terminal;

use crate::args::LogFormat;
use crate::error::DaemonError;
pub(crate) use levels::{LogLevel, LogLevels, of_vendor_level};

/// Begins to log; returns the handle that changes the level.
pub(crate) fn init(format: LogFormat, filter: &str) -> Result<LogLevels, DaemonError> {
    let (levels, filter) = LogLevels::new(filter)
        .map_err(|why| DaemonError::Usage(format!("--log-level '{filter}': {why}")))?;
    let layer = match resolve(format) {
        LogFormat::Journald => tracing_journald::layer()
            .map_err(|error| DaemonError::Usage(format!("--log journald: {error}")))?
            .boxed(),
        LogFormat::Json => fmt::layer()
            .json()
            .log_internal_errors(false)
            .with_writer(std::io::stderr)
            .boxed(),
        LogFormat::Human | LogFormat::Auto => {
            let colors = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            let layer = fmt::layer().with_writer(std::io::stderr).with_ansi(colors);
            // A failure of standard error cannot be reported there, and must not end the daemon.
            layer
                .log_internal_errors(false)
                .with_target(false)
                .fmt_fields(format::debug_fn(for_people))
                .boxed()
        }
    };
    let subscriber = tracing_subscriber::registry().with(layer.with_filter(filter));
    let begun = subscriber.try_init();
    begun.map_err(|error| DaemonError::Usage(format!("--log: {error}")))?;
    Ok(levels)
}

/// Fields that people find in the words already.
const FOR_MACHINES: [&str; 40] = [
    "a",
    "a_guid",
    "a_port",
    "action",
    "attribute",
    "b",
    "b_guid",
    "b_port",
    "by",
    "category",
    "config_file",
    "count",
    "elapsed_ns",
    "error_info",
    "event",
    "generation",
    "instance",
    "lid",
    "master",
    "neighbor",
    "neighbor_guid",
    "neighbor_port",
    "node",
    "node_guid",
    "number",
    "phase",
    "plan",
    "port",
    "reason",
    "retries",
    "role",
    "sent",
    "sets",
    "sweep",
    "threshold",
    "timeouts",
    "until_unix_ns",
    "value",
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
