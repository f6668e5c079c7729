//! The topology as the engines see it: dense indices, links between switches in flat arrays.

use std::ops::Range;

use rayon::prelude::*;
use weft_fabric::enums::{LinkSpeed, LinkWidth, PortState};
use weft_fabric::{Guid, Lid, Lmc, NodeId, Port, PortNum, PortRef, Topology};
use weft_state::State;

use crate::error::RouteError;

/// Most table entries of all switches together: 64 GiB.
const ENTRIES_LIMIT: u64 = 1 << 36;

/// A working link from one switch to another, seen from the sending end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub struct Egress {
    /// The port here.
    pub port: u8,
    /// The port at the other end.
    pub far_port: u8,
    /// Lanes times the speed of one, in units of 12.5 Gb/s: the current rate of the slower direction.
    pub rate: u16,
    /// Cost of the link: 1200 / (25 Gb/s · lanes), divided by the common divisor of all costs.
    pub cost: u16,
    /// Dense index of the switch at the other end.
    pub to: u32,
}

/// An end port at a switch: its own port 0 or an HFI's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub struct EndPort {
    /// The switch's port to it, 0 for itself.
    pub port: u8,
    /// LMC.
    pub lmc: Lmc,
    /// Base LID.
    pub lid: Lid,
    /// The end port.
    pub at: PortRef,
}

impl EndPort {
    /// Its LIDs: 2^LMC from the base LID on.
    pub fn lids(&self) -> Range<u32> {
        self.lid.0..self.lid.0 + self.lmc.lids()
    }

    /// Range of their entries in a row of a linear table.
    pub fn entries(&self) -> Range<usize> {
        let lids = self.lids();
        lids.start as usize..lids.end as usize
    }
}

/// A switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub(crate) struct Switch {
    pub(crate) node: NodeId,
    pub(crate) guid: Guid,
    pub(crate) system: Guid,
}

/// All switches with their links and end ports. Switches are numbered from 0 as in
/// [`Topology::switches`]; methods that take a number expect one below [`Network::len`].
#[derive(Debug, Clone, State)]
pub struct Network {
    pub(crate) switches: Vec<Switch>,
    egress_start: Vec<u32>,
    egress: Vec<Egress>,
    hfis_start: Vec<u32>,
    hfis: Vec<EndPort>,
    /// By switch, HFIs that may send to it although their links are left out.
    unlinked: Vec<u32>,
    management: Vec<Option<EndPort>>,
    /// Highest LID of any end port.
    pub(crate) max_lid: u32,
    /// Some link joins two switches of one chassis.
    pub(crate) has_internal_links: bool,
    /// All links cost the same.
    costs_alike: bool,
    /// Common divisor of all costs.
    cost_unit: u16,
}

impl Network {
    /// Reads a topology.
    ///
    /// # Errors
    /// [`RouteError`] when LIDs are unusable.
    pub(crate) fn new(topology: &Topology) -> Result<Self, RouteError> {
        let mut network = Self {
            switches: Vec::with_capacity(topology.switches().len()),
            egress_start: vec![0],
            egress: Vec::new(),
            hfis_start: vec![0],
            hfis: Vec::new(),
            unlinked: Vec::new(),
            management: Vec::new(),
            max_lid: 0,
            has_internal_links: false,
            costs_alike: false,
            cost_unit: 1,
        };
        let ends = Ends::read(topology);
        let nodes = topology.switches().par_iter();
        let read: Vec<Site> = nodes
            .filter_map(|node| Site::read(topology, *node, |at| ends.at(topology, at)))
            .collect();
        for site in read {
            network.add(site);
        }
        network.reduce_costs();
        network.has_internal_links = network.find_internal_links();
        network.check_lids(topology)?;
        Ok(network)
    }

