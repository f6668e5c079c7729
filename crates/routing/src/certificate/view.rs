//! The certificate's own reading of the topology: numbered links between switches, the
//! connections of cables, and the owners of LIDs.

use rayon::prelude::*;
use weft_fabric::datelines::ring_port;
use weft_fabric::enums::PortState;
use weft_fabric::{Datelines, Half, Lanes, NodeId, PortMask, PortNum, PortRef, RingPort, Topology};
use weft_state::State;

use super::finding::Finding;

/// A directed link between two switches; where lanes have halves, one half of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub(super) struct Link {
    /// The sending port.
    pub(super) port: u8,
    /// The receiving port.
    pub(super) far_port: u8,
    /// The sending switch.
    pub(super) from: u32,
    /// The receiving switch.
    pub(super) to: u32,
    /// Index of the same cable's opposite direction.
    pub(super) back: u32,
    /// Half of the lane; always the first where lanes have no halves.
    pub(super) half: Half,
}

/// The owner of some LIDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub(super) struct End {
    /// The switch that it is on.
    pub(super) switch: u32,
    /// That switch's port to it, 0 for itself.
    pub(super) port: u8,
    /// First LID.
    pub(super) lid: u32,
    /// Number of LIDs.
    pub(super) lids: u32,
}

impl End {
    /// Data traffic goes to HFIs; a switch's own port has management traffic only, which has its
    /// own virtual lane.
    pub(super) fn is_hfi(&self) -> bool {
        self.port != 0
    }
}

/// The topology, read.
#[derive(Debug, Clone, State)]
pub(super) struct View {
    /// Node of each switch.
    pub(super) nodes: Vec<NodeId>,
    /// Links by sending switch and port.
    pub(super) links: Vec<Link>,
    first: Vec<u32>,
    /// Link of each switch and port, [`View::NO_LINK`] for none: 256 entries a switch.
    link_at: Vec<u32>,
    /// Ends by switch, HFIs before the switch itself, by LID.
    pub(super) ends: Vec<End>,
    /// LIDs of end ports without a working cable.
    pub(super) detached: u64,
    /// Switches whose HFIs send, as flags; also HFIs to which nothing is routed.
    pub(super) sends: Vec<bool>,
    /// Connected component of each switch.
    pub(super) part: Vec<u32>,
    /// Number of parts.
    pub(super) parts: u32,
    /// Lanes have halves: each link is there twice, its first half directly before its second one.
    pub(super) has_halves: bool,
    /// Positions in rings of the sending and the receiving port of each link; empty where lanes have no
    /// halves.
    rings: Vec<[RingPort; 2]>,
}

impl View {
    /// No link at this port.
    pub(super) const NO_LINK: u32 = u32::MAX;

    /// Reads; `lanes` have the halves of links.
    pub(super) fn new(topology: &Topology, lanes: &Lanes) -> Self {
        let nodes = topology.switches().to_vec();
        let mut view = Self {
            first: Vec::with_capacity(nodes.len() + 1),
            link_at: vec![Self::NO_LINK; nodes.len() * 256],
            links: Vec::new(),
            ends: Vec::new(),
            detached: 0,
            sends: vec![false; nodes.len()],
            part: Vec::new(),
            parts: 0,
            has_halves: lanes.datelines().is_some(),
            rings: Vec::new(),
            nodes,
        };
        let nodes = view.nodes.par_iter().enumerate();
        let read: Vec<Vec<Link>> = nodes
            .map(|(switch, node)| {
                let whole = links(topology, switch as u32, *node);
                if view.has_halves {
                    in_halves(&whole)
                } else {
                    whole
                }
            })
            .collect();
        for (switch, links) in read.into_iter().enumerate() {
            view.add_links(switch, &links);
        }
        view.join();
        if let Some(datelines) = lanes.datelines() {
            view.read_rings(topology, datelines);
        }
        view.read_ends(topology);
        view.read_unlinked(topology);
        view.find_parts();
        view
    }

