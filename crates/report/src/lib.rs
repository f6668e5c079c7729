//! Reports on a fabric: pure functions from a [`Snapshot`](weft_fabric::Snapshot) to data that
//! serde writes and that prints in the layout of the vendor's `opareport`.
//!
//! [`nodes()`], [`comps()`], [`links()`], [`lids()`], [`linear()`] and [`route()`] each give a
//! value; its `Display` is the text, its `Serialize` the data. [`Point`] is the syntax that
//! selects what a report is about.

mod comps;
mod focus;
mod lids;
mod linear;
mod links;
mod names;
mod node;
mod nodes;
pub mod point;
mod route;
mod sms;

pub use comps::{CompsReport, System, comps};
pub use focus::{Detail, Focus, Options};
pub use lids::{LidEntry, LidsReport, lids};
pub use linear::{LinearEntry, LinearReport, SwitchTable, linear};
pub use links::{LinkEnd, LinkEntry, LinksReport, links};
pub use node::{Neighbor, NodeEntry, PortEntry, SwitchEntry};
pub use nodes::{NodeList, NodesReport, nodes};
pub use point::{Point, Selection};
pub use route::{
    Hop, MAX_PAIRS, Path, PathEnd, PathOutcome, Route, RouteReport, TooManyRoutes, paths, route,
};
pub use sms::{SmEntry, SmList};

/// The line that ends a report.
const RULE: &str =
    "-------------------------------------------------------------------------------";
