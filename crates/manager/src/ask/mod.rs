//! Requests to agents, common to all clients: bounded in number, matched with their answers, retried
//! with growing timeouts, given up in bounded time.
//!
//! | module | contents |
//! |---|---|
//! | `transactions` | pending requests, and their bounds |
//! | `window` | the number of them in flight, by how answers come |
//! | `rtt` | measured round trips and the timeouts that follow from them |
//! | `batch` | one request with several attributes, and splitting of its answer |
//! | `by_lid` | requests by LID, for clients that work on published snapshots |
//! | `later` | those of them that were given up, to be made again later |
//! | `skipped_writes` | attributes that sweeps do not write |

pub(crate) mod batch;
mod by_lid;
mod later;
pub(crate) mod rtt;
mod skipped_writes;
mod transactions;
mod window;

pub(crate) use by_lid::{Agents, Unanswered, lid_routed};
pub(crate) use later::Later;
pub use skipped_writes::SkippedWrites;
pub(crate) use transactions::{
    Answered, Budget, Expired, NO_NODE, Patience, Target, Transactions, is_of_a_set,
};