    /// The view after some nodes have changed and no others, of lanes without halves. `None` if more
    /// than links between switches may have changed: then everything is read.
    pub(super) fn after(&self, topology: &Topology, changed: &[NodeId]) -> Option<Self> {
        if topology.switches() != self.nodes || self.has_halves {
            return None;
        }
        let mut dirty = vec![false; self.len()];
        for node in changed {
            let switch = topology.switch_index(*node)?;
            let ends = ends_at(topology, switch.0, *node);
            let sends = ends.iter().any(End::is_hfi) || hears_unlinked(topology, *node);
            if ends != self.ends_of(switch.0) || sends != self.sends[switch.0 as usize] {
                return None;
            }
            let ports = topology.node(*node)?.external_ports();
            let peers = ports.filter_map(|(_, port)| topology.switch_index(port.peer?.node));
            peers.for_each(|peer| dirty[peer.0 as usize] = true);
            dirty[switch.0 as usize] = true;
        }
        let mut view = Self {
            nodes: self.nodes.clone(),
            links: Vec::with_capacity(self.links.len() + changed.len()),
            first: Vec::with_capacity(self.first.len()),
            link_at: vec![Self::NO_LINK; self.link_at.len()],
            ends: self.ends.clone(),
            sends: self.sends.clone(),
            part: Vec::new(),
            parts: 0,
            rings: Vec::new(),
            ..*self
        };
        for (switch, dirty) in dirty.into_iter().enumerate() {
            match dirty {
                true => view.add_links(switch, &links(topology, switch as u32, self.nodes[switch])),
                false => view.add_links(switch, &self.links[self.links_of(switch)]),
            }
        }
        view.join();
        view.find_parts();
        Some(view)
    }

    /// The ends on a switch.
    fn ends_of(&self, switch: u32) -> &[End] {
        let first = self.ends.partition_point(|end| end.switch < switch);
        let rest = &self.ends[first..];
        &rest[..rest.partition_point(|end| end.switch == switch)]
    }

    /// Finds the opposite direction of each link.
    fn join(&mut self) {
        self.first.push(self.links.len() as u32);
        for index in 0..self.links.len() {
            let Link {
                to, far_port, half, ..
            } = self.links[index];
            let back = self.link_at[to as usize * 256 + usize::from(far_port)];
            self.links[index].back = back.saturating_add(half as u32);
        }
    }

    fn add_links(&mut self, switch: usize, links: &[Link]) {
        self.first.push(self.links.len() as u32);
        let numbers = self.links.len() as u32..;
        for (link, index) in links
            .iter()
            .zip(numbers)
            .filter(|(link, _)| link.half == Half::First)
        {
            self.link_at[switch * 256 + usize::from(link.port)] = index;
        }
        self.links.extend_from_slice(links);
    }

    fn read_rings(&mut self, topology: &Topology, datelines: &Datelines) {
        let ports = |switch: u32| {
            let node = topology.node(self.nodes[switch as usize]);
            node.map_or(&[][..], |node| datelines.of(node.guid()))
        };
        let rings = self.links.iter().map(|link| {
            [(link.from, link.port), (link.to, link.far_port)]
                .map(|(switch, port)| ring_port(ports(switch), PortNum(port)))
        });
        self.rings = rings.collect();
    }

    /// Whether packets that come over a link take `next`, where their route leads over its cable: over a
    /// dateline in the second half, and behind it as long as they stay in the ring.
    pub(super) fn leads_to_half(&self, link: usize, next: usize) -> bool {
        let ([_, ingress], [egress, _]) = (self.rings[link], self.rings[next]);
        let stays = egress.ring != 0 && ingress.ring == egress.ring;
        let second = egress.crosses || (stays && self.links[link].half == Half::Second);
        second == (self.links[next].half == Half::Second)
    }

    /// Whether packets of HFIs on the sending switch begin in this half of a link.
    pub(super) fn is_entered(&self, link: usize) -> bool {
        let [egress, _] = self.rings[link];
        egress.crosses == (self.links[link].half == Half::Second)
    }

