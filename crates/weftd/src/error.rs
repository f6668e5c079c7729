//! Errors that stop the daemon, and the exit codes.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

#[derive(Debug, Error)]
pub(crate) enum DaemonError {
    #[error("the manager's thread ended: {0}")]
    Manager(String),
    #[error("the first sweep is incomplete:\n  {}", .0.join("\n  "))]
    Incomplete(Vec<String>),
    #[error("{name} has ended: {why}")]
    Part { name: &'static str, why: String },
    #[error("{name} has ended: it panicked: {words}")]
    Panicked { name: &'static str, words: String },
    #[error("{0}")]
    Usage(String),
    #[error("{}: {source}", file.display())]
    ConfigFile { file: PathBuf, source: io::Error },
    #[error("{0}")]
    Config(String),
    #[error("{0}")]
    NotStarted(String),
    #[error("{0}")]
    Fabric(String),
    #[error("cannot listen on {address} for {what}: {source}")]
    Listen {
        what: &'static str,
        address: String,
        source: io::Error,
    },
    #[error("{what} {}: {source}", file.display())]
    File {
        what: &'static str,
        file: PathBuf,
        source: io::Error,
    },
    #[error("TLS: {0}")]
    Tls(String),
    #[error("state directory {}: {why}", dir.display())]
    State { dir: PathBuf, why: String },
}

impl DaemonError {
    /// A part of the daemon has ended.
    pub(crate) fn part(name: &'static str, why: String) -> Self {
        Self::Part { name, why }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Manager(_) | Self::Incomplete(_) | Self::Part { .. } | Self::Panicked { .. } => 1,
            Self::Usage(_) | Self::Tls(_) | Self::File { .. } => 2,
            Self::ConfigFile { .. } | Self::Config(_) => 3,
            Self::Fabric(_) => 4,
            Self::Listen { .. } => 5,
            Self::State { .. } => 6,
            Self::NotStarted(_) => 7,
        }
    }
}
