//! What can go wrong.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why something cannot be recorded or read.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// A file or directory cannot be used.
    #[error("{path}: {error}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// A file is not as it was written.
    #[error("{path} is damaged: {why}")]
    Damaged {
        /// Which.
        path: PathBuf,
        /// What does not agree.
        why: String,
    },
    /// All files together would be larger than the budget.
    #[error("{needed} more bytes do not fit into the budget of {budget} bytes")]
    Budget {
        /// Bytes to be written.
        needed: u64,
        /// Bytes allowed in all.
        budget: u64,
    },
    /// Values that cannot be recorded or asked for.
    #[error("{0}")]
    Input(String),
}

/// A file would be larger than the room that the budget has for it.
#[derive(Debug, Error)]
#[error("no room in the budget")]
pub(crate) struct OverLimit;

impl HistoryError {
    pub(crate) fn io(path: &Path) -> impl Fn(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Io {
            path: path.clone(),
            error,
        }
    }

    pub(crate) fn damaged(path: &Path, why: impl ToString) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            why: why.to_string(),
        }
    }

    /// Whether a segment would have become larger than the budget has room for; a quota of the file system is not meant.
    pub(crate) fn is_over_limit(&self) -> bool {
        let Self::Io { error, .. } = self else {
            return false;
        };
        error.get_ref().is_some_and(|inner| inner.is::<OverLimit>())
    }

    /// Whether the file has gone: readers meet that when it is removed or closed beside them.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self, Self::Io { error, .. } if error.kind() == io::ErrorKind::NotFound)
    }
}
