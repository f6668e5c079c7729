//! A snapshot as pieces, each with a key and a value of bytes, for a store that keeps those that change.
//!
//! Values are parts of the API without their frame, or plain bytes where a part would only wrap them. All pieces of a
//! kind begin with the same byte, and kinds are in the order in which they make a snapshot again.

use std::sync::Arc;

use prost::Message;
use weft_fabric::{Guid, MulticastGroup, NodeId, PortRef, Snapshot, Topology};
use weft_wire::Layout;

use super::{
    SnapshotError, administration, cables, groups_part, linear_row, link_message, node_part,
    sm_part, tables,
};
use crate::time::known_s;
use crate::v1::{self, SnapshotExtra, get_snapshot_response::Part};

/// Members of a device group, and nodes in quarantine, in one piece.
const RECORDS_PER_PIECE: usize = 1 << 16;

/// What a piece is; its number is the first byte of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The header.
    Header,
    /// NodeGUIDs in the order of the nodes.
    Order,
    /// A node, by its GUID.
    Node,
    /// Links of the node whose GUID this is to those behind it.
    Links,
    /// The linear table of a switch, plain.
    Linear,
    /// The port groups of a switch.
    PortGroups,
    /// A subnet manager, by its place.
    SubnetManager,
    /// The multicast table of a switch.
    Multicast,
    /// Some contents of tables of ports, by their place.
    Contents,
    /// Tables of the ports of a node.
    PortTables,
    /// A multicast group, by its GID.
    Group,
    /// A virtual fabric, by its place: its record, plain.
    VirtualFabric,
    /// Members of a device group, by its place and theirs, then its name: their records, plain.
    DeviceGroup,
    /// Nodes in quarantine, by their place: their records, plain.
    Quarantined,
    /// What people have decided about routes, which is no part of a snapshot.
    Routing,
    /// The page of what is wrong, which is no part of a snapshot.
    Health,
    /// What cables are in the ports of a node, by its GUID.
    Cables,
}

/// The key of a piece that pieces of a snapshot may have beside them: what people have decided about routes.
pub const ROUTING: [u8; 1] = [Kind::Routing as u8];
/// The key of another such piece: the page of what is wrong, a `GetHealthResponse`.
pub const HEALTH: [u8; 1] = [Kind::Health as u8];

impl Kind {
    pub(super) const ALL: [Self; 15] = [
        Self::Header,
        Self::Order,
        Self::Node,
        Self::Links,
        Self::Linear,
        Self::PortGroups,
        Self::SubnetManager,
        Self::Multicast,
        Self::Contents,
        Self::PortTables,
        Self::Group,
        Self::VirtualFabric,
        Self::DeviceGroup,
        Self::Quarantined,
        Self::Cables,
    ];

    pub(super) fn key(self, rest: &[u8]) -> Vec<u8> {
        [&[self as u8], rest].concat()
    }

    /// The key of something that is in a row.
    fn nth(self, place: usize) -> Vec<u8> {
        self.key(&(place as u32).to_be_bytes())
    }
}

/// A piece as it was and as it is; none where it was or is not there.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// Its value in the snapshot before.
    pub before: Option<&'a [u8]>,
    /// Its value now.
    pub now: Option<&'a [u8]>,
}

