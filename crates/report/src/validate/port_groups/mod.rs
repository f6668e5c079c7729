//! `validatepgs`: whether all ports of an adaptive-routing group lead to a LID in as many hops as the linear table.

mod check;
mod print;

use serde::Serialize;
use weft_fabric::{Guid, PortRef, Snapshot};

use super::walk::is_switch;
use crate::focus::{Detail, Options};
use crate::names::as_text;
use crate::tables::{known_ports, nodes_by_guid};
use check::Check;

/// Whether groups fit the linear tables.
#[derive(Debug, Clone, Serialize)]
pub struct PgReport {
    /// Ports with LIDs.
    pub lids: usize,
    /// HFIs.
    pub hfis: usize,
    /// In order of GUID.
    pub switches: Vec<PgSwitch>,
    /// Bits of masks that were looked at, up to the highest of each group, once for each LID.
    pub tested: u64,
    /// The forwarding tables are known; else nothing was followed.
    pub with_routes: bool,
    #[serde(skip)]
    detail: Detail,
}

/// What a switch's groups are like.
#[derive(Debug, Clone, Serialize)]
pub struct PgSwitch {
    /// NodeGUID.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// Its name.
    pub name: String,
    /// Why it has no groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without: Option<&'static str>,
    /// What does not fit.
    pub findings: Vec<PgFinding>,
    #[serde(skip)]
    duplicates: Vec<u64>,
    #[serde(skip)]
    groups: Vec<u64>,
    #[serde(skip)]
    lines: Vec<Line>,
}

/// What does not fit.
#[derive(Debug, Clone, Serialize)]
pub struct PgFinding {
    /// In words.
    pub what: String,
    /// A name for it.
    pub kind: &'static str,
    /// The LID, 0 for none.
    pub dlid: u32,
    /// Switches on the way, from where it was found back.
    pub hops: Vec<PgHop>,
}

/// A device on the way.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct PgHop {
    /// Its place.
    pub hop: u32,
    /// NodeGUID.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// Its LID.
    pub lid: u32,
}

/// A finding or a route, in the order in which they were found.
#[derive(Debug, Clone)]
enum Line {
    Finding(usize),
    Route {
        guid: Guid,
        dlid: u32,
        hops: u32,
        alternatives: u32,
    },
}

/// Makes the report.
pub fn validate_pgs(snapshot: &Snapshot, options: &Options) -> PgReport {
    let known = known_ports(snapshot).into_iter();
    let ends = known.filter(|at| !is_switch(snapshot, at.node) || at.port.0 == 0);
    let lid = |at: &PortRef| {
        snapshot
            .topology
            .port(*at)
            .map_or(0, |port| port.info.lid.0)
    };
    let mut report = PgReport {
        lids: ends.filter(|at| lid(at) != 0).count(),
        hfis: snapshot.topology.hfis().count(),
        switches: Vec::new(),
        tested: 0,
        with_routes: !snapshot.lacking.routes,
        detail: options.detail,
    };
    if report.with_routes {
        let mut check = Check::new(snapshot);
        let nodes = nodes_by_guid(snapshot).into_iter();
        report.switches = nodes.filter_map(|id| check.switch(id)).collect();
        report.tested = check.tested;
    }
    report
}
