//! The log: for people or machines on standard error, or to the journal.

use std::io::IsTerminal;

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt};

use crate::args::LogFormat;
use crate::error::DaemonError;

/// Begins to log.
pub(crate) fn init(format: LogFormat, filter: &str) -> Result<(), DaemonError> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| DaemonError::Usage(format!("--log-level '{filter}': {error}")))?;
    let layer = match resolve(format) {
        LogFormat::Journald => tracing_journald::layer()
            .map_err(|error| DaemonError::Usage(format!("--log journald: {error}")))?
            .boxed(),
        LogFormat::Json => fmt::layer().json().with_writer(std::io::stderr).boxed(),
        LogFormat::Human | LogFormat::Auto => {
            let colors = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            let layer = fmt::layer().with_writer(std::io::stderr).with_ansi(colors);
            layer.with_target(false).boxed()
        }
    };
    let subscriber = tracing_subscriber::registry().with(layer.with_filter(filter));
    subscriber
        .try_init()
        .map_err(|error| DaemonError::Usage(format!("--log: {error}")))
}

/// systemd sets JOURNAL_STREAM where standard error goes to the journal.
fn resolve(format: LogFormat) -> LogFormat {
    match format {
        LogFormat::Auto if std::env::var_os("JOURNAL_STREAM").is_some() => LogFormat::Journald,
        LogFormat::Auto => LogFormat::Human,
        other => other,
    }
}