    /// The network after some nodes have changed and no others. `None` if more than links between
    /// switches may have changed: then everything is read.
    pub(crate) fn after(&self, topology: &Topology, changed: &[NodeId]) -> Option<Self> {
        let dirty = self.dirty(topology, changed)?;
        let mut network = Self {
            switches: self.switches.clone(),
            egress_start: Vec::with_capacity(self.egress_start.len()),
            egress: Vec::with_capacity(self.egress.len() + changed.len()),
            hfis_start: self.hfis_start.clone(),
            hfis: self.hfis.clone(),
            unlinked: self.unlinked.clone(),
            management: self.management.clone(),
            ..*self
        };
        network.egress_start.push(0);
        for (switch, dirty) in dirty.into_iter().enumerate() {
            if dirty {
                let end = |at| topology.port(at).and_then(End::read);
                let site = Site::read(topology, self.switches[switch].node, end)?;
                if !self.has_same_site(switch, &site) {
                    return None;
                }
                network.egress.extend(site.egress);
            } else {
                let full = |link: &Egress| link.cost * self.cost_unit;
                let links = self.egress(switch).iter();
                network.egress.extend(links.map(|link| Egress {
                    cost: full(link),
                    ..*link
                }));
            }
            network.egress_start.push(network.egress.len() as u32);
        }
        network.reduce_costs();
        network.has_internal_links = network.find_internal_links();
        network.check_capacity(topology).ok()?;
        Some(network)
    }

    /// Whether a switch must be read again: it has changed, or has a cable to one that has.
    /// None where something else than switches has changed.
    fn dirty(&self, topology: &Topology, changed: &[NodeId]) -> Option<Vec<bool>> {
        if topology.switches().len() != self.len() {
            return None;
        }
        let mut dirty = vec![false; self.len()];
        for node in changed {
            let switch = topology.switch_index(*node)?.0 as usize;
            let ports = topology.node(*node)?.external_ports();
            let peers = ports.filter_map(|(_, port)| topology.switch_index(port.peer?.node));
            peers.for_each(|peer| dirty[peer.0 as usize] = true);
            dirty[switch] = true;
        }
        Some(dirty)
    }

    fn has_same_site(&self, switch: usize, site: &Site) -> bool {
        self.switches[switch] == site.switch
            && self.management[switch] == site.management
            && self.hfis(switch) == site.hfis
            && self.unlinked[switch] == site.unlinked
    }

    fn add(&mut self, site: Site) {
        self.switches.push(site.switch);
        self.management.push(site.management);
        self.unlinked.push(site.unlinked);
        self.egress.extend(site.egress);
        self.hfis.extend(site.hfis);
        self.egress_start.push(self.egress.len() as u32);
        self.hfis_start.push(self.hfis.len() as u32);
    }

    /// Divides all costs by their greatest common divisor, so that equal links cost 1.
    fn reduce_costs(&mut self) {
        let common = self
            .egress
            .iter()
            .fold(0, |common, link| gcd(common, link.cost));
        for link in &mut self.egress {
            link.cost /= common.max(1);
        }
        self.cost_unit = common.max(1);
        self.costs_alike = self.egress.iter().all(|link| link.cost == 1);
    }

    /// Whether all links cost the same, which is 1.
    pub(crate) fn costs_alike(&self) -> bool {
        self.costs_alike
    }

    fn find_internal_links(&self) -> bool {
        (0..self.len()).any(|from| {
            let system = self.switches[from].system;
            let same = |link: &Egress| self.switches[link.to as usize].system == system;
            system.0 != 0 && self.egress(from).iter().any(same)
        })
    }

    fn check_lids(&mut self, topology: &Topology) -> Result<(), RouteError> {
        let mut ends: Vec<EndPort> = self.end_ports().collect();
        ends.sort_by_key(|end| (end.lid, end.at));
        for end in &ends {
            if end.lid.0 % end.lmc.lids() != 0 || !end.lid.is_unicast() {
                let EndPort { at, lid, lmc, .. } = *end;
                let port = at;
                return Err(RouteError::LidAlignment { port, lid, lmc });
            }
        }
        for pair in ends.windows(2) {
            if pair[0].lid.0 + pair[0].lmc.lids() > pair[1].lid.0 {
                return Err(RouteError::LidShared {
                    lid: pair[1].lid,
                    first: pair[0].at,
                    second: pair[1].at,
                });
            }
        }
        let highest = |end: &EndPort| end.lid.0 + end.lmc.lids() - 1;
        self.max_lid = ends.last().map_or(0, highest);
        self.check_capacity(topology)
    }

