//! A published snapshot with indexes for fast queries: owners of LIDs, owners of GUIDs, members of
//! virtual fabrics, and every hop as a few bytes. Made once for each snapshot.

use std::collections::HashMap;
use std::sync::Arc;

use weft_fabric::enums::{Mtu, PortState};
use weft_fabric::{
    Guid, Lid, Lmc, Node, NodeId, Port, PortNum, PortRef, Snapshot, SwitchIndex, Topology,
};
use weft_wire::id::{PKey, Vl};

use super::settings::SaSettings;
use crate::rates;
use crate::settings::members::Candidate;

/// Highest LID that is indexed; above it no owner is found.
const LID_MAX: u32 = 1 << 20;
/// Switches that a path may have; the forwarding tables are certified, so that more is a change
/// that is being made.
const HOPS_MAX: u8 = 64;
/// No switch, no end port.
const NONE: u32 = u32::MAX;

/// An end port's dense index in a [`View`].
pub(crate) type End = u32;

/// A port that has LIDs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndPort {
    pub(crate) at: PortRef,
    pub(crate) guid: Guid,
    pub(crate) lid: Lid,
    pub(crate) lmc: Lmc,
    /// Traffic can pass.
    pub(crate) active: bool,
    /// The switch that it is at, or is; [`None`] where an HFI is cabled to an HFI.
    pub(crate) switch: Option<SwitchIndex>,
    /// The port of that switch, 0 for the switch itself.
    pub(crate) switch_port: PortNum,
    /// The HFI port that it is cabled to.
    direct: u32,
    pub(crate) mtu: Mtu,
    pub(crate) rate: u8,
}

/// Data of a switch's port for paths.
#[derive(Debug, Clone, Copy)]
struct Hop {
    /// The next switch, or [`NONE`].
    switch: u32,
    mtu: Mtu,
    rate: u8,
}

/// Limits of the path from one port to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    /// Largest packet.
    pub(crate) mtu: Mtu,
    /// Rate of the slowest link.
    pub(crate) rate: u8,
    /// Links; 0 to the port itself.
    pub(crate) hops: u8,
}

/// A set of virtual fabrics or partitions for each end port, in one array.
#[derive(Debug, Default)]
struct Sets {
    words: usize,
    bits: Vec<u64>,
}

/// The snapshot and its indexes.
#[derive(Debug, Default)]
pub(crate) struct View {
    pub(crate) snapshot: Arc<Snapshot>,
    ends: Vec<EndPort>,
    /// First end port of each node; one more entry at the end.
    first_end: Vec<u32>,
    by_lid: Vec<u32>,
    by_guid: HashMap<Guid, End>,
    /// First hop of each switch; a hop for each port from 0.
    first_hop: Vec<u32>,
    hops: Vec<Hop>,
    members: Sets,
    full: Sets,
    /// By partition: the key is in `partitions`.
    keys: Sets,
    full_keys: Sets,
    /// Partitions of the virtual fabrics that carry traffic, without the bit of full membership.
    partitions: Vec<PKey>,
}

impl Sets {
    fn new(entries: usize, members: usize) -> Self {
        let words = members.div_ceil(64);
        Self {
            words,
            bits: vec![0; words * entries],
        }
    }

    fn insert(&mut self, entry: End, member: usize) {
        self.bits[entry as usize * self.words + member / 64] |= 1 << (member % 64);
    }

    #[inline]
    fn row(&self, entry: End) -> &[u64] {
        let start = entry as usize * self.words;
        self.bits.get(start..start + self.words).unwrap_or_default()
    }

    fn contains(&self, entry: End, member: usize) -> bool {
        let word = self.row(entry).get(member / 64).copied().unwrap_or(0);
        word >> (member % 64) & 1 == 1
    }
}

impl View {
    /// Indexes `snapshot`.
    pub(crate) fn new(snapshot: Arc<Snapshot>, settings: &SaSettings) -> Self {
        let mut view = Self {
            snapshot: Arc::clone(&snapshot),
            ..Self::default()
        };
        view.index_ends(&snapshot.topology);
        view.index_hops(&snapshot.topology);
        view.index_members(&snapshot.topology, settings);
        view
    }

    fn index_ends(&mut self, topology: &Topology) {
        for (id, node) in topology.nodes() {
            self.first_end.push(self.ends.len() as u32);
            for (number, port) in node.end_ports().filter(|(_, port)| port.info.lid.0 != 0) {
                let at = PortRef {
                    node: id,
                    port: number,
                };
                self.ends.push(end_port(topology, node, at, port));
            }
        }
        self.first_end.push(self.ends.len() as u32);
        let after = |end: &EndPort| end.lid.0.saturating_add(end.lmc.lids());
        let highest = self.ends.iter().map(after).max();
        let highest = highest.unwrap_or(0).min(LID_MAX);
        self.by_lid = vec![NONE; highest as usize];
        for (index, end) in (0..).zip(&self.ends) {
            let start = end.lid.0.min(highest) as usize;
            let last = after(end).min(highest) as usize;
            self.by_lid[start..last].fill(index);
            self.by_guid.entry(end.guid).or_insert(index);
        }
        self.pair_directs(topology);
    }

