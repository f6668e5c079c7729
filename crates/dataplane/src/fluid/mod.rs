//! Rates of flows that share links fairly: no packets and no time.
//!
//! The throughput that a fabric's routes allow for patterns of traffic, without the effects of queues and
//! lost time: the upper limit for packets, computed thousands of times faster.
//!
//! | module | contents |
//! |---|---|
//! | [`share`] | max-min fair rates |
//! | [`routes`] | flows along the programmed tables, and routes that switches move |
//! | [`demand`] | traffic demands of hosts |
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