    fn check_capacity(&self, topology: &Topology) -> Result<(), RouteError> {
        let lid = Lid(self.max_lid);
        let switches = self.len();
        if (u64::from(self.max_lid) + 1) * switches as u64 > ENTRIES_LIMIT {
            return Err(RouteError::TooLarge {
                lid,
                switches,
                limit: ENTRIES_LIMIT,
            });
        }
        for switch in &self.switches {
            let info = topology.node(switch.node).and_then(|node| node.switch);
            let cap = info.map_or(0, |info| info.linear_fdb_cap);
            if cap != 0 && cap <= self.max_lid {
                let switch = switch.node;
                return Err(RouteError::LidBeyondTable { lid, switch, cap });
            }
        }
        Ok(())
    }

    /// Whether the same switches have the same end ports as in another network; links may differ.
    pub(crate) fn has_same_ends(&self, other: &Self) -> bool {
        self.switches == other.switches
            && self.hfis_start == other.hfis_start
            && self.hfis == other.hfis
            && self.unlinked == other.unlinked
            && self.management == other.management
            && self.max_lid == other.max_lid
    }

    /// Highest LID of any end port: tables go up to it.
    pub fn max_lid(&self) -> Lid {
        Lid(self.max_lid)
    }

    /// Whether there is no switch.
    pub fn is_empty(&self) -> bool {
        self.switches.is_empty()
    }

    /// A switch's node and GUID.
    pub fn switch(&self, switch: usize) -> (NodeId, Guid) {
        let Switch { node, guid, .. } = self.switches[switch];
        (node, guid)
    }

    /// Number of switches.
    pub fn len(&self) -> usize {
        self.switches.len()
    }

    /// A switch's links to other switches, by port.
    pub fn egress(&self, switch: usize) -> &[Egress] {
        slice(&self.egress_start, &self.egress, switch)
    }

    /// The HFI ports at a switch that have LIDs, by the switch's port.
    pub fn hfis(&self, switch: usize) -> &[EndPort] {
        slice(&self.hfis_start, &self.hfis, switch)
    }

    /// Number of HFIs that may send to a switch: those at it, and those whose links are left out.
    pub(crate) fn senders(&self, switch: usize) -> u32 {
        self.hfis(switch).len() as u32 + self.unlinked[switch]
    }

    /// A switch's own port 0, when it has a LID.
    pub fn management(&self, switch: usize) -> Option<&EndPort> {
        self.management[switch].as_ref()
    }

    /// All end ports, HFIs first.
    pub fn end_ports(&self) -> impl Iterator<Item = EndPort> + '_ {
        let own = self.management.iter().flatten();
        self.hfis.iter().chain(own).copied()
    }
}

/// A switch and its attached end ports.
struct Site {
    switch: Switch,
    management: Option<EndPort>,
    egress: Vec<Egress>,
    hfis: Vec<EndPort>,
    unlinked: u32,
}

