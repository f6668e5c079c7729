//! Data packets that circle: nothing ends them but a change of tables, links or P_Keys.
//!
//! A packet takes [`SWITCH_LATENCY`], a cable's delay and its own length for each hop. Where several use one link, a
//! lap takes at least as long as that link takes to send all of them. Laps are counted when somebody looks,
//! [`Circles::settle`], so that time alone costs nothing. Packets that take one circle are counted together, and a look
//! at one node costs only the circles that lead through it.

use std::collections::BTreeSet;

use weft_fabric::enums::PortState;
use weft_fabric::{Lid, NodeId, PortNum, Sc, Tick, Vl};

use crate::constants::{CABLE, FLIT_ONE_LANE, SWITCH_LATENCY};
use crate::counters::VL15;
use crate::forward::{Carried, Channel, Dropped, active_lanes};
use crate::network::{NONE, Network, PortIndex};
use crate::packets::NANO;
use crate::partition::Direction;

/// Most packets that circle in a fabric; further ones are dropped.
pub const CIRCLING_MAX: usize = 65_536;

/// Most switches that a packet passes before it must have come to one of them again: more than there are channels at
/// each of the ports that it enters.
const TRAIL_MAX: usize = 4_096;

/// Where a packet is: the port by which it came to a switch, and its service channel.
type Place = (PortIndex, Option<Sc>);

/// A packet, for its route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CirclingPacket {
    /// Source LID.
    pub slid: Lid,
    /// Destination LID.
    pub dlid: Lid,
    /// The channel on which it travels.
    pub channel: Channel,
    /// Its length on the link.
    pub flits: u64,
}

/// A way that leads back to where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Circle {
    begin: Place,
    /// The sending ports of its links, with their lanes.
    hops: Vec<(PortIndex, Vl)>,
}

/// Packets of one kind on one circle.
#[derive(Debug, Clone)]
struct Circling {
    packet: CirclingPacket,
    circle: Circle,
    /// Number of packets.
    count: u64,
    /// Time of a lap, picoseconds.
    lap: u64,
    /// When the last lap that was counted ended.
    counted: Tick,
}

/// The packets that circle in a fabric. Times are of the fabric's clock and never go back.
#[derive(Debug, Clone, Default)]
pub struct Circles {
    groups: Vec<Circling>,
    packets: u64,
    /// By sending port, the groups whose packets it sends, and the time for which all of them together keep its link
    /// busy in a lap, picoseconds.
    links: Vec<(Vec<usize>, u64)>,
}

impl Circles {
    /// Number of packets.
    pub fn len(&self) -> usize {
        self.packets as usize
    }

    /// Whether none circles.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Takes a packet that [`Network::route`] has found to circle; returns whether it does, and there was room.
    pub fn begin(
        &mut self,
        network: &mut Network,
        now: Tick,
        from: PortIndex,
        packet: CirclingPacket,
    ) -> bool {
        let start = network.start_of(from, packet);
        let circle = start.and_then(|start| network.circle_from(start, packet));
        let has_room = self.len() < CIRCLING_MAX;
        let Some(circle) = circle.filter(|_| has_room) else {
            return false;
        };
        self.add(network, now, packet, circle);
        true
    }

    /// Adds a packet to a circle. Laps of all that share a link with it take longer from now on.
    fn add(&mut self, network: &mut Network, now: Tick, packet: CirclingPacket, circle: Circle) {
        self.links.resize(network.port_count(), (Vec::new(), 0));
        let shared = self.sharing(&circle);
        for group in &shared {
            self.groups[*group].settle(network, now);
        }
        let is_same = |group: &&usize| {
            let group = &self.groups[**group];
            group.packet == packet && group.circle == circle
        };
        let group = match shared.iter().find(is_same) {
            Some(group) => *group,
            None => self.push(now, packet, circle),
        };
        self.enlarge(network, group, 1);
        for group in shared.into_iter().chain([group]) {
            self.set_lap(network, group);
        }
    }