    /// Finds the other ends of cables from HFI to HFI.
    fn pair_directs(&mut self, topology: &Topology) {
        for index in 0..self.ends.len() {
            if self.ends[index].switch.is_none()
                && let Some(peer) = topology.peer(self.ends[index].at)
            {
                self.ends[index].direct = self.end_at(peer).unwrap_or(NONE);
            }
        }
    }

    fn index_hops(&mut self, topology: &Topology) {
        for id in topology.switches() {
            self.first_hop.push(self.hops.len() as u32);
            let Some(node) = topology.node(*id) else {
                continue;
            };
            for (number, port) in node.ports() {
                let peer = port.peer.filter(|_| number.0 != 0);
                let next = peer.and_then(|peer| topology.switch_index(peer.node));
                let up = port.info.port_state == PortState::ACTIVE;
                self.hops.push(Hop {
                    switch: next.filter(|_| up).map_or(NONE, |switch| switch.0),
                    mtu: largest_mtu(port),
                    rate: rate_of(port),
                });
            }
        }
        self.first_hop.push(self.hops.len() as u32);
    }

    fn index_members(&mut self, topology: &Topology, settings: &SaSettings) {
        let fabrics = &settings.fabrics;
        for fabric in fabrics.iter().filter(|fabric| !fabric.standby) {
            let key = PKey(fabric.pkey.0 & 0x7FFF);
            if !self.partitions.contains(&key) {
                self.partitions.push(key);
            }
        }
        let ends = self.ends.len();
        self.members = Sets::new(ends, fabrics.len());
        self.full = Sets::new(ends, fabrics.len());
        self.keys = Sets::new(ends, self.partitions.len());
        self.full_keys = Sets::new(ends, self.partitions.len());
        for end in 0..ends as u32 {
            let at = self.ends[end as usize].at;
            let Some(node) = topology.node(at.node) else {
                continue;
            };
            self.index_member(topology, settings, end, node, at);
        }
    }

    fn index_member(
        &mut self,
        topology: &Topology,
        settings: &SaSettings,
        end: End,
        node: &Node,
        at: PortRef,
    ) {
        let candidate = Candidate::new(topology, node, at);
        for (index, fabric) in settings.fabrics.iter().enumerate() {
            if fabric.standby {
                continue;
            }
            let is_full = fabric.full.contains(&candidate);
            if !is_full && !fabric.limited.contains(&candidate) {
                continue;
            }
            let full = is_full || !fabric.security;
            let key = PKey(fabric.pkey.0 & 0x7FFF);
            let key = self.partitions.iter().position(|known| *known == key);
            self.members.insert(end, index);
            self.keys.insert(end, key.unwrap_or(0));
            if full {
                self.full.insert(end, index);
                self.full_keys.insert(end, key.unwrap_or(0));
            }
        }
    }

    /// All end ports, in order of node and port.
    pub(crate) fn ends(&self) -> &[EndPort] {
        &self.ends
    }

    /// An end port.
    pub(crate) fn end(&self, end: End) -> Option<&EndPort> {
        self.ends.get(end as usize)
    }

    /// Owner of a LID, not only of a base LID.
    #[inline]
    pub(crate) fn by_lid(&self, lid: Lid) -> Option<End> {
        let end = self.by_lid.get(lid.0 as usize).copied();
        end.filter(|end| *end != NONE)
    }

    /// GUID of the port that has a LID.
    #[inline]
    pub(crate) fn guid_of(&self, lid: Lid) -> Option<Guid> {
        let end = self.by_lid(lid)?;
        self.end(end).map(|end| end.guid)
    }

    /// Owner of a port GUID.
    #[inline]
    pub(crate) fn by_guid(&self, guid: Guid) -> Option<End> {
        self.by_guid.get(&guid).copied()
    }

    /// The end port at a place.
    pub(crate) fn end_at(&self, at: PortRef) -> Option<End> {
        let range = self.ends_of(at.node);
        range.clone().find(|end| self.ends[*end as usize].at == at)
    }

    /// The end ports of a node.
    pub(crate) fn ends_of(&self, node: NodeId) -> std::ops::Range<End> {
        let first = self.first_end.get(node.0 as usize).copied().unwrap_or(0);
        let next = self.first_end.get(node.0 as usize + 1).copied();
        first..next.unwrap_or(first)
    }

