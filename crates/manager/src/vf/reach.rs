//! Whether a port may reach another: by which virtual fabric and keys, and along which registers.
//!
//! A packet passes where both ends are members of one virtual fabric, at least one of them a full one; where both
//! P_Key tables hold the key, and those of switch ports that check it; and where each link on the path has a
//! lane for its service level.

use weft_fabric::enums::Mtu;
use weft_fabric::{Lid, PortNum, PortRef, PortTable, Sc, Sl, Snapshot};
use weft_wire::Layout;
use weft_wire::id::PKey;
use weft_wire::sm::PartitionTable;

use super::way::{Hop, Register, RegisterValue, Walk};
use super::{Fabrics, end_ports};
use crate::settings::VirtualFabric;

const FULL: u16 = 0x8000;

/// A key in the P_Key table of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldKey {
    /// With the port's own bit of membership.
    pub key: PKey,
    /// Its index in the table.
    pub index: usize,
}

/// A virtual fabric in which a port reaches another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The virtual fabric's index.
    pub fabric: usize,
    /// The keys of both ends.
    pub keys: [HeldKey; 2],
    /// The service level to the other port's base LID.
    pub sl: Sl,
    /// Largest packet on the path, in bytes.
    pub mtu: u32,
    /// The lowest rate on the path, in Mb/s; 0 to the port itself.
    pub rate_mbps: u32,
    /// The links; none to the port itself.
    pub hops: Vec<Hop>,
    /// The registers by which packets pass.
    pub registers: Vec<Register>,
}

/// The service level of packets to a LID, and their way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelTo {
    /// The virtual fabric's index.
    pub fabric: usize,
    /// The level.
    pub sl: Sl,
    /// The links that they pass.
    pub hops: Vec<Hop>,
    /// Why they stop after these; none where they arrive.
    pub stopped: Option<Why>,
}

/// A virtual fabric in which a port does not reach another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The virtual fabric's index.
    pub fabric: usize,
    /// Why not.
    pub why: Why,
}

/// Why a port does not reach another in a virtual fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The virtual fabric is on standby.
    Standby,
    /// This port is no member.
    NoMember(PortRef),
    /// Neither is a full member.
    BothLimited,
    /// A table of this port is not confirmed.
    Unread {
        /// The port.
        at: PortRef,
        /// The table.
        table: PortTable,
    },
    /// The P_Key table of this port has no key of the partition.
    NoKey {
        /// The port.
        at: PortRef,
        /// The partition.
        partition: PKey,
    },
    /// Both P_Key tables have the key of a limited member only.
    LimitedKeys(PKey),
    /// This port of a switch checks keys and does not let this one pass.
    Checked {
        /// The port.
        at: PortRef,
        /// The key.
        key: PKey,
    },
    /// This end port leads the service level to no channel for data.
    NoChannel {
        /// The port.
        at: PortRef,
        /// The level.
        sl: Sl,
    },
    /// This port has no lane for data, or one without a buffer, for the channel.
    NoLane {
        /// The port.
        at: PortRef,
        /// The channel.
        sc: Sc,
    },
    /// This port's link is not active.
    Inactive {
        /// The port.
        at: PortRef,
    },
    /// The forwarding table of this port's switch does not lead to the other port.
    Astray {
        /// The port.
        at: PortRef,
    },
}

/// Whether a port may reach another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// By each virtual fabric in which it does.
    pub routes: Vec<Route>,
    /// The others in which at least one of both ports is a member.
    pub refused: Vec<Refused>,
    /// Keys with which both P_Key tables let packets pass although no virtual fabric joins the ports, as the
    /// first port has them.
    pub stray_keys: Vec<PKey>,
}

