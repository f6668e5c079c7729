//! Settings of the routing engines: device groups become nodes and ports of the fabric.

use std::collections::{BTreeMap, BTreeSet};

use weft_fabric::{NodeId, PortNum, PortRef, Topology};
use weft_routing::{
    DorSettings, EngineKind, FatTreeSettings, HypercubeSettings, OrderGroup, PortCost,
    Settings as EngineSettings,
};

use super::super::settings::{HypercubePorts, OrderedGroup, Settings};
use super::input::{Crossings, Fabric};
use crate::settings::Members;
use crate::settings::lane_levels::LaneLevels;
use crate::settings::members::Candidate;

/// The settings of routing engines for a fabric, in which datelines are at `crossings`.
pub(super) fn engine_settings(
    settings: &Settings,
    fabric: &Fabric,
    crossings: &Crossings,
) -> EngineSettings {
    Maker {
        settings,
        fabric,
        crossings,
    }
    .settings()
}

struct Maker<'a> {
    settings: &'a Settings,
    fabric: &'a Fabric,
    crossings: &'a Crossings,
}

impl<'a> Maker<'a> {
    fn settings(&self) -> EngineSettings {
        let routing = &self.settings.routing;
        let order = routing.order.iter().map(|group| match group {
            OrderedGroup::Others => OrderGroup::Others,
            OrderedGroup::Of(members) => OrderGroup::Ports(self.ports(members)),
        });
        let dor = DorSettings {
            dimensions: routing.mesh.dimensions.clone(),
            crossings: self.crossings.clone(),
            route_last: self.ports(&routing.mesh.route_last),
            detour_lane: routing.mesh.detour_lane,
            fault_regions: routing.mesh.fault_regions,
            ignored_told: routing.mesh.ignored_told,
        };
        EngineSettings {
            engine: routing.engine,
            lanes: self.lanes(&dor),
            spine_first: routing.spine_first,
            fat_tree: self.fat_tree(),
            routing_order: order.collect(),
            hypercube: HypercubeSettings {
                route_last: self.ports(&routing.hypercube.route_last),
                ports: self.port_costs(&routing.hypercube.ports),
            },
            dor,
            adaptive: routing.adaptive,
        }
    }

    /// The end ports that a set names.
    fn members(&self, members: &'a Members) -> impl Iterator<Item = (NodeId, PortNum)> + 'a {
        let fabric = self.fabric;
        let none = members.is_empty();
        let nodes = fabric.topology.nodes().filter(move |_| !none);
        nodes.filter_map(move |(id, node)| {
            let port = fabric.end(id);
            let at = PortRef { node: id, port };
            let candidate = Candidate::new(&fabric.topology, node, at);
            members.contains(&candidate).then_some((id, port))
        })
    }

    /// Number of lanes for routes, if the requested engine needs them. Others get one, even if
    /// the fabric does not suit them: an active port accepts no other virtual lanes, so that lanes
    /// must not come and go with the links.
    fn lanes(&self, dor: &DorSettings) -> u8 {
        let levels = LaneLevels::of(&self.settings.levels);
        let fixed = self.settings.traffic.lanes_max;
        let most = || levels.lanes(data_lanes(&self.fabric.topology).min(fixed));
        match self.settings.routing.engine {
            EngineKind::Dor => dor.lanes(most()),
            EngineKind::Layered => most(),
            _ => 1,
        }
    }

    fn fat_tree(&self) -> FatTreeSettings {
        let tree = &self.settings.routing.fat_tree;
        let core_switches = self.members(&tree.core_switches);
        FatTreeSettings {
            tier_count: tree.tier_count,
            fis_on_same_tier: tree.fis_on_same_tier,
            core_switches: core_switches.map(|(node, _)| node).collect(),
            route_last: self.ports(&tree.route_last),
            pass_through: tree.pass_through,
            converge: tree.converge,
        }
    }

    fn ports(&self, members: &'a Members) -> BTreeSet<PortRef> {
        self.members(members)
            .map(|(node, port)| PortRef { node, port })
            .collect()
    }

    /// Costs of the ports of all switches: by the section that names a switch, or by the one that
    /// names none.
    fn port_costs(&self, controls: &'a [HypercubePorts]) -> BTreeMap<(NodeId, PortNum), PortCost> {
        let mut open: BTreeSet<NodeId> = self.fabric.topology.switches().iter().copied().collect();
        let mut costs = BTreeMap::new();
        let (named, unnamed): (Vec<_>, Vec<_>) = controls
            .iter()
            .partition(|control| control.switches.is_some());
        for control in named.into_iter().chain(unnamed) {
            let switches: Vec<NodeId> = match &control.switches {
                Some(members) => self.members(members).map(|(node, _)| node).collect(),
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
