//! The XML snapshot that `opareport -o snapshot` writes.
//!
//! Elements that are unknown or say nothing about topology and routes (counters, tables of quality
//! of service, multicast groups, virtual fabrics) are passed over. Ports that the snapshot leaves
//! out are without a cable, as freshly powered on. Each line is read once; besides the result only
//! one node's text is held.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_wire::Layout;
use weft_wire::enums::{NodeType, PortType, SmState};
use weft_wire::id::{Guid, Lid, PortNum};
use weft_wire::sm::{NodeDescription, NodeInfo, SwitchInfo};

use super::ImportError;
use super::port_xml::{port_info, read_bytes};
use super::xml::{Cursor, Element, Step};
use crate::export::unescape_name;
use crate::generate::{HOSTS_MAX, SWITCHES_MAX};
use crate::powered_on;
use crate::snapshot::{SmRecord, Snapshot};
use crate::tables::{LinearTables, PortGroupTables, PortMask, SwitchPortGroups, UNREACHABLE};
use crate::topology::{Node, NodeId, Port, PortRef, Topology};

/// Most entries of a forwarding table.
const FDB_MAX: u32 = 1 << 20;
/// Most groups of a PortGroup table: a group's number has eight bits and 255 is none.
const GROUPS_MAX: u32 = 256;

/// Elements of a node that are long and not read; the MTUs are read from `NeighborMTU`.
const WITHOUT: [&str; 16] = [
    "MTUs",
    "SLtoSCMap",
    "SCtoSLMap",
    "SCtoSCMap",
    "SCtoVLrMap",
    "SCtoVLtMap",
    "SCtoVLntMap",
    "BufferControlTable",
    "VLArbitrationLow",
    "VLArbitrationHigh",
    "VLArbitrationPreemptElements",
    "VLArbitrationPreemptMatrix",
    "PKeyTable",
    "PortStatus",
    "MulticastFDB",
    "CableInfo",
];

/// Reads a snapshot.
///
/// # Errors
/// [`ImportError`] where the text is no well-formed XML, an element that is needed is missing or
/// holds no number in its range, GUIDs repeat, or a cable's end does not exist or has another.
pub fn import_snapshot(text: &str) -> Result<Snapshot, ImportError> {
    let mut cursor = Cursor::new(text);
    let mut import = Import::default();
    match cursor.step()? {
        Step::Open(root) if root.name == "Snapshot" => import.root(&root)?,
        Step::Open(root) => {
            let what = format!("the document is <{}>", root.name);
            return Err(ImportError::new(root.line, what, "<Snapshot>"));
        }
        Step::Close | Step::End => return Err(cursor.error("no element", "<Snapshot>")),
    }
    while let Step::Open(section) = cursor.step()? {
        import.section(&mut cursor, section.name)?;
    }
    import.finish()
}

#[derive(Default)]
struct Import<'a> {
    unix_time: u64,
    nodes: Vec<Node>,
    by_guid: BTreeMap<Guid, NodeId>,
    switches: u64,
    linear: Vec<Arc<[u8]>>,
    groups: Vec<Arc<SwitchPortGroups>>,
    sms: Vec<Element<'a>>,
    links: Vec<Element<'a>>,
}

impl<'a> Import<'a> {
    fn root(&mut self, root: &Element<'a>) -> Result<(), ImportError> {
        self.unix_time = root.numbered("unixtime")?;
        Ok(())
    }