/// Hands over the pieces of a snapshot that are not as in the one before, all where there is none. What both share is
/// not looked at. Counters, and what the modules of cables measure, are no pieces.
///
/// # Errors
/// The first one of `sink`.
pub fn pieces<E>(
    before: Option<&Snapshot>,
    now: &Snapshot,
    sink: &mut dyn FnMut(Piece<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut differ = Differ { sink };
    differ.list(&header(before), &header(Some(now)))?;
    let nobody = Topology::default();
    let nodes = Nodes {
        same_order: before.is_some_and(|before| same_order(&before.topology, &now.topology)),
        before,
        gone: before.map_or(&nobody, |before| &*before.topology),
        now,
    };
    if !nodes.same_order {
        differ.list(&order(before), &order(Some(now)))?;
    }
    for section in &SECTIONS {
        differ.nodes(&nodes, section)?;
    }
    differ.list(&sms(before), &sms(Some(now)))?;
    differ.contents(before, now)?;
    let same_groups = before.is_some_and(|before| {
        let (before, now) = (&before.administration, &now.administration);
        Arc::ptr_eq(&before.groups, &now.groups)
    });
    if !same_groups {
        differ.list(&groups(before), &groups(Some(now)))?;
    }
    differ.list(&administered(before), &administered(Some(now)))?;
    let same_cables = before.is_some_and(|before| {
        Arc::ptr_eq(&before.cables, &now.cables) && before.lacking.cables == now.lacking.cables
    });
    match same_cables {
        true => Ok(()),
        false => differ.list(&cables(before), &cables(Some(now))),
    }
}

/// Pieces of nodes, of which those that both snapshots share need not be looked at.
struct Section {
    kind: Kind,
    /// Whether a node has the same here because it is shared; the order of all nodes is the same.
    shared: fn(&Snapshot, NodeId, &Snapshot, NodeId) -> bool,
    /// Whether that also holds where the order of nodes is another one.
    any_order: bool,
    value: fn(&Snapshot, NodeId) -> Option<Vec<u8>>,
}

const SECTIONS: [Section; 6] = [
    Section {
        kind: Kind::Node,
        shared: same_node,
        any_order: true,
        value: |snapshot, id| match node_part(snapshot.topology.node(id)?) {
            Part::Node(node) => Some(node.encode_to_vec()),
            _ => None,
        },
    },
    Section {
        kind: Kind::Links,
        shared: same_node,
        any_order: false,
        value: links,
    },
    Section {
        kind: Kind::Linear,
        shared: |before, old, now, new| {
            let row = |snapshot: &Snapshot, id| {
                let index = snapshot.topology.switch_index(id)?;
                snapshot.linear.row_shared(index).cloned()
            };
            same_arc(row(before, old), row(now, new))
        },
        any_order: true,
        value: |snapshot, id| {
            let index = snapshot.topology.switch_index(id)?;
            linear_row(snapshot, index).map(<[u8]>::to_vec)
        },
    },
    Section {
        kind: Kind::PortGroups,
        shared: |before, old, now, new| {
            let groups = |snapshot: &Snapshot, id| {
                let index = snapshot.topology.switch_index(id)?;
                snapshot.groups.switches.get(index.0 as usize).cloned()
            };
            same_arc(groups(before, old), groups(now, new))
        },
        any_order: true,
        value: |snapshot, id| {
            let index = snapshot.topology.switch_index(id)?;
            match groups_part(snapshot, &snapshot.topology, index)? {
                Part::PortGroups(groups) => Some(groups.encode_to_vec()),
                _ => None,
            }
        },
    },
    Section {
        kind: Kind::Multicast,
        shared: |before, old, now, new| {
            let row = |snapshot: &Snapshot, id| {
                let index = snapshot.topology.switch_index(id)?;
                snapshot.multicast.row_shared(index).cloned()
            };
            same_arc(row(before, old), row(now, new))
        },
        any_order: true,
        value: |snapshot, id| {
            let index = snapshot.topology.switch_index(id)?;
            match tables::multicast_part(snapshot, index)? {
                Part::Multicast(table) => Some(table.encode_to_vec()),
                _ => None,
            }
        },
    },
    Section {
        kind: Kind::PortTables,
        shared: |before, old, now, new| {
            let tables = |snapshot: &Snapshot, id| snapshot.port_tables.node(id).cloned();
            same_arc(tables(before, old), tables(now, new))
        },
        any_order: true,
        value: |snapshot, id| match tables::of_node(snapshot, id)? {
            Part::PortTables(tables) => Some(tables.encode_to_vec()),
            _ => None,
        },
    },
];

fn same_arc<T: ?Sized>(before: Option<Arc<T>>, now: Option<Arc<T>>) -> bool {
    match (before, now) {
        (Some(before), Some(now)) => Arc::ptr_eq(&before, &now),
        (before, now) => before.is_none() && now.is_none(),
    }
}

fn same_node(before: &Snapshot, old: NodeId, now: &Snapshot, new: NodeId) -> bool {
    let node = |snapshot: &Snapshot, id| snapshot.topology.node_shared(id).cloned();
    same_arc(node(before, old), node(now, new))
}

fn same_order(before: &Topology, now: &Topology) -> bool {
    let mut pairs = before.nodes().zip(now.nodes());
    before.len() == now.len() && pairs.all(|((_, a), (_, b))| a.guid() == b.guid())
}

/// The nodes of both snapshots.
struct Nodes<'a> {
    same_order: bool,
    before: Option<&'a Snapshot>,
    gone: &'a Topology,
    now: &'a Snapshot,
}

