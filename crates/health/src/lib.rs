//! One page of what is wrong in a fabric: key figures with a colour each, and findings in order of cost, each with its
//! place, its beginning, the hosts that feel it, and the command to run next.
//!
//! Nothing here asks a device or a clock: [`check`] is a function from a [`Moment`] to a [`Page`].
//!
//! | module | contents |
//! |---|---|
//! | `moment`, `page` | what is known at a moment; the page as a value |
//! | `check` | from the one to the other |
//! | `figures` | the key figures and their thresholds |
//! | `findings` | what is wrong, by kind; one cause gives one finding |
//! | `idle` | links that are up and carry no data |
//! | `shape`, `redundancy` | what is computed once a change: whether it is a clean tree, how many links until switches with hosts are cut off from each other |
//! | `modules` | what modules of cables measure, against thresholds |
//! | `memory` | nodes and links that were there before, also over a restart |
//! | `errors`, `losses`, `slots` | errors and losses of links in the last while, in bounded memory |

mod check;
mod errors;
mod figures;
mod findings;
mod gone;
mod idle;
mod losses;
mod memory;
mod modules;
mod moment;
mod page;
mod redundancy;
mod shape;
mod slots;

pub use check::check;
pub use errors::{ErrorLog, PORTS_MAX, Trend, Trouble};
pub use gone::{Gone, GoneNode};
pub use idle::Idle;
pub use losses::LossLog;
pub use memory::{
    Forgotten, KnownLink, KnownNode, LINKS_MAX, LinkEnd, LinkKey, Memory, MemoryError, NODES_MAX,
    PointError, Target,
};
pub use modules::{ModuleFault, module_faults};
pub use moment::{Attachment, LastSweep, Moment, RequestLog, Requests, Silent};
pub use page::{Color, End, Figure, FigureName, Finding, Kind, LISTED_MAX, Page};
pub use redundancy::{Redundancy, redundancy};
pub use shape::Shape;