impl Fabrics<'_> {
    /// Whether `source` may reach `target`; both are end ports.
    pub fn reach(&self, source: PortRef, target: PortRef) -> Reach {
        let mut reach = Reach {
            routes: Vec::new(),
            refused: Vec::new(),
            stray_keys: Vec::new(),
        };
        for (index, fabric) in self.settings.fabrics.iter().enumerate() {
            match self.route(index, fabric, source, target) {
                Ok(route) => reach.routes.push(route),
                Err(why) => reach.refused.push(Refused { fabric: index, why }),
            }
        }
        let concerns = |refused: &Refused| {
            let fabric = self.settings.fabrics.get(refused.fabric);
            let is_member = |at| fabric.and_then(|fabric| self.membership(fabric, at));
            is_member(source).is_some() || is_member(target).is_some()
        };
        let joined = |refused: &Refused| {
            !matches!(
                refused.why,
                Why::NoMember(_) | Why::BothLimited | Why::Standby
            )
        };
        let any_joins = !reach.routes.is_empty() || reach.refused.iter().any(joined);
        reach.refused.retain(concerns);
        if !any_joins {
            reach.stray_keys = self.shared_keys(source, target);
        }
        reach
    }

    fn route(
        &self,
        index: usize,
        fabric: &VirtualFabric,
        source: PortRef,
        target: PortRef,
    ) -> Result<Route, Why> {
        self.join(index, fabric, source, target)?;
        let partition = PKey(fabric.pkey.0 & !FULL);
        let keys = [
            held(self.snapshot, source, partition)?,
            held(self.snapshot, target, partition)?,
        ];
        if source != target && (keys[0].key.0 | keys[1].key.0) & FULL == 0 {
            return Err(Why::LimitedKeys(partition));
        }
        let port = self.snapshot.topology.port(target);
        let lid = port.map(|port| port.info.lid).unwrap_or_default();
        let sl = self.level_to(fabric, lid);
        let mut walk = Walk::new(self.snapshot, target, lid);
        if source != target {
            walk.go(source, sl)?;
        }
        let ends = [(source, keys[0]), (target, keys[1])];
        let mut registers = ends.map(|(at, held)| key_register(at, held)).to_vec();
        registers.extend(self.checked(&walk.hops, keys[0].key)?);
        registers.append(&mut walk.registers);
        let mtu = walk.hops.iter().map(|hop| hop.mtu).min();
        let mtu = mtu.into_iter().chain(fabric.max_mtu).min();
        let cap = fabric.max_rate.map(crate::rates::mbps);
        let rate = walk.hops.iter().map(|hop| hop.rate_mbps).chain(cap).min();
        Ok(Route {
            fabric: index,
            keys,
            sl,
            mtu: mtu.map_or(0, Mtu::bytes),
            rate_mbps: rate.unwrap_or(0),
            hops: walk.hops,
            registers,
        })
    }

    /// The service level of packets of a virtual fabric to a LID.
    fn level_to(&self, fabric: &VirtualFabric, lid: Lid) -> Sl {
        let lane = self.snapshot.linear.lanes().of(lid);
        self.settings.lane_levels().in_lane(fabric.sl, lane)
    }

    /// The service levels of packets from one port to a LID of another, with the way that they take: one for each virtual
    /// fabric that both are in.
    pub fn levels_to(&self, source: PortRef, target: PortRef, lid: Lid) -> Vec<LevelTo> {
        let fabrics = self.settings.fabrics.iter().enumerate();
        let joined = fabrics.filter(|(index, fabric)| {
            source != target && self.join(*index, fabric, source, target).is_ok()
        });
        joined
            .map(|(index, fabric)| {
                let sl = self.level_to(fabric, lid);
                let mut walk = Walk::new(self.snapshot, target, lid);
                let stopped = walk.go(source, sl).err();
                LevelTo {
                    fabric: index,
                    sl,
                    hops: walk.hops,
                    stopped,
                }
            })
            .collect()
    }

    /// Whether both ports are in a virtual fabric, one of them as a full member. Without `EnforceVFPathRecord` the
    /// other may be in any with the same partition and service levels.
    fn join(
        &self,
        index: usize,
        fabric: &VirtualFabric,
        source: PortRef,
        target: PortRef,
    ) -> Result<(), Why> {
        if fabric.standby {
            return Err(Why::Standby);
        }
        let own = |at| self.membership(fabric, at);
        let (a, b) = match self.settings.paths.enforce_fabric {
            true => (own(source), own(target)),
            false => {
                let either = |at| own(at).or_else(|| self.alike(index, at));
                match own(source).or(own(target)) {
                    Some(_) => (either(source), either(target)),
                    None => (None, None),
                }
            }
        };
        let a = a.ok_or(Why::NoMember(source))?;
        let b = b.ok_or(Why::NoMember(target))?;
        match a || b || source == target {
            true => Ok(()),
            false => Err(Why::BothLimited),
        }
    }

    /// Membership of a port in another virtual fabric with the same partition and service levels.
    fn alike(&self, index: usize, at: PortRef) -> Option<bool> {
        let fabrics = &self.settings.fabrics;
        let this = fabrics.get(index)?;
        let alike = fabrics.iter().filter(|other| {
            other.pkey.0 & !FULL == this.pkey.0 & !FULL && other.qos_index == this.qos_index
        });
        alike.filter_map(|other| self.membership(other, at)).max()
    }

    /// The keys of switch ports on a path that check them.
    fn checked(&self, hops: &[Hop], key: PKey) -> Result<Vec<Register>, Why> {
        let mut registers = Vec::new();
        for (at, inbound) in hops
            .iter()
            .flat_map(|hop| [(hop.from, false), (hop.to, true)])
        {
            let topology = &self.snapshot.topology;
            let is_switch = topology.switch_index(at.node).is_some() && at.port != PortNum(0);
            let Some(port) = topology.port(at).filter(|_| is_switch) else {
                continue;
            };
            let checks = match inbound {
                true => port.info.partition_enforcement_inbound,
                false => port.info.partition_enforcement_outbound,
            };
            if !checks {
                continue;
            }
            let held = held(self.snapshot, at, PKey(key.0 & !FULL))?;
            let passes = match inbound {
                true => key.0 & FULL == 0 || held.key.0 & FULL != 0,
                false => (key.0 | held.key.0) & FULL != 0,
            };
            if !passes {
                return Err(Why::Checked { at, key });
            }
            registers.push(key_register(at, held));
        }
        Ok(registers)
    }

    /// The data keys that both P_Key tables have, at least one of them that of a full member.
    fn shared_keys(&self, source: PortRef, target: PortRef) -> Vec<PKey> {
        let theirs = keys(self.snapshot, target);
        let shares = |own: &PKey| {
            theirs
                .iter()
                .any(|other| own.0 & !FULL == other.0 & !FULL && (own.0 | other.0) & FULL != 0)
        };
        let own = keys(self.snapshot, source).into_iter();
        own.filter(shares).collect()
    }

    /// Whether a port can be a member of a virtual fabric.
    pub fn is_end_port(&self, at: PortRef) -> bool {
        end_ports(&self.snapshot.topology).any(|(end, _)| end == at)
    }
}

