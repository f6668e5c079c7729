//! The ports of the fabric, in the order in which performance administration lists them: by LID, then
//! by number. Made once for each change of the fabric and shared by all images taken of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_fabric::enums::{PortState, SmState};
use weft_fabric::{
    Guid, Lid, Node, NodeId, Port, PortNum, PortRef, SmRecord, Snapshot, Topology, Vl,
};
use weft_wire::enums::{LinkSpeed, LinkWidth, Mtu};
use weft_wire::pa::ImageSm;
use weft_wire::pm::vls;
use weft_wire::text::Text;

use super::settings::{FABRICS_MAX, PmSettings, USER_GROUPS_MAX};
use crate::settings::MANAGEMENT_LANE;
use crate::settings::members::Candidate;

/// Names of the groups that always exist, in the order of their bits.
pub const BUILT_IN_GROUPS: [&str; 3] = ["All", "HFIs", "SWs"];

/// An agent with its ports: a switch, or one port of an HFI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The node in [`Roster::snapshot`].
    pub node: NodeId,
    /// Its GUID.
    pub guid: Guid,
    /// Its description, as records have it.
    pub description: Text<64>,
    /// Base LID of the port that its agent answers at.
    pub lid: Lid,
    /// LIDs that it has.
    pub lids: u32,
    /// Whether it forwards.
    pub is_switch: bool,
    /// Whether its counters are read at all.
    pub is_read: bool,
    /// Place of its first port in [`Roster::ports`].
    pub first: u32,
    /// Number of its ports there, active or not.
    pub ports: u32,
}

/// One port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RosterPort {
    /// Place of its agent in [`Roster::members`].
    pub member: u32,
    /// Its number.
    pub number: PortNum,
    /// Whether it carries data. Others keep their counters but are not read and in no group.
    pub is_active: bool,
    /// Place of the port at the other end of its cable.
    pub neighbor: Option<u32>,
    /// Speed of a lane.
    pub speed: LinkSpeed,
    /// Lanes that send.
    pub width_tx: LinkWidth,
    /// Lanes that receive.
    pub width_rx: LinkWidth,
    /// Lanes that the link has lost.
    pub lanes_down: u8,
    /// Largest packet on any lane.
    pub mtu: Mtu,
    /// Its groups, one bit each.
    pub groups: u16,
    /// Those of its groups that its neighbour is in too.
    pub internal: u16,
    /// Its virtual fabrics, one bit each.
    pub fabrics: u32,
}

/// A virtual fabric as far as counters go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FabricLanes {
    /// Its name.
    pub name: String,
    /// The lanes that it uses, one bit each.
    pub lanes: u32,
}

/// All ports of a fabric.
#[derive(Debug, Clone, Default)]
pub struct Roster {
    /// The snapshot that it was made from; empty in an image that was kept on disk.
    pub snapshot: Arc<Snapshot>,
    /// The agents, by LID.
    pub members: Vec<Member>,
    /// The ports, by agent and number.
    pub ports: Vec<RosterPort>,
    /// The groups, in the order of their bits.
    pub groups: Vec<String>,
    /// The virtual fabrics, in the order of their bits.
    pub fabrics: Vec<FabricLanes>,
    /// The lanes that are counted separately, in order; empty if lanes are not.
    pub lanes: Vec<Vl>,
    /// Subnet managers.
    pub sms: u32,
    /// The master, and of the others the one that comes first.
    pub sm_records: [ImageSm; 2],
    /// Switches.
    pub switches: u32,
    /// Active ports of HFIs.
    pub hfi_ports: u32,
    /// Active ports of switches, ports 0 included.
    pub switch_ports: u32,
    /// Cables between active ports.
    pub links: u32,
}