    fn read_ends(&mut self, topology: &Topology) {
        for (at, lid, lmc) in topology.end_ports() {
            if lid.0 == 0 {
                continue;
            }
            let own = topology.switch_index(at.node).map(|own| (own.0, 0));
            let attached = || {
                let far = far_end(topology, at)?;
                Some((topology.switch_index(far.node)?.0, far.port.0))
            };
            let Some((switch, port)) = own.or_else(attached) else {
                self.detached += u64::from(lmc.lids());
                continue;
            };
            self.sends[switch as usize] |= own.is_none();
            self.ends.push(End {
                switch,
                port,
                lid: lid.0,
                lids: lmc.lids(),
            });
        }
        self.ends
            .sort_unstable_by_key(|end| (end.switch, !end.is_hfi(), end.lid));
    }

    /// Finds switches with HFIs that may send although their links are left out.
    fn read_unlinked(&mut self, topology: &Topology) {
        for (sends, node) in self.sends.iter_mut().zip(&self.nodes) {
            *sends |= hears_unlinked(topology, *node);
        }
    }

    fn find_parts(&mut self) {
        self.part = vec![u32::MAX; self.nodes.len()];
        for start in 0..self.nodes.len() {
            if self.part[start] != u32::MAX {
                continue;
            }
            self.part[start] = self.parts;
            let mut stack = vec![start];
            while let Some(from) = stack.pop() {
                for index in self.links_of(from) {
                    let to = self.links[index].to as usize;
                    if self.part[to] == u32::MAX {
                        self.part[to] = self.parts;
                        stack.push(to);
                    }
                }
            }
            self.parts += 1;
        }
    }

    /// Number of switches.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Number of directed links, whole ones.
    pub(super) fn cable_directions(&self) -> usize {
        self.links.len() >> u32::from(self.has_halves)
    }

    /// Numbers of the links that leave a switch.
    pub(super) fn links_of(&self, switch: usize) -> std::ops::Range<usize> {
        self.first[switch] as usize..self.first[switch + 1] as usize
    }

    /// The link at a port, its first half where lanes have halves.
    pub(super) fn link_at(&self, switch: usize, port: u8) -> Option<usize> {
        let link = self.link_at[switch * 256 + usize::from(port)];
        (link != Self::NO_LINK).then_some(link as usize)
    }

    /// The link that leads from the same port to the same one.
    pub(super) fn link_like(&self, link: &Link) -> Option<usize> {
        let own = self.link_at(link.from as usize, link.port)? + link.half as usize;
        let Link { to, far_port, .. } = self.links[own];
        ((to, far_port) == (link.to, link.far_port)).then_some(own)
    }

    /// Whether the same switches have the same ends, in the same parts of the fabric.
    pub(super) fn has_same_ends(&self, other: &Self) -> bool {
        self.nodes == other.nodes
            && self.ends == other.ends
            && self.detached == other.detached
            && self.sends == other.sends
            && self.part == other.part
    }

    /// Whether all links are the same.
    pub(super) fn has_same_links(&self, other: &Self) -> bool {
        self.links == other.links
    }

    /// Whether a switch has other links than in `old`.
    pub(super) fn is_changed(&self, old: &Self, switch: usize) -> bool {
        let key = |link: &Link| (link.port, link.far_port, link.to);
        let links = self.links[self.links_of(switch)].iter().map(key);
        !links.eq(old.links[old.links_of(switch)].iter().map(key))
    }

