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

pub(crate) use events::{Events, Told};
pub(crate) use figures::{Comparison, Readings, samples};
pub(crate) use routes::{Asked, Used};

/// A port: GUID of its node, and its number.
pub(crate) type Port = (u64, u8);