fn key_register(at: PortRef, HeldKey { key, index }: HeldKey) -> Register {
    Register {
        at,
        value: RegisterValue::PKey { index, key },
    }
}

/// The keys of a port's confirmed P_Key table that are not 0.
fn keys(snapshot: &Snapshot, at: PortRef) -> Vec<PKey> {
    let table = snapshot.port_tables.table(at, PortTable::PKeys);
    let table = table.and_then(|table| PartitionTable::decode(table).ok());
    let keys = table
        .into_iter()
        .flat_map(|table| table.partition_table_block);
    keys.filter(|key| key.0 & !FULL != 0).collect()
}

/// The key of a partition in a port's table: that of a full member if it has both.
fn held(snapshot: &Snapshot, at: PortRef, partition: PKey) -> Result<HeldKey, Why> {
    let table = snapshot.port_tables.table(at, PortTable::PKeys);
    let table = table.and_then(|table| PartitionTable::decode(table).ok());
    let table = table.ok_or(Why::Unread {
        at,
        table: PortTable::PKeys,
    })?;
    let keys = table.partition_table_block.into_iter().enumerate();
    let own = keys.filter(|(_, key)| key.0 & !FULL == partition.0);
    let best = own.max_by_key(|(index, key)| (key.0, std::cmp::Reverse(*index)));
    best.map(|(index, key)| HeldKey { key, index })
        .ok_or(Why::NoKey { at, partition })
}
