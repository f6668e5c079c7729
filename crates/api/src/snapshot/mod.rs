//! A snapshot in parts, small enough for messages, and back.

mod administration;
mod cables;
mod kept;
mod of_pieces;
mod pieces;
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thiserror::Error;
use weft_fabric::enums::SmState;
use weft_fabric::{
    CableMemories, Guid, Lacking, Lid, LinearTables, MulticastTables, Node, NodeId, Port,
    PortGroupTables, PortMask, PortNum, PortRef, SmRecord, Snapshot, SwitchIndex, SwitchPortGroups,
    Topology, TopologyBuilder, TopologyError,
};
use weft_wire::Layout;
use weft_wire::sm::{NodeDescription, NodeInfo, PortInfo, SwitchInfo};

use crate::convert::port_id;
use crate::time::{known_s, unix_s};
use crate::v1::{self, SnapshotExtra, get_snapshot_response::Part};

pub use kept::KeptState;
pub use of_pieces::of_pieces;
pub use pieces::{HEALTH, Piece, ROUTING, health_of_piece, health_piece, pieces};

/// Parts that follow each other.
type Parts = Box<dyn Iterator<Item = Part> + Send>;

/// Links in one part.
const LINKS_PER_PART: usize = 4096;

/// Parts that make no snapshot.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// An attribute has the wrong length.
    #[error("{what} has {actual} bytes, expected {expected}")]
    Length {
        /// Name of the attribute.
        what: &'static str,
        /// Bytes that came.
        actual: usize,
        /// Bytes that it has.
        expected: usize,
    },
    /// A part names a node or switch that did not come.
    #[error("{what} names node {guid}, which is not in the snapshot")]
    UnknownNode {
        /// Name of the part.
        what: &'static str,
        /// The GUID that it named.
        guid: Guid,
    },
    /// A port number that does not fit.
    #[error("port number {port}, allowed: 0 to 255")]
    PortNumber {
        /// The number that came.
        port: u32,
    },
    /// Nodes and links contradict each other.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// A number beyond what it may be.
    #[error("{what} is {value}, allowed: {allowed}")]
    Range {
        /// What it counts or names.
        what: &'static str,
        /// The number that came.
        value: u32,
        /// What may come.
        allowed: &'static str,
    },
    /// A piece that is not there, or whose key says nothing.
    #[error("{0} of the snapshot is missing or wrong")]
    NoPiece(&'static str),
    /// The value of a piece is not what its key says.
    #[error("a piece of the snapshot is wrong: {0}")]
    Piece(#[from] prost::DecodeError),
    /// The first part is not the header, or none came.
    #[error("the snapshot does not begin with its header")]
    NoHeader,
}

/// Extras of a request, each once; those of a newer client are left out.
pub fn extras(request: &v1::GetSnapshotRequest) -> Vec<SnapshotExtra> {
    let asked: BTreeSet<i32> = request.extras.iter().copied().collect();
    let known = asked
        .into_iter()
        .filter_map(|extra| SnapshotExtra::try_from(extra).ok());
    known
        .filter(|extra| *extra != SnapshotExtra::Unspecified)
        .collect()
}

/// Cuts a snapshot into parts: header, nodes, links, tables, groups, subnet managers, extras. The moment is that of a
/// snapshot of the past.
pub fn parts(
    snapshot: Arc<Snapshot>,
    extras: &[SnapshotExtra],
    moment: Option<v1::MomentShown>,
) -> impl Iterator<Item = v1::GetSnapshotResponse> + Send + use<> {
    let unknown = snapshot.lacking.administration;
    let told = |extra: &&SnapshotExtra| match extra {
        SnapshotExtra::Administration
        | SnapshotExtra::DeviceGroups
        | SnapshotExtra::QuarantinedNodes => !unknown,
        SnapshotExtra::Cables => !snapshot.lacking.cables,
        _ => true,
    };
    let extras: Vec<SnapshotExtra> = extras.iter().filter(told).copied().collect();
    let header = Part::Header(v1::SnapshotHeader {
        generation: snapshot.generation,
        time: known_s(snapshot.unix_time),
        extras: extras.iter().map(|extra| i32::from(*extra)).collect(),
        moment,
    });
    let extras: Vec<Parts> = extras
        .iter()
        .map(|extra| -> Parts {
            let snapshot = snapshot.clone();
            match extra {
                SnapshotExtra::Unspecified => Box::new(std::iter::empty()),
                SnapshotExtra::MulticastTables => Box::new(tables::multicast(snapshot)),
                SnapshotExtra::PortTables => Box::new(tables::of_ports(snapshot)),
                SnapshotExtra::Administration => Box::new(administration::parts(snapshot)),
                SnapshotExtra::DeviceGroups => Box::new(administration::device_groups(snapshot)),
                SnapshotExtra::QuarantinedNodes => Box::new(administration::quarantined(snapshot)),
                SnapshotExtra::Cables => Box::new(cables::parts(snapshot)),
            }
        })
        .collect();
    let topology = snapshot.topology.clone();
    let nodes = (0..topology.len() as u32).filter_map({
        let topology = topology.clone();
        move |id| topology.node(NodeId(id)).map(node_part)
    });
    let links: Vec<_> = topology
        .links()
        .filter_map(|link| link_message(&topology, link))
        .collect();
    let links = chunks(links, LINKS_PER_PART).map(|links| Part::Links(v1::SnapshotLinks { links }));
    let tables = (0..topology.switches().len() as u32).filter_map({
        let (snapshot, topology) = (snapshot.clone(), topology.clone());
        move |index| linear_part(&snapshot, &topology, SwitchIndex(index))
    });
    let groups = (0..snapshot.groups.switches.len() as u32).filter_map({
        let (snapshot, topology) = (snapshot.clone(), topology.clone());
        move |index| groups_part(&snapshot, &topology, SwitchIndex(index))
    });
    let sms: Vec<_> = snapshot
        .sms
        .iter()
        .filter_map(|sm| sm_part(&topology, sm))
        .collect();
    let all = std::iter::once(header)
        .chain(nodes)
        .chain(links)
        .chain(tables)
        .chain(groups);
    all.chain(sms)
        .chain(extras.into_iter().flatten())
        .map(|part| v1::GetSnapshotResponse { part: Some(part) })
}

fn chunks<T>(items: Vec<T>, size: usize) -> impl Iterator<Item = Vec<T>> {
    let mut items = items.into_iter();
    std::iter::from_fn(move || {
        let chunk: Vec<T> = items.by_ref().take(size).collect();
        (!chunk.is_empty()).then_some(chunk)
    })
}

fn node_part(node: &Node) -> Part {
    let mut port_infos = Vec::with_capacity(node.ports().len() * PortInfo::LEN);
    for (_, port) in node.ports() {
        port_infos.extend_from_slice(&port.info.to_bytes());
    }
    Part::Node(v1::SnapshotNode {
        node_info: node.info.to_bytes(),
        node_description: node.description.to_bytes(),
        switch_info: node.switch.as_ref().map_or_else(Vec::new, Layout::to_bytes),
        port_infos,
    })
}

fn link_message(topology: &Topology, (a, b): (PortRef, PortRef)) -> Option<v1::SnapshotLink> {
    let (a, b) = (port_id(topology, a)?, port_id(topology, b)?);
    Some(v1::SnapshotLink {
        a: Some(a),
        b: Some(b),
    })
}

fn switch_guid(topology: &Topology, index: SwitchIndex) -> Option<Guid> {
    let id = topology.switches().get(index.0 as usize)?;
    Some(topology.node(*id)?.guid())
}

/// The linear table of a switch, none where it has none.
fn linear_row(snapshot: &Snapshot, index: SwitchIndex) -> Option<&[u8]> {
    Some(snapshot.linear.row(index)).filter(|row| !row.is_empty())
}

fn linear_part(snapshot: &Snapshot, topology: &Topology, index: SwitchIndex) -> Option<Part> {
    let row = linear_row(snapshot, index)?;
    Some(Part::Linear(v1::ForwardingTable {
        switch_guid: switch_guid(topology, index)?.0,
        egress: row.to_vec(),
    }))
}

fn groups_part(snapshot: &Snapshot, topology: &Topology, index: SwitchIndex) -> Option<Part> {
    let tables = snapshot.groups.switches.get(index.0 as usize)?;
    let group = |mask: &PortMask| v1::PortGroup {
        ports: mask.iter().map(|port| port.0).collect(),
    };
    Some(Part::PortGroups(v1::SnapshotPortGroups {
        switch_guid: switch_guid(topology, index)?.0,
        groups: tables.groups.iter().map(group).collect(),
        fdb: tables.fdb.clone(),
    }))
}

fn sm_part(topology: &Topology, sm: &SmRecord) -> Option<Part> {
    Some(Part::SubnetManager(v1::SubnetManager {
        port: Some(port_id(topology, sm.port)?),
        lid: sm.lid.0,
        port_guid: sm.port_guid.0,
        state: u32::from(sm.state.0),
        priority: u32::from(sm.priority),
        act_count: sm.act_count,
    }))
}

/// Puts a snapshot together from its parts, in the order that they come.
#[derive(Debug, Default)]
pub struct Assembler {
    header: Option<v1::SnapshotHeader>,
    builder: TopologyBuilder,
    linear: BTreeMap<NodeId, Arc<[u8]>>,
    groups: BTreeMap<NodeId, Arc<SwitchPortGroups>>,
    sms: Vec<SmRecord>,
    multicast: BTreeMap<NodeId, Arc<[PortMask]>>,
    port_tables: tables::PortTableParts,
    administration: administration::AdministrationParts,
    cables: CableMemories,
}

impl Assembler {
    /// Takes the next part.
    ///
    /// # Errors
    /// [`SnapshotError`] when it does not fit the earlier parts.
    pub fn push(&mut self, response: v1::GetSnapshotResponse) -> Result<(), SnapshotError> {
        match response.part {
            Some(Part::Header(header)) => self.header = Some(header),
            _ if self.header.is_none() => return Err(SnapshotError::NoHeader),
            Some(Part::Node(node)) => self.node_of(Arc::new(read_node(&node)?))?,
            Some(Part::Links(links)) => {
                for link in links.links {
                    let (a, b) = (self.port("a link", link.a)?, self.port("a link", link.b)?);
                    self.builder.connect(a, b)?;
                }
            }
            Some(Part::Linear(table)) => {
                self.linear_of(Guid(table.switch_guid), table.egress.into())?;
            }
            Some(Part::PortGroups(groups)) => {
                let id = self.node("a port group table", groups.switch_guid)?;
                self.groups.insert(id, Arc::new(read_groups(groups)));
            }
            Some(Part::SubnetManager(sm)) => {
                let sm = self.read_sm(sm)?;
                self.sms.push(sm);
            }
            Some(Part::Multicast(table)) => {
                let id = self.node("a multicast table", table.switch_guid)?;
                self.multicast.insert(id, tables::read_multicast(table)?);
            }
            Some(Part::Tables(tables)) => self.port_tables.contents(tables.contents)?,
            Some(Part::PortTables(tables)) => {
                let id = self.node("a port table", tables.node_guid)?;
                self.port_tables.node(id, &tables)?;
            }
            Some(Part::Group(group)) => self.administration.group(group)?,
            Some(Part::VirtualFabric(fabric)) => {
                let record = read("VFInfo of a virtual fabric", &fabric.record)?;
                self.administration.virtual_fabric(record);
            }
            Some(Part::DeviceGroup(group)) => self.administration.device_group(group)?,
            Some(Part::Quarantined(nodes)) => self.administration.quarantined(&nodes)?,
            Some(Part::Cables(part)) => cables::read(part, &mut self.cables)?,
            None => {}
        }
        Ok(())
    }

    fn node_of(&mut self, node: Arc<Node>) -> Result<(), SnapshotError> {
        self.builder.add(node)?;
        Ok(())
    }

    fn linear_of(&mut self, switch: Guid, row: Arc<[u8]>) -> Result<(), SnapshotError> {
        let id = self.node("a forwarding table", switch.0)?;
        self.linear.insert(id, row);
        Ok(())
    }

    /// The moment of the past that the snapshot is of; none where it is that of now.
    pub fn moment(&self) -> Option<&v1::MomentShown> {
        self.header.as_ref()?.moment.as_ref()
    }

    /// The snapshot, when all parts have come.
    ///
    /// # Errors
    /// [`SnapshotError`] when nothing came, or cables that only one end knows.
    pub fn finish(self) -> Result<Snapshot, SnapshotError> {
        let header = self.header.ok_or(SnapshotError::NoHeader)?;
        let topology = self.builder.build()?;
        let empty: Arc<[u8]> = Arc::from([]);
        let switches = topology.switches();
        let row = |id| self.linear.get(id).unwrap_or(&empty).clone();
        let linear = LinearTables::new(switches.iter().map(row).collect());
        let mut groups = PortGroupTables::default();
        if !self.groups.is_empty() {
            let tables = |id| self.groups.get(id).cloned().unwrap_or_default();
            groups.switches = switches.iter().map(tables).collect();
        }
        let came = |extra: SnapshotExtra| header.extras.contains(&i32::from(extra));
        let mut multicast = MulticastTables::default();
        if came(SnapshotExtra::MulticastTables) {
            let empty: Arc<[PortMask]> = Arc::from([]);
            let row = |id| self.multicast.get(id).unwrap_or(&empty).clone();
            multicast = MulticastTables::new(switches.iter().map(row).collect());
        }
        let lacking = Lacking {
            routes: false,
            port_tables: !came(SnapshotExtra::PortTables),
            buffers: !came(SnapshotExtra::PortTables),
            administration: !came(SnapshotExtra::Administration),
            cables: !came(SnapshotExtra::Cables),
        };
        let administration = self.administration.finish(
            came(SnapshotExtra::DeviceGroups),
            came(SnapshotExtra::QuarantinedNodes),
        );
        Ok(Snapshot {
            multicast: Arc::new(multicast),
            port_tables: Arc::new(self.port_tables.finish(topology.len())),
            administration: Arc::new(administration),
            cables: Arc::new(self.cables),
            lacking,
            generation: header.generation,
            unix_time: unix_s(header.time),
            topology: Arc::new(topology),
            linear: Arc::new(linear),
            groups: Arc::new(groups),
            sms: self.sms,
            ..Snapshot::default()
        })
    }

    fn node(&self, what: &'static str, guid: u64) -> Result<NodeId, SnapshotError> {
        let guid = Guid(guid);
        let found = self.builder.topology().find(guid);
        found.ok_or(SnapshotError::UnknownNode { what, guid })
    }

    fn port(&self, what: &'static str, id: Option<v1::PortId>) -> Result<PortRef, SnapshotError> {
        let id = id.unwrap_or_default();
        let node = self.node(what, id.node_guid)?;
        let port =
            u8::try_from(id.port).map_err(|_| SnapshotError::PortNumber { port: id.port })?;
        Ok(PortRef {
            node,
            port: PortNum(port),
        })
    }

    fn read_sm(&self, sm: v1::SubnetManager) -> Result<SmRecord, SnapshotError> {
        Ok(SmRecord {
            port: self.port("a subnet manager", sm.port)?,
            lid: Lid(sm.lid),
            port_guid: Guid(sm.port_guid),
            state: SmState(u8::try_from(sm.state).unwrap_or(u8::MAX)),
            priority: u8::try_from(sm.priority).unwrap_or(u8::MAX),
            sm_key: 0,
            act_count: sm.act_count,
        })
    }
}

fn read_groups(groups: v1::SnapshotPortGroups) -> SwitchPortGroups {
    let mask = |group: v1::PortGroup| group.ports.into_iter().map(PortNum).collect();
    SwitchPortGroups {
        groups: groups.groups.into_iter().map(mask).collect(),
        fdb: groups.fdb,
    }
}

fn read_node(node: &v1::SnapshotNode) -> Result<Node, SnapshotError> {
    let info: NodeInfo = read("NodeInfo of a node", &node.node_info)?;
    let description: NodeDescription = read("NodeDescription of a node", &node.node_description)?;
    let switch = match node.switch_info.is_empty() {
        true => None,
        false => Some(read::<SwitchInfo>(
            "SwitchInfo of a node",
            &node.switch_info,
        )?),
    };
    let ports = node.port_infos.chunks(PortInfo::LEN);
    let ports = ports.map(|bytes| {
        Ok(Port {
            info: read("PortInfo of a node", bytes)?,
            peer: None,
        })
    });
    let ports = ports.collect::<Result<Vec<_>, SnapshotError>>()?;
    Ok(Node::new(info, description, switch, ports)?)
}

fn read<T: Layout>(what: &'static str, bytes: &[u8]) -> Result<T, SnapshotError> {
    let wrong = || SnapshotError::Length {
        what,
        actual: bytes.len(),
        expected: T::LEN,
    };
    if bytes.len() != T::LEN {
        return Err(wrong());
    }
    T::decode(bytes).map_err(|_| wrong())
}