/// Pieces by their keys, in order.
type Listed = Vec<(Vec<u8>, Vec<u8>)>;

/// Finds what differs.
struct Differ<'a, E> {
    sink: &'a mut dyn FnMut(Piece<'_>) -> Result<(), E>,
}

impl<E> Differ<'_, E> {
    fn piece(&mut self, key: &[u8], before: Option<&[u8]>, now: Option<&[u8]>) -> Result<(), E> {
        match before == now {
            true => Ok(()),
            false => (self.sink)(Piece { key, before, now }),
        }
    }

    /// Pieces of one kind of both snapshots, in order of their keys.
    fn list(&mut self, before: &Listed, now: &Listed) -> Result<(), E> {
        let (mut old, mut new) = (before.iter().peekable(), now.iter().peekable());
        loop {
            let key = match (old.peek().copied(), new.peek().copied()) {
                (Some((a, _)), Some((b, _))) => a.min(b),
                (Some((key, _)), None) | (None, Some((key, _))) => key,
                (None, None) => return Ok(()),
            };
            let before = old.next_if(|(a, _)| a == key).map(|(_, value)| value);
            let now = new.next_if(|(b, _)| b == key).map(|(_, value)| value);
            self.piece(key, before.map(Vec::as_slice), now.map(Vec::as_slice))?;
        }
    }

    fn nodes(&mut self, nodes: &Nodes<'_>, section: &Section) -> Result<(), E> {
        for (id, node) in nodes.now.topology.nodes() {
            let old = match nodes.gone.node(id) {
                Some(there) if there.guid() == node.guid() => Some(id),
                _ => nodes.gone.find(node.guid()),
            };
            let old = nodes.before.zip(old);
            let shared = (nodes.same_order || section.any_order)
                && old.is_some_and(|(before, old)| (section.shared)(before, old, nodes.now, id));
            if !shared {
                let before = old.and_then(|(before, old)| (section.value)(before, old));
                let now = (section.value)(nodes.now, id);
                let key = section.kind.key(&node.guid().0.to_be_bytes());
                self.piece(&key, before.as_deref(), now.as_deref())?;
            }
        }
        let Some(before) = nodes.before.filter(|_| !nodes.same_order) else {
            return Ok(());
        };
        for (id, node) in nodes.gone.nodes() {
            if nodes.now.topology.find(node.guid()).is_none() {
                let value = (section.value)(before, id);
                let key = section.kind.key(&node.guid().0.to_be_bytes());
                self.piece(&key, value.as_deref(), None)?;
            }
        }
        Ok(())
    }

    /// Contents of tables of ports: a few dozen.
    fn contents(&mut self, before: Option<&Snapshot>, now: &Snapshot) -> Result<(), E> {
        let same = |before: &Snapshot| Arc::ptr_eq(&before.port_tables, &now.port_tables);
        if before.is_some_and(same) {
            return Ok(());
        }
        self.list(&contents(before), &contents(Some(now)))
    }
}

fn header(snapshot: Option<&Snapshot>) -> Listed {
    let Some(snapshot) = snapshot else {
        return Vec::new();
    };
    let mut extras = vec![SnapshotExtra::MulticastTables, SnapshotExtra::PortTables];
    if !snapshot.lacking.administration {
        extras.push(SnapshotExtra::Administration);
        let groups = snapshot.administration.device_groups.is_some();
        extras.extend(groups.then_some(SnapshotExtra::DeviceGroups));
        let quarantined = snapshot.administration.quarantined.is_some();
        extras.extend(quarantined.then_some(SnapshotExtra::QuarantinedNodes));
    }
    if !snapshot.lacking.cables {
        extras.push(SnapshotExtra::Cables);
    }
    let header = v1::SnapshotHeader {
        generation: snapshot.generation,
        time: known_s(snapshot.unix_time),
        extras: extras.into_iter().map(i32::from).collect(),
        ..v1::SnapshotHeader::default()
    };
    vec![(Kind::Header.key(&[]), header.encode_to_vec())]
}

fn order(snapshot: Option<&Snapshot>) -> Listed {
    let Some(snapshot) = snapshot else {
        return Vec::new();
    };
    let nodes = snapshot.topology.nodes();
    let guids = nodes.flat_map(|(_, node)| node.guid().0.to_be_bytes());
    vec![(Kind::Order.key(&[]), guids.collect())]
}

