//! What links would carry after a change of routes, from what they carry now.
//!
//! | module | contents |
//! |---|---|
//! | `ways` | the links of each pair of hosts by the tables of a fabric |
//! | `matrix` | who sends how much to whom, estimated from what links carry |
//! | `rates` | rates of pairs that share links |
//! | `forecast` | loads before and after |

mod forecast;
mod matrix;
mod rates;
mod ways;

pub use forecast::{Cut, Forecast, HostChange, LinkChange, Question, forecast};
pub use matrix::{Doubt, Pair, Traffic};
pub use ways::{Fabric, LINKS_MAX, PAIRS_MAX, Ports};

/// Tells a long computation to end.
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// Why there is no forecast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoForecast {
    /// More pairs of hosts with traffic than are computed.
    Pairs(usize),
    /// The pairs' routes have more links, all together, than are computed: LMC multiplies them.
    Links,
    /// Nobody waits for it any more.
    Stopped,
}
