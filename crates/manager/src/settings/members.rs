//! Sets of ports that a configuration names.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weft_config::{DeviceGroups, NodeFacts, NodeType};
use weft_fabric::{Guid, Node, NodeId, PortNum, PortRef, Topology, hfi_port_guid};
use weft_state::State;

/// Selects ports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, State)]
pub enum Selector {
    /// All end ports.
    All,
    /// Port 0 of every switch that has an enhanced one (`SWE0`).
    SwitchPort0,
    /// Every HFI that is cabled to another HFI.
    HfiDirectConnect,
    /// Every port whose neighbour lets it manage.
    MgmtAllowed,
    /// A node.
    NodeGuid(Guid),
    /// A device group of the configuration.
    Group {
        /// All groups: they may include each other.
        groups: Arc<DeviceGroups>,
        /// The group's name.
        name: String,
    },
}

/// A set of ports.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, State)]
pub struct Members(Vec<Selector>);

/// An end port with the inputs of its membership.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Its node.
    pub node: &'a Node,
    /// The port.
    pub port: PortNum,
    /// The manager runs here.
    pub is_this: bool,
    /// It is cabled to an HFI.
    pub faces_hfi: bool,
}

impl<'a> Candidate<'a> {
    /// A port of `node`, in the fabric of the manager that runs on its first node.
    pub(crate) fn new(topology: &Topology, node: &'a Node, at: PortRef) -> Self {
        let peer = topology.peer(at).and_then(|peer| topology.node(peer.node));
        Self {
            node,
            port: at.port,
            is_this: at.node == NodeId(0),
            faces_hfi: peer.is_some_and(|peer| !peer.is_switch()),
        }
    }
}

impl Members {
    /// The ports that any of `selectors` names.
    pub fn of(selectors: impl IntoIterator<Item = Selector>) -> Self {
        Self(selectors.into_iter().collect())
    }

    /// Whether no selector is in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the port is in it.
    pub fn contains(&self, port: &Candidate<'_>) -> bool {
        self.0.iter().any(|selector| selector.names(port))
    }

    /// The selectors that name the port.
    pub(crate) fn naming(&self, port: &Candidate<'_>) -> impl Iterator<Item = &Selector> {
        self.0.iter().filter(|selector| selector.names(port))
    }
}

/// A device group's name; those without one as `<Select>` of a device group calls them.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("All"),
            Self::SwitchPort0 => f.write_str("SWE0"),
            Self::HfiDirectConnect => f.write_str("HFIDirectConnect"),
            Self::MgmtAllowed => f.write_str("AllMgmtAllowed"),
            Self::NodeGuid(guid) => guid.fmt(f),
            Self::Group { name, .. } => f.write_str(name),
        }
    }
}

impl Selector {
    fn names(&self, candidate: &Candidate<'_>) -> bool {
        match self {
            Self::All => true,
            Self::SwitchPort0 => candidate.is_enhanced_port0(),
            Self::HfiDirectConnect => candidate.is_hfi_direct_connect(),
            Self::MgmtAllowed => candidate.is_mgmt_allowed(),
            Self::NodeGuid(guid) => candidate.node.counts_as(*guid),
            Self::Group { groups, name } => {
                let description = candidate.node.name();
                let mut facts = candidate.facts(&description);
                facts.any(|facts| groups.contains(name, &facts))
            }
        }
    }
}

impl Candidate<'_> {
    fn is_enhanced_port0(&self) -> bool {
        let switch = self.node.switch.as_ref();
        self.port == PortNum(0) && switch.is_some_and(|switch| switch.enhanced_port0)
    }

    fn is_hfi_direct_connect(&self) -> bool {
        !self.node.is_switch() && self.faces_hfi
    }

    fn is_mgmt_allowed(&self) -> bool {
        let port = self.node.port(self.port).filter(|_| !self.node.is_switch());
        port.is_some_and(|port| port.info.mgmt_allowed)
    }

    /// Properties of the port for device groups, by its own GUIDs, then by those of each HFI in whose place its node
    /// is; `description` is its node's.
    pub(crate) fn facts<'b>(&self, description: &'b str) -> impl Iterator<Item = NodeFacts<'b>> {
        let own = self.own_facts(description);
        let replaced = self.node.replaces.iter();
        let replaced = replaced.map(move |old| NodeFacts {
            node_guid: *old,
            // That of the first port, as NodeInfo has it.
            port_guid: hfi_port_guid(*old, PortNum(1)),
            system_image_guid: match own.system_image_guid == own.node_guid {
                true => *old,
                false => own.system_image_guid,
            },
            ..own
        });
        std::iter::once(own).chain(replaced)
    }

    fn own_facts<'b>(&self, description: &'b str) -> NodeFacts<'b> {
        let info = &self.node.info;
        let port = self.node.port(self.port);
        NodeFacts {
            node_guid: info.node_guid,
            port_guid: info.port_guid,
            system_image_guid: info.system_image_guid,
            node_desc: description,
            node_type: match self.node.is_switch() {
                true => NodeType::Sw,
                false => NodeType::Fi,
            },
            port: self.port,
            is_self: self.is_this,
            is_enhanced_port0: self.is_enhanced_port0(),
            is_hfi_direct_connect: self.is_hfi_direct_connect(),
            has_device_management: port
                .is_some_and(|port| port.info.capability_mask.is_device_management_supported),
            is_mgmt_allowed: self.is_mgmt_allowed(),
        }
    }
}