fn links(snapshot: &Snapshot, id: NodeId) -> Option<Vec<u8>> {
    let topology = &snapshot.topology;
    let ports = topology.node(id)?.external_ports();
    let links = ports.filter_map(|(port, end)| {
        let from = PortRef { node: id, port };
        let to = end.peer.filter(|to| from < *to)?;
        link_message(topology, (from, to))
    });
    let links: Vec<_> = links.collect();
    (!links.is_empty()).then(|| v1::SnapshotLinks { links }.encode_to_vec())
}

fn sms(snapshot: Option<&Snapshot>) -> Listed {
    let sm = |snapshot: &Snapshot, (place, sm)| match sm_part(&snapshot.topology, sm)? {
        Part::SubnetManager(sm) => Some((Kind::SubnetManager.nth(place), sm.encode_to_vec())),
        _ => None,
    };
    snapshot.map_or_else(Vec::new, |snapshot| {
        let all = snapshot.sms.iter().enumerate();
        all.filter_map(|one| sm(snapshot, one)).collect()
    })
}

fn contents(snapshot: Option<&Snapshot>) -> Listed {
    let all = snapshot.map_or(&[][..], |snapshot| snapshot.port_tables.contents());
    let chunks = all.chunks(tables::CONTENTS_PER_PART).enumerate();
    let piece = |(place, contents): (usize, &[Arc<[u8]>])| {
        let contents = contents.iter().map(|content| content.to_vec()).collect();
        let value = v1::SnapshotTables { contents }.encode_to_vec();
        (Kind::Contents.nth(place), value)
    };
    chunks.map(piece).collect()
}

fn groups(snapshot: Option<&Snapshot>) -> Listed {
    let all = snapshot.map_or(&[][..], |snapshot| &snapshot.administration.groups);
    let piece = |group: &MulticastGroup| {
        let prefix = group.mgid.prefix.to_be_bytes();
        let interface = group.mgid.interface.0.to_be_bytes();
        let value = administration::group(group, &group.members).encode_to_vec();
        (Kind::Group.key(&[prefix, interface].concat()), value)
    };
    let mut pieces: Listed = all.iter().map(piece).collect();
    pieces.sort();
    pieces
}

/// Virtual fabrics, device groups and nodes in quarantine.
fn administered(snapshot: Option<&Snapshot>) -> Listed {
    let Some(snapshot) = snapshot else {
        return Vec::new();
    };
    let all = &snapshot.administration;
    let mut pieces = Vec::new();
    for (place, fabric) in all.virtual_fabrics.iter().enumerate() {
        pieces.push((Kind::VirtualFabric.nth(place), fabric.to_bytes()));
    }
    for (place, group) in all.device_groups.iter().flatten().enumerate() {
        let first = (place as u32).to_be_bytes();
        // A group without members is there too.
        let none = group.members.is_empty().then_some(&[][..]);
        let chunks = group.members.chunks(RECORDS_PER_PIECE).chain(none);
        for (at, members) in chunks.enumerate() {
            let at = (at as u32).to_be_bytes();
            let key = [&first[..], &at, group.name.as_bytes()].concat();
            let value = members.iter().flat_map(Layout::to_bytes).collect();
            pieces.push((Kind::DeviceGroup.key(&key), value));
        }
    }
    let quarantined = all.quarantined.as_deref().unwrap_or_default();
    for (place, nodes) in quarantined.chunks(RECORDS_PER_PIECE).enumerate() {
        let value = nodes.iter().flat_map(Layout::to_bytes).collect();
        pieces.push((Kind::Quarantined.nth(place), value));
    }
    pieces
}

/// What cables nodes have.
fn cables(snapshot: Option<&Snapshot>) -> Listed {
    let known = snapshot.filter(|snapshot| !snapshot.lacking.cables);
    let nodes = known.map_or_else(Vec::new, cables::of_nodes);
    let piece = |(guid, cables): (Guid, v1::SnapshotCables)| {
        (
            Kind::Cables.key(&guid.0.to_be_bytes()),
            cables.encode_to_vec(),
        )
    };
    nodes.into_iter().map(piece).collect()
}

/// The piece of [`HEALTH`].
pub fn health_piece(page: &v1::GetHealthResponse) -> Vec<u8> {
    page.encode_to_vec()
}

/// The page of what is wrong of its piece.
///
/// # Errors
/// That it is none.
pub fn health_of_piece(piece: &[u8]) -> Result<v1::GetHealthResponse, SnapshotError> {
    Ok(v1::GetHealthResponse::decode(piece)?)
}
