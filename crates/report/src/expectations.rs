//! A topology file beside a fabric: which node, link and subnet manager each of its entries is about.

use std::collections::BTreeMap;

use weft_fabric::expected::{Expected, ExpectedEnd, ExpectedLink, ExpectedNode};
use weft_fabric::{Guid, NodeId, PortRef, Snapshot};

use crate::names::port_guid;
use crate::node::is_connected;

/// A topology file, and what each of its entries is in a fabric.
#[derive(Debug, Clone, Default)]
pub struct Expectations {
    pub(crate) file: Expected,
    /// The entry of a node that has one.
    node_entries: BTreeMap<NodeId, usize>,
    /// The nodes of the entries.
    pub(crate) nodes: Vec<Option<NodeId>>,
    /// The entry of a port whose link has one.
    link_entries: BTreeMap<PortRef, usize>,
    /// The ports of the entries.
    pub(crate) links: Vec<[Option<PortRef>; 2]>,
    /// How well they fit: 0 not at all to 5 both ports.
    fits: Vec<u8>,
    /// The entry of a subnet manager that has one, by its place in the snapshot.
    sm_entries: BTreeMap<usize, usize>,
    /// The subnet managers of the entries.
    pub(crate) sms: Vec<Option<usize>>,
}

/// What an end of a link in the file is in a fabric.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    node: Option<NodeId>,
    port: Option<PortRef>,
    /// 0 nothing fits, 1 the node does, 2 the port does.
    fit: u8,
}

/// How well a link fits whose ends fit so well.
const FITS: [[u8; 3]; 3] = [[0, 1, 2], [1, 3, 4], [2, 4, 5]];

/// Look-ups by name and GUID.
struct Index<'a> {
    snapshot: &'a Snapshot,
    /// The node with the smallest GUID of each name.
    names: BTreeMap<String, NodeId>,
    ports: BTreeMap<Guid, PortRef>,
}

impl Expectations {
    /// Finds the fabric's part for each entry of a file.
    pub fn new(snapshot: &Snapshot, file: Expected) -> Self {
        let index = Index::new(snapshot);
        let mut made = Self::default();
        for (entry, node) in file.nodes.iter().enumerate() {
            let found = index.node(node.guid, node.name.as_deref());
            if let Some(found) = found {
                made.node_entries.entry(found).or_insert(entry);
            }
            made.nodes.push(found);
        }
        for link in &file.links {
            made.place_link(&index, link);
        }
        for (entry, sm) in file.sms.iter().enumerate() {
            let port = index.sm_port(&sm.end);
            let found = snapshot.sms.iter().position(|sm| Some(sm.port) == port);
            if let Some(found) = found {
                made.sm_entries.entry(found).or_insert(entry);
            }
            made.sms.push(found);
        }
        made.file = file;
        made
    }

    fn place_link(&mut self, index: &Index<'_>, link: &ExpectedLink) {
        let entry = self.links.len();
        let [a, b] = [0, 1].map(|side| index.place(link.ends[side].as_ref()));
        let mut fit = FITS[usize::from(a.fit)][usize::from(b.fit)];
        let [mut from, mut to] = [a.port, b.port];
        let peer = |port: Option<PortRef>| port.and_then(|at| index.snapshot.topology.peer(at));
        if from.is_some() && !is_complete(link.ends[1].as_ref()) {
            to = peer(from);
        } else if to.is_some() && !is_complete(link.ends[0].as_ref()) {
            from = peer(to);
        }
        let at_node = |port: Option<PortRef>, node: Option<NodeId>| {
            let port = port.filter(|at| Some(at.node) == node);
            port.filter(|_| node.is_some())
        };
        to = to.or_else(|| at_node(peer(from), b.node));
        from = from.or_else(|| at_node(peer(to), a.node));
        let entry_of =
            |port: Option<PortRef>| port.and_then(|at| self.link_entries.get(&at).copied());
        if let (Some(one), Some(other)) = (entry_of(from), entry_of(to))
            && one == other
        {
            match self.fits[one] {
                better if better > fit => (from, to, fit) = (None, None, 0),
                worse if worse < fit => {
                    for at in [from, to].into_iter().flatten() {
                        self.link_entries.remove(&at);
                    }
                    self.links[one] = [None, None];
                    self.fits[one] = 0;
                }
                _ => {}
            }
        }
        if let (Some(a), Some(b)) = (from, to)
            && peer(from) == to
            && !self.link_entries.contains_key(&a)
            && !self.link_entries.contains_key(&b)
        {
            self.link_entries.insert(a, entry);
            self.link_entries.insert(b, entry);
        }
        self.links.push([from, to]);
        self.fits.push(fit);
    }

