//! Plans of routes, and drains.

use weft_fabric::Guid;
use weft_manager::sm::drains::{Drain, DrainUse};
use weft_manager::sm::reroute::{FlowEnd, PlannedFlow, PlannedFlows, RoutePlan};
use weft_routing::quality::{Pattern, Quality};

use super::{point_of, port};
use crate::v1;
use crate::v1::drain_target::Target;

/// Decodes a drain target; `None` if the message is empty or its port number is invalid.
pub fn drain_of(message: &v1::DrainTarget) -> Option<Drain> {
    match message.target.as_ref()? {
        Target::SwitchGuid(guid) => Some(Drain::Switch(Guid(*guid))),
        Target::Link(end) => point_of(end).map(|(guid, port)| Drain::Link(guid, port)),
    }
}

/// A switch or link as a message.
pub fn drain_message(drain: Drain) -> v1::DrainTarget {
    let target = match drain {
        Drain::Switch(guid) => Target::SwitchGuid(guid.0),
        Drain::Link(guid, number) => Target::Link(port((guid, number))),
    };
    v1::DrainTarget {
        target: Some(target),
    }
}

/// Without the name, because only the daemon knows that of a pulled part.
impl From<(Drain, DrainUse)> for v1::Drain {
    fn from((drain, found): (Drain, DrainUse)) -> Self {
        Self {
            target: Some(drain_message(drain)),
            present: found.present,
            routes: found.routes,
            groups: found.groups,
            multicast: found.multicast,
            safe_to_pull: found.is_free(),
            name: String::new(),
        }
    }
}

impl From<RoutePlan> for v1::RoutePlan {
    fn from(plan: RoutePlan) -> Self {
        Self {
            engine_before: plan.engine_before,
            engine: plan.engine,
            notes: plan.notes,
            switches: plan.switches,
            blocks: plan.blocks,
            routes: plan.routes,
            dropping: plan.dropping,
            changed_levels: plan.changed_levels,
            suspends_adaptive: plan.suspends_adaptive,
            certificate: Some(v1::RouteCertificate {
                routes: plan.certified_routes,
                disconnected: plan.disconnected,
                dependencies: plan.dependencies,
            }),
            before: Some(plan.before.into()),
            after: Some(plan.after.into()),
            unlike_then: plan.unlike_then,
        }
    }
}

impl From<PlannedFlows> for v1::PlannedFlows {
    fn from(flows: PlannedFlows) -> Self {
        Self {
            fuller: flows.fuller.into_iter().map(flow).collect(),
            emptier: flows.emptier.into_iter().map(flow).collect(),
            fuller_links: flows.fuller_links,
            emptier_links: flows.emptier_links,
            same_links: flows.same_links,
        }
    }
}

fn flow(of: PlannedFlow) -> v1::PlannedFlow {
    let end = |end: FlowEnd| v1::NamedPort {
        port: Some(port((end.node, end.port))),
        node_name: end.name,
    };
    v1::PlannedFlow {
        from: Some(end(of.from)),
        to: Some(end(of.to)),
        before: of.before,
        after: of.after,
    }
}

impl From<Quality> for v1::RouteQuality {
    fn from(quality: Quality) -> Self {
        Self {
            hosts: quality.hosts,
            all_to_all_worst: quality.all_to_all.worst,
            all_to_all_over_bound: quality.all_to_all.over_bound(),
            shifts: Some(quality.shifts.into()),
            permutations: Some(quality.permutations.into()),
            bisection: Some(quality.bisection.into()),
        }
    }
}

impl From<Pattern> for v1::TrafficPattern {
    fn from(pattern: Pattern) -> Self {
        Self {
            patterns: pattern.patterns,
            worst: pattern.worst,
            mean: pattern.mean,
            bandwidth: pattern.bandwidth,
        }
    }
}
