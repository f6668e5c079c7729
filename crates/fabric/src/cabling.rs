//! Nodes and cables under construction: common code of generators and importers.

use weft_wire::enums::{LinkSpeed, LinkWidth, PortType};
use weft_wire::id::{Guid, PortNum};

use crate::powered_on::{self, Neighbor};
use crate::topology::{Node, NodeId, PortRef, Topology, TopologyBuilder, TopologyError, node_type};

/// First GUID of generated HFIs. Bits 30 and 31 stay clear: the subnet manager takes them for the
/// number of a port.
pub const FIRST_HFI_GUID: u64 = 0x0011_7501_0100_0001;
/// First GUID of generated switches.
pub const FIRST_SWITCH_GUID: u64 = 0x0011_7501_0200_0001;
/// First system image GUID of generated chassis.
pub const FIRST_CHASSIS_GUID: u64 = 0x0011_7501_0300_0001;

/// Freshly powered-on nodes that are cabled one by one; a link is up as soon as it has its cable.
#[derive(Debug, Clone, Default)]
pub struct Cabling {
    nodes: Vec<Node>,
    hfis: u64,
    switches: u64,
}

impl Cabling {
    /// No node.
    pub fn new() -> Self {
        Self::default()
    }

    /// Room for `nodes` nodes.
    pub fn with_capacity(nodes: usize) -> Self {
        Self {
            nodes: Vec::with_capacity(nodes),
            ..Self::default()
        }
    }

    /// Number of nodes so far.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds a node as it is.
    pub fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Adds an HFI with the next free GUID, called `node<n> hfi1_0`, n from 1.
    ///
    /// # Errors
    /// None in practice, see [`powered_on::hfi`].
    pub fn add_hfi(&mut self) -> Result<NodeId, TopologyError> {
        let guid = Guid(FIRST_HFI_GUID + self.hfis);
        self.hfis += 1;
        let name = format!("node{} hfi1_0", self.hfis);
        Ok(self.add(powered_on::hfi(guid, &name)?))
    }

    /// Adds a switch with the next free GUID; `system` names its chassis, none when it is one of
    /// its own.
    ///
    /// # Errors
    /// None in practice, see [`powered_on::switch`].
    pub fn add_switch(
        &mut self,
        name: &str,
        ports: u8,
        system: Option<Guid>,
    ) -> Result<NodeId, TopologyError> {
        let guid = Guid(FIRST_SWITCH_GUID + self.switches);
        self.switches += 1;
        Ok(self.add(powered_on::switch(
            guid,
            system.unwrap_or(guid),
            name,
            ports,
        )?))
    }

    /// Puts a cable between two ports, on which `width` comes up. A cable inside a chassis makes
    /// its ports fixed ones.
    ///
    /// # Errors
    /// [`TopologyError::NoPort`] and [`TopologyError::PortTaken`].
    pub fn connect(
        &mut self,
        a: (NodeId, u8),
        b: (NodeId, u8),
        width: LinkWidth,
    ) -> Result<(), TopologyError> {
        let [a, b] = [a, b].map(|(node, port)| PortRef {
            node,
            port: PortNum(port),
        });
        let ends = [self.free_end(a)?, self.free_end(b)?];
        if a == b {
            return Err(TopologyError::PortTaken { port: a });
        }
        let internal = ends[0].system.is_some() && ends[0].system == ends[1].system;
        self.plug(a, b, ends[1].neighbor, width, internal);
        self.plug(b, a, ends[0].neighbor, width, internal);
        Ok(())
    }

    fn free_end(&self, at: PortRef) -> Result<End, TopologyError> {
        let missing = TopologyError::NoPort { port: at };
        let node = self.nodes.get(at.node.0 as usize);
        let node = node.filter(|_| at.port.0 != 0).ok_or(missing.clone())?;
        match node.port(at.port).ok_or(missing)?.peer {
            Some(_) => Err(TopologyError::PortTaken { port: at }),
            None => Ok(End::of(node, at.port)),
        }
    }

    fn plug(
        &mut self,
        at: PortRef,
        peer: PortRef,
        neighbor: Neighbor,
        width: LinkWidth,
        internal: bool,
    ) {
        let node = self.nodes.get_mut(at.node.0 as usize);
        let Some(port) = node.and_then(|node| node.port_mut(at.port)) else {
            return;
        };
        port.peer = Some(peer);
        powered_on::link_up(&mut port.info, width, LinkSpeed::G25, neighbor);
        if internal {
            port.info.port_type = PortType::FIXED;
        }
    }

    /// The nodes in the order in which they were added.
    ///
    /// # Errors
    /// [`TopologyError::DuplicateGuid`].
    pub fn build(self) -> Result<Topology, TopologyError> {
        let mut builder = TopologyBuilder::new();
        for node in self.nodes {
            builder.add(node)?;
        }
        builder.build()
    }
}

struct End {
    neighbor: Neighbor,
    /// None for an HFI: a cable to an HFI is never inside a chassis.
    system: Option<Guid>,
}

impl End {
    fn of(node: &Node, port: PortNum) -> Self {
        let neighbor = Neighbor {
            node_guid: node.guid(),
            node_type: node_type(node),
            port,
        };
        let system = node.is_switch().then_some(node.info.system_image_guid);
        Self { neighbor, system }
    }
}
