//! The path of a packet: hop by hop through the programmed tables.

use weft_fabric::enums::PortState;
use weft_fabric::{Lid, NodeId, PKey, PortNum, Sc, Sl, Vl};
use weft_wire::sm::PortInfo;

use crate::counters::{Counter, VL15, VlCounter};
use crate::network::{NONE, Network, PortIndex};
use crate::partition::Direction;
use crate::registers::PortTable;

/// Most links that a packet crosses; a packet that would cross more runs in a circle.
pub const HOPS_MAX: u32 = 64;

/// Bytes around a datagram on the link: local route header 8, base transport header 12, datagram
/// header 8, CRC 4.
pub const HEADERS_LEN: usize = 32;

/// The flits of a packet that carries a datagram of `len` bytes.
pub fn flits(len: usize) -> u64 {
    (len + HEADERS_LEN).div_ceil(8) as u64
}

/// Channel on which a packet travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// On VL15, over every link that is up.
    Management,
    /// On the lanes that its service level is mapped to, over active links only, through ports that let
    /// its P_Key through.
    Data(Sl, PKey),
}

/// Destination reached by a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The node.
    pub node: NodeId,
    /// The port it came in by; where it started, if it crossed no link.
    pub port: PortIndex,
    /// Links crossed.
    pub hops: u32,
}

/// Traffic carried by a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// Flits of 8 bytes.
    pub(crate) flits: u64,
    /// Packets.
    pub(crate) packets: u64,
    /// Time that data waited to be sent, see [`wait_unit`].
    pub(crate) waits: u64,
}

/// Flit times that are one count of a port's XmitWait: an HFI counts flit times, a switch cycles,
/// two flit times each on a link of four lanes (opa-fm, congestion of ports).
pub(crate) fn wait_unit(info: &PortInfo, is_switch: bool) -> u64 {
    match is_switch {
        true => u64::from(8 / active_lanes(info).clamp(1, 4)),
        false => 1,
    }
}

/// Lanes on which a port sends.
pub(crate) fn active_lanes(info: &PortInfo) -> u32 {
    match info.link_width_downgrade_tx_active.lanes() {
        0 => info.link_width_active.lanes(),
        lanes => lanes,
    }
}

/// Place and reason of a drop; the counters record it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dropped {
    /// The egress port has no link, or none in the state that the packet needs.
    NotUp(PortIndex),
    /// No table of the switch has the destination. The port is where it came in.
    Unreachable(PortIndex),
    /// It came to an HFI with another LID.
    NotMine(PortIndex),
    /// It crossed [`HOPS_MAX`] links; a data packet may circle for ever, see [`crate::circles`].
    Circle(PortIndex),
    /// Its service channel leads to lane 15, which carries no data. The port would have sent it.
    NoLane(PortIndex),
    /// The port does not let its P_Key through.
    Forbidden(PortIndex),
    /// Its source LID is not of the HFI that the port is for.
    ForeignSource(PortIndex),
    /// The link of the port has lost it.
    Lost(PortIndex),
}

impl Network {
    /// Takes a packet over the link of a port and returns where it comes in.
    ///
    /// # Errors
    /// [`Dropped::NotUp`], [`Dropped::Lost`].
    #[inline]
    pub fn cross(&mut self, from: PortIndex, flits: u64, lane: Vl) -> Result<PortIndex, Dropped> {
        let end = &mut self.links[from.0 as usize];
        let needed = if lane == VL15 {
            PortState::INIT
        } else {
            PortState::ACTIVE
        };
        if end.state < needed || end.peer == NONE {
            return Err(self.discard(from, lane));
        }
        let to = PortIndex(end.peer);
        if lane == VL15 {
            end.management.sent(flits);
            if end.loses && self.is_lost(from) {
                return Err(Dropped::Lost(from));
            }
            self.links[to.0 as usize].management.received(flits);
        } else {
            // A port that is only initialised drops data.
            if self.state(to) < PortState::ARMED {
                return Err(self.discard(from, lane));
            }
            self.count_data(from, to, flits, lane);
        }
        Ok(to)
    }

    fn count_data(&mut self, from: PortIndex, to: PortIndex, flits: u64, lane: Vl) {
        let sent = self.counters(from);
        sent.add_lane(lane, VlCounter::XmitData, flits);
        sent.add_lane(lane, VlCounter::XmitPkts, 1);
        let received = self.counters(to);
        received.add_lane(lane, VlCounter::RcvData, flits);
        received.add_lane(lane, VlCounter::RcvPkts, 1);
        self.count_cable_errors(to, 1);
    }

