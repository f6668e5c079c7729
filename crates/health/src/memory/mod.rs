//! Nodes and links that were there before: what has been seen up in two sweeps at least a minute apart is remembered,
//! with the first and the last time, until it is forgotten by an order, by a topology file that lacks it, or after a
//! time. What was seen for a shorter time is missed for an hour.

mod format;
mod target;

use std::collections::{BTreeMap, BTreeSet};

use weft_fabric::intended::Intended;
use weft_fabric::{Guid, Node, PortNum, PortRef, Topology};

pub use format::MemoryError;
pub use target::{PointError, Target};

/// Most nodes that are remembered; further ones are not.
pub const NODES_MAX: usize = 131_072;
/// Most links that are remembered; further ones are not.
pub const LINKS_MAX: usize = 1 << 20;
/// Most findings whose beginning is remembered.
const AGES_MAX: usize = 16_384;
/// Time between two sightings from which on something is remembered, seconds.
const PROOF: u64 = 60;

/// Time for which something is missed that was there for a shorter time, seconds.
const MISSED_BRIEFLY: u64 = 3_600;

/// An end of a link.
pub type LinkEnd = (Guid, PortNum);
/// A link: its lower end, then the other.
pub type LinkKey = (LinkEnd, LinkEnd);

/// When something was seen, seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    first: u64,
    /// Since when it is gone: when a sweep first missed it, or, where that was the first sweep of a daemon, the last one
    /// of the daemon before; none while it is there.
    gone: Option<u64>,
    /// Seen in two sweeps at least a minute apart.
    is_proven: bool,
}

impl Seen {
    fn new(now: u64) -> Self {
        Self {
            first: now,
            gone: None,
            is_proven: false,
        }
    }

    /// It is there now; returns whether that is news.
    fn again(&mut self, now: u64) -> bool {
        let before = *self;
        self.gone = None;
        self.is_proven |= now.saturating_sub(self.first) >= PROOF;
        *self != before
    }
}

/// A node that was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownNode {
    /// Its name, escaped.
    pub name: String,
    /// Whether it is a switch.
    pub is_switch: bool,
    seen: Seen,
}

/// A link that was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownLink {
    /// Rate of all its lanes, Mb/s.
    pub mbps: u32,
    /// Serial number of its cable, padded with zeros; zeros where it is not known.
    pub serial: [u8; 16],
    seen: Seen,
}

/// What has been forgotten by an order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Nodes.
    pub nodes: u32,
    /// Links.
    pub links: u32,
}

/// What was there before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    nodes: BTreeMap<Guid, KnownNode>,
    links: BTreeMap<LinkKey, KnownLink>,
    /// The last sweep that was looked at, seconds since 1970; 0 before the first.
    looked: u64,
    /// Whether it has looked since it was stored: then what is missed went just now.
    is_watching: bool,
    /// Since when each finding has been on the page, by its key.
    ages: BTreeMap<u64, u64>,
    /// Goes up with each change that has to be stored.
    changes: u64,
}

impl KnownNode {
    /// When it was first seen, seconds since 1970.
    pub fn first(&self) -> u64 {
        self.seen.first
    }

    /// Since when it is gone, seconds since 1970; none while it is there. After a restart that missed it, when it was
    /// last seen.
    pub fn gone(&self) -> Option<u64> {
        self.seen.gone
    }
}

impl KnownLink {
    /// When it was first seen, seconds since 1970.
    pub fn first(&self) -> u64 {
        self.seen.first
    }

    /// Since when it is gone, seconds since 1970; none while it is there. After a restart that missed it, when it was
    /// last seen.
    pub fn gone(&self) -> Option<u64> {
        self.seen.gone
    }

    /// The serial number of its cable as text.
    pub fn serial(&self) -> String {
        let text = String::from_utf8_lossy(&self.serial);
        text.trim_matches(['\0', ' ']).to_owned()
    }
}

