//! The topology that a routing algorithm works on.

use serde::{Deserialize, Serialize};

use crate::context::Cx;
use crate::finding::Rule;
use crate::section::{Also, Many, One, Opt, Sub, Subs, Whole, section};
use crate::syntax::{
    Kind, PortPairText, Text, flag, keyword, keywords, reference, u8s, u16s, u32s,
};
use crate::value::PortPair;
use crate::xml::Id;

section! {
    /// `FatTreeTopology`: parameters of the `fattree` algorithm.
    pub struct FatTreeTopology {
        /// Number of switch tiers, edge switches included; 0 if not given.
        tier_count: u8 = 0, "TierCount" => One(u8s().strictly(0, 10));
        /// Whether all hosts are at the edge switches.
        fis_on_same_tier: bool = false, "FIsOnSameTier" => One(flag());
        /// The switches of the top tier, if hosts are on several tiers.
        core_switches: Option<String> = None, "CoreSwitches" => Opt(reference(Kind::DeviceGroup));
        /// Hosts that are routed after all others.
        route_last: Option<String> = None, "RouteLast" => Opt(reference(Kind::DeviceGroup));
        /// Whether links between switches of one tier may carry traffic.
        pass_through: bool = false, "PassThrough" => One(flag());
        /// Whether paths to one destination meet as early as they can.
        converge: bool = false, "Converge" => One(flag());
        /// Development: more messages.
        #[no_effect("for development of the vendor's manager")]
        debug: u8 = 0, "Debug" => One(u8s());
    }
}

section! {
    /// `DGShortestPathTopology`: the order in which `dgshortestpath` routes.
    pub struct DgShortestPathTopology {
        /// The order of the groups.
        routing_order: RoutingOrder = RoutingOrder::default(), "RoutingOrder" => Whole;
    }
}

section! {
    /// `RoutingOrder`: groups of destinations, the first is routed first.
    pub struct RoutingOrder {
        /// The groups; destinations in none of them come last.
        device_groups: Vec<String> = Vec::new(), "DeviceGroup" => Many(reference(Kind::DeviceGroup), 8);
    }
}

section! {
    /// `MeshTorusTopology`: parameters of the `dor` algorithm.
    pub struct MeshTorusTopology {
        /// The dimensions, in the order in which paths take them.
        dimensions: Vec<Dimension> = Vec::new(), "Dimension" => Subs(20);
        /// Hosts that are routed after all others.
        route_last: Option<String> = None, "RouteLast" => Opt(reference(Kind::DeviceGroup));
        /// Number of wrong cables that are reported before the rest is only counted.
        warn_threshold: u32 = 5, "WarnThreshold" => One(u32s());
        /// Whether extra virtual lanes keep detours free of deadlock.
        use_escape_vls: bool = true, "UseEscapeVLs" => One(flag());
        /// Whether detours avoid switches that lack neighbours along several dimensions, or both along one.
        use_fault_regions: bool = true, "UseFaultRegions" => One(flag());
        /// Whether multicast with a `MulticastSL` has no virtual lane of its own, and uses the last one of its
        /// `BaseSL`.
        overlay_multicast: bool = false, "OverlayMulticast" => One(flag());
        /// Development: more messages.
        #[no_effect("for development of the vendor's manager")]
        debug: u8 = 0, "Debug" => One(u8s());
    }
    finish check_mesh;
}

section! {
    /// `Dimension` of a mesh or torus.
    pub struct Dimension {
        /// Whether the last switch is joined to the first.
        toroidal: bool = false, "Toroidal" => One(flag());
        /// Number of switches along it; 0 if not given.
        length: u8 = 0, "Length" => One(u8s());
        /// The ports that join neighbours.
        port_pairs: Vec<PortPair> = Vec::new(), "PortPair" => Many(PortPairText, 255);
    }
    finish check_dimension;
}

fn check_dimension(dimension: &mut Dimension, id: Id, cx: &mut Cx<'_>) {
    if !cx.document.has_child(id, "PortPair") {
        cx.error(id, Rule::Count, "a Dimension needs at least one PortPair");
    }
    if dimension.length == 0 {
        cx.error(id, Rule::Count, "a Dimension needs a Length, at least 1");
    }
    let straight = dimension
        .port_pairs
        .iter()
        .any(|pair| pair.first == pair.second);
    if straight && (dimension.toroidal || dimension.length > 2) {
        cx.error(id, Rule::Conflict, "a PortPair with twice the same port needs a Dimension that is not toroidal and at most 2 long");
    }
}

fn check_mesh(mesh: &mut MeshTorusTopology, id: Id, cx: &mut Cx<'_>) {
    const MAX_TOROIDAL: usize = 6;
    if mesh.dimensions.is_empty() {
        cx.error(
            id,
            Rule::Count,
            "a MeshTorusTopology needs at least one Dimension",
        );
    }
    if mesh
        .dimensions
        .iter()
        .filter(|dimension| dimension.toroidal)
        .count()
        > MAX_TOROIDAL
    {
        cx.error(
            id,
            Rule::Count,
            format!("more than {MAX_TOROIDAL} toroidal dimensions"),
        );
    }
    let mut used = [false; 256];
    for pair in mesh
        .dimensions
        .iter()
        .flat_map(|dimension| &dimension.port_pairs)
    {
        for port in [pair.first, pair.second] {
            let twice =
                used[usize::from(port)] && !(pair.first == pair.second && port == pair.second);
            if twice {
                cx.error(
                    id,
                    Rule::Conflict,
                    format!("port {port} is in several PortPairs"),
                );
            }
        }
        if pair.first == pair.second && used[usize::from(pair.first)] {
            cx.error(
                id,
                Rule::Conflict,
                format!("port {} is in several PortPairs", pair.first),
            );
        }
        used[usize::from(pair.first)] = true;
        used[usize::from(pair.second)] = true;
    }
}

