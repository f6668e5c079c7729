//! Nodes, ports and the cables between them.

use std::collections::BTreeMap;
use std::sync::Arc;

use thiserror::Error;
use weft_state::State;
use weft_wire::enums::{LinkWidth, NodeType, PhysState, PortState};
use weft_wire::id::{Guid, Lid, Lmc, PortNum};
use weft_wire::sm::{NodeDescription, NodeInfo, PortInfo, SwitchInfo};

use crate::export::escape_name;
use crate::hfi_guids::hfi_port_guid;

/// A node's dense index in one [`Topology`], in the order of discovery or generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, State)]
pub struct NodeId(pub u32);

/// A switch's dense index among the switches of one [`Topology`], in the order of [`NodeId`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, State)]
pub struct SwitchIndex(pub u32);

/// One port of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, State)]
pub struct PortRef {
    /// The node.
    pub node: NodeId,
    /// The port on it.
    pub port: PortNum,
}

/// A port: its reported state and the other end of its cable.
#[derive(Debug, Clone, PartialEq, Eq, State)]
pub struct Port {
    /// State reported by the port. A switch's port 0 and every HFI port are end ports and
    /// hold their own base LID and LMC.
    pub info: PortInfo,
    /// The other end of its cable.
    pub peer: Option<PortRef>,
}

impl Port {
    /// The width that the link has left after downgrades, in its narrower direction; none when the
    /// link is down.
    pub fn width(&self) -> LinkWidth {
        width_in_use(&self.info)
    }

    /// Whether an HFI may send through this port of a switch although the topology leaves its link out: the
    /// port is armed, and names an HFI as its neighbour.
    pub fn hears_unlinked_hfi(&self) -> bool {
        let info = &self.info;
        self.peer.is_none()
            && info.port_state >= PortState::ARMED
            && info.neighbor_node_type == 0
            && info.neighbor_node_guid != Guid(0)
    }
}

/// The width that the link of a port has left after downgrades, in its narrower direction; none when
/// the link is down.
pub fn width_in_use(info: &PortInfo) -> LinkWidth {
    let directions = [
        info.link_width_downgrade_tx_active,
        info.link_width_downgrade_rx_active,
    ];
    let known = directions
        .into_iter()
        .filter(|width| *width != LinkWidth::NOP);
    known
        .chain([info.link_width_active])
        .min_by_key(|width| width.lanes())
        .unwrap_or(LinkWidth::NOP)
}

/// A switch or an HFI.
#[derive(Debug, Clone, PartialEq, Eq, State)]
pub struct Node {
    /// Identity of the node. `local_port_num` is unused here.
    pub info: NodeInfo,
    /// Its name.
    pub description: NodeDescription,
    /// Capabilities and settings of a switch; `None` for an HFI.
    pub switch: Option<SwitchInfo>,
    /// The HFIs in whose place this one is, by NodeGUID: what is said of them counts for it.
    pub replaces: Vec<Guid>,
    /// By number: a switch's from 0, an HFI's from 1.
    ports: Vec<Port>,
}

impl Node {
    /// A node with its ports in order of number: `1 + num_ports` of them for a switch (port 0
    /// first), `num_ports` for an HFI.
    ///
    /// # Errors
    /// [`TopologyError::PortCount`] when there are more or fewer.
    pub fn new(
        info: NodeInfo,
        description: NodeDescription,
        switch: Option<SwitchInfo>,
        ports: Vec<Port>,
    ) -> Result<Self, TopologyError> {
        let expected = usize::from(info.num_ports) + usize::from(switch.is_some());
        if ports.len() != expected {
            let actual = ports.len();
            return Err(TopologyError::PortCount {
                guid: info.node_guid,
                expected,
                actual,
            });
        }
        Ok(Self {
            info,
            description,
            switch,
            replaces: Vec::new(),
            ports,
        })
    }

    /// The node's GUID.
    pub fn guid(&self) -> Guid {
        self.info.node_guid
    }

    /// Whether it forwards.
    pub fn is_switch(&self) -> bool {
        self.switch.is_some()
    }

    /// Its name as text for screens, logs and files: as [`escape_name`] writes its description.
    pub fn name(&self) -> String {
        escape_name(self.description.bytes())
    }

