//! Counters, events and states of a fabric over time, in files on the management node.
//!
//! [`Recorder`] writes, one at a time in a directory; [`Reader`] reads beside it, without a word to it. What is recorded
//! is first appended to a log of frames and synced; after ten minutes, or when the log is large, its rows become a
//! *segment*: a Parquet file sorted by port and time. Segments of counters are rolled up to fewer rows, and the oldest
//! are removed so that all files together stay within a budget of bytes. States are in files of their own, of whole ones
//! and changes.
//!
//! | module | contents |
//! |---|---|
//! | `audit` | every change that was asked for, in a chain of hashes |
//! | `row` | what is recorded |
//! | `log` | frames of the open log, an image in one, and what is done about damage |
//! | `segment` | Parquet files: their names, columns, writing and reading with checksums |
//! | `rollup` | a longer segment with fewer rows from several |
//! | `budget` | which files are removed first |
//! | `states` | states: pieces of bytes of which this crate knows no more |
//! | `side_by_side` | work on several threads |
//! | `gaps` | times of which nothing is known, and why |
//! | `recorder`, `reader` | the two ends; `wanted` has the rows of a question, `reading` all ports at a moment |

pub mod audit;
mod budget;
mod error;
mod gaps;
mod log;
mod reader;
mod reading;
mod recorder;
mod rollup;
mod row;
mod segment;
mod side_by_side;
mod states;
mod tables;
mod wanted;

pub use error::HistoryError;
pub use gaps::Gap;
pub use reader::{EventFilter, Kept, KeptStates, KeptTable, POINTS_MAX, Reader, Sample};
pub use reading::{PastReading, PortThen};
pub use recorder::{BUDGET_MIN, Mark, Recorder, Usage};
pub use row::{COUNTERS, EventRow, PortKey, PortRow, PortValues, Totals};
pub use states::{
    PastState, STATE_LASTS_MS, StateAnswer, StateHead, StateId, StatePieces, StateQuestion,
    StateRecord,
};
pub use tables::{Resolution, Table};
