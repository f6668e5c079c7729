//! Flows over links before and after a plan.

use std::collections::BTreeSet;

use weft_fabric::{Guid, PortNum, PortRef, Topology};
use weft_routing::quality::LinkFlows;

/// Directions of links that are listed of each kind.
const LISTED_MAX: usize = 100;
/// Less than the smallest part of a flow: sums of parts may differ by the order of adding.
const LEAST: f64 = 1e-6;

/// Flows over the links between switches when every host sends to every other one. Each direction of a link counts for
/// itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlannedFlows {
    /// Directions that get more flows, those that get most more first; at most 100.
    pub fuller: Vec<PlannedFlow>,
    /// Directions that get fewer, those that lose most first; at most 100.
    pub emptier: Vec<PlannedFlow>,
    /// Number of all that get more.
    pub fuller_links: u32,
    /// Number of all that get fewer.
    pub emptier_links: u32,
    /// Number of those that stay as they are.
    pub same_links: u32,
}

/// A direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedFlow {
    /// The end that sends.
    pub from: FlowEnd,
    /// The end that receives.
    pub to: FlowEnd,
    /// Flows at present.
    pub before: f64,
    /// Flows with the planned routes.
    pub after: f64,
}

impl PlannedFlow {
    fn more(&self) -> f64 {
        self.after - self.before
    }
}

/// An end of a link.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowEnd {
    /// Name of the node.
    pub name: String,
    /// Its GUID.
    pub node: Guid,
    /// The port.
    pub port: PortNum,
}

/// Flows over the links of a fabric with certain routes.
pub(super) struct Carried<'a> {
    pub(super) topology: &'a Topology,
    pub(super) flows: &'a LinkFlows,
}

impl Carried<'_> {
    /// A sending port with the receiving one.
    fn ends(&self) -> impl Iterator<Item = (FlowEnd, FlowEnd)> {
        let links = self.flows.keys();
        links.filter_map(|at| Some((self.end(*at)?, self.end(self.topology.peer(*at)?)?)))
    }

    fn end(&self, at: PortRef) -> Option<FlowEnd> {
        let node = self.topology.node(at.node)?;
        Some(FlowEnd {
            name: node.name(),
            node: node.guid(),
            port: at.port,
        })
    }

    /// Flows that a port sends: none where it sends nothing.
    fn sent(&self, end: &FlowEnd) -> f64 {
        let node = self.topology.find(end.node);
        let at = node.map(|node| PortRef {
            node,
            port: end.port,
        });
        at.and_then(|at| self.flows.get(&at))
            .copied()
            .unwrap_or_default()
    }
}

/// What becomes of each link; those of either fabric, because a plan may be made for another one.
pub(super) fn planned(before: &Carried<'_>, after: &Carried<'_>) -> PlannedFlows {
    let links: BTreeSet<(FlowEnd, FlowEnd)> = before.ends().chain(after.ends()).collect();
    let mut flows = PlannedFlows::default();
    for (from, to) in links {
        let (before, after) = (before.sent(&from), after.sent(&from));
        let flow = PlannedFlow {
            from,
            to,
            before,
            after,
        };
        match flow.more() {
            more if more > LEAST => flows.fuller.push(flow),
            more if more < -LEAST => flows.emptier.push(flow),
            _ => flows.same_links += 1,
        }
    }
    flows.fuller_links = flows.fuller.len() as u32;
    flows.emptier_links = flows.emptier.len() as u32;
    flows.fuller.sort_by(|a, b| b.more().total_cmp(&a.more()));
    flows.emptier.sort_by(|a, b| a.more().total_cmp(&b.more()));
    flows.fuller.truncate(LISTED_MAX);
    flows.emptier.truncate(LISTED_MAX);
    flows
}
