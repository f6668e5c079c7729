//! Settings of routing.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use weft_fabric::{Guid, NodeId, PortNum, PortRef};
use weft_state::State;
use weft_wire::sm::SwitchInfo;

/// The engines that a configuration can name (`<RoutingAlgorithm>`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, State)]
pub enum EngineKind {
    /// `dmodc` on a tree, `shortestpath` elsewhere.
    #[default]
    Automatic,
    /// `dmodc`: closed form for trees, whole or degraded.
    Dmodc,
    /// `shortestpath`: least cost, balanced port by port.
    ShortestPath,
    /// `opa-shortestpath`: reproduces opa-fm's `shortestpath`, for comparison.
    OpaShortestPath,
    /// `fattree`: least cost, spread by a switch's place in its tier.
    FatTree,
    /// `dgshortestpath`: as `shortestpath`, group of destinations by group.
    DgShortestPath,
    /// `hypercube`: one neighbour for each destination, by costs of ports.
    Hypercube,
    /// `dor`: dimension order in a mesh or torus.
    Dor,
    /// `layered`: least cost on any fabric, kept apart in lanes.
    Layered,
}

impl EngineKind {
    /// All engines by their names in `<RoutingAlgorithm>`.
    pub const NAMED: [(&'static str, Self); 9] = [
        ("auto", Self::Automatic),
        ("dmodc", Self::Dmodc),
        ("shortestpath", Self::ShortestPath),
        ("opa-shortestpath", Self::OpaShortestPath),
        ("fattree", Self::FatTree),
        ("dgshortestpath", Self::DgShortestPath),
        ("hypercube", Self::Hypercube),
        ("dor", Self::Dor),
        ("layered", Self::Layered),
    ];
}

/// Settings of routing.
#[derive(Debug, Clone, PartialEq, Eq, State)]
pub struct Settings {
    /// The requested engine.
    pub engine: EngineKind,
    /// Lanes that an engine may spread destinations over, at least 1: how many service levels
    /// with virtual lanes of their own each level of traffic can have.
    pub lanes: u8,
    /// `<SpineFirstRouting>`: inside a director chassis prefer links to its own spines. The fat
    /// tree engine always does.
    pub spine_first: bool,
    /// Read by the fat tree engine only.
    pub fat_tree: FatTreeSettings,
    /// Read by `dgshortestpath` only (`<RoutingOrder>`): the first group is placed first.
    pub routing_order: Vec<OrderGroup>,
    /// Read by `hypercube` only.
    pub hypercube: HypercubeSettings,
    /// Read by `dor` only.
    pub dor: DorSettings,
    /// Adaptive routing, none when it is off.
    pub adaptive: Option<AdaptiveSettings>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            engine: EngineKind::default(),
            lanes: 1,
            spine_first: false,
            fat_tree: FatTreeSettings::default(),
            routing_order: Vec::new(),
            hypercube: HypercubeSettings::default(),
            dor: DorSettings::default(),
            adaptive: None,
        }
    }
}

/// The section `<FatTreeTopology>`, device groups resolved to nodes and ports.
#[derive(Debug, Clone, PartialEq, Eq, State)]
pub struct FatTreeSettings {
    /// Number of tiers of switches, 1 to 10.
    pub tier_count: u8,
    /// All HFIs are on the lowest tier: tiers are counted upwards from them. Otherwise they are
    /// counted downwards from [`Self::core_switches`].
    pub fis_on_same_tier: bool,
    /// The switches of the highest tier; read when [`Self::fis_on_same_tier`] is off.
    pub core_switches: BTreeSet<NodeId>,
    /// HFI ports that are placed after all others, so that they are balanced among themselves.
    pub route_last: BTreeSet<PortRef>,
    /// Places a destination by its number on its edge switch, not by counting.
    pub pass_through: bool,
    /// With three tiers, lets all routes to one edge switch meet at one core switch.
    pub converge: bool,
}

impl Default for FatTreeSettings {
    fn default() -> Self {
        Self {
            tier_count: 3,
            fis_on_same_tier: true,
            core_switches: BTreeSet::new(),
            route_last: BTreeSet::new(),
            pass_through: false,
            converge: false,
        }
    }
}

/// A group of destinations in `<RoutingOrder>`.
#[derive(Debug, Clone, PartialEq, Eq, State)]
pub enum OrderGroup {
    /// HFI ports; one that is in several groups counts for the first.
    Ports(BTreeSet<PortRef>),
    /// All that no other group names.
    Others,
}

/// The section `<HypercubeTopology>`, device groups resolved to nodes and ports.
#[derive(Debug, Clone, Default, PartialEq, Eq, State)]
pub struct HypercubeSettings {
    /// HFI ports that are placed after all others.
    pub route_last: BTreeSet<PortRef>,
    /// Ports of switches that differ from [`Self::COST`] and from their own order.
    pub ports: BTreeMap<(NodeId, PortNum), PortCost>,
}

impl HypercubeSettings {
    /// Cost of a port of which nothing is said.
    pub const COST: u16 = 10;
}

