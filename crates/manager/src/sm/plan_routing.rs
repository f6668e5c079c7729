//! What the routing engines are told: device groups become nodes and ports of the fabric.

use std::collections::{BTreeMap, BTreeSet};

use weft_fabric::{NodeId, PortNum, PortRef, Topology};
use weft_routing::{
    DorSettings, FatTreeSettings, HypercubeSettings, OrderGroup, PortCost, Settings,
};

use super::Manager;
use super::settings::members::Members;
use super::settings::{HypercubePorts, OrderedGroup};
use crate::lanes::LaneLevels;

impl Manager {
    /// The settings for a topology.
    pub(super) fn routing_settings(&self, topology: &Topology) -> Settings {
        let routing = &self.settings.routing;
        let order = routing.order.iter().map(|group| match group {
            OrderedGroup::Others => OrderGroup::Others,
            OrderedGroup::Of(members) => OrderGroup::Ports(self.ports(topology, members)),
        });
        Settings {
            engine: routing.engine,
            lanes: LaneLevels::of(&self.settings.levels).lanes(data_lanes(topology)),
            spine_first: routing.spine_first,
            fat_tree: self.fat_tree(topology),
            routing_order: order.collect(),
            hypercube: HypercubeSettings {
                route_last: self.ports(topology, &routing.hypercube.route_last),
                ports: self.port_costs(topology, &routing.hypercube.ports),
            },
            dor: DorSettings {
                dimensions: routing.mesh.dimensions.clone(),
                route_last: self.ports(topology, &routing.mesh.route_last),
            },
            adaptive: routing.adaptive,
        }
    }

    fn fat_tree(&self, topology: &Topology) -> FatTreeSettings {
        let tree = &self.settings.routing.fat_tree;
        let core_switches = self.members(topology, &tree.core_switches);
        FatTreeSettings {
            tier_count: tree.tier_count,
            fis_on_same_tier: tree.fis_on_same_tier,
            core_switches: core_switches.map(|(node, _)| node).collect(),
            route_last: self.ports(topology, &tree.route_last),
            pass_through: tree.pass_through,
            converge: tree.converge,
        }
    }

    fn ports(&self, topology: &Topology, members: &Members) -> BTreeSet<PortRef> {
        self.members(topology, members)
            .map(|(node, port)| PortRef { node, port })
            .collect()
    }

    /// Costs of the ports of all switches: by the section that names a switch, or by the one that
    /// names none.
    fn port_costs(
        &self,
        topology: &Topology,
        controls: &[HypercubePorts],
    ) -> BTreeMap<(NodeId, PortNum), PortCost> {
        let mut open: BTreeSet<NodeId> = topology.switches().iter().copied().collect();
        let mut costs = BTreeMap::new();
        let (named, unnamed): (Vec<_>, Vec<_>) = controls
            .iter()
            .partition(|control| control.switches.is_some());
        for control in named.into_iter().chain(unnamed) {
            let switches: Vec<NodeId> = match &control.switches {
                Some(members) => self
                    .members(topology, members)
                    .map(|(node, _)| node)
                    .collect(),
                None => open.iter().copied().collect(),
            };
            for switch in switches {
                if open.remove(&switch) {
                    let ports = control.ports.iter();
                    costs.extend(ports.map(|(port, cost)| ((switch, *port), *cost)));
                }
            }
        }
        costs
    }
}

/// Data lanes that all ports with a cable have.
fn data_lanes(topology: &Topology) -> u8 {
    let links = topology.links().flat_map(|(a, b)| [a, b]);
    let caps = links.filter_map(|end| topology.port(end).map(|port| port.info.vl_cap));
    caps.filter(|cap| *cap != 0).min().unwrap_or(1)
}