    /// The GUID of a port: a switch's port 0 and every HFI port have one. Ports of an HFI differ in
    /// bits 30 and 31, which are clear in the node's.
    pub fn port_guid(&self, port: PortNum) -> Option<Guid> {
        match (self.is_switch(), port.0) {
            (true, 0) | (false, 1) => Some(self.info.port_guid),
            (false, 2..=4) => Some(hfi_port_guid(self.guid(), port)),
            _ => None,
        }
    }

    /// Number of its first port: 0 for a switch, 1 for an HFI.
    pub fn first_port(&self) -> PortNum {
        PortNum(u8::from(!self.is_switch()))
    }

    /// A port by number.
    pub fn port(&self, port: PortNum) -> Option<&Port> {
        let index = port.0.checked_sub(self.first_port().0)?;
        self.ports.get(usize::from(index))
    }

    /// A port by number, to change it.
    pub fn port_mut(&mut self, port: PortNum) -> Option<&mut Port> {
        let index = port.0.checked_sub(self.first_port().0)?;
        self.ports.get_mut(usize::from(index))
    }

    /// All ports with their numbers, in order.
    pub fn ports(&self) -> impl ExactSizeIterator<Item = (PortNum, &Port)> + Clone {
        let first = usize::from(self.first_port().0);
        self.ports
            .iter()
            .enumerate()
            .map(move |(index, port)| (PortNum((index + first) as u8), port))
    }

    /// The ports that have LIDs: a switch's port 0, every port of an HFI.
    pub fn end_ports(&self) -> impl Iterator<Item = (PortNum, &Port)> {
        let count = if self.is_switch() {
            1
        } else {
            self.ports.len()
        };
        self.ports().take(count)
    }

    /// The ports that can have a cable.
    pub fn external_ports(&self) -> impl ExactSizeIterator<Item = (PortNum, &Port)> + Clone {
        self.ports().skip(usize::from(self.is_switch()))
    }
}

/// Nodes and cables; the two ends of every cable name each other.
#[derive(Debug, Clone, Default, PartialEq, Eq, State)]
pub struct Topology {
    nodes: Vec<Arc<Node>>,
    switches: Vec<NodeId>,
    switch_index: Vec<Option<SwitchIndex>>,
    by_guid: BTreeMap<Guid, NodeId>,
}

impl Topology {
    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All nodes in order of [`NodeId`].
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (NodeId, &Node)> {
        self.nodes
            .iter()
            .enumerate()
            .map(|(index, node)| (NodeId(index as u32), &**node))
    }

