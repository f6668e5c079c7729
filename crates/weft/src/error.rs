//! What goes wrong, and the exit codes.

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use weft_api::client::ClientError;
use weft_report::TooManyRoutes;
use weft_report::point::{NotFound, PointError};

#[derive(Debug, Error)]
pub(crate) enum CliError {
    #[error(transparent)]
    Point(#[from] PointError),
    #[error("{point}: {source}")]
    NotFound { point: String, source: NotFound },
    #[error(transparent)]
    Routes(#[from] TooManyRoutes),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("{}: {source}", file.display())]
    File { file: PathBuf, source: io::Error },
    #[error("{}: {why}", file.display())]
    Content { file: PathBuf, why: String },
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Refused(String),
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
}

impl CliError {
    pub(crate) fn file(file: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File {
            file: file.into(),
            source,
        }
    }

    /// Who read the output has gone; that is no error.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::NotFound { .. } | Self::Routes(_) | Self::Refused(_) => 1,
            Self::Client(ClientError::Refused(status)) => match status.code() {
                tonic::Code::Unavailable => 3,
                _ => 1,
            },
            Self::Client(ClientError::Snapshot(_)) => 1,
            Self::Point(_) | Self::Usage(_) | Self::Client(ClientError::Address { .. }) => 2,
            Self::Client(ClientError::NotRunning { .. }) => 3,
            Self::File { .. } | Self::Content { .. } | Self::Output(_) => 4,
        }
    }
}

impl From<tonic::Status> for CliError {
    fn from(status: tonic::Status) -> Self {
        Self::Client(status.into())
    }
}
