//! The XML snapshot that `opareport -o snapshot` writes.
//!
//! Elements that are unknown are skipped. Ports missing from the snapshot are without a cable, as freshly powered on. Each
//! line is read once; besides the result only one node's text is held in memory.

mod administration;
mod cables;
mod counters;
mod node;
mod port;
mod port_tables;
mod tables;

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_wire::enums::SmState;
use weft_wire::id::{Guid, Lid, PortNum};
use weft_wire::sa::VfInfoRecord;

use self::administration::{read_group, read_virtual_fabric};
use self::cables::read_cable;
use self::counters::read_counts;
use self::node::read_node;
use self::port_tables::read_node_tables;
use self::tables::{read_fdb, read_groups, read_multicast};
use super::ImportError;
use super::budget::Budget;
use super::xml::{Cursor, Element, Step};
use crate::administration::{Administration, MulticastGroup};
use crate::cables::CableMemories;
use crate::counts::{CountsByPort, PortCounts};
use crate::multicast::MulticastTables;
use crate::port_tables::PortTablesBuilder;
use crate::snapshot::{Lacking, SmRecord, Snapshot};
use crate::tables::{LinearTables, PortGroupTables, PortMask, SwitchPortGroups};
use crate::topology::{Node, NodeId, PortRef, Topology};

/// Elements of a node that are never read: the MTUs are those of `NeighborMTU`.
const NEVER: [&str; 2] = ["MTUs", "VLArbitrationPreemptElements"];
/// Elements with tables of a port.
const PORT_TABLES: [&str; 11] = [
    "SLtoSCMap",
    "SCtoSLMap",
    "SCtoSCMap",
    "SCtoVLrMap",
    "SCtoVLtMap",
    "SCtoVLntMap",
    "BufferControlTable",
    "VLArbitrationLow",
    "VLArbitrationHigh",
    "VLArbitrationPreemptMatrix",
    "PKeyTable",
];

/// Parts of a snapshot that need not be read; what is left out is lacking, or as it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotParts {
    /// Forwarding tables of all kinds.
    pub routes: bool,
    /// Tables of ports and limits of buffers.
    pub port_tables: bool,
    /// Counters.
    pub counts: bool,
    /// Memories of cables.
    pub cables: bool,
    /// MTUs, lifetimes and stalls of the lanes of ports. Left out, they are those of a port that was just switched on.
    pub lanes: bool,
}

impl SnapshotParts {
    /// Everything.
    pub const ALL: Self = Self {
        routes: true,
        port_tables: true,
        counts: true,
        cables: true,
        lanes: true,
    };

    /// Names of the elements of a node that are not read.
    fn without(self) -> Vec<&'static str> {
        let parts: [(bool, &[&str]); 5] = [
            (self.routes, &["SwitchData"]),
            (self.port_tables, &PORT_TABLES),
            (self.counts, &["PortStatus"]),
            (self.cables, &["CableInfo"]),
            (self.lanes, &["VLStalls", "HoQLifes", "NeighborMTU"]),
        ];
        let left_out = parts.into_iter().filter(|(wanted, _)| !wanted);
        let left_out = left_out.flat_map(|(_, names)| names.iter().copied());
        left_out.chain(NEVER).collect()
    }
}

/// Reads a snapshot.
///
/// # Errors
/// [`ImportError`] where the text is no well-formed XML, an element that is needed is missing or
/// holds no number in its range, GUIDs repeat, or a cable's end does not exist or has another.
pub fn import_snapshot(text: &str) -> Result<Snapshot, ImportError> {
    import_snapshot_parts(text, SnapshotParts::ALL)
}

/// Reads parts of a snapshot; mistakes in the others are not seen.
///
/// # Errors
/// Those of [`import_snapshot`].
pub fn import_snapshot_parts(text: &str, parts: SnapshotParts) -> Result<Snapshot, ImportError> {
    let mut cursor = Cursor::new(text);
    let mut import = Import {
        without: parts.without(),
        ..Import::default()
    };
    match cursor.step()? {
        Step::Open(root) if root.name == "Snapshot" => import.root(&root)?,
        Step::Open(root) => {
            let what = format!("the document is <{}>", root.name);
            return Err(ImportError::new(root.line, what, "<Snapshot>"));
        }
        Step::Close | Step::End => return Err(cursor.error("no element", "<Snapshot>")),
    }
    if !parts.port_tables {
        (import.lacking.port_tables, import.lacking.buffers) = (true, true);
    }
    while let Step::Open(section) = cursor.step()? {
        import.section(&mut cursor, section.name)?;
    }
    import.finish()
}