impl Site {
    /// `end` reads a port.
    fn read(
        topology: &Topology,
        node: NodeId,
        end: impl Fn(PortRef) -> Option<End>,
    ) -> Option<Self> {
        let data = topology.node(node)?;
        let at = PortRef {
            node,
            port: PortNum(0),
        };
        let own = data.port(PortNum(0));
        let mut site = Self {
            switch: Switch {
                node,
                guid: data.guid(),
                system: data.info.system_image_guid,
            },
            management: own.and_then(|port| end_port(0, at, port)),
            egress: Vec::with_capacity(data.external_ports().len()),
            hfis: Vec::new(),
            unlinked: 0,
        };
        let ports = data.external_ports();
        let unlinked = ports.filter(|(_, port)| port.hears_unlinked_hfi());
        site.unlinked = unlinked.count() as u32;
        for port in 1..=data.external_ports().len() as u8 {
            let number = PortNum(port);
            let near = end(PortRef { node, port: number });
            let both = near.and_then(|near| Some((near.peer, near.worse(end(near.peer)?))));
            let Some((peer, link)) = both else {
                continue;
            };
            match topology.switch_index(peer.node) {
                Some(to) if peer.node != node => site.egress.push(Egress {
                    port,
                    far_port: peer.port.0,
                    rate: link.rate(),
                    cost: link.cost(),
                    to: to.0,
                }),
                Some(_) => {}
                None => {
                    let hfi = topology.port(peer);
                    site.hfis
                        .extend(hfi.and_then(|hfi| end_port(port, peer, hfi)));
                }
            }
        }
        Some(site)
    }
}

/// The items of an index: `start` has the start of each one's, and the end of the last one's.
pub(crate) fn slice<'a, T>(start: &[u32], items: &'a [T], index: usize) -> &'a [T] {
    &items[start[index] as usize..start[index + 1] as usize]
}

fn end_port(port: u8, at: PortRef, end: &Port) -> Option<EndPort> {
    (end.info.lid.0 != 0).then_some(EndPort {
        port,
        lmc: end.info.lmc,
        lid: end.info.lid,
        at,
    })
}

/// An end of a cable that is up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    /// The other end.
    pub(crate) peer: PortRef,
    /// Lanes that carry traffic; 4 if the port reports none.
    lanes: u8,
    /// Speed of one, 12.5 Gb/s the unit.
    speed: u8,
}

impl End {
    /// Reads a port; none where it has no cable or is down.
    pub(crate) fn read(port: &Port) -> Option<Self> {
        let info = &port.info;
        let widths = [info.link_width_downgrade_tx_active, info.link_width_active];
        let count = |width: LinkWidth| 16 - width.0.leading_zeros() as u8;
        let told = widths.into_iter().map(count).filter(|lanes| *lanes != 0);
        let peer = port.peer.filter(|_| info.port_state != PortState::DOWN)?;
        Some(Self {
            peer,
            lanes: told.min().unwrap_or(4).min(4),
            speed: 2 - u8::from(info.link_speed_active == LinkSpeed::G12_5),
        })
    }

    /// Capabilities of the link between this end and another one: the worse of both.
    pub(crate) fn worse(self, other: Self) -> Self {
        Self {
            lanes: self.lanes.min(other.lanes),
            speed: self.speed.min(other.speed),
            ..self
        }
    }

    /// Lanes times the speed of one, 12.5 Gb/s the unit.
    pub(crate) fn rate(self) -> u16 {
        u16::from(self.lanes) * u16::from(self.speed)
    }

    /// Cost of a link, 48 for a single lane.
    pub(crate) fn cost(self) -> u16 {
        48 / u16::from(self.lanes)
    }
}

/// The ends of cables at all switches: each port is read once, in memory
/// order, although both of its neighbours need it.
struct Ends(Vec<Vec<Option<End>>>);

impl Ends {
    fn read(topology: &Topology) -> Self {
        let nodes = topology.switches().par_iter();
        let read = nodes.map(|node| {
            let ports = topology.node(*node).into_iter();
            let ports = ports.flat_map(|node| node.external_ports());
            ports.map(|(_, port)| End::read(port)).collect()
        });
        Self(read.collect())
    }

    /// The end at a port, of a switch or an HFI.
    fn at(&self, topology: &Topology, at: PortRef) -> Option<End> {
        match topology.switch_index(at.node) {
            Some(switch) => {
                let port = usize::from(at.port.0).checked_sub(1)?;
                self.0[switch.0 as usize].get(port).copied()?
            }
            None => topology.port(at).and_then(End::read),
        }
    }
}

/// Greatest common divisor; that of a number and 0 is the number.
pub(crate) fn gcd(a: u16, b: u16) -> u16 {
    if b == 0 { a } else { gcd(b, a % b) }
}