    /// The ports of a switch that had no link in `old`, have none any more, or have another one.
    pub(super) fn changed_ports(&self, old: &Self, switch: usize) -> PortMask {
        let key = |link: &Link| (link.port, link.far_port, link.to);
        let links = |view: &'_ Self| -> Vec<(u8, u8, u32)> {
            view.links[view.links_of(switch)].iter().map(key).collect()
        };
        if !self.is_changed(old, switch) {
            return PortMask::EMPTY;
        }
        let (before, after) = (links(old), links(self));
        let gone = before.iter().filter(|link| !after.contains(link));
        let come = after.iter().filter(|link| !before.contains(link));
        gone.chain(come).map(|link| PortNum(link.0)).collect()
    }

    /// The switches of each part.
    pub(super) fn part_lists(&self) -> Vec<Vec<NodeId>> {
        let mut lists = vec![Vec::new(); self.parts as usize];
        for (part, node) in self.part.iter().zip(&self.nodes) {
            lists[*part as usize].push(*node);
        }
        lists
    }

    /// LIDs that two ends claim.
    pub(super) fn shared_lids(topology: &Topology) -> Vec<Finding> {
        let with_lid = topology.end_ports().filter(|(_, lid, _)| lid.0 != 0);
        let mut ends: Vec<_> = with_lid
            .map(|(at, lid, lmc)| (lid, lmc.lids(), at))
            .collect();
        ends.sort_unstable();
        let mut findings = Vec::new();
        for pair in ends.windows(2) {
            let ((low, count, first), (lid, _, second)) = (pair[0], pair[1]);
            if u64::from(low.0) + u64::from(count) > u64::from(lid.0) {
                findings.push(Finding::LidShared { lid, first, second });
            }
        }
        findings
    }
}

/// Whether an HFI may send to a switch over a link that is left out.
fn hears_unlinked(topology: &Topology, node: NodeId) -> bool {
    let mut ports = topology
        .node(node)
        .into_iter()
        .flat_map(|node| node.external_ports());
    ports.any(|(_, port)| port.hears_unlinked_hfi())
}

/// The ends on a switch, in the order of [`View::ends`].
fn ends_at(topology: &Topology, switch: u32, node: NodeId) -> Vec<End> {
    let data = topology.node(node).into_iter();
    let end = |port: PortNum, at: PortRef| {
        let info = &topology.port(at)?.info;
        (info.lid.0 != 0).then_some(End {
            switch,
            port: port.0,
            lid: info.lid.0,
            lids: info.lmc.lids(),
        })
    };
    let own = |port| PortRef { node, port };
    let hfis = data.flat_map(|data| data.external_ports());
    let hfis = hfis.filter_map(|(port, _)| {
        let far = far_end(topology, own(port))?;
        let is_hfi = topology.switch_index(far.node).is_none();
        is_hfi.then(|| end(port, far))?
    });
    let mut ends: Vec<End> = hfis.collect();
    ends.sort_unstable_by_key(|end| end.lid);
    ends.extend(end(PortNum(0), own(PortNum(0))));
    ends
}

/// The links that leave a switch, by port; the opposite direction is not known yet.
fn links(topology: &Topology, switch: u32, node: NodeId) -> Vec<Link> {
    let ports = topology.node(node).into_iter();
    let ports = ports.flat_map(|node| node.external_ports());
    let link = |port: PortNum| {
        let far = far_end(topology, PortRef { node, port })?;
        let to = topology.switch_index(far.node)?;
        Some(Link {
            port: port.0,
            far_port: far.port.0,
            from: switch,
            to: to.0,
            back: View::NO_LINK,
            half: Half::First,
        })
    };
    ports.filter_map(|(port, _)| link(port)).collect()
}

/// Both halves of each of some links.
fn in_halves(links: &[Link]) -> Vec<Link> {
    let halves = |link: &Link| Half::ALL.map(|half| Link { half, ..*link });
    links.iter().flat_map(halves).collect()
}

/// The far end of a cable that is up at both ends.
pub(super) fn far_end(topology: &Topology, at: PortRef) -> Option<PortRef> {
    let near = topology.port(at)?;
    let far = near.peer?;
    let down = |port: &weft_fabric::Port| port.info.port_state == PortState::DOWN;
    let dead = down(near) || topology.port(far).is_none_or(down) || far.port == PortNum(0);
    (!dead && far.node != at.node).then_some(far)
}