    /// Groups with a link of a circle.
    fn sharing(&self, circle: &Circle) -> Vec<usize> {
        let hops = circle.hops.iter();
        let shared = hops.flat_map(|(port, _)| &self.links[port.0 as usize].0);
        let mut shared: Vec<usize> = shared.copied().collect();
        shared.sort_unstable();
        shared.dedup();
        shared
    }

    /// A new group of no packets.
    fn push(&mut self, now: Tick, packet: CirclingPacket, circle: Circle) -> usize {
        let group = self.groups.len();
        for (port, _) in &circle.hops {
            self.links[port.0 as usize].0.push(group);
        }
        self.groups.push(Circling {
            packet,
            circle,
            count: 0,
            lap: u64::MAX,
            counted: now,
        });
        group
    }

    /// Adds packets to a group.
    fn enlarge(&mut self, network: &Network, group: usize, count: u64) {
        let group = &mut self.groups[group];
        group.count += count;
        self.packets += count;
        for (port, _) in &group.circle.hops {
            self.links[port.0 as usize].1 += network.send_time(*port, group.packet.flits) * count;
        }
    }

    /// Sets the time of a lap: that of its hops, or of the busiest of its links.
    fn set_lap(&mut self, network: &Network, group: usize) {
        let group = &mut self.groups[group];
        let hops = group.circle.hops.iter();
        let busiest = hops.clone().map(|(port, _)| self.links[port.0 as usize].1);
        let flits = group.packet.flits;
        let times = hops.map(|(port, _)| SWITCH_LATENCY + CABLE + network.send_time(*port, flits));
        group.lap = times.sum::<u64>().max(busiest.max().unwrap_or(0)).max(1);
    }

    /// Counts all laps up to now.
    pub fn settle(&mut self, network: &mut Network, now: Tick) {
        for group in &mut self.groups {
            group.settle(network, now);
        }
    }

    /// Counts laps up to now of the packets that a node sends.
    pub fn settle_at(&mut self, network: &mut Network, now: Tick, node: NodeId) {
        for group in self.at(network, node) {
            self.groups[group].settle(network, now);
        }
    }

    /// Groups whose packets a node sends.
    fn at(&self, network: &Network, node: NodeId) -> Vec<usize> {
        let ports = network.device_at(node).ports();
        let links = ports.filter_map(|(_, port)| self.links.get(port.0 as usize));
        let mut groups: Vec<usize> = links.flat_map(|(groups, _)| groups).copied().collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// Follows a change of tables, links or P_Keys at `now`; of a change at one node where it is given. Returns the
    /// number of packets that circle no more.
    pub fn follow(&mut self, network: &mut Network, now: Tick, node: Option<NodeId>) -> u64 {
        let concerned = match node {
            Some(node) => self.at(network, node),
            None => (0..self.groups.len()).collect(),
        };
        let has_left = |group: &usize| !network.goes_on(&self.groups[*group]);
        let left: BTreeSet<usize> = concerned.into_iter().filter(has_left).collect();
        if node.is_some() && left.is_empty() {
            return 0;
        }
        self.settle(network, now);
        let groups = std::mem::take(self).groups;
        self.links.resize(network.port_count(), (Vec::new(), 0));
        let mut gone = 0;
        for (number, group) in groups.into_iter().enumerate() {
            let circle = match left.contains(&number) {
                true => network.circle_after(&group),
                false => Some(group.circle),
            };
            match circle {
                Some(circle) => {
                    let number = self.push(group.counted, group.packet, circle);
                    self.enlarge(network, number, group.count);
                }
                None => gone += group.count,
            }
        }
        for group in 0..self.groups.len() {
            self.set_lap(network, group);
        }
        gone
    }
}

impl Circling {
    /// Counts laps up to now.
    fn settle(&mut self, network: &mut Network, now: Tick) {
        let passed = u128::from(now.0.saturating_sub(self.counted.0)) * u128::from(NANO);
        let lap = u128::from(self.lap.max(1));
        let laps = (passed / lap) as u64;
        if laps == 0 {
            return;
        }
        self.counted = Tick(now.0 - (passed % lap) as u64 / NANO);
        let packets = laps.saturating_mul(self.count);
        let carried = Carried {
            flits: packets.saturating_mul(self.packet.flits),
            packets,
            waits: 0,
        };
        for (port, lane) in &self.circle.hops {
            network.count_flow(*port, *lane, carried);
        }
    }
}

impl Network {
    /// Time for which a packet keeps a port's link busy, picoseconds.
    fn send_time(&self, port: PortIndex, flits: u64) -> u64 {
        let lanes = u64::from(active_lanes(self.port(port).info()).clamp(1, 4));
        flits.saturating_mul(FLIT_ONE_LANE / lanes)
    }

