//! Rates of flows that share links fairly: no packets and no time.
//!
//! What a fabric's routes give to patterns of traffic, without what queues and lost time add: the
//! upper limit of what packets can get, thousands of times faster to find.
//!
//! | module | what it holds |
//! |---|---|
//! | [`share`] | max-min fair rates |
//! | [`routes`] | flows along the programmed tables, and routes that switches move |
//! | [`demand`] | what hosts want to send |
//! | [`live`] | rates that follow a running fabric, and counters that advance by them |

pub mod demand;
pub mod live;
pub mod routes;
pub mod share;
mod tally;

pub use demand::{Demand, Receivers};
pub use live::Live;
pub use routes::Routes;
pub use share::Shares;