/// Cost and order of a port (`<PortData>`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct PortCost {
    /// Of equal paths the one with the lowest order is taken (`vPort`).
    pub order: u8,
    /// Cost of leaving through the port; 0 counts as 1.
    pub cost: u16,
}

/// The section `<MeshTorusTopology>`.
#[derive(Debug, Clone, PartialEq, Eq, State)]
pub struct DorSettings {
    /// The dimensions in the order in which routes take them.
    pub dimensions: Vec<Dimension>,
    /// Ports on whose links datelines are now: there they stay, see [`weft_fabric::datelines`].
    pub crossings: BTreeSet<(Guid, PortNum)>,
    /// HFI ports; switches with any of them are placed after all others.
    pub route_last: BTreeSet<PortRef>,
    /// Detours around broken dimensions have lanes of their own (`<UseEscapeVLs>`).
    pub detour_lane: bool,
    /// Detours avoid switches that lack neighbours along several dimensions, or both along one
    /// (`<UseFaultRegions>`).
    pub fault_regions: bool,
    /// Cables of no dimension that are told one by one; the rest is counted (`<WarnThreshold>`).
    pub ignored_told: u32,
}

impl Default for DorSettings {
    fn default() -> Self {
        Self {
            dimensions: Vec::new(),
            crossings: BTreeSet::new(),
            route_last: BTreeSet::new(),
            detour_lane: true,
            fault_regions: true,
            ignored_told: 5,
        }
    }
}

impl DorSettings {
    /// Virtual lanes that it can use of `available` ones: with detours all, else two where rings close
    /// credit cycles, and one where there are none.
    pub fn lanes(&self, available: u8) -> u8 {
        let has_ring = self.dimensions.iter().any(Dimension::is_ring);
        match (self.detour_lane, has_ring) {
            (true, _) => available,
            (false, true) => available.min(2),
            (false, false) => available.min(1),
        }
    }
}

/// Shortest ring that closes a credit cycle: in shorter ones no route takes two links.
const RING_MIN: u8 = 3;

impl Dimension {
    /// Whether routes along it can close a credit cycle.
    pub fn is_ring(&self) -> bool {
        self.toroidal && self.length >= RING_MIN
    }
}

/// A dimension of a mesh or torus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct Dimension {
    /// Its last switch is joined to its first.
    pub toroidal: bool,
    /// Switches along it.
    pub length: u8,
    /// Ports that join neighbours: the one that leads on, the one that leads back.
    pub pairs: Vec<(u8, u8)>,
}

/// Algorithm by which a switch selects a new port (`AdaptiveRouting.Algorithm`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, State)]
pub enum AdaptiveAlgorithm {
    /// Any port of the group.
    Random,
    /// The least loaded one.
    Greedy,
    /// Any of the least loaded ones.
    #[default]
    RandomGreedy,
}

/// The section `<AdaptiveRouting>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct AdaptiveSettings {
    /// Only routes whose port is lost are moved, congested ones stay.
    pub lost_route_only: bool,
    /// Algorithm that selects a new port.
    pub algorithm: AdaptiveAlgorithm,
    /// Least time between two moves: 64 ms · 2^value, 0 to 7.
    pub frequency: u8,
    /// Congestion that moves a route, 1 (100 %) to 7 (55 %); 0 is the firmware's choice.
    pub threshold: u8,
}

impl Default for AdaptiveSettings {
    fn default() -> Self {
        Self {
            lost_route_only: false,
            algorithm: AdaptiveAlgorithm::default(),
            frequency: 0,
            threshold: 3,
        }
    }
}

/// The adaptive-routing register of a switch (`STL_SWITCH_INFO.AdaptiveRouting`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AdaptiveRegister {
    /// On.
    pub enable: bool,
    /// Suspended while tables change.
    pub pause: bool,
    /// 0 random, 1 greedy, 2 random among the least loaded.
    pub algorithm: u8,
    /// 64 ms · 2^value, 0 to 7.
    pub frequency: u8,
    /// Only lost routes.
    pub lost_routes_only: bool,
    /// 0 to 7.
    pub threshold: u8,
}

impl AdaptiveRegister {
    /// Register value of a switch while nothing changes; all off if it cannot route adaptively.
    pub fn wanted(settings: Option<&AdaptiveSettings>, switch: &SwitchInfo) -> Self {
        let Some(settings) = settings.filter(|_| switch.is_adaptive_routing_supported) else {
            return Self::default();
        };
        Self {
            enable: true,
            pause: false,
            algorithm: settings.algorithm as u8,
            frequency: settings.frequency.min(7),
            lost_routes_only: settings.lost_route_only,
            threshold: settings.threshold.min(7),
        }
    }

    /// The value while suspended: written before tables change.
    pub fn paused(self) -> Self {
        Self {
            pause: self.enable,
            ..self
        }
    }

    /// Puts it into a SwitchInfo to be set.
    pub fn store(self, info: &mut SwitchInfo) {
        info.ar_enable = self.enable;
        info.ar_pause = self.pause;
        info.ar_algorithm = self.algorithm;
        info.ar_frequency = self.frequency;
        info.ar_lost_routes_only = self.lost_routes_only;
        info.ar_threshold = self.threshold;
    }
}
