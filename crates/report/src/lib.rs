//! Reports on a fabric: pure functions from a [`Snapshot`](weft_fabric::Snapshot) to data that
//! serde writes and that prints in the layout of the vendor's `opareport`.
//!
//! [`nodes()`], [`comps()`], [`links()`], [`lids()`], [`linear()`], [`route()`] and, without a
//! counterpart among the vendor's reports, [`dispersion()`] and [`dispersion_between()`] each return a value;
//! its `Display` is the text, its `Serialize` the data. [`Point`] is the syntax that selects the
//! subject of a report.

mod comps;
mod dispersion;
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
pub use dispersion::{
    Disjoint, DispersedPath, DispersionReport, DispersionRow, MAX_SAMPLE, PairDispersion,
    PairDispersionReport, SAMPLE, Sample, SharedLink, SharedSwitch, Spread, UnevenPair, dispersion,
    dispersion_between,
};
pub use focus::{Detail, Focus, Options};
pub use lids::{LidEntry, LidsReport, lids};
pub use linear::{LinearEntry, LinearReport, SwitchTable, linear};
pub use links::{LinkEnd, LinkEntry, LinksReport, links};
pub use node::{Neighbor, NodeEntry, PortEntry, SwitchEntry};
pub use nodes::{NodeList, NodesReport, nodes};
pub use point::{NodeMatch, Point, Selection};
pub use route::{
    Hop, MAX_PAIRS, Path, PathEnd, PathOutcome, Route, RouteReport, TooManyRoutes, paths, route,
};
pub use sms::{SmEntry, SmList};

/// The line that ends a report.
const RULE: &str =
    "-------------------------------------------------------------------------------";
