//! What differs between a fabric and the same one later: nodes, links, LIDs and routes.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use weft_fabric::{Guid, Lid, NodeId, PortNum, PortRef, Snapshot, Topology};

use crate::names::as_text;

/// Switches that the text lists whose routes have moved; all are in the data.
const SWITCHES_SHOWN: usize = 20;

/// What has changed.
#[derive(Debug, Clone, Serialize)]
pub struct ChangesReport {
    /// Nodes that are gone, by GUID.
    pub nodes_gone: Vec<ChangedNode>,
    /// Nodes that have come.
    pub nodes_new: Vec<ChangedNode>,
    /// Nodes with another name.
    pub nodes_renamed: Vec<RenamedNode>,
    /// Links that are gone, by GUID and port of the first end.
    pub links_gone: Vec<ChangedLink>,
    /// Links that have come.
    pub links_new: Vec<ChangedLink>,
    /// Links with another speed or width at one of their ends.
    pub links_changed: Vec<ChangedRate>,
    /// Ports with another base LID, of those that are there before and after.
    pub lids: Vec<ChangedLid>,
    /// Routes of a switch to a LID, of switches and ports that are there before and after.
    pub routes: u64,
    /// Those among them with another egress port.
    pub routes_moved: u64,
    /// Switches that have some of these, the most first.
    pub switches: Vec<MovedRoutes>,
}

/// A node.
#[derive(Debug, Clone, Serialize)]
pub struct ChangedNode {
    /// Its GUID.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// Its name.
    pub name: String,
    /// Whether it is a switch.
    pub switch: bool,
}

/// A node with another name.
#[derive(Debug, Clone, Serialize)]
pub struct RenamedNode {
    /// Its GUID.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// Its name before.
    pub before: String,
    /// Its name after.
    pub after: String,
}

/// An end of a link.
#[derive(Debug, Clone, Serialize)]
pub struct ChangedEnd {
    /// GUID of its node.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// Name of its node.
    pub name: String,
    /// Its number.
    pub port: u8,
}

/// A link.
#[derive(Debug, Clone, Serialize)]
pub struct ChangedLink {
    /// Its ends.
    pub ends: [ChangedEnd; 2],
}

/// A link with another rate.
#[derive(Debug, Clone, Serialize)]
pub struct ChangedRate {
    /// Its ends.
    pub ends: [ChangedEnd; 2],
    /// Speed and lanes of each end before.
    pub before: [String; 2],
    /// And after.
    pub after: [String; 2],
}

/// A port with another LID.
#[derive(Debug, Clone, Serialize)]
pub struct ChangedLid {
    /// The port.
    pub port: ChangedEnd,
    /// Its base LID before.
    pub before: u32,
    /// And after.
    pub after: u32,
}

/// Routes of a switch that have moved.
#[derive(Debug, Clone, Serialize)]
pub struct MovedRoutes {
    /// Its GUID.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// Its name.
    pub name: String,
    /// How many.
    pub moved: u64,
}

/// Compares two fabrics; routes only where both have tables.
pub fn changes(before: &Snapshot, after: &Snapshot) -> ChangesReport {
    let (old, new) = (&*before.topology, &*after.topology);
    let (links_gone, links_new) = (missing_links(old, new), missing_links(new, old));
    let (routes, routes_moved, switches) = routes(before, after);
    ChangesReport {
        nodes_gone: missing_nodes(old, new),
        nodes_new: missing_nodes(new, old),
        nodes_renamed: renamed(old, new),
        links_gone,
        links_new,
        links_changed: rates(old, new),
        lids: lids(old, new),
        routes,
        routes_moved,
        switches,
    }
}

fn by_guid(topology: &Topology) -> BTreeMap<Guid, NodeId> {
    let nodes = topology.nodes();
    nodes.map(|(id, node)| (node.guid(), id)).collect()
}