    fn section(&mut self, cursor: &mut Cursor<'a>, section: &str) -> Result<(), ImportError> {
        let wanted = match section {
            "Nodes" => "Node",
            "SMs" => "SM",
            "Links" => "Link",
            _ => return cursor.skip(),
        };
        while let Step::Open(element) = cursor.step()? {
            if element.name != wanted {
                cursor.skip()?;
                continue;
            }
            let element = cursor.content(element, &WITHOUT)?;
            match wanted {
                "Node" => self.node(&element)?,
                "SM" => self.sms.push(element),
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
        self.switches += u64::from(node.is_switch());
        let hosts = self.nodes.len() as u64 + 1 - self.switches;
        if self.switches > SWITCHES_MAX || hosts > HOSTS_MAX {
            let allowed = format!("up to {SWITCHES_MAX} switches and {HOSTS_MAX} hosts");
            return Err(ImportError::new(element.line, "too many nodes", allowed));
        }
        if node.is_switch() {
            let empty = Element::default();
            let data = element.child("SwitchData").unwrap_or(&empty);
            self.linear.push(read_fdb(data, "LinearFDB")?.into());
            self.groups.push(Arc::new(read_groups(data)?));
        }
        self.nodes.push(node);
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
            sms,
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

    /// Plugs one end of a cable in. What the snapshot does not say of the neighbour follows from it.
    fn plug(&mut self, link: &Element<'_>, at: PortRef, peer: PortRef) -> Result<(), ImportError> {
        let other = self.nodes.get(peer.node.0 as usize);
        let other = other.map(|node| (node.guid(), node.is_switch()));
        let node = self.nodes.get_mut(at.node.0 as usize);
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
        port.info.mgmt_allowed = true;
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

fn read_node(element: &Element<'_>) -> Result<Node, ImportError> {
    let info = read_info(element)?;
    let switch = match info.node_type {
        NodeType::SWITCH => Some(read_switch(element)?),
        _ => None,
    };
    let node = Node::new(info, read_name(element), switch, powered_on_ports(&info));
    let mut node = node.map_err(|error| ImportError::topology(element.line, &error))?;
    let mut seen = PortMask::EMPTY;
    for child in element.all("PortInfo") {
        let number = PortNum(child.required("PortNum")?);
        let first = node.first_port();
        let port = node.port_mut(number).filter(|_| !seen.contains(number));
        let port = port.ok_or_else(|| {
            let allowed = format!("each of {first} to {} once", info.num_ports);
            ImportError::new(child.line, format!("<PortInfo> of port {number}"), allowed)
        })?;
        port.info = port_info(child, port.info)?;
        seen.insert(number);
    }
    Ok(node)
}

fn read_info(element: &Element<'_>) -> Result<NodeInfo, ImportError> {
    let guid = Guid(element.required("NodeGUID")?);
    let node_type = NodeType(element.required("NodeType_Int")?);
    let num_ports = element.required("NumPorts")?;
    let base = match node_type {
        NodeType::SWITCH => powered_on::switch_node_info(guid, guid, num_ports),
        NodeType::HFI => powered_on::hfi_info(guid, num_ports),
        other => {
            let what = format!("<NodeType_Int> is {}", other.0);
            return Err(ImportError::new(
                element.line_of("NodeType_Int"),
                what,
                "1 (HFI) or 2 (switch)",
            ));
        }
    };
    let most = if node_type == NodeType::SWITCH {
        254
    } else {
        4
    };
    if !(1..=most).contains(&num_ports) {
        let what = format!("<NumPorts> is {num_ports}");
        return Err(ImportError::new(
            element.line_of("NumPorts"),
            what,
            format!("1 to {most}"),
        ));
    }
    let system = element.optional("SystemImageGUID")?.map_or(guid, Guid);
    let vendor: u32 = element.optional("VendorID")?.unwrap_or(base.vendor_id);
    Ok(NodeInfo {
        base_version: element
            .optional("BaseVersion")?
            .unwrap_or(base.base_version),
        class_version: element
            .optional("ClassVersion")?
            .unwrap_or(base.class_version),
        system_image_guid: system,
        partition_cap: element
            .optional("PartitionCap")?
            .unwrap_or(base.partition_cap),
        device_id: element.optional("DeviceID")?.unwrap_or(base.device_id),
        revision: element.optional("Revision")?.unwrap_or(base.revision),
        vendor_id: vendor & 0x00FF_FFFF,
        ..base
    })
}

fn read_name(element: &Element<'_>) -> NodeDescription {
    let text = element.child("NodeDesc").map_or("", |child| &child.text);
    let mut description = NodeDescription::default();
    let name = unescape_name(text);
    let field = description.node_string.iter_mut();
    field.zip(name).for_each(|(to, from)| *to = from);
    description
}

fn powered_on_ports(info: &NodeInfo) -> Vec<Port> {
    let port = |info| Port { info, peer: None };
    let external = (1..=info.num_ports).map(PortNum);
    if info.node_type == NodeType::SWITCH {
        let external = external.map(|number| powered_on::switch_port(number, PortType::STANDARD));
        return std::iter::once(powered_on::management_port())
            .chain(external)
            .map(port)
            .collect();
    }
    external.map(powered_on::hfi_port).map(port).collect()
}

fn read_switch(element: &Element<'_>) -> Result<SwitchInfo, ImportError> {
    let Some(element) = element.child("SwitchInfo") else {
        return Ok(powered_on::switch_info());
    };
    let mut bytes = powered_on::switch_info().to_bytes();
    for (name, at, width) in [
        ("LinearFDBCap", 0, 4),
        ("PortGroupFDBCap", 4, 4),
        ("MulticastFDBCap", 8, 4),
        ("LinearFDBTop", 12, 4),
        ("MulticastFDBTop", 16, 4),
        ("PartitionEnforcementCap", 70, 2),
        ("PortGroupCap", 72, 1),
        ("PortGroupTop", 73, 1),
        ("RoutingModeSupported", 74, 1),
        ("RoutingModeEnabled", 75, 1),
        ("U2", 76, 1),
        ("AdaptiveRouting", 78, 2),
        ("CapabilityMask", 80, 2),
    ] {
        let value = match width {
            1 => element.optional::<u8>(name)?.map(u64::from),
            2 => element.optional::<u16>(name)?.map(u64::from),
            _ => element.optional::<u32>(name)?.map(u64::from),
        };
        if let Some(value) = value {
            bytes[at..at + width].copy_from_slice(&value.to_be_bytes()[8 - width..]);
        }
    }
    // As many bytes as SwitchInfo has.
    let mut info = SwitchInfo::decode(&bytes).unwrap_or_default();
    info.life_time_value = element.optional("LifeTimeValue_Int")?.unwrap_or(0);
    info.port_state_change = element
        .optional::<u8>("PortStateChange")?
        .is_some_and(|on| on != 0);
    info.multicast_mask = element
        .optional("MulticastMask")?
        .unwrap_or(info.multicast_mask);
    info.collective_mask = element
        .optional("CollectiveMask")?
        .unwrap_or(info.collective_mask);
    for (name, field) in [
        ("IPAddrIPV6", &mut info.ip_addr_ipv6[..]),
        ("IPAddrIPV4", &mut info.ip_addr_ipv4[..]),
    ] {
        if let Some(child) = element.child(name) {
            read_bytes(child, field)?;
        }
    }
    Ok(info)
}

/// `<LinearFDB>` or `<PortGroupFDB>` with the size that `<…Size>` says.
fn read_fdb(data: &Element<'_>, name: &str) -> Result<Vec<u8>, ImportError> {
    let size = read_size(data, &format!("{name}Size"), FDB_MAX)?;
    let mut row = vec![UNREACHABLE; size];
    for value in data.child(name).iter().flat_map(|table| table.all("Value")) {
        let lid: u32 = value.numbered("LID")?;
        let entry = row.get_mut(lid as usize).ok_or_else(|| {
            let what = format!("an entry for LID {lid:#x} of a table of {size}");
            ImportError::new(value.line, what, "LIDs below the size")
        })?;
        *entry = value.number()?;
    }
    Ok(row)
}

fn read_size(data: &Element<'_>, name: &str, max: u32) -> Result<usize, ImportError> {
    let size: u32 = data.optional(name)?.unwrap_or(0);
    if size > max {
        let line = data.line_of(name);
        let what = format!("<{name}> is {size}");
        return Err(ImportError::new(line, what, format!("0 to {max}")));
    }
    Ok(size as usize)
}

/// Groups up to the last that is listed: the size is that of the hardware's table.
fn read_groups(data: &Element<'_>) -> Result<SwitchPortGroups, ImportError> {
    let size = read_size(data, "PortGroupSize", GROUPS_MAX)?;
    let mut groups = Vec::new();
    let elements = data.child("PortGroupElements");
    for value in elements.iter().flat_map(|table| table.all("Value")) {
        let number: u32 = value.numbered("PortGroupNumber")?;
        if number as usize >= size {
            let what = format!("group {number} of a table of {size}");
            return Err(ImportError::new(value.line, what, "groups below the size"));
        }
        let bits: u64 = value.number()?;
        if groups.len() <= number as usize {
            groups.resize(number as usize + 1, PortMask::EMPTY);
        }
        groups[number as usize] = (0..64)
            .filter(|bit| bits >> bit & 1 == 1)
            .map(|bit| PortNum(bit + 1))
            .collect();
    }
    let fdb = if groups.is_empty() {
        Vec::new()
    } else {
        read_fdb(data, "PortGroupFDB")?
    };
    Ok(SwitchPortGroups { groups, fdb })
}
