//! What the fabric did to a job, from the history: the links that its hosts used, and what these did.
//!
//! | module | contents |
//! |---|---|
//! | `routes` | the hosts and their links, by the tables of some moments |
//! | `figures` | what the links' ports counted, then and in usual times |
//! | `events` | what happened to them |

mod events;
mod figures;
mod routes;

use weft_history::HistoryError;

pub(crate) use events::{Events, Told};
pub(crate) use figures::{Comparison, Reading, Readings, readings};
pub(crate) use routes::{Asked, HOSTS_MAX, Used};

/// A port: GUID of its node, and its number.
pub(crate) type Port = (u64, u8);

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// Files cannot be read.
    Files(HistoryError),
    /// So many ports of hosts are asked for, more than [`HOSTS_MAX`].
    Hosts(usize),
    /// Nobody waits for it any more.
    Stopped,
}

impl From<HistoryError> for NoAnswer {
    fn from(error: HistoryError) -> Self {
        Self::Files(error)
    }
}