fn missing_nodes(from: &Topology, other: &Topology) -> Vec<ChangedNode> {
    let missing = by_guid(from).into_iter().filter_map(|(guid, id)| {
        let node = from.node(id).filter(|_| other.find(guid).is_none())?;
        Some(ChangedNode {
            guid,
            name: node.name(),
            switch: node.is_switch(),
        })
    });
    missing.collect()
}

fn renamed(old: &Topology, new: &Topology) -> Vec<RenamedNode> {
    let both = by_guid(old).into_iter().filter_map(|(guid, id)| {
        let (before, after) = (old.node(id)?.name(), new.node(new.find(guid)?)?.name());
        (before != after).then_some(RenamedNode {
            guid,
            before,
            after,
        })
    });
    both.collect()
}

/// A port by its node's GUID.
type Key = (Guid, PortNum);

fn key(topology: &Topology, at: PortRef) -> Option<Key> {
    Some((topology.node(at.node)?.guid(), at.port))
}

fn place(topology: &Topology, (guid, port): Key) -> Option<PortRef> {
    let node = topology.find(guid)?;
    Some(PortRef { node, port })
}

fn end(topology: &Topology, at: PortRef) -> Option<ChangedEnd> {
    let node = topology.node(at.node)?;
    Some(ChangedEnd {
        guid: node.guid(),
        name: node.name(),
        port: at.port.0,
    })
}

/// Links by the lesser of their ends.
fn sorted_links(topology: &Topology) -> BTreeMap<Key, (PortRef, PortRef)> {
    let links = topology.links().filter_map(|(a, b)| {
        let (first, second) = (key(topology, a)?, key(topology, b)?);
        Some(match first < second {
            true => (first, (a, b)),
            false => (second, (b, a)),
        })
    });
    links.collect()
}

/// The same link in another fabric.
fn same_link(
    from: &Topology,
    (a, b): (PortRef, PortRef),
    other: &Topology,
) -> Option<(PortRef, PortRef)> {
    let there = |at| place(other, key(from, at)?);
    let (first, second) = (there(a)?, there(b)?);
    (other.peer(first) == Some(second)).then_some((first, second))
}

fn missing_links(from: &Topology, other: &Topology) -> Vec<ChangedLink> {
    let links = sorted_links(from).into_values();
    let missing = links.filter(|link| same_link(from, *link, other).is_none());
    let link = |(a, b)| {
        Some(ChangedLink {
            ends: [end(from, a)?, end(from, b)?],
        })
    };
    missing.filter_map(link).collect()
}

fn rates(old: &Topology, new: &Topology) -> Vec<ChangedRate> {
    let rate = |topology: &Topology, at: PortRef| {
        let port = topology.port(at)?;
        let speed = port.info.link_speed_active;
        Some(format!("{speed} x{}", port.width().lanes()))
    };
    let changed = sorted_links(old).into_values().filter_map(|(a, b)| {
        let (there, far) = same_link(old, (a, b), new)?;
        let before = [rate(old, a)?, rate(old, b)?];
        let after = [rate(new, there)?, rate(new, far)?];
        (before != after).then_some(ChangedRate {
            ends: [end(old, a)?, end(old, b)?],
            before,
            after,
        })
    });
    changed.collect()
}

/// Ports with LIDs in both fabrics: their base LIDs, and how many there are in both.
fn destinations(old: &Topology, new: &Topology) -> Vec<(PortRef, Lid, Lid, u32)> {
    let ports: BTreeMap<Key, _> = (new.end_ports())
        .filter_map(|(at, lid, lmc)| Some((key(new, at)?, (lid, lmc))))
        .collect();
    let both = old.end_ports().filter_map(|(at, lid, lmc)| {
        let (now, now_lmc) = ports.get(&key(old, at)?)?;
        Some((at, lid, *now, 1 << lmc.0.min(now_lmc.0)))
    });
    both.collect()
}

fn lids(old: &Topology, new: &Topology) -> Vec<ChangedLid> {
    let moved = destinations(old, new).into_iter();
    let moved = moved.filter(|(_, before, after, _)| before != after);
    let mut lids: Vec<ChangedLid> = moved
        .filter_map(|(at, before, after, _)| {
            Some(ChangedLid {
                port: end(old, at)?,
                before: before.0,
                after: after.0,
            })
        })
        .collect();
    lids.sort_by_key(|lid| (lid.port.guid, lid.port.port));
    lids
}