impl Memory {
    /// Takes in the fabric after a sweep. `serial` is the serial number of the cable in a port, where it is known;
    /// what has been gone for `keep` seconds is forgotten.
    pub fn look(
        &mut self,
        now: u64,
        topology: &Topology,
        keep: u64,
        serial: impl Fn(LinkEnd) -> Option<[u8; 16]>,
    ) {
        let missed = match self.is_watching {
            true => now,
            false => self.looked,
        };
        self.is_watching = true;
        self.looked = self.looked.max(now);
        let mut news = false;
        for (_, node) in topology.nodes() {
            news |= self.see_node(now, node);
        }
        let mut there = BTreeSet::new();
        for (a, b) in topology.links() {
            let Some(key) = link_key(topology, a, b) else {
                continue;
            };
            there.insert(key);
            news |= self.see_link(now, key, mbps(topology, a), serial(key.0));
        }
        let is_there = |guid: &Guid| topology.find(*guid).is_some();
        self.nodes.retain(|guid, node| {
            kept(&mut node.seen, is_there(guid), missed, now, keep, &mut news)
        });
        self.links.retain(|key, link| {
            kept(
                &mut link.seen,
                there.contains(key),
                missed,
                now,
                keep,
                &mut news,
            )
        });
        self.changes += u64::from(news);
    }

    fn see_node(&mut self, now: u64, node: &Node) -> bool {
        let room = self.nodes.len() < NODES_MAX;
        let name = node.name();
        match self.nodes.get_mut(&node.guid()) {
            Some(known) => {
                let renamed = known.name != name;
                if renamed {
                    known.name = name;
                }
                known.seen.again(now) || renamed
            }
            None if room => {
                let known = KnownNode {
                    name,
                    is_switch: node.is_switch(),
                    seen: Seen::new(now),
                };
                self.nodes.insert(node.guid(), known);
                true
            }
            None => false,
        }
    }

    fn see_link(&mut self, now: u64, key: LinkKey, mbps: u32, serial: Option<[u8; 16]>) -> bool {
        let room = self.links.len() < LINKS_MAX;
        match self.links.get_mut(&key) {
            Some(known) => {
                let before = *known;
                known.seen.again(now);
                // A link that has lost lanes was wider.
                known.mbps = known.mbps.max(mbps);
                known.serial = serial.unwrap_or(known.serial);
                *known != before
            }
            None if room => {
                let known = KnownLink {
                    mbps,
                    serial: serial.unwrap_or_default(),
                    seen: Seen::new(now),
                };
                self.links.insert(key, known);
                true
            }
            None => false,
        }
    }

    /// Takes in the serial numbers of cables that were read since the last sweep, of links that are there.
    pub fn learn_serials(&mut self, serial: impl Fn(LinkEnd) -> Option<[u8; 16]>) {
        let mut news = false;
        let there = self.links.iter_mut();
        for (key, link) in there.filter(|(_, link)| link.seen.gone.is_none()) {
            let before = link.serial;
            link.serial = serial(key.0).unwrap_or(before);
            news |= before != link.serial;
        }
        self.changes += u64::from(news);
    }

    /// When the last sweep was looked at, seconds since 1970; 0 before the first.
    pub fn looked(&self) -> u64 {
        self.looked
    }

    /// Goes up with each change that has to be stored.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Number of nodes that are remembered or there.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// A node that is remembered, or there.
    pub fn node(&self, guid: Guid) -> Option<&KnownNode> {
        self.nodes.get(&guid)
    }

    /// A link that is remembered, or there.
    pub fn link(&self, key: LinkKey) -> Option<&KnownLink> {
        self.links.get(&key)
    }

    /// Nodes that were there and are gone, by GUID.
    pub fn gone_nodes(&self) -> impl Iterator<Item = (Guid, &KnownNode)> {
        let nodes = self.nodes.iter();
        let gone = nodes.filter(|(_, node)| node.seen.gone.is_some());
        gone.map(|(guid, node)| (*guid, node))
    }

    /// Links that were there and are gone, by their ends.
    pub fn gone_links(&self) -> impl Iterator<Item = (LinkKey, &KnownLink)> {
        let links = self.links.iter();
        let gone = links.filter(|(_, link)| link.seen.gone.is_some());
        gone.map(|(key, link)| (*key, link))
    }

    /// All links that are remembered or there, by their ends.
    pub fn links(&self) -> impl Iterator<Item = (LinkKey, &KnownLink)> {
        self.links.iter().map(|(key, link)| (*key, link))
    }