#[derive(Default)]
struct Import<'a> {
    /// Names of the elements of a node that are not read.
    without: Vec<&'static str>,
    unix_time: u64,
    nodes: Vec<Node>,
    by_guid: BTreeMap<Guid, NodeId>,
    budget: Budget,
    linear: Vec<Arc<[u8]>>,
    groups: Vec<Arc<SwitchPortGroups>>,
    multicast: Vec<Arc<[PortMask]>>,
    port_tables: PortTablesBuilder,
    multicast_groups: Vec<MulticastGroup>,
    virtual_fabrics: Vec<VfInfoRecord>,
    counts: CountsByPort,
    cables: CableMemories,
    lacking: Lacking,
    sms: Vec<Element<'a>>,
    links: Vec<Element<'a>>,
}

impl<'a> Import<'a> {
    fn root(&mut self, root: &Element<'a>) -> Result<(), ImportError> {
        self.unix_time = root.numbered("unixtime")?;
        let lacks =
            |part: &str| Ok(root.attribute(part).is_some() && root.numbered::<u64>(part)? == 0);
        self.lacking = Lacking {
            // Until a switch has tables.
            routes: true,
            port_tables: lacks("qosdata")?,
            buffers: lacks("bfrctrl")?,
            administration: true,
            // Until a port has one.
            cables: true,
        };
        Ok(())
    }

    fn section(&mut self, cursor: &mut Cursor<'a>, section: &str) -> Result<(), ImportError> {
        let wanted = match section {
            "Nodes" => "Node",
            "SMs" => "SM",
            "Links" => "Link",
            "McMembers" => "MulticastGroup",
            "VirtualFabrics" => "VF",
            _ => return cursor.skip(),
        };
        if section == "VirtualFabrics" {
            self.lacking.administration = false;
        }
        while let Step::Open(element) = cursor.step()? {
            if element.name != wanted {
                cursor.skip()?;
                continue;
            }
            let element = cursor.content(element, &self.without)?;
            match wanted {
                "Node" => self.node(&element)?,
                "SM" => self.sms.push(element),
                "MulticastGroup" => self.multicast_groups.push(read_group(&element)?),
                "VF" => self.virtual_fabrics.push(read_virtual_fabric(&element)?),
                _ => self.links.push(element),
            }
        }
        Ok(())
    }

    fn node(&mut self, element: &Element<'_>) -> Result<(), ImportError> {
        let node = read_node(element)?;
        let id = NodeId(self.nodes.len() as u32);
        if self.by_guid.insert(node.guid(), id).is_some() {
            let what = format!("a second node with GUID {}", node.guid());
            return Err(ImportError::new(element.line, what, "one node a GUID"));
        }
        if node.is_switch() {
            self.budget.switch(element.line, node.info.num_ports)?;
            self.tables(element)?;
        } else {
            self.budget.host(element.line)?;
        }
        self.counts(element, &node, id)?;
        self.cables(element, &node)?;
        if !(self.lacking.port_tables && self.lacking.buffers) {
            let before = self.port_tables.bytes();
            let tables = read_node_tables(element, &node, &mut self.port_tables)?;
            self.port_tables.node(tables);
            self.budget
                .table(element.line, self.port_tables.bytes() - before)?;
        }
        self.nodes.push(node);
        Ok(())
    }

    /// Reads what the ports of a node have counted.
    fn counts(
        &mut self,
        element: &Element<'_>,
        node: &Node,
        id: NodeId,
    ) -> Result<(), ImportError> {
        for child in element.all("PortInfo") {
            let port = PortNum(child.required("PortNum")?);
            let counts = node.port(port).map(|port| read_counts(child, &port.info));
            if let Some(counts) = counts.transpose()?.flatten() {
                self.budget.table(child.line, size_of::<PortCounts>())?;
                self.counts.insert(PortRef { node: id, port }, counts);
            }
        }
        Ok(())
    }

    /// Reads the memories of the cables in the ports of a node.
    fn cables(&mut self, element: &Element<'_>, node: &Node) -> Result<(), ImportError> {
        for child in element.all("PortInfo") {
            let port = PortNum(child.required("PortNum")?);
            let memory = child.child("CableInfo").map(read_cable).transpose()?;
            if let Some(memory) = memory.filter(|_| node.port(port).is_some()) {
                self.budget.table(child.line, memory.len())?;
                self.cables.insert((node.guid(), port), memory);
                self.lacking.cables = false;
            }
        }
        Ok(())
    }

    fn tables(&mut self, node: &Element<'_>) -> Result<(), ImportError> {
        let empty = Element::default();
        let data = node.child("SwitchData").unwrap_or(&empty);
        self.lacking.routes &= node.child("SwitchData").is_none();
        let row = read_fdb(data, "LinearFDB")?;
        let groups = read_groups(data)?;
        let multicast = read_multicast(data)?;
        let words = size_of::<PortMask>() * multicast.len();
        self.budget
            .table(node.line, row.len() + groups.fdb.len() + words)?;
        self.multicast.push(multicast.into());
        self.linear.push(row.into());
        self.groups.push(Arc::new(groups));
        Ok(())
    }

