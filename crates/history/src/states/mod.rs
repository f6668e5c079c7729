//! States over time: a state is a set of *pieces*, each a key and a value of bytes, of which this crate knows no more.
//!
//! A file of states begins with a whole one, the key state; what follows are changes of it and *marks*, which say that
//! nothing has changed. Every record has the time, the sweep and the generation. All of a file is needed from its
//! beginning to the record that is asked for, and nothing before it.
//!
//! | module | contents |
//! |---|---|
//! | `patch` | a value as what differs from the one before |
//! | `frame` | records as frames of a log |
//! | `record` | a state on its way into a file |
//! | `files` | the files, their records without contents |
//! | `read` | the state of a time or of a sweep |

mod files;
mod frame;
mod patch;
mod read;
mod record;

use std::path::{Path, PathBuf};

pub(crate) use files::{StateFile, states_in};
pub(crate) use frame::{Flags, encode_mark};
pub use read::{PastState, StateAnswer, StateId, StatePieces, StateQuestion};
pub(crate) use read::{Reading, newest_ms, oldest_ms, state};
pub use record::StateRecord;

/// Longest time from one record to the next in which a state is known to last, milliseconds: whoever records makes a
/// mark more often than that.
pub const STATE_LASTS_MS: i64 = 150_000;

/// Which state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateHead {
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// Number of the sweep in or after which it was so; numbers begin again with each run of the daemon.
    pub sweep: u64,
    /// Generation of the fabric.
    pub generation: u64,
}

/// Directory of the files.
pub(crate) fn dir(root: &Path) -> PathBuf {
    root.join("states")
}
