//! Registers of a switch.

use std::collections::BTreeMap;

use weft_fabric::{Lid, PortNum};
use weft_wire::sm::{LinearFdb, MulticastFdb, PortGroupFdb, PortGroupTable, SwitchInfo};

use crate::settings::Refused;
use crate::tables::{Table, TablePool};

/// LIDs, or bytes, of one block of a forwarding table.
pub const BLOCK: usize = 64;

/// One block of a forwarding table.
pub type Block = [u8; BLOCK];

/// Registers of one switch.
#[derive(Debug, Clone)]
pub struct SwitchRegisters {
    /// Egress port by LID, up to the highest block that was written.
    linear: Vec<u8>,
    pub(crate) info: SwitchInfo,
    port_group_fdb: Vec<u8>,
    /// Blocks that are not all zero, by slice of 64 ports and block.
    multicast: BTreeMap<(u8, u32), Block>,
    port_groups: BTreeMap<(u8, u8), Block>,
    channels: ChannelMaps,
}

/// SC to SC for each pair of ports.
#[derive(Debug, Clone)]
enum ChannelMaps {
    /// One table for all pairs.
    Uniform(Table),
    /// Row by ingress port, column by egress port, both from 1.
    Each(Vec<Table>),
}

impl SwitchRegisters {
    pub(crate) fn powered_on(info: SwitchInfo, pool: &mut TablePool) -> Self {
        let identity: [u8; 32] = std::array::from_fn(|index| index as u8);
        Self {
            linear: Vec::new(),
            info,
            port_group_fdb: Vec::new(),
            multicast: BTreeMap::new(),
            port_groups: BTreeMap::new(),
            channels: ChannelMaps::Uniform(pool.intern(&identity)),
        }
    }

    /// Capacities and settings.
    pub fn info(&self) -> &SwitchInfo {
        &self.info
    }

    /// Egress port of a LID: `None` if it is above LinearFDBTop or unreachable. 0 is the switch
    /// itself.
    #[inline]
    pub fn egress(&self, lid: Lid) -> Option<PortNum> {
        if lid.0 > self.info.linear_fdb_top {
            return None;
        }
        let port = self.linear.get(lid.0 as usize).copied();
        port.filter(|port| *port != LinearFdb::UNREACHABLE)
            .map(PortNum)
    }

    /// Egress port by LID up to the highest block that was written; beyond is unreachable.
    pub fn linear(&self) -> &[u8] {
        &self.linear
    }

    /// A block of the linear forwarding table.
    ///
    /// # Errors
    /// [`Refused`] when it lies beyond LinearFDBCap.
    pub fn linear_block(&self, block: u32) -> Result<Block, Refused> {
        within(block, self.info.linear_fdb_cap, LinearFdb::LIDS)?;
        Ok(read(&self.linear, block, LinearFdb::UNREACHABLE))
    }

    /// Writes a block of the linear forwarding table.
    ///
    /// # Errors
    /// [`Refused`] when it lies beyond LinearFDBCap.
    pub fn set_linear_block(&mut self, block: u32, content: &Block) -> Result<(), Refused> {
        within(block, self.info.linear_fdb_cap, LinearFdb::LIDS)?;
        let top = self.info.linear_fdb_top;
        write(
            &mut self.linear,
            block,
            content,
            LinearFdb::UNREACHABLE,
            top,
        );
        Ok(())
    }

    /// A block of the port group forwarding table.
    ///
    /// # Errors
    /// [`Refused`] when it lies beyond PortGroupFDBCap.
    pub fn port_group_fdb_block(&self, block: u32) -> Result<Block, Refused> {
        within(block, self.info.port_group_fdb_cap, PortGroupFdb::LIDS)?;
        Ok(read(&self.port_group_fdb, block, PortGroupFdb::NONE))
    }

    /// Writes a block of the port group forwarding table.
    ///
    /// # Errors
    /// [`Refused`] when it lies beyond PortGroupFDBCap.
    pub fn set_port_group_fdb_block(&mut self, block: u32, content: &Block) -> Result<(), Refused> {
        within(block, self.info.port_group_fdb_cap, PortGroupFdb::LIDS)?;
        let top = self.info.linear_fdb_top;
        write(
            &mut self.port_group_fdb,
            block,
            content,
            PortGroupFdb::NONE,
            top,
        );
        Ok(())
    }

