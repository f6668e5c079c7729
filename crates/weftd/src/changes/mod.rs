//! Who or what changed a part of the fabric, and what a change comes from: read from the record of changes, the events and the
//! states of the past, whenever somebody asks. Nothing is kept for it.
//!
//! | module | contents |
//! |---|---|
//! | `named` | the ports and nodes that a message names |
//! | `object` | the part of the fabric that is asked about |
//! | `asked` | what people asked for |
//! | `happened` | what the manager did or found |
//! | `list` | both, the newest first, each change once |
//! | `why` | what a change comes from |

mod asked;
mod happened;
mod list;
mod named;
mod object;
mod why;

use std::path::PathBuf;

use named::KnownNames;
use weft_history::Reader;

pub(crate) use list::{Question, list};
pub(crate) use named::{Named, named};
pub(crate) use object::{Gone, Object, Parts};
pub(crate) use why::{End, Subject, explain};

/// What is told where no events are kept.
const NO_HISTORY: &str = "no events are kept: what the manager did is not known";

/// Where changes are read from.
pub(crate) struct Sources<'a> {
    /// Events and states; none where none are kept.
    pub(crate) history: Option<Reader>,
    /// The record of changes; none where none is kept.
    pub(crate) audit: Option<PathBuf>,
    /// The name of a node, by its GUID; empty where it was never seen.
    pub(crate) name_of: &'a dyn Fn(u64) -> String,
}

impl Sources<'_> {
    /// The name of a node, by its GUID: as it was seen last, or as events of then tell it.
    fn name(&self, known: &KnownNames, guid: u64) -> String {
        match (self.name_of)(guid) {
            name if name.is_empty() => known.of(guid),
            name => name,
        }
    }
}