section! {
    /// `HypercubeTopology`: parameters of the `hypercube` algorithm.
    pub struct HypercubeTopology {
        /// Hosts that are routed after all others.
        route_last: Option<String> = None, "RouteLast" => Opt(reference(Kind::DeviceGroup));
        /// Order and cost of ports of some switches.
        enhanced_routing_ctrl: Vec<EnhancedRoutingCtrl> = Vec::new(), "EnhancedRoutingCtrl" => Subs(4096);
        /// Development: more messages.
        #[no_effect("for development of the vendor's manager")]
        debug: u8 = 0, "Debug" => One(u8s());
    }
    finish check_hypercube;
}

section! {
    /// `EnhancedRoutingCtrl`: order and cost of the ports of some switches.
    pub struct EnhancedRoutingCtrl {
        /// The switches; all others if absent.
        switches: Option<String> = None, "Switches" => Opt(reference(Kind::DeviceGroup));
        /// The ports.
        port_data: Vec<PortData> = Vec::new(), "PortData" => Subs(255);
    }
    finish check_ports;
}

section! {
    /// `PortData`: order and cost of one port.
    pub struct PortData {
        /// The port number on the label.
        physical_port: u8 = 0, "pPort" => One(u8s().within(0, 254));
        /// The port number that routing uses for it.
        virtual_port: u8 = 0, "vPort" => One(u8s().within(0, 254));
        /// Cost of a path over this port.
        cost: u16 = 0, "Cost" => One(u16s());
    }
}

fn check_hypercube(cube: &mut HypercubeTopology, id: Id, cx: &mut Cx<'_>) {
    let controls = &cube.enhanced_routing_ctrl;
    for (at, control) in controls.iter().enumerate() {
        if controls[..at]
            .iter()
            .any(|earlier| earlier.switches == control.switches)
        {
            let group = control.switches.as_deref().unwrap_or("all other switches");
            cx.error(
                id,
                Rule::Conflict,
                format!("several EnhancedRoutingCtrl for {group}"),
            );
        }
    }
}

fn check_ports(control: &mut EnhancedRoutingCtrl, id: Id, cx: &mut Cx<'_>) {
    for port in [
        |data: &PortData| data.physical_port,
        |data: &PortData| data.virtual_port,
    ] {
        let mut used = [false; 256];
        for number in control
            .port_data
            .iter()
            .map(port)
            .filter(|&number| number != 0)
        {
            if std::mem::replace(&mut used[usize::from(number)], true) {
                cx.error(
                    id,
                    Rule::Conflict,
                    format!("port {number} is given several times"),
                );
            }
        }
    }
}

section! {
    /// `PreDefinedTopology`: the cabling as it should be, from a file.
    pub struct PreDefinedTopology {
        /// Whether the fabric is compared with the file.
        enable: bool = false, "Enable" => One(flag()), "Enabled" => Also(flag());
        /// The file, as `opareport -o topology -x` or `weft fabric export --topology` writes it. One that cannot be
        /// read or is no topology is refused.
        topology_filename: Option<String> = None, "TopologyFilename" => Opt(Text::of(255));
        /// Maximum number of new differences that a sweep logs, and how many more there are; 0 logs all.
        log_message_threshold: u32 = 0, "LogMessageThreshold" => One(u32s());
        /// Action for a link whose far end differs.
        field_enforcement: FieldEnforcement = FieldEnforcement::default(), "FieldEnforcement" => Sub;
    }
}

impl PreDefinedTopology {
    /// Whether it is on and has a file.
    pub fn is_usable(&self) -> bool {
        self.enable && self.topology_filename.is_some()
    }
}

/// Action for a difference from the planned topology.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Enforcement {
    /// Nothing.
    #[default]
    Disabled,
    /// A message.
    Warn,
    /// The link is in quarantine.
    Enabled,
}

keywords! { Enforcement { "Disabled" => Disabled, "Warn" => Warn, "Enabled" => Enabled } }

section! {
    /// `FieldEnforcement`: action for each kind of difference.
    pub struct FieldEnforcement {
        /// Another node description.
        node_desc: Enforcement = Enforcement::default(), "NodeDesc" => One(keyword());
        /// Another node GUID.
        node_guid: Enforcement = Enforcement::default(), "NodeGUID" => One(keyword());
        /// Another port GUID.
        port_guid: Enforcement = Enforcement::default(), "PortGUID" => One(keyword());
        /// A link that the file lacks; where it is given as Disabled, so are the others.
        undefined_link: Enforcement = Enforcement::default(), "UndefinedLink" => One(keyword());
    }
    finish check_enforcement;
}

fn check_enforcement(fields: &mut FieldEnforcement, id: Id, cx: &mut Cx<'_>) {
    let others = [fields.node_desc, fields.node_guid, fields.port_guid];
    let given = cx
        .document
        .children(id)
        .any(|child| cx.document.name(child) == "UndefinedLink");
    if given
        && fields.undefined_link == Enforcement::Disabled
        && others.iter().any(|&other| other != Enforcement::Disabled)
    {
        cx.warn(
            id,
            Rule::NoEffect,
            "UndefinedLink is Disabled, which disables NodeDesc, NodeGUID and PortGUID as well",
        );
        *fields = FieldEnforcement::default();
    }
}