    /// A block of the multicast forwarding table: ports 64 × `position` and up.
    ///
    /// # Errors
    /// [`Refused`] when it lies beyond MulticastFDBCap.
    pub fn multicast_block(&self, position: u8, block: u32) -> Result<Block, Refused> {
        within(block, self.info.multicast_fdb_cap, MulticastFdb::LIDS)?;
        Ok(sparse(&self.multicast, (position, block)))
    }

    /// Writes a block of the multicast forwarding table.
    ///
    /// # Errors
    /// [`Refused`] when it lies beyond MulticastFDBCap.
    pub fn set_multicast_block(
        &mut self,
        position: u8,
        block: u32,
        content: &Block,
    ) -> Result<(), Refused> {
        within(block, self.info.multicast_fdb_cap, MulticastFdb::LIDS)?;
        set_sparse(&mut self.multicast, (position, block), content);
        Ok(())
    }

    /// A block of the port group table: ports 64 × `position` + 1 and up.
    ///
    /// # Errors
    /// [`Refused`] when it lies beyond PortGroupCap.
    pub fn port_group_block(&self, position: u8, block: u8) -> Result<Block, Refused> {
        self.port_group_within(block)?;
        Ok(sparse(&self.port_groups, (position, block)))
    }

    /// Writes a block of the port group table.
    ///
    /// # Errors
    /// [`Refused`] when it lies beyond PortGroupCap.
    pub fn set_port_group_block(
        &mut self,
        position: u8,
        block: u8,
        content: &Block,
    ) -> Result<(), Refused> {
        self.port_group_within(block)?;
        set_sparse(&mut self.port_groups, (position, block), content);
        Ok(())
    }

    fn port_group_within(&self, block: u8) -> Result<(), Refused> {
        let cap = u32::from(self.info.port_group_cap);
        within(u32::from(block), cap, PortGroupTable::GROUPS)
    }

    /// The SC to SC map from one external port to another; ports count from 1.
    pub fn channel_map(&self, ingress: PortNum, egress: PortNum, ports: u8) -> &[u8] {
        match &self.channels {
            ChannelMaps::Uniform(map) => map,
            ChannelMaps::Each(maps) => pair(ingress, egress, ports)
                .and_then(|place| maps.get(place))
                .map_or(&[], |map| map),
        }
    }

    /// The SC to SC map of all pairs of ports, where they have the same.
    pub fn uniform_channel_map(&self) -> Option<&[u8]> {
        match &self.channels {
            ChannelMaps::Uniform(map) => Some(map),
            ChannelMaps::Each(_) => None,
        }
    }

    /// Writes the SC to SC map of every pair of external ports that `pairs` holds for.
    pub(crate) fn set_channel_map(
        &mut self,
        ports: u8,
        map: Table,
        pairs: impl Fn(PortNum, PortNum) -> bool,
    ) {
        let numbers = || (1..=ports).map(PortNum);
        let mut maps = match &self.channels {
            ChannelMaps::Uniform(all) if *all == map => return,
            ChannelMaps::Uniform(all) => vec![all.clone(); usize::from(ports).pow(2)],
            ChannelMaps::Each(maps) => maps.clone(),
        };
        let mut all = true;
        for (slot, (ingress, egress)) in maps
            .iter_mut()
            .zip(numbers().flat_map(|ingress| numbers().map(move |egress| (ingress, egress))))
        {
            if pairs(ingress, egress) {
                *slot = map.clone();
            }
            all &= *slot == map;
        }
        self.channels = if all {
            ChannelMaps::Uniform(map)
        } else {
            ChannelMaps::Each(maps)
        };
    }