impl Roster {
    /// The ports of a snapshot. Ports without a LID of their own or of their switch are left out.
    pub(crate) fn new(snapshot: Arc<Snapshot>, settings: &PmSettings) -> Self {
        let mut roster = Self {
            members: members(&snapshot.topology, settings),
            groups: settings.group_names(),
            fabrics: fabrics(settings),
            lanes: lanes(settings),
            sms: snapshot.sms.len() as u32,
            sm_records: managers(&snapshot),
            snapshot,
            ..Self::default()
        };
        let own = roster.own_port();
        let mut places = BTreeMap::new();
        for index in 0..roster.members.len() {
            roster.add_ports(index, settings, own, &mut places);
        }
        roster.join_links(&places);
        roster.count();
        roster
    }

    /// The port that the manager runs on: the master's.
    pub(crate) fn own_port(&self) -> Option<PortRef> {
        let mut masters = self.snapshot.sms.iter();
        let master = masters.find(|sm| sm.state == SmState::MASTER);
        master.map(|master| master.port)
    }

    fn add_ports(
        &mut self,
        index: usize,
        settings: &PmSettings,
        own: Option<PortRef>,
        places: &mut BTreeMap<PortRef, u32>,
    ) {
        let member = &mut self.members[index];
        let (id, is_switch, lid) = (member.node, member.is_switch, member.lid);
        member.first = self.ports.len() as u32;
        let Some(node) = self.snapshot.topology.node(id) else {
            return;
        };
        for (number, port) in node.ports() {
            if !is_switch && port.info.lid != lid {
                continue;
            }
            let at = PortRef {
                node: id,
                port: number,
            };
            places.insert(at, self.ports.len() as u32);
            let is_active = is_active(node, number, port);
            let mut entry = entry(index, number, port, is_active);
            if is_active {
                let candidate = candidate(&self.snapshot.topology, node, at, own);
                entry.groups = groups_of(settings, &candidate);
            }
            entry.fabrics = fabrics_of(&self.snapshot.topology, settings, at, own);
            self.ports.push(entry);
        }
        self.members[index].ports = self.ports.len() as u32 - self.members[index].first;
    }

    /// Names the other end of every cable, and tells which groups have both ends.
    fn join_links(&mut self, places: &BTreeMap<PortRef, u32>) {
        for (at, place) in places {
            let peer = self.snapshot.topology.peer(*at);
            let neighbor = peer.and_then(|peer| places.get(&peer)).copied();
            let other = neighbor.map(|other| self.ports[other as usize].groups);
            let port = &mut self.ports[*place as usize];
            port.neighbor = neighbor.filter(|_| port.is_active);
            // A port without a cable, such as a switch's port 0, is internal.
            port.internal = port.groups & other.unwrap_or(u16::MAX) | port.groups & 1;
        }
    }

    fn count(&mut self) {
        let mut ends = 0;
        for port in self.ports.iter().filter(|port| port.is_active) {
            match self.members[port.member as usize].is_switch {
                true => self.switch_ports += 1,
                false => self.hfi_ports += 1,
            }
            ends += u32::from(port.neighbor.is_some());
        }
        self.links = ends / 2;
        let switches = self.members.iter().filter(|member| member.is_switch);
        self.switches = switches.count() as u32;
    }

    /// The lanes that are counted separately, one bit each.
    pub(crate) fn lane_mask(&self) -> u32 {
        self.lanes.iter().fold(0, |mask, vl| mask | 1 << vl.0)
    }

    /// Index of a lane among those that are counted separately.
    pub(crate) fn lane_place(&self, vl: Vl) -> Option<usize> {
        self.lanes.binary_search(&vl).ok()
    }

    /// The agent that a LID belongs to, base LID or not.
    pub fn member_at(&self, lid: Lid) -> Option<usize> {
        let after = self.members.partition_point(|member| member.lid <= lid);
        let index = after.checked_sub(1)?;
        let member = &self.members[index];
        (lid.0 - member.lid.0 < member.lids).then_some(index)
    }

