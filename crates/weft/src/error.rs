//! Errors and exit codes.

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use weft_api::client::ClientError;
use weft_report::TooManyRoutes;
use weft_report::point::{NotFound, PointError};

use crate::time::duration;

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
    #[error(
        "no answer from {address} within {}; --timeout DURATION waits longer. What was already begun is \
         carried through: `weft watch` and the daemon's log say so",
        duration(limit.as_nanos() as u64)
    )]
    Late {
        address: String,
        limit: std::time::Duration,
    },
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
    #[error("stopped, because the output cannot be written ({source}). {done}")]
    Untold { done: String, source: io::Error },
}

impl CliError {
    pub(crate) fn file(file: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File {
            file: file.into(),
            source,
        }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::NotFound { .. } | Self::Routes(_) | Self::Refused(_) => 1,
            Self::Client(ClientError::Refused(status)) => match status.code() {
                tonic::Code::Unavailable => 3,
                tonic::Code::DeadlineExceeded => 5,
                _ => 1,
            },
            Self::Client(ClientError::Snapshot(_)) => 1,
            Self::Point(_) | Self::Usage(_) | Self::Client(ClientError::Address { .. }) => 2,
            Self::Client(ClientError::Unreachable { .. }) => 3,
            Self::Late { .. } => 5,
            Self::File { .. } | Self::Content { .. } | Self::Output(_) | Self::Untold { .. } => 4,
        }
    }
}