/// Routes, those that have moved, and on which switches.
fn routes(before: &Snapshot, after: &Snapshot) -> (u64, u64, Vec<MovedRoutes>) {
    let (old, new) = (&before.topology, &after.topology);
    let lacking = before.lacking.routes || after.lacking.routes;
    let to = match lacking {
        true => Vec::new(),
        false => destinations(old, new),
    };
    let (mut routes, mut moved) = (0, 0);
    let mut switches = Vec::new();
    for id in old.switches() {
        let found = old.node(*id).and_then(|node| {
            let there = new.find(node.guid())?;
            Some((node, old.switch_index(*id)?, new.switch_index(there)?))
        });
        let Some((node, index, there)) = found else {
            continue;
        };
        let mut here = 0;
        for (_, was, is, count) in &to {
            for offset in 0..*count {
                let egress = before.linear.egress(index, Lid(was.0 + offset));
                let now = after.linear.egress(there, Lid(is.0 + offset));
                routes += u64::from(egress.is_some() || now.is_some());
                here += u64::from(egress != now);
            }
        }
        moved += here;
        if here > 0 {
            switches.push(MovedRoutes {
                guid: node.guid(),
                name: node.name(),
                moved: here,
            });
        }
    }
    switches.sort_by_key(|switch| (std::cmp::Reverse(switch.moved), switch.guid));
    (routes, moved, switches)
}

impl ChangesReport {
    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.nodes_gone.is_empty()
            && self.nodes_new.is_empty()
            && self.nodes_renamed.is_empty()
            && self.links_gone.is_empty()
            && self.links_new.is_empty()
            && self.links_changed.is_empty()
            && self.lids.is_empty()
            && self.routes_moved == 0
    }
}

impl fmt::Display for ChangedEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.port)
    }
}

impl fmt::Display for ChangesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return writeln!(f, "No node, link, LID or route differs.");
        }
        for (sign, nodes) in [('-', &self.nodes_gone), ('+', &self.nodes_new)] {
            for ChangedNode { guid, name, switch } in nodes {
                let what = if *switch { "switch" } else { "HFI" };
                writeln!(f, "{sign} {what} {name} ({guid})")?;
            }
        }
        for RenamedNode {
            guid,
            before,
            after,
        } in &self.nodes_renamed
        {
            writeln!(f, "~ name {guid}: {before} -> {after}")?;
        }
        for (sign, links) in [('-', &self.links_gone), ('+', &self.links_new)] {
            for ChangedLink { ends: [a, b] } in links {
                writeln!(f, "{sign} link {a} to {b}")?;
            }
        }
        for ChangedRate {
            ends: [a, b],
            before,
            after,
        } in &self.links_changed
        {
            writeln!(
                f,
                "~ link {a} to {b}: {} -> {}",
                before.join(", "),
                after.join(", ")
            )?;
        }
        for ChangedLid {
            port,
            before,
            after,
        } in &self.lids
        {
            writeln!(f, "~ LID {port}: {before} -> {after}")?;
        }
        for MovedRoutes { name, moved, .. } in self.switches.iter().take(SWITCHES_SHOWN) {
            writeln!(f, "~ routes of {name}: {moved} moved")?;
        }
        if let Some(more) = self.switches.len().checked_sub(SWITCHES_SHOWN)
            && more > 0
        {
            writeln!(f, "  and of {more} more switches; --json has them")?;
        }
        writeln!(
            f,
            "{} nodes gone, {} new; {} links gone, {} new, {} at another rate; {} LIDs\nchanged; {} of {} routes moved",
            self.nodes_gone.len(),
            self.nodes_new.len(),
            self.links_gone.len(),
            self.links_new.len(),
            self.links_changed.len(),
            self.lids.len(),
            self.routes_moved,
            self.routes
        )
    }
}