    #[cold]
    fn discard(&mut self, at: PortIndex, lane: Vl) -> Dropped {
        self.counters(at).add_lane(lane, VlCounter::XmitDiscards, 1);
        Dropped::NotUp(at)
    }

    /// Routes a packet by its destination LID from an end port: an HFI's port or port 0 of a
    /// switch.
    ///
    /// # Errors
    /// [`Dropped`] when it does not arrive.
    pub fn route(
        &mut self,
        from: PortIndex,
        slid: Lid,
        dlid: Lid,
        channel: Channel,
        flits: u64,
    ) -> Result<Arrival, Dropped> {
        let sc = self.channel_of(from, channel);
        if self.links[from.0 as usize].switch != NONE {
            return self.route_on((from, sc), (slid, dlid), channel, flits, 0);
        }
        if self.is_own_lid(from, dlid) {
            return Ok(self.arrival(from, 0));
        }
        let at = self.step(from, sc, channel, flits)?;
        self.check_source(at, slid)?;
        self.route_on((at, sc), (slid, dlid), channel, flits, 1)
    }

    /// Routes a packet on from where it came to a node, with its service channel, after `hops` links.
    pub(crate) fn route_on(
        &mut self,
        (mut at, mut sc): (PortIndex, Option<Sc>),
        (slid, dlid): (Lid, Lid),
        channel: Channel,
        flits: u64,
        mut hops: u32,
    ) -> Result<Arrival, Dropped> {
        while hops < HOPS_MAX {
            let switch = self.links[at.0 as usize].switch;
            if switch == NONE {
                return self.accept(at, dlid, hops);
            }
            let (ingress, last) = (
                self.links[at.0 as usize].number,
                self.links[at.0 as usize].last,
            );
            let Some(egress) = self.switches[switch as usize].egress(dlid) else {
                return Err(self.unreachable(at, slid, dlid));
            };
            if egress == PortNum(0) {
                return Ok(self.arrival(at, hops));
            }
            if egress > last {
                return Err(self.unreachable(at, slid, dlid));
            }
            let out = PortIndex(at.0 - u32::from(ingress.0) + u32::from(egress.0));
            sc = self.next_channel(at, ingress, egress, sc);
            at = self.step(out, sc, channel, flits)?;
            hops += 1;
        }
        // No switch notices that data circles; see [`crate::circles`].
        if channel == Channel::Management {
            self.counters(at).add(Counter::RcvSwitchRelayErrors, 1);
        }
        Err(Dropped::Circle(at))
    }

    /// Takes a packet over the link of a port, as far as lanes and P_Keys let it.
    #[inline]
    fn step(
        &mut self,
        out: PortIndex,
        sc: Option<Sc>,
        channel: Channel,
        flits: u64,
    ) -> Result<PortIndex, Dropped> {
        let lane = self.lane(out, sc);
        let Channel::Data(_, key) = channel else {
            return self.cross(out, flits, lane);
        };
        if lane == VL15 {
            self.counters(out).add(Counter::XmitDiscards, 1);
            return Err(Dropped::NoLane(out));
        }
        self.check_key(out, Direction::Out, key)?;
        let at = self.cross(out, flits, lane)?;
        self.check_key(at, Direction::In, key)?;
        Ok(at)
    }

    fn check_key(&mut self, at: PortIndex, way: Direction, key: PKey) -> Result<(), Dropped> {
        if self.lets_through(at, way, key) {
            return Ok(());
        }
        self.count_p_key_violation(at, way);
        Err(Dropped::Forbidden(at))
    }

    /// A switch's port lets in packets with a LID of the HFI before it, if PortInfo names that: LID 0 is for ports to
    /// switches, the permissive LID for those that check nothing (opa-fm, `sm_utility.c`, "SLID security").
    fn check_source(&mut self, at: PortIndex, slid: Lid) -> Result<(), Dropped> {
        let info = &self.ports[at.0 as usize].info;
        let is_open = matches!(info.lid, Lid(0) | Lid::PERMISSIVE);
        let is_hfi = self.links[at.0 as usize].switch == NONE;
        if is_open || is_hfi || slid.0 >> info.lmc.0 == info.lid.0 >> info.lmc.0 {
            return Ok(());
        }
        self.counters(at).add(Counter::RcvConstraintErrors, 1);
        Err(Dropped::ForeignSource(at))
    }