    fn finish(mut self) -> Result<Snapshot, ImportError> {
        for link in std::mem::take(&mut self.links) {
            let [from, to] = [self.end(&link, "From")?, self.end(&link, "To")?];
            self.plug(&link, from, to)?;
            self.plug(&link, to, from)?;
        }
        let sms = std::mem::take(&mut self.sms);
        let sms = sms.iter().map(|sm| self.sm(sm)).collect::<Result<_, _>>()?;
        let has_groups = self.groups.iter().any(|groups| !groups.groups.is_empty());
        let groups = if has_groups { self.groups } else { Vec::new() };
        Ok(Snapshot {
            generation: 1,
            unix_time: self.unix_time,
            topology: Arc::new(build(self.nodes)?),
            linear: Arc::new(LinearTables::new(self.linear)),
            groups: Arc::new(PortGroupTables { switches: groups }),
            multicast: Arc::new(MulticastTables::new(self.multicast)),
            port_tables: Arc::new(self.port_tables.finish()),
            administration: Arc::new(Administration {
                groups: Arc::new(self.multicast_groups),
                virtual_fabrics: self.virtual_fabrics,
                device_groups: None,
                quarantined: None,
            }),
            counts: (!self.counts.is_empty()).then(|| Arc::new(self.counts)),
            cables: Arc::new(self.cables),
            lacking: self.lacking,
            sms,
            ..Snapshot::default()
        })
    }

    fn end(&self, link: &Element<'_>, name: &str) -> Result<PortRef, ImportError> {
        let end = link
            .child(name)
            .ok_or_else(|| ImportError::new(link.line, format!("<Link> has no <{name}>"), "one"))?;
        let guid = Guid(end.required("NodeGUID")?);
        let port = PortNum(end.required("PortNum")?);
        let node = self.by_guid.get(&guid).copied();
        let node = node.ok_or_else(|| {
            let what = format!("a cable to node {guid}, which is not in the snapshot");
            ImportError::new(end.line, what, "its nodes")
        })?;
        Ok(PortRef { node, port })
    }

    /// Connects one end of a cable. Missing data about the neighbour is derived from its node.
    fn plug(&mut self, link: &Element<'_>, at: PortRef, peer: PortRef) -> Result<(), ImportError> {
        let other = self.nodes.get(peer.node.0 as usize);
        let other = other.map(|node| (node.guid(), node.is_switch()));
        let node = self.nodes.get_mut(at.node.0 as usize);
        let between_switches = node.as_ref().is_some_and(|node| node.is_switch())
            && other.is_some_and(|other| other.1);
        let port = node
            .and_then(|node| node.port_mut(at.port))
            .filter(|_| at.port.0 != 0);
        let error = |allowed: &str| {
            ImportError::new(link.line, format!("a cable to port {}", at.port), allowed)
        };
        let port = port.ok_or_else(|| error("external ports of the node"))?;
        if port.peer.is_some() || at == peer {
            return Err(error("one cable a port"));
        }
        port.peer = Some(peer);
        let (guid, is_switch) = other.unwrap_or_default();
        port.info.mgmt_allowed = !between_switches;
        port.info.neighbor_node_type = u8::from(is_switch);
        if port.info.neighbor_node_guid == Guid(0) {
            port.info.neighbor_node_guid = guid;
            port.info.neighbor_port_num = peer.port;
        }
        Ok(())
    }

    fn sm(&self, element: &Element<'_>) -> Result<SmRecord, ImportError> {
        let guid = Guid(element.required("PortGUID")?);
        let node = self.by_guid.get(&guid).copied();
        let (node, port) = node.map(|id| (id, PortNum(1))).ok_or_else(|| {
            let what = format!("a subnet manager on port {guid}");
            ImportError::new(element.line, what, "first ports of nodes in the snapshot")
        })?;
        let switch = self.nodes.get(node.0 as usize).is_some_and(Node::is_switch);
        Ok(SmRecord {
            port: PortRef {
                node,
                port: if switch { PortNum(0) } else { port },
            },
            lid: Lid(element.required("LID")?),
            port_guid: guid,
            state: SmState(element.required("State_Int")?),
            priority: element.required("Priority")?,
            sm_key: element.optional("SM_Key")?.unwrap_or(0),
            act_count: element.optional("ActCount")?.unwrap_or(0),
        })
    }
}

fn build(nodes: Vec<Node>) -> Result<Topology, ImportError> {
    let mut builder = crate::TopologyBuilder::new();
    let add = nodes
        .into_iter()
        .try_for_each(|node| builder.add(node).map(|_| ()));
    let built = add.and_then(|()| builder.build());
    built.map_err(|error| ImportError::topology(0, &error))
}
