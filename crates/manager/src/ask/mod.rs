//! Requests to agents, the same for all who ask: bounded in number, matched with their answers, sent
//! again with growing patience, given up in bounded time.
//!
//! | module | what it is about |
//! |---|---|
//! | `transactions` | requests that wait for their answers, and how much of that there may be |
//! | `rtt` | measured round trips and the timeouts that follow from them |
//! | `batch` | one request with several attributes, and its answer taken apart |
//! | `by_lid` | requests by LID, for those that work on published snapshots |

pub(crate) mod batch;
mod by_lid;
pub(crate) mod rtt;
mod transactions;

pub(crate) use by_lid::{Agents, Unanswered, lid_routed};
pub(crate) use transactions::{
    Answered, Budget, Expired, Patience, Target, Transactions, is_of_a_set,
};