    /// A node by index.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0 as usize).map(|node| &**node)
    }

    /// The shared node, for a new topology that keeps it.
    pub fn node_shared(&self, id: NodeId) -> Option<&Arc<Node>> {
        self.nodes.get(id.0 as usize)
    }

    /// All nodes, shared, by [`NodeId`].
    pub fn nodes_shared(&self) -> &[Arc<Node>] {
        &self.nodes
    }

    /// The nodes that are not shared with an earlier topology, given all of its nodes; none when
    /// there were more or fewer.
    pub fn changed_since(&self, nodes: &[Arc<Node>]) -> Option<Vec<NodeId>> {
        if nodes.len() != self.nodes.len() {
            return None;
        }
        let pairs = self.nodes.iter().zip(nodes).zip((0..).map(NodeId));
        let changed = pairs.filter(|((now, before), _)| !Arc::ptr_eq(now, before));
        Some(changed.map(|(_, id)| id).collect())
    }

    /// A node to change; it is copied when another topology shares it. Cables are changed only by
    /// [`TopologyBuilder`] and [`Self::disconnect`].
    pub fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut(id.0 as usize).map(Arc::make_mut)
    }

    /// Maps nodes and keeps the cables: `map` may change attributes of a node and its ports, but not
    /// its GUID, its kind, the number of its ports or their peers.
    pub fn map_nodes(&self, mut map: impl FnMut(NodeId, &Arc<Node>) -> Arc<Node>) -> Self {
        let nodes = self.nodes.iter().zip((0..).map(NodeId));
        Self {
            nodes: nodes.map(|(node, id)| map(id, node)).collect(),
            ..self.clone()
        }
    }

    /// A node by its GUID.
    pub fn find(&self, guid: Guid) -> Option<NodeId> {
        self.by_guid.get(&guid).copied()
    }

    /// A port.
    pub fn port(&self, at: PortRef) -> Option<&Port> {
        self.node(at.node)?.port(at.port)
    }

    /// The other end of a cable.
    pub fn peer(&self, at: PortRef) -> Option<PortRef> {
        self.port(at)?.peer
    }

    /// The switches in order of [`SwitchIndex`].
    pub fn switches(&self) -> &[NodeId] {
        &self.switches
    }

    /// A node's place among the switches.
    pub fn switch_index(&self, id: NodeId) -> Option<SwitchIndex> {
        self.switch_index.get(id.0 as usize).copied().flatten()
    }

    /// The HFIs in order of [`NodeId`].
    pub fn hfis(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes().filter(|(_, node)| !node.is_switch())
    }

    /// Every port that has LIDs, in order of node and port, with its base LID (0: none yet) and LMC.
    pub fn end_ports(&self) -> impl Iterator<Item = (PortRef, Lid, Lmc)> {
        self.nodes().flat_map(|(node, data)| {
            data.end_ports()
                .map(move |(port, end)| (PortRef { node, port }, end.info.lid, end.info.lmc))
        })
    }

    /// Every cable once, from the end with the smaller [`PortRef`], in order.
    pub fn links(&self) -> impl Iterator<Item = (PortRef, PortRef)> {
        self.nodes().flat_map(|(node, data)| {
            data.external_ports().filter_map(move |(port, end)| {
                let from = PortRef { node, port };
                end.peer.filter(|to| from < *to).map(|to| (from, to))
            })
        })
    }

    /// Every cable from a switch to itself that is no link of this topology: such a cable carries no data, so that a
    /// manager leaves it out. Both ports are up and name each other.
    pub fn loops(&self) -> impl Iterator<Item = (PortRef, PortRef)> {
        self.switches.iter().flat_map(|node| {
            let ports = self.node(*node).map(Node::external_ports);
            ports.into_iter().flatten().filter_map(|(port, _)| {
                let from = PortRef { node: *node, port };
                self.loop_end(from)
                    .filter(|to| from < *to)
                    .map(|to| (from, to))
            })
        })
    }

    /// The other end of such a cable.
    pub fn loop_end(&self, at: PortRef) -> Option<PortRef> {
        let node = self.node(at.node)?;
        let named = |port: PortNum| {
            let end = node.port(port).filter(|end| end.peer.is_none())?;
            let info = &end.info;
            let is_up = info.port_state >= PortState::INIT && info.phys_state == PhysState::LINK_UP;
            let is_own = is_up && info.neighbor_node_guid == node.guid();
            is_own.then_some(info.neighbor_port_num)
        };
        let other = named(at.port).filter(|other| *other != at.port && *other != PortNum(0))?;
        (named(other)? == at.port).then_some(PortRef { port: other, ..at })
    }

    /// Gives a node another NodeGUID, and its PortGUIDs with it, as if another device of its kind were in its place.
    ///
    /// # Errors
    /// [`TopologyError::DuplicateGuid`] when another node has it.
    pub fn exchange(&mut self, id: NodeId, guid: Guid) -> Result<(), TopologyError> {
        if self.find(guid).is_some_and(|other| other != id) {
            return Err(TopologyError::DuplicateGuid { guid });
        }
        let Some(node) = self.node_mut(id) else {
            return Ok(());
        };
        let before = std::mem::replace(&mut node.info.node_guid, guid);
        node.info.port_guid = match node.is_switch() {
            true => guid,
            false => hfi_port_guid(guid, PortNum(1)),
        };
        if node.info.system_image_guid == before {
            node.info.system_image_guid = guid;
        }
        self.by_guid.remove(&before);
        self.by_guid.insert(guid, id);
        Ok(())
    }

    /// Exchanges the cables in two ports: where the one led, the other leads; a port without a cable takes the other's.
    pub fn exchange_cables(&mut self, a: PortRef, b: PortRef) {
        let (of_a, of_b) = (self.peer(a), self.peer(b));
        if of_a == Some(b) {
            return;
        }
        for (end, peer) in [(a, of_b), (b, of_a)] {
            self.lead(end, peer);
            if let Some(peer) = peer {
                self.lead(peer, Some(end));
            }
        }
    }

    fn lead(&mut self, end: PortRef, peer: Option<PortRef>) {
        let node = self.node_mut(end.node);
        if let Some(port) = node.and_then(|node| node.port_mut(end.port)) {
            port.peer = peer;
        }
    }

    /// Plugs a cable into two ports that have none.
    pub fn plug_cable(&mut self, a: PortRef, b: PortRef) {
        self.lead(a, Some(b));
        self.lead(b, Some(a));
    }

    /// Pulls the cable at a port, both ends; returns whether there was one.
    pub fn disconnect(&mut self, at: PortRef) -> bool {
        let Some(other) = self.peer(at) else {
            return false;
        };
        for end in [at, other] {
            if let Some(port) = self
                .node_mut(end.node)
                .and_then(|node| node.port_mut(end.port))
            {
                port.peer = None;
            }
        }
        true
    }
}

