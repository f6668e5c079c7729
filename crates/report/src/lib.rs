//! Reports on a fabric: pure functions from a [`Snapshot`](weft_fabric::Snapshot) to data that
//! serde writes and that prints in the layout of the vendor's `opareport`.
//!
//! [`nodes()`], [`comps()`], [`links()`], [`lids()`], [`linear()`], [`errors()`], [`route()`] and, without a
//! counterpart among the vendor's reports, [`dispersion()`] and [`dispersion_between()`] each return a value;
//! its `Display` is the text, its `Serialize` the data, its [`Xml`] what `opareport -x` prints.
//! [`REPORTS`] has all of them by name: a further report is a file with such a value and a row
//! there. [`Point`] is the syntax that selects the subject of a report.

mod bfrctrl;
mod brief;
mod cable;
mod cablehealth;
mod changes;
mod clearing;
mod codes;
mod comps;
mod courses;
mod dgmember;
mod dispersion;
mod errors;
mod expectations;
mod extent;
mod focus;
mod ious;
mod lids;
mod lidusage;
mod linear;
mod linkinfo;
mod links;
mod mcast;
mod mcgroups;
mod names;
mod node;
mod nodes;
mod noname;
mod otherports;
mod pathusage;
mod plain;
pub mod point;
mod port_counts;
mod port_details;
mod portgroups;
mod portusage;
mod qos_tables;
mod quarantinednodes;
mod route;
mod slow;
mod sms;
mod spread;
mod table;
mod verify;
mod xml;

pub use brief::{BrcompsReport, BrnodesReport, TopologyReport, brcomps, brnodes, topology};
pub use codes::gid;
mod tables;
mod validate;
mod vfcheck;
mod vfinfo;
mod vfmember;

pub use bfrctrl::{BuffersReport, LaneBuffer, PortBuffers, Receiver, bfrctrl};
pub use cable::CableEntry;
pub use cablehealth::{CableEnd, CableHealthReport, cablehealth};
pub use changes::{
    ChangedEnd, ChangedLid, ChangedLink, ChangedNode, ChangedRate, ChangesReport, MovedRoutes,
    RenamedNode, changes,
};
pub use clearing::{Cleared, ClearingReport, clearing};
pub use comps::{CompsReport, System, comps};
pub use courses::{NoCourse, courses};
pub use dgmember::{DeviceGroupEntry, DeviceGroupPort, DeviceGroupsReport, dgmember};
pub use dispersion::{
    Disjoint, DispersedPath, DispersionReport, DispersionRow, MAX_SAMPLE, PairDispersion,
    PairDispersionReport, SAMPLE, Sample, SharedLink, SharedSwitch, Spread, UnevenPair, dispersion,
    dispersion_between,
};
pub use errors::{Counted, ErrorLink, ErrorsReport, Excess, ThresholdError, Thresholds, errors};
pub use expectations::Expectations;
pub use extent::Extent;
pub use focus::{Detail, Focus, Options};
pub use ious::{IousReport, ious};
pub use lids::{LidEntry, LidsReport, lids};
pub use lidusage::{LidUsageReport, NamedSwitch, lidusage};
pub use linear::{LinearEntry, LinearReport, SwitchTable, linear};
pub use linkinfo::{EgressLink, LinkInfoReport, PortLinks, linkinfo};
pub use links::{LinkEnd, LinkEntry, LinkEntry as Hop, LinksReport, Which, links, links_of};
pub use mcast::{MulticastEntry, MulticastReport, MulticastTable, mcast};
pub use mcgroups::{GroupEntry, GroupsReport, MemberEntry, mcgroups};
pub use node::{NodeEntry, PortEntry, SwitchEntry};
pub use nodes::{NodeList, NodesReport, nodes};
pub use noname::{without_names, xml_without_names};
pub use otherports::{OtherPort, OtherPorts, OtherPortsReport, otherports};
pub use pathusage::{PathUsageReport, Paths, PortPaths, SwitchPaths, pathusage, treepathusage};
pub use plain::{Column, MakePlain, Mood, PLAIN, Plain, Row};
pub use point::{Glob, KEYWORDS, NodeMatch, Point, Selection};
pub use portgroups::{GroupOfPorts, LidRange, PortGroupsReport, SwitchGroups, portgroups};
pub use portusage::{PortUsage, PortUsageReport, SwitchUsage, portusage};
pub use quarantinednodes::{QuarantinedEntry, QuarantinedReport, quarantinednodes};
pub use route::{
    MAX_PAIRS, Path, PathEnd, PathOutcome, Route, RouteReport, TooManyRoutes, paths, route,
};
pub use slow::{Ability, Lanes, Question, Slow, SlowLink, SlowReport, SlowSection, slow};
pub use sms::{SmEntry, SmList};
pub use table::{GROUPS, Kind, MakeError, Needs, REPORTS, Report, Request, Takes};
pub use verify::{
    Checked, Comparison, Counts, ExpectedLinkProblem, ExpectedNodeProblem, ExpectedSmProblem,
    LinkProblem, NodeProblem, Skipped, SmProblem, VerifyLinksReport, VerifyNodesReport,
    VerifySmsReport, verifylinks, verifynodes, verifysms,
};
pub use xml::{Xml, XmlWriter, document};

pub use validate::{
    CreditLoop, CreditLoopsReport, IncompletePath, MAX_LISTED, McFault, McHop, McPath,
    McRoutesReport, PassedPort, PgFinding, PgHop, PgReport, PgSwitch, RoutesReport, WaitingLink,
    validate_credit_loops, validate_mc_routes, validate_pgs, validate_routes,
    validate_vl_credit_loops, validate_vl_routes,
};
pub use vfcheck::Finding;
pub use vfinfo::{FabricEntry, FabricsReport, vfinfo};
pub use vfmember::{
    Buffer, Level, MemberOf, MembershipReport, NeighborEnd, PortMembership, vfmember,
};

/// The line that ends a report.
const RULE: &str =
    "-------------------------------------------------------------------------------";