    /// Forgets what is gone of a node with all its links, or of the links at a port. What is there is seen again by
    /// the next sweep anyway, so it is left as it is.
    pub fn forget(&mut self, targets: &[Target]) -> Forgotten {
        let (nodes, links) = (self.nodes.len(), self.links.len());
        for target in targets {
            let (guid, port) = (target.node, target.port);
            let is_of = |end: &LinkEnd| end.0 == guid && port.is_none_or(|port| port == end.1);
            self.links
                .retain(|(a, b), link| link.seen.gone.is_none() || !is_of(a) && !is_of(b));
            if port.is_none() {
                self.nodes
                    .retain(|known, node| *known != guid || node.seen.gone.is_none());
            }
        }
        let forgotten = Forgotten {
            nodes: (nodes - self.nodes.len()) as u32,
            links: (links - self.links.len()) as u32,
        };
        self.changes += u64::from(forgotten != Forgotten::default());
        forgotten
    }

    /// Forgets everything that is gone: the fabric as it is now is right.
    pub fn forget_gone(&mut self) -> Forgotten {
        self.forget_unless(|_, _| false, |_| false)
    }

    /// Forgets what is gone and not in a topology file.
    pub fn follow(&mut self, intended: &Intended) -> Forgotten {
        let node_of = |guid: Guid| intended.find(guid);
        // A file may name nodes without their GUIDs: then nothing can be said of them here.
        let has_guids = intended.nodes().iter().all(|node| node.guid.is_some());
        if !has_guids || intended.is_external_only() {
            return Forgotten::default();
        }
        let is_meant = |(a, b): LinkKey| {
            let far = node_of(a.0).and_then(|node| intended.cable(node, a.1));
            far.is_some_and(|(_, far)| Some(far.node) == node_of(b.0) && far.port == b.1)
        };
        self.forget_unless(|guid, _| node_of(guid).is_some(), is_meant)
    }

    fn forget_unless(
        &mut self,
        node_stays: impl Fn(Guid, &KnownNode) -> bool,
        link_stays: impl Fn(LinkKey) -> bool,
    ) -> Forgotten {
        let (nodes, links) = (self.nodes.len(), self.links.len());
        self.nodes
            .retain(|guid, node| node.seen.gone.is_none() || node_stays(*guid, node));
        self.links
            .retain(|key, link| link.seen.gone.is_none() || link_stays(*key));
        let forgotten = Forgotten {
            nodes: (nodes - self.nodes.len()) as u32,
            links: (links - self.links.len()) as u32,
        };
        self.changes += u64::from(forgotten != Forgotten::default());
        forgotten
    }

    /// Since when findings have been on the page, by their keys; those that are new begin now, and those that are not
    /// among them any more are forgotten.
    pub fn age(&mut self, now: u64, keys: impl IntoIterator<Item = u64>) -> BTreeMap<u64, u64> {
        let keys = keys.into_iter().take(AGES_MAX);
        let ages: BTreeMap<u64, u64> = keys
            .map(|key| (key, self.ages.get(&key).copied().unwrap_or(now)))
            .collect();
        if ages != self.ages {
            self.ages.clone_from(&ages);
            self.changes += 1;
        }
        ages
    }
}

/// Whether something is remembered further; `missed` is since when it is gone if that is news.
fn kept(
    seen: &mut Seen,
    is_there: bool,
    missed: u64,
    now: u64,
    keep: u64,
    news: &mut bool,
) -> bool {
    if is_there {
        return true;
    }
    if seen.gone.is_none() {
        *news = true;
        seen.gone = Some(missed.max(seen.first));
    }
    let keep = match seen.is_proven {
        true => keep,
        false => keep.min(MISSED_BRIEFLY),
    };
    let old = seen
        .gone
        .is_some_and(|gone| now.saturating_sub(gone) > keep);
    *news |= old;
    !old
}

/// A link by its ends, the lower one first.
pub(crate) fn link_key(topology: &Topology, a: PortRef, b: PortRef) -> Option<LinkKey> {
    let end = |at: PortRef| Some((topology.node(at.node)?.guid(), at.port));
    let (a, b) = (end(a)?, end(b)?);
    Some((a.min(b), a.max(b)))
}

/// Rate of a link, Mb/s.
pub(crate) fn mbps(topology: &Topology, at: PortRef) -> u32 {
    topology.port(at).map_or(0, |port| {
        port.info.link_speed_active.lane_mbps() * port.width().lanes()
    })
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