    /// The LID under which a port is known: its own, or its switch's.
    pub(crate) fn lid_of(&self, at: PortRef) -> Option<Lid> {
        let ends = self.ends_of(at.node);
        let node = self.node(at.node)?;
        let own = |end: End| {
            let end = self.ends.get(end as usize)?;
            (node.is_switch() || end.at.port == at.port).then_some(end.lid)
        };
        ends.into_iter().find_map(own)
    }

    /// A node of the snapshot.
    pub(crate) fn node(&self, id: NodeId) -> Option<&Node> {
        self.snapshot.topology.node(id)
    }

    /// Whether two ports have a partition in common, one of them as a full member. A port may
    /// always talk to itself.
    #[inline]
    pub(crate) fn share_key(&self, a: End, b: End) -> bool {
        if a == b {
            return true;
        }
        let keys = self.keys.row(a).iter().zip(self.keys.row(b));
        let full = self.full_keys.row(a).iter().zip(self.full_keys.row(b));
        keys.zip(full)
            .any(|((a, b), (full_a, full_b))| a & b & (full_a | full_b) != 0)
    }

    /// The key that a port has in a partition, with its own bit of membership.
    #[inline]
    pub(crate) fn key_of(&self, end: End, key: PKey) -> Option<PKey> {
        let value = PKey(key.0 & 0x7FFF);
        let index = self.partitions.iter().position(|known| *known == value)?;
        self.keys.contains(end, index).then(|| {
            let full = u16::from(self.full_keys.contains(end, index));
            PKey(value.0 | full << 15)
        })
    }

    /// Whether a port is in a virtual fabric, and whether as a full member.
    #[inline]
    pub(crate) fn membership(&self, end: End, fabric: usize) -> Option<bool> {
        self.members
            .contains(end, fabric)
            .then(|| self.full.contains(end, fabric))
    }

    /// The path from one port to another by the forwarding tables; `None` if there is none.
    #[inline]
    pub(crate) fn way(&self, from: End, to: End) -> Option<Way> {
        let (source, target) = (self.end(from)?, self.end(to)?);
        if from == to {
            return Some(Way {
                mtu: source.mtu,
                rate: source.rate,
                hops: 0,
            });
        }
        let mut way = Way {
            mtu: source.mtu.min(target.mtu),
            rate: rates::slower(source.rate, target.rate),
            hops: 1,
        };
        if source.switch.is_none() {
            return (source.direct == to).then_some(way);
        }
        let last = target.switch?;
        let mut here = source.switch?;
        while here != last {
            let port = self.snapshot.linear.egress(here, target.lid)?;
            let hop = self.hop(here, port)?;
            if hop.switch == NONE || way.hops > HOPS_MAX {
                return None;
            }
            way.mtu = way.mtu.min(hop.mtu);
            way.rate = rates::slower(way.rate, hop.rate);
            way.hops += 1;
            here = SwitchIndex(hop.switch);
        }
        let arrives = self.snapshot.linear.egress(here, target.lid) == Some(target.switch_port);
        arrives.then_some(way)
    }

    /// The least MTU and rate of the links between switches, at most those given.
    pub(crate) fn least_of_links(&self, (mtu, rate): (Mtu, u8)) -> (Mtu, u8) {
        let links = self.hops.iter().filter(|hop| hop.switch != NONE);
        links.fold((mtu, rate), |(mtu, rate), hop| {
            (mtu.min(hop.mtu), rates::slower(rate, hop.rate))
        })
    }

    fn hop(&self, switch: SwitchIndex, port: PortNum) -> Option<&Hop> {
        let first = *self.first_hop.get(switch.0 as usize)?;
        let next = *self.first_hop.get(switch.0 as usize + 1)?;
        let at = first + u32::from(port.0);
        self.hops.get(at as usize).filter(|_| at < next)
    }
}

fn end_port(topology: &Topology, node: &Node, at: PortRef, port: &Port) -> EndPort {
    let (switch, switch_port) = match topology.switch_index(at.node) {
        Some(switch) => (Some(switch), PortNum(0)),
        None => port.peer.map_or((None, PortNum(0)), |peer| {
            (topology.switch_index(peer.node), peer.port)
        }),
    };
    EndPort {
        at,
        guid: node.port_guid(at.port).unwrap_or_default(),
        lid: port.info.lid,
        lmc: port.info.lmc,
        active: port.info.port_state >= PortState::ARMED,
        switch,
        switch_port,
        direct: NONE,
        mtu: largest_mtu(port),
        rate: rate_of(port),
    }
}

/// The code of the rate of a port's link.
fn rate_of(port: &Port) -> u8 {
    rates::of_link(port.info.link_speed_active, port.info.link_width_active)
}

/// The largest MTU of any data VL that a port has towards its neighbour.
fn largest_mtu(port: &Port) -> Mtu {
    let data = (0..15).map(|vl| port.info.neighbor_mtu.get(Vl(vl)));
    data.filter(|mtu| mtu.bytes() > 0).max().unwrap_or(Mtu(4))
}