    /// The entry of a node that has one.
    pub(crate) fn node_entry(&self, node: NodeId) -> Option<usize> {
        self.node_entries.get(&node).copied()
    }

    /// The entry of the link at a port that has one.
    pub(crate) fn link_entry(&self, at: PortRef) -> Option<usize> {
        self.link_entries.get(&at).copied()
    }

    /// The entry of a subnet manager that has one.
    pub(crate) fn sm_entry(&self, sm: usize) -> Option<usize> {
        self.sm_entries.get(&sm).copied()
    }

    /// What the file says of a node.
    pub(crate) fn node(&self, node: NodeId) -> Option<&ExpectedNode> {
        self.file.nodes.get(self.node_entry(node)?)
    }

    /// What the file says of the link at a port.
    pub(crate) fn link(&self, at: PortRef) -> Option<&ExpectedLink> {
        self.file.links.get(self.link_entry(at)?)
    }

    /// What the file says of a port.
    pub(crate) fn end(&self, at: PortRef) -> Option<&ExpectedEnd> {
        let entry = self.link_entry(at)?;
        let side = self.links[entry]
            .iter()
            .position(|port| *port == Some(at))?;
        self.file.links.get(entry)?.ends[side].as_ref()
    }

    /// Whether the file has cables.
    pub(crate) fn has_cables(&self) -> bool {
        self.file.links.iter().any(|link| !link.cable.is_empty())
    }
}

/// Whether an end of a link in the file can be one port only.
fn is_complete(end: Option<&ExpectedEnd>) -> bool {
    end.is_some_and(|end| {
        let numbered = end.port.is_some();
        end.port_guid.is_some() || numbered && (end.guid.is_some() || end.name.is_some())
    })
}

impl<'a> Index<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let mut nodes: Vec<_> = snapshot.topology.nodes().collect();
        nodes.sort_by_key(|(_, node)| node.guid());
        let mut names = BTreeMap::new();
        let mut ports = BTreeMap::new();
        for (id, node) in nodes {
            names.entry(node.name()).or_insert(id);
            for (port, _) in node.end_ports() {
                let at = PortRef { node: id, port };
                ports.extend(port_guid(&snapshot.topology, at).map(|guid| (guid, at)));
            }
        }
        Self {
            snapshot,
            names,
            ports,
        }
    }

    fn node(&self, guid: Option<Guid>, name: Option<&str>) -> Option<NodeId> {
        let by_guid = guid.and_then(|guid| self.snapshot.topology.find(guid));
        by_guid.or_else(|| self.names.get(name?).copied())
    }

    /// Ports of a node that are not down.
    fn ports_of(&self, node: NodeId) -> impl Iterator<Item = PortRef> {
        let data = self.snapshot.topology.node(node);
        let ports = data.into_iter().flat_map(|data| data.ports());
        let seen = ports.filter(|(port, data)| is_connected(*port, data));
        seen.map(move |(port, _)| PortRef { node, port })
    }

    fn place(&self, end: Option<&ExpectedEnd>) -> Place {
        let mut place = Place::default();
        let Some(end) = end else {
            return place;
        };
        place.node = self.node(end.guid, end.name.as_deref());
        place.fit = u8::from(place.node.is_some());
        let by_guid = end
            .port_guid
            .and_then(|guid| self.ports.get(&guid).copied());
        if place.node.is_none() && by_guid.is_some() {
            place.port = by_guid;
            place.node = by_guid.map(|at| at.node);
            place.fit = 2;
        }
        let Some(node) = place.node else {
            return place;
        };
        let numbered = self.ports_of(node).find(|at| Some(at.port) == end.port);
        let of_node = by_guid.filter(|at| at.node == node);
        if let Some(port) = numbered.or(place.port).or(of_node) {
            place.port = Some(port);
            place.fit = 2;
            return place;
        }
        let mut ports = self.ports_of(node);
        place.port = ports.next().filter(|_| ports.next().is_none());
        place
    }

    fn sm_port(&self, end: &ExpectedEnd) -> Option<PortRef> {
        let place = self.place(Some(end));
        let first = || {
            let node = place.node?;
            let data = self.snapshot.topology.node(node)?;
            let port = data.first_port();
            data.is_switch().then_some(PortRef { node, port })
        };
        match place.fit {
            2 => place.port,
            _ => first().or(place.port),
        }
    }
}
