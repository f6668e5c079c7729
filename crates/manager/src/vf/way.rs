//! The links from one port to another, with the channel and the lane on each, as confirmed registers have them.

use weft_fabric::enums::{Mtu, PortState};
use weft_fabric::{Lid, PortNum, PortRef, PortTable, Sc, Sl, Snapshot, UNREACHABLE, Vl};
use weft_wire::Layout;
use weft_wire::id::PKey;
use weft_wire::sm::{ScScMap, ScVlMap, SlScMap};

use super::reach::Why;
use crate::rates;
use crate::settings::MANAGEMENT_LANE;

/// Links of a path at most: the forwarding tables are certified, so that more is a change that is being made.
const LINKS_MAX: usize = 64;

/// A link of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// The port that sends.
    pub from: PortRef,
    /// The port at the other end.
    pub to: PortRef,
    /// The channel in packets on the link.
    pub sc: Sc,
    /// The lane on the link.
    pub vl: Vl,
    /// Largest packet on that lane.
    pub mtu: Mtu,
    /// Rate of the link in Mb/s.
    pub rate_mbps: u32,
}

/// A register that lets packets pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Register {
    /// The port that has confirmed it.
    pub at: PortRef,
    /// Its part that counts.
    pub value: RegisterValue,
}

/// An entry of a table of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegisterValue {
    /// A key at an index of P_KeyTable.
    PKey {
        /// The index.
        index: usize,
        /// The key.
        key: PKey,
    },
    /// The channel of a service level in SLtoSCMappingTable.
    SlToSc(Sl, Sc),
    /// The channel behind a switch by the one before it in SCtoSCMappingTable, for an egress port.
    ScToSc(Sc, PortNum, Sc),
    /// The lane of a channel in SCtoVLtMappingTable.
    ScToVlt(Sc, Vl),
}

/// Follows packets of a service level over the confirmed tables.
pub(super) struct Walk<'a> {
    snapshot: &'a Snapshot,
    target: PortRef,
    lid: Lid,
    pub(super) hops: Vec<Hop>,
    pub(super) registers: Vec<Register>,
}

impl<'a> Walk<'a> {
    /// To a LID of `target`.
    pub(super) fn new(snapshot: &'a Snapshot, target: PortRef, lid: Lid) -> Self {
        Self {
            snapshot,
            target,
            lid,
            hops: Vec::new(),
            registers: Vec::new(),
        }
    }

    /// Walks from a port with a service level to the end.
    ///
    /// # Errors
    /// Why packets do not arrive.
    pub(super) fn go(&mut self, source: PortRef, sl: Sl) -> Result<(), Why> {
        let map = self.map::<SlScMap>(source, PortTable::SlToSc)?;
        let mut sc = map.get(sl);
        self.register(source, RegisterValue::SlToSc(sl, sc));
        if sc.0 == MANAGEMENT_LANE.0 {
            return Err(Why::NoChannel { at: source, sl });
        }
        let mut egress = self.leave(source)?;
        while let Some(from) = egress {
            let to = self.cross(from, sc)?;
            let next = self.leave_switch(to)?;
            if let Some(next) = next {
                sc = self.onward(to, next, sc)?;
            }
            egress = next;
        }
        Ok(())
    }

    /// The port by which packets leave their source: its own, or one of the switch that it is.
    fn leave(&self, source: PortRef) -> Result<Option<PortRef>, Why> {
        match self.snapshot.topology.switch_index(source.node) {
            Some(_) => self.leave_switch(source),
            None => Ok(Some(source)),
        }
    }

    /// The port by which packets go on that have come to a port; none at the target.
    fn leave_switch(&self, at: PortRef) -> Result<Option<PortRef>, Why> {
        let switch = self.snapshot.topology.switch_index(at.node);
        if at == self.target || (switch.is_some() && at.node == self.target.node) {
            return Ok(None);
        }
        let stray = Why::Astray { at };
        let port = self
            .snapshot
            .linear
            .egress(switch.ok_or(stray.clone())?, self.lid);
        match port {
            Some(port) if port.0 != UNREACHABLE && port.0 != 0 && self.hops.len() < LINKS_MAX => {
                Ok(Some(PortRef {
                    node: at.node,
                    port,
                }))
            }
            _ => Err(stray),
        }
    }

    /// Crosses the link at a port; the port at the other end.
    fn cross(&mut self, from: PortRef, sc: Sc) -> Result<PortRef, Why> {
        let topology = &self.snapshot.topology;
        let port = topology.port(from).ok_or(Why::Astray { at: from })?;
        let info = &port.info;
        let to = port
            .peer
            .filter(|_| info.port_state == PortState::ACTIVE)
            .ok_or(Why::Inactive { at: from })?;
        let vl = self.map::<ScVlMap>(from, PortTable::ScToVlt)?.get(sc);
        let mtu = info.neighbor_mtu.get(vl);
        if vl == MANAGEMENT_LANE || mtu.bytes() == 0 {
            return Err(Why::NoLane { at: from, sc });
        }
        self.register(from, RegisterValue::ScToVlt(sc, vl));
        let rate = rates::of_link(info.link_speed_active, info.link_width_active);
        self.hops.push(Hop {
            from,
            to,
            sc,
            vl,
            mtu,
            rate_mbps: rates::mbps(rate),
        });
        Ok(to)
    }

    /// The channel behind a switch; the same where its ingress port has no map.
    fn onward(&mut self, ingress: PortRef, egress: PortRef, sc: Sc) -> Result<Sc, Why> {
        let table = self.snapshot.port_tables.table(ingress, PortTable::ScToSc);
        let map = table.and_then(|table| {
            let start = usize::from(egress.port.0.checked_sub(1)?) * ScScMap::LEN;
            ScScMap::decode(table.get(start..)?).ok()
        });
        let Some(map) = map else {
            return Ok(sc);
        };
        let onward = map.get(sc);
        self.register(ingress, RegisterValue::ScToSc(sc, egress.port, onward));
        match onward.0 == MANAGEMENT_LANE.0 {
            true => Err(Why::NoLane { at: ingress, sc }),
            false => Ok(onward),
        }
    }

    fn map<T: Layout>(&self, at: PortRef, kind: PortTable) -> Result<T, Why> {
        let table = self.snapshot.port_tables.table(at, kind);
        let map = table.and_then(|table| T::decode(table).ok());
        map.ok_or(Why::Unread { at, table: kind })
    }

    fn register(&mut self, at: PortRef, value: RegisterValue) {
        self.registers.push(Register { at, value });
    }
}