    /// The ports of an agent with their places.
    pub fn ports_of(&self, member: usize) -> impl Iterator<Item = (usize, &RosterPort)> {
        let range = self.members.get(member).map_or(0..0, |member| {
            member.first as usize..(member.first + member.ports) as usize
        });
        let ports = self.ports.get(range.clone()).unwrap_or_default();
        range.zip(ports)
    }

    /// Place of a port of an agent.
    pub fn port_of(&self, member: usize, number: PortNum) -> Option<usize> {
        self.ports_of(member)
            .find(|(_, port)| port.number == number)
            .map(|(place, _)| place)
    }

    /// The agent of a port.
    pub fn member_of(&self, port: &RosterPort) -> &Member {
        &self.members[port.member as usize]
    }

    /// The node of an agent.
    pub(crate) fn node(&self, member: &Member) -> Option<&Node> {
        self.snapshot.topology.node(member.node)
    }

    /// Position of each port in an older roster, `None` if all positions are equal. Ports that are
    /// new are at `u32::MAX`.
    pub(crate) fn places_in(&self, older: &Self) -> Option<Arc<[u32]>> {
        let key = |roster: &Self, port: &RosterPort| (roster.member_of(port).guid, port.number);
        let same = self.ports.len() == older.ports.len()
            && (self.ports.iter().zip(&older.ports)).all(|(a, b)| key(self, a) == key(older, b));
        if same && self.lanes == older.lanes {
            return None;
        }
        let known = older.ports.iter().enumerate();
        let known: BTreeMap<_, _> = known
            .map(|(place, port)| (key(older, port), place as u32))
            .collect();
        let known = (self.lanes == older.lanes).then_some(known);
        let known = known.unwrap_or_default();
        let places = self.ports.iter().map(|port| known.get(&key(self, port)));
        Some(
            places
                .map(|place| place.copied().unwrap_or(u32::MAX))
                .collect(),
        )
    }
}

/// The master, and of the others the one that comes first.
fn managers(snapshot: &Snapshot) -> [ImageSm; 2] {
    let mut sms: Vec<&SmRecord> = snapshot.sms.iter().collect();
    let rank = |sm: &&SmRecord| {
        let is_master = sm.state == SmState::MASTER;
        (!is_master, u8::MAX - sm.priority, sm.port_guid)
    };
    sms.sort_by_key(rank);
    let mut records = [ImageSm::default(); 2];
    for (record, sm) in records.iter_mut().zip(sms) {
        let node = snapshot.topology.node(sm.port.node);
        *record = ImageSm {
            lid: sm.lid,
            priority: sm.priority,
            state: sm.state,
            port_number: sm.port.port,
            sm_port_guid: sm.port_guid,
            sm_node_desc: Text::new(&node.map(Node::name).unwrap_or_default()),
        };
    }
    records
}

/// The agents by LID; of two with one LID the first counts.
fn members(topology: &Topology, settings: &PmSettings) -> Vec<Member> {
    let ends = topology
        .end_ports()
        .filter(|(_, lid, _)| lid.is_unicast())
        .filter_map(|(at, lid, lmc)| {
            let node = topology.node(at.node)?;
            Some(Member {
                node: at.node,
                guid: node.guid(),
                description: node.description.node_string,
                lid,
                lids: lmc.lids(),
                is_switch: node.is_switch(),
                is_read: node.is_switch() || settings.process.hfis,
                first: 0,
                ports: 0,
            })
        });
    let mut members: Vec<Member> = ends.collect();
    members.sort_by_key(|member| member.lid);
    members.dedup_by_key(|member| member.lid);
    members
}

impl PmSettings {
    /// The names of all groups, in the order of their bits.
    pub fn group_names(&self) -> Vec<String> {
        let built_in = BUILT_IN_GROUPS.iter().map(|name| (*name).to_owned());
        let users = self.groups.iter().take(USER_GROUPS_MAX);
        built_in
            .chain(users.map(|group| group.name.clone()))
            .collect()
    }
}

