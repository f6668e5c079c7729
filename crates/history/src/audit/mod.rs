//! Record of every change that was asked for: who, from where, why, and what came of it.
//!
//! A file has one line for each *entry*: a hash, a space, and a JSON object. The hash is the SHA-256 of the hash of the
//! line before, a space and the object, so that no line can be changed or taken out without all later ones telling. The
//! first line of a file is the last hash of the file before. Nothing but standard tools is needed to check that:
//!
//! ```sh
//! printf '%s %s' "$HASH_BEFORE" "$JSON" | sha256sum
//! ```
//!
//! A request has two entries: one before anything is done, and one with its outcome. A request without an outcome was
//! cut off by the end of the daemon.
//!
//! | module | contents |
//! |---|---|
//! | `entry` | what is written |
//! | `chain` | lines and their hashes |
//! | `log` | the file that is appended to, and those before it |
//! | `verify` | whether every line is as it was written |
//! | `record` | requests with their outcomes, read back |

mod chain;
mod entry;
mod log;
mod record;
mod verify;

pub use chain::Hash;
pub use entry::{Asked, Body, Ended, Entry};
pub use log::{AuditLog, FILE_LEN_MAX, FILES_MAX, LINE_MAX};
pub use record::{Record, read};
pub use verify::{Fault, Verdict, verify};