    /// The first switch of a packet that an HFI sends, or port 0 of a switch.
    fn start_of(&self, from: PortIndex, packet: CirclingPacket) -> Option<Place> {
        let Channel::Data(sl, _) = packet.channel else {
            return None;
        };
        let sc = self.first_channel(from, sl);
        if self.links[from.0 as usize].switch != NONE {
            return Some((from, sc));
        }
        Some((self.over(from, sc, packet)?.1, sc))
    }

    /// The circle that a packet comes into.
    fn circle_from(&self, start: Place, packet: CirclingPacket) -> Option<Circle> {
        let mut places: Vec<Place> = Vec::new();
        let mut hops = Vec::new();
        let mut place = start;
        while places.len() < TRAIL_MAX {
            if let Some(first) = places.iter().position(|before| *before == place) {
                return Some(Circle {
                    begin: place,
                    hops: hops.split_off(first),
                });
            }
            places.push(place);
            let (hop, next) = self.onward(place, packet)?;
            hops.push(hop);
            place = next;
        }
        None
    }

    /// Whether a packet's circle is still as it was.
    fn goes_on(&self, circling: &Circling) -> bool {
        let Circle { begin, hops } = &circling.circle;
        let end = hops.iter().try_fold(*begin, |place, hop| {
            let onward = self.onward(place, circling.packet);
            onward.filter(|(next, _)| next == hop).map(|(_, to)| to)
        });
        end == Some(*begin)
    }

    /// The circle that packets come into whose circle is not as it was.
    fn circle_after(&mut self, group: &Circling) -> Option<Circle> {
        let CirclingPacket {
            slid,
            dlid,
            channel,
            flits,
        } = group.packet;
        let begin = group.circle.begin;
        let end = self.route_on(begin, (slid, dlid), channel, flits, 0);
        match end {
            Err(Dropped::Circle(_)) => self.circle_from(begin, group.packet),
            _ => None,
        }
    }

    /// The link that a packet takes next, and where it comes to; none where it does not go on to another switch.
    fn onward(&self, (at, sc): Place, packet: CirclingPacket) -> Option<((PortIndex, Vl), Place)> {
        let end = &self.links[at.0 as usize];
        let switch = self.switches.get(end.switch as usize)?;
        let egress = switch.egress(packet.dlid)?;
        if egress == PortNum(0) || egress > end.last {
            return None;
        }
        let out = PortIndex(at.0 - u32::from(end.number.0) + u32::from(egress.0));
        let sc = self.next_channel(at, end.number, egress, sc);
        let (lane, to) = self.over(out, sc, packet)?;
        Some(((out, lane), (to, sc)))
    }

    /// The lane of a packet on a port's link, and the port at the other end, where it gets there.
    fn over(
        &self,
        out: PortIndex,
        sc: Option<Sc>,
        packet: CirclingPacket,
    ) -> Option<(Vl, PortIndex)> {
        let Channel::Data(_, key) = packet.channel else {
            return None;
        };
        let to = self.peer(out)?;
        let lane = self.lane(out, sc);
        let is_open = lane != VL15
            && self.state(out) == PortState::ACTIVE
            && self.state(to) >= PortState::ARMED
            && self.lets_through(out, Direction::Out, key)
            && self.lets_through(to, Direction::In, key);
        is_open.then_some((lane, to))
    }
}