/// Puts a [`Topology`] together and checks it.
#[derive(Debug, Clone, Default)]
pub struct TopologyBuilder {
    topology: Topology,
}

impl TopologyBuilder {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node; its ports' peers must be empty or name nodes already added or to come, and are
    /// checked by [`Self::build`].
    ///
    /// # Errors
    /// [`TopologyError::DuplicateGuid`] when the node's GUID is taken.
    pub fn add(&mut self, node: impl Into<Arc<Node>>) -> Result<NodeId, TopologyError> {
        let node = node.into();
        let topology = &mut self.topology;
        let id = NodeId(topology.nodes.len() as u32);
        if topology.by_guid.insert(node.guid(), id).is_some() {
            return Err(TopologyError::DuplicateGuid { guid: node.guid() });
        }
        let switch = node
            .is_switch()
            .then_some(SwitchIndex(topology.switches.len() as u32));
        topology.switches.extend(switch.map(|_| id));
        topology.switch_index.push(switch);
        topology.nodes.push(node);
        Ok(id)
    }

    /// Puts a cable between two ports.
    ///
    /// # Errors
    /// [`TopologyError::NoPort`] when one does not exist or is a switch's port 0,
    /// [`TopologyError::PortTaken`] when one has a cable.
    pub fn connect(&mut self, a: PortRef, b: PortRef) -> Result<(), TopologyError> {
        for end in [a, b] {
            let port = self.topology.port(end).filter(|_| end.port.0 != 0);
            match port.ok_or(TopologyError::NoPort { port: end })?.peer {
                Some(_) => return Err(TopologyError::PortTaken { port: end }),
                None if a == b => return Err(TopologyError::PortTaken { port: end }),
                None => {}
            }
        }
        for (end, other) in [(a, b), (b, a)] {
            if let Some(port) = self
                .topology
                .node_mut(end.node)
                .and_then(|node| node.port_mut(end.port))
            {
                port.peer = Some(other);
            }
        }
        Ok(())
    }

    /// The topology so far.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The finished topology.
    ///
    /// # Errors
    /// [`TopologyError::OneSided`] when a port's peer does not name it back.
    pub fn build(self) -> Result<Topology, TopologyError> {
        for (node, data) in self.topology.nodes() {
            for (port, end) in data.ports() {
                let at = PortRef { node, port };
                if let Some(peer) = end.peer
                    && (self.topology.peer(peer) != Some(at) || port.0 == 0)
                {
                    return Err(TopologyError::OneSided { port: at, peer });
                }
            }
        }
        Ok(self.topology)
    }
}

/// Inconsistencies of nodes and cables.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TopologyError {
    /// Ports and NodeInfo disagree.
    #[error("node {guid} has {actual} ports, its NodeInfo asks for {expected}")]
    PortCount {
        /// The node.
        guid: Guid,
        /// Ports that NodeInfo implies.
        expected: usize,
        /// Ports that were given.
        actual: usize,
    },
    /// Two nodes with one GUID.
    #[error("two nodes have the GUID {guid}")]
    DuplicateGuid {
        /// The GUID.
        guid: Guid,
    },
    /// A cable to a port that does not exist.
    #[error("node {} has no external port {}", port.node.0, port.port)]
    NoPort {
        /// The port.
        port: PortRef,
    },
    /// A second cable on a port.
    #[error("port {} of node {} already has a cable", port.port, port.node.0)]
    PortTaken {
        /// The port.
        port: PortRef,
    },
    /// A cable that only one end knows.
    #[error("port {} of node {} names port {} of node {}, which does not name it back",
        port.port, port.node.0, peer.port, peer.node.0)]
    OneSided {
        /// The end that knows.
        port: PortRef,
        /// The end that does not.
        peer: PortRef,
    },
}

/// The type of a node in its NodeInfo.
pub fn node_type(node: &Node) -> NodeType {
    if node.is_switch() {
        NodeType::SWITCH
    } else {
        NodeType::HFI
    }
}
