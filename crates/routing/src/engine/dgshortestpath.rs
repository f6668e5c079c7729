//! `dgshortestpath`: as `shortestpath`, but the destinations of some groups are placed before
//! others, so that each group is balanced in itself.

use weft_fabric::{Guid, Topology};

use super::shortestpath::{Destinations, balanced};
use super::{Engine, Plan};
use crate::network::{EndPort, Network};
use crate::paths::Paths;
use crate::routed::EngineUsed;
use crate::settings::OrderGroup;

/// The engine.
pub(crate) struct DgShortestPath<'a> {
    pub(crate) topology: &'a Topology,
    /// Prefer the spines of the own chassis.
    pub(crate) spine_first: bool,
    /// The groups, the first is placed first.
    pub(crate) order: &'a [OrderGroup],
}

impl Engine for DgShortestPath<'_> {
    fn name(&self) -> EngineUsed {
        EngineUsed::DgShortestPath
    }

    fn plan(&self, network: &Network) -> Result<Plan, String> {
        let destinations = Destinations::in_order(network, |end| self.turn(end));
        let paths = Paths::shortest(network, destinations.column.clone());
        Ok(balanced(network, &destinations, paths, self.spine_first))
    }
}

impl DgShortestPath<'_> {
    /// Place of a port's group, then its GUID.
    fn turn(&self, end: &EndPort) -> (usize, Guid) {
        let named = |group: &OrderGroup| match group {
            OrderGroup::Ports(ports) => ports.contains(&end.at),
            OrderGroup::Others => false,
        };
        let others = |group: &OrderGroup| matches!(group, OrderGroup::Others);
        let group = self.order.iter().position(named);
        let group = group.or_else(|| self.order.iter().position(others));
        let node = self.topology.node(end.at.node);
        let guid = node.and_then(|node| node.port_guid(end.at.port));
        (
            group.unwrap_or(self.order.len()),
            guid.unwrap_or(Guid(u64::MAX)),
        )
    }
}
