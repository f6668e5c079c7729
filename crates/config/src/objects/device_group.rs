//! Device groups: named sets of ports.

use serde::{Deserialize, Serialize};
use weft_state::State;
use weft_wire::id::{Guid, PortNum};

use super::define;
use crate::context::Cx;
use crate::finding::Rule;
use crate::pattern::NodePattern;
use crate::section::{Many, One, Subs, section};
use crate::syntax::{Guid16, Kind, Pattern, Text, keyword, keywords, reference};
use crate::xml::Id;

/// The most entries of one kind in a group.
const MAX_ENTRIES: usize = 65_536;

section! {
    /// `DeviceGroups`: those of `Fm` add to those of `Common`.
    #[derive(State)]
    pub struct DeviceGroups {
        /// The groups, in the order of the file: each includes earlier ones only.
        list: Vec<DeviceGroup> = Vec::new(), "DeviceGroup" => Subs(1024);
    }
}

/// Types of nodes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, State,
)]
pub enum NodeType {
    /// Fabric interfaces: hosts and everything else that is no switch.
    Fi,
    /// Switches.
    Sw,
}

keywords! { NodeType { "FI" => Fi, "SW" => Sw } }

/// Selects ports by role.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, State,
)]
pub enum DeviceSelect {
    /// All ports.
    All,
    /// The port of this instance.
    SelfPort,
    /// The enhanced port 0 of switches.
    SwE0,
    /// Two hosts joined without a switch.
    HfiDirectConnect,
    /// Hosts that offer device management.
    Tfis,
    /// Ports at which management is allowed.
    AllMgmtAllowed,
}

impl crate::syntax::Keyword for DeviceSelect {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("All", Self::All),
        ("Self", Self::SelfPort),
        ("SWE0", Self::SwE0),
        ("HFIDirectConnect", Self::HfiDirectConnect),
        ("TFIs", Self::Tfis),
        ("AllMgmtAllowed", Self::AllMgmtAllowed),
        ("AllSMs", Self::AllMgmtAllowed),
    ];
}

section! {
    /// `DeviceGroup`: every port that one of its lines describes.
    #[derive(State)]
    pub struct DeviceGroup {
        /// Its name, unique among device groups.
        name: String = String::new(), "Name" => One(Text::of(63));
        /// All ports of a system.
        system_image_guids: Vec<Guid> = Vec::new(), "SystemImageGUID" => Many(Guid16, MAX_ENTRIES);
        /// All ports of a node.
        node_guids: Vec<Guid> = Vec::new(), "NodeGUID" => Many(Guid16, MAX_ENTRIES);
        /// One port.
        port_guids: Vec<Guid> = Vec::new(), "PortGUID" => Many(Guid16, MAX_ENTRIES);
        /// Ports by the description of their node.
        node_descs: Vec<NodePattern> = Vec::new(), "NodeDesc" => Many(Pattern, MAX_ENTRIES);
        /// All ports of a type of node.
        node_types: Vec<NodeType> = Vec::new(), "NodeType" => Many(keyword(), 64);
        /// Ports by role.
        select: Vec<DeviceSelect> = Vec::new(), "Select" => Many(keyword(), 64);
        /// All ports of another group.
        include: Vec<String> = Vec::new(), "IncludeGroup" => Many(reference(Kind::DeviceGroup), 32);
    }
    finish check;
}

fn check(group: &mut DeviceGroup, id: Id, cx: &mut Cx<'_>) {
    define(Kind::DeviceGroup, &group.name, true, id, cx);
    if cx
        .document
        .children(id)
        .all(|child| cx.document.name(child) == "Name")
    {
        cx.error(
            id,
            Rule::StrictEmpty,
            format!("DeviceGroup `{}` selects no port", group.name),
        );
    }
}

/// Properties of a port that device groups can match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFacts<'a> {
    /// The GUID of the node.
    pub node_guid: Guid,
    /// The GUID of the port; of port 0 for a switch's external ports.
    pub port_guid: Guid,
    /// The GUID of the system that the node is part of.
    pub system_image_guid: Guid,
    /// The node's description.
    pub node_desc: &'a str,
    /// The type of the node.
    pub node_type: NodeType,
    /// The number of the port.
    pub port: PortNum,
    /// Whether it is the port of this instance of the manager.
    pub is_self: bool,
    /// Whether it is the enhanced port 0 of a switch.
    pub is_enhanced_port0: bool,
    /// Whether its neighbour is a host as it is.
    pub is_hfi_direct_connect: bool,
    /// Whether it offers device management.
    pub has_device_management: bool,
    /// Whether its neighbour allows management at it (`MgmtAllowed`).
    pub is_mgmt_allowed: bool,
}

impl DeviceGroups {
    /// The group of a name.
    pub fn get(&self, name: &str) -> Option<&DeviceGroup> {
        self.list.iter().find(|group| group.name == name)
    }

    /// Whether a group has a port; a group that is not defined has none.
    pub fn contains(&self, name: &str, facts: &NodeFacts<'_>) -> bool {
        self.any_within(name, |group| group.names(facts))
    }

    /// All groups of a port, one answer per group of the list: each group is looked at once.
    pub fn membership(&self, facts: &NodeFacts<'_>) -> Vec<bool> {
        let mut members: Vec<bool> = Vec::with_capacity(self.list.len());
        for group in &self.list {
            let included = |name: &String| {
                self.list
                    .iter()
                    .zip(&members)
                    .any(|(known, &member)| member && known.name == *name)
            };
            members.push(group.names(facts) || group.include.iter().any(included));
        }
        members
    }

    /// Whether a group, or one that it includes, has a property. Groups include earlier ones only.
    pub(crate) fn any_within(&self, name: &str, has: impl Fn(&DeviceGroup) -> bool) -> bool {
        let Some(at) = self.list.iter().position(|group| group.name == name) else {
            return false;
        };
        let mut wanted = vec![false; at + 1];
        wanted[at] = true;
        for index in (0..=at).rev() {
            if !wanted[index] {
                continue;
            }
            let (earlier, group) = (&self.list[..index], &self.list[index]);
            if has(group) {
                return true;
            }
            for inner in group
                .include
                .iter()
                .filter_map(|name| earlier.iter().position(|known| known.name == *name))
            {
                wanted[inner] = true;
            }
        }
        false
    }
}

impl DeviceGroup {
    /// Whether the group itself describes a port, other groups aside.
    fn names(&self, facts: &NodeFacts<'_>) -> bool {
        self.system_image_guids.contains(&facts.system_image_guid)
            || self.node_guids.contains(&facts.node_guid)
            || self.port_guids.contains(&facts.port_guid)
            || self.node_types.contains(&facts.node_type)
            || self.select.iter().any(|&select| facts.is_selected(select))
            || self
                .node_descs
                .iter()
                .any(|pattern| pattern.matches(facts.node_desc, facts.port.0))
    }
}

impl NodeFacts<'_> {
    fn is_selected(&self, select: DeviceSelect) -> bool {
        match select {
            DeviceSelect::All => true,
            DeviceSelect::SelfPort => self.is_self,
            DeviceSelect::SwE0 => self.is_enhanced_port0,
            DeviceSelect::HfiDirectConnect => self.is_hfi_direct_connect,
            DeviceSelect::Tfis => self.has_device_management,
            DeviceSelect::AllMgmtAllowed => self.is_mgmt_allowed,
        }
    }
}