fn fabrics(settings: &PmSettings) -> Vec<FabricLanes> {
    let fabrics = settings.fabrics.iter().take(FABRICS_MAX);
    fabrics
        .map(|monitored| FabricLanes {
            name: monitored.fabric.name.clone(),
            lanes: monitored.lanes,
        })
        .collect()
}

/// The lanes of all virtual fabrics and that of management.
fn lanes(settings: &PmSettings) -> Vec<Vl> {
    if !settings.process.lanes {
        return Vec::new();
    }
    let data = settings.fabrics.iter().take(FABRICS_MAX);
    let mask = data.fold(1 << MANAGEMENT_LANE.0, |mask, fabric| mask | fabric.lanes);
    vls(mask).collect()
}

fn is_active(node: &Node, number: PortNum, port: &Port) -> bool {
    // A switch's port 0 has no link; some report a state that means nothing.
    let port0 = node.is_switch() && number == PortNum(0);
    port0 || port.info.port_state == PortState::ACTIVE
}

fn entry(member: usize, number: PortNum, port: &Port, is_active: bool) -> RosterPort {
    let info = &port.info;
    let or_whole = |width: LinkWidth| match width {
        LinkWidth::NOP => info.link_width_active,
        width => width,
    };
    let lost = info
        .link_width_active
        .lanes()
        .saturating_sub(port.width().lanes());
    let mtus = (0..32).map(|vl| info.neighbor_mtu.get(Vl(vl)));
    let largest = mtus.max().filter(|mtu| *mtu != Mtu::NONE);
    RosterPort {
        member: member as u32,
        number,
        is_active,
        neighbor: None,
        speed: info.link_speed_active,
        width_tx: or_whole(info.link_width_downgrade_tx_active),
        width_rx: or_whole(info.link_width_downgrade_rx_active),
        lanes_down: lost.min(15) as u8,
        mtu: largest.unwrap_or(info.mtu_cap),
        groups: 0,
        internal: 0,
        fabrics: 0,
    }
}

/// A port of `node`; the manager runs at `own`.
fn candidate<'a>(
    topology: &Topology,
    node: &'a Node,
    at: PortRef,
    own: Option<PortRef>,
) -> Candidate<'a> {
    Candidate {
        is_this: own == Some(at),
        ..Candidate::new(topology, node, at)
    }
}

fn groups_of(settings: &PmSettings, port: &Candidate<'_>) -> u16 {
    let by_type = if port.node.is_switch() { 0b101 } else { 0b011 };
    let users = settings.groups.iter().take(USER_GROUPS_MAX).enumerate();
    let in_users = users.filter(|(_, group)| group.members.contains(port));
    in_users.fold(by_type, |groups, (index, _)| {
        groups | 1 << (index + BUILT_IN_GROUPS.len())
    })
}

/// The virtual fabrics whose packets a port may carry: an end port's own; of a switch's port those
/// of the host at its other end, and all on a cable between switches.
fn fabrics_of(
    topology: &Topology,
    settings: &PmSettings,
    at: PortRef,
    own: Option<PortRef>,
) -> u32 {
    let Some(node) = topology.node(at.node) else {
        return 0;
    };
    let is_end = !node.is_switch() || at.port == PortNum(0);
    let end = match is_end {
        true => Some(at),
        false => topology.peer(at).filter(|peer| {
            topology
                .node(peer.node)
                .is_some_and(|node| !node.is_switch())
        }),
    };
    let fabrics = settings.fabrics.iter().take(FABRICS_MAX).enumerate();
    let carried = fabrics.filter(|(_, fabric)| match end {
        None => true,
        Some(end) => topology.node(end.node).is_some_and(|node| {
            let candidate = candidate(topology, node, end, own);
            fabric.fabric.has(&candidate)
        }),
    });
    carried.fold(0, |fabrics, (index, _)| fabrics | 1 << index)
}