    /// Writes the settings of SwitchInfo; capacities stay, zero in RoutingMode is no change, a one
    /// in PortStateChange clears it.
    ///
    /// # Errors
    /// [`Refused`] when a top lies beyond its capacity or the routing mode is not supported.
    pub fn set_info(&mut self, new: &SwitchInfo) -> Result<(), Refused> {
        let info = &mut self.info;
        let routing = new.routing_mode_enabled;
        if top_beyond(new.linear_fdb_top, info.linear_fdb_cap)
            || top_beyond(
                multicast_rows(new.multicast_fdb_top),
                info.multicast_fdb_cap,
            )
            || new.port_group_top > info.port_group_cap
            || routing & !info.routing_mode_supported != 0
        {
            return Err(Refused);
        }
        info.linear_fdb_top = new.linear_fdb_top;
        info.multicast_fdb_top = new.multicast_fdb_top;
        info.port_group_top = new.port_group_top;
        info.life_time_value = new.life_time_value;
        info.port_state_change &= !new.port_state_change;
        if routing != 0 {
            info.routing_mode_enabled = routing;
        }
        if info.is_addr_range_config_supported {
            info.collective_mask = new.collective_mask;
            info.multicast_mask = new.multicast_mask;
        }
        if info.is_adaptive_routing_supported {
            set_adaptive_routing(info, new);
        }
        Ok(())
    }
}

fn set_adaptive_routing(info: &mut SwitchInfo, new: &SwitchInfo) {
    info.ar_enable = new.ar_enable;
    info.ar_pause = new.ar_pause;
    info.ar_algorithm = new.ar_algorithm;
    info.ar_frequency = new.ar_frequency;
    info.ar_lost_routes_only = new.ar_lost_routes_only;
    info.ar_threshold = new.ar_threshold;
}

/// A top is the highest entry in use; 0 also stands for none.
fn top_beyond(top: u32, cap: u32) -> bool {
    top != 0 && top >= cap
}

/// MulticastFDBTop is a multicast LID; the number of the row is what counts.
pub(crate) fn multicast_rows(top: u32) -> u32 {
    match top {
        0xF000_0000.. => top & 0x0FFF_FFFF,
        0xC000..=0xFFFF => top - 0xC000,
        other => other,
    }
}

fn within(block: u32, cap: u32, per_block: u32) -> Result<(), Refused> {
    let start = u64::from(block) * u64::from(per_block);
    if start < u64::from(cap) {
        Ok(())
    } else {
        Err(Refused)
    }
}

fn read(table: &[u8], block: u32, empty: u8) -> Block {
    let mut out = [empty; BLOCK];
    let rest = table.get(block as usize * BLOCK..).unwrap_or_default();
    for (to, from) in out.iter_mut().zip(rest) {
        *to = *from;
    }
    out
}

/// Writes a block and makes the table longer for it. LinearFDBTop, where it has been set, tells the
/// length to come, so that a table that is written block by block is not moved again and again.
fn write(table: &mut Vec<u8>, block: u32, content: &Block, empty: u8, top: u32) {
    let start = block as usize * BLOCK;
    if table.len() < start + BLOCK {
        if content.iter().all(|entry| *entry == empty) {
            return;
        }
        let len = (start + BLOCK).max((top as usize + 1).next_multiple_of(BLOCK));
        table.reserve_exact(len - table.len());
        table.resize(start + BLOCK, empty);
    }
    if let Some(to) = table.get_mut(start..start + BLOCK) {
        to.copy_from_slice(content);
    }
}

fn sparse<K: Ord>(table: &BTreeMap<K, Block>, key: K) -> Block {
    table.get(&key).copied().unwrap_or([0; BLOCK])
}

fn set_sparse<K: Ord>(table: &mut BTreeMap<K, Block>, key: K, content: &Block) {
    if content == &[0; BLOCK] {
        table.remove(&key);
    } else {
        table.insert(key, *content);
    }
}

fn pair(ingress: PortNum, egress: PortNum, ports: u8) -> Option<usize> {
    let known = |port: PortNum| port.0 >= 1 && port.0 <= ports;
    (known(ingress) && known(egress))
        .then(|| usize::from(ingress.0 - 1) * usize::from(ports) + usize::from(egress.0 - 1))
}