    fn arrival(&self, port: PortIndex, hops: u32) -> Arrival {
        Arrival {
            node: self.node_of(port),
            port,
            hops,
        }
    }

    fn accept(&mut self, at: PortIndex, dlid: Lid, hops: u32) -> Result<Arrival, Dropped> {
        if self.is_own_lid(at, dlid) {
            return Ok(self.arrival(at, hops));
        }
        self.counters(at).add(Counter::RcvErrors, 1);
        Err(Dropped::NotMine(at))
    }

    /// Whether an end port answers to a LID.
    #[inline]
    pub fn is_own_lid(&self, at: PortIndex, lid: Lid) -> bool {
        let end = &self.links[at.0 as usize];
        end.lid != 0 && lid.0 >> end.lmc == end.lid >> end.lmc
    }

    #[cold]
    fn unreachable(&mut self, at: PortIndex, slid: Lid, dlid: Lid) -> Dropped {
        self.counters(at).add(Counter::RcvSwitchRelayErrors, 1);
        self.ports[at.0 as usize].relay_error = Some((slid.0, dlid.0));
        Dropped::Unreachable(at)
    }

    fn channel_of(&self, at: PortIndex, channel: Channel) -> Option<Sc> {
        match channel {
            Channel::Management => None,
            Channel::Data(sl, _) => self.first_channel(at, sl),
        }
    }

    pub(crate) fn first_channel(&self, at: PortIndex, sl: Sl) -> Option<Sc> {
        Some(Sc(self.entry(at, PortTable::SlToSc, sl.0)))
    }

    pub(crate) fn next_channel(
        &self,
        at: PortIndex,
        ingress: PortNum,
        egress: PortNum,
        sc: Option<Sc>,
    ) -> Option<Sc> {
        let sc = sc?;
        let end = &self.links[at.0 as usize];
        let ports = self.devices[end.node as usize].info.num_ports;
        let map = self.switches[end.switch as usize].channel_map(ingress, egress, ports);
        // What starts at port 0 keeps its channel: the map has no row for it.
        Some(map.get(usize::from(sc.0)).map_or(sc, |next| Sc(*next)))
    }

    /// The lane on each link of a path, named by their sending ports, of packets that an HFI sends
    /// at a service level.
    pub(crate) fn lanes_along<'a>(
        &'a self,
        path: &'a [u32],
        sl: Sl,
    ) -> impl Iterator<Item = Vl> + 'a {
        let mut before: Option<PortIndex> = None;
        let mut sc = None;
        path.iter().map(move |link| {
            let out = PortIndex(*link);
            let ingress = before.and_then(|before| self.peer(before));
            sc = match ingress {
                None => self.first_channel(out, sl),
                Some(at) => self.next_channel(at, self.number_of(at), self.number_of(out), sc),
            };
            before = Some(out);
            self.lane(out, sc)
        })
    }

    /// Counts the traffic of a link, named by its sending port, and the time that data waited to be
    /// sent, in the unit of XmitWait.
    pub(crate) fn count_flow(&mut self, from: PortIndex, lane: Vl, carried: Carried) {
        let Some(to) = self.peer(from) else {
            return;
        };
        let Carried {
            flits,
            packets,
            waits,
        } = carried;
        let sent = self.counters(from);
        sent.add_lane(lane, VlCounter::XmitData, flits);
        sent.add_lane(lane, VlCounter::XmitPkts, packets);
        sent.add_lane(lane, VlCounter::XmitWait, waits);
        let received = self.counters(to);
        received.add_lane(lane, VlCounter::RcvData, flits);
        received.add_lane(lane, VlCounter::RcvPkts, packets);
        self.count_cable_errors(to, packets);
    }

    /// The lane of a service channel at an egress port; none is management's.
    #[inline]
    pub(crate) fn lane(&self, out: PortIndex, sc: Option<Sc>) -> Vl {
        sc.map_or(VL15, |sc| Vl(self.entry(out, PortTable::ScToVlt, sc.0)))
    }

    fn entry(&self, at: PortIndex, table: PortTable, key: u8) -> u8 {
        let entries = self.port(at).table(table);
        entries.get(usize::from(key)).map_or(0, |entry| entry & 31)
    }
}
