//! Registers of a port.

use weft_wire::sm::PortInfo;

use crate::counters::PortCounters;
use crate::tables::{Table, TablePool};

/// A table that a port has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PortTable {
    /// Partition keys, a big-endian u16 each, padded to blocks of 32.
    PKeys,
    /// Service level to service channel; end ports use it.
    SlToSc,
    /// Service channel to service level; end ports use it.
    ScToSl,
    /// Service channel to receiving VL.
    ScToVlr,
    /// Service channel to sending VL.
    ScToVlt,
    /// Service channel to the VL on which the neighbour returns credits.
    ScToVlnt,
    /// VL arbitration, low priority.
    VlArbLow,
    /// VL arbitration, high priority.
    VlArbHigh,
    /// VL arbitration, preempting.
    VlArbPreempt,
    /// VL arbitration, which VL may preempt which.
    VlArbMatrix,
    /// Shares of the neighbour's buffer.
    BufferControl,
}

impl PortTable {
    /// Number of tables.
    pub const COUNT: usize = Self::BufferControl as usize + 1;
}

/// Entries of a block of partition keys.
pub const P_KEYS_PER_BLOCK: usize = 32;
/// The application's partition, full member: entry 0 of a port that was just switched on.
const P_KEY_APPLICATION: u16 = 0x8001;
const P_KEY_MGMT_LIMITED: u16 = 0x7FFF;
const P_KEY_MGMT_FULL: u16 = 0xFFFF;

/// Registers of one port.
#[derive(Debug, Clone)]
pub struct PortRegisters {
    /// Capabilities, state and settings. The state is changed by the link alone.
    pub(crate) info: PortInfo,
    /// By [`PortTable`].
    pub(crate) tables: [Table; PortTable::COUNT],
    /// None until something but VL15 traffic was counted.
    pub(crate) counters: Option<Box<PortCounters>>,
    /// Entries of its P_Key table that exist.
    pub(crate) p_key_cap: u16,
    /// Switched off by management.
    pub(crate) disabled: bool,
    /// The last packet that the switch could not forward: source, destination.
    pub(crate) relay_error: Option<(u32, u32)>,
    /// Number of times that programs were asked to register again.
    pub(crate) reregistrations: u32,
}

impl PortRegisters {
    /// Power-on state: `info` as passed, tables at their defaults.
    pub(crate) fn powered_on(info: PortInfo, p_key_cap: u16, pool: &mut TablePool) -> Self {
        let identity: [u8; 32] = std::array::from_fn(|index| index as u8);
        let lanes: [u8; 32] = std::array::from_fn(|sc| default_vl(sc as u8, info.vl_cap));
        let p_keys = default_p_keys(p_key_cap, info.mgmt_allowed || info.local_port_num.0 == 0);
        let identity = pool.intern(&identity);
        let lanes = pool.intern(&lanes);
        let arbitration = pool.intern(&[0; 256]);
        let tables = [
            pool.intern(&p_keys),
            identity.clone(),
            identity,
            lanes.clone(),
            lanes.clone(),
            lanes,
            arbitration.clone(),
            arbitration.clone(),
            arbitration.clone(),
            arbitration,
            pool.intern(&default_buffer_control(info.vl15_init)),
        ];
        Self {
            info,
            tables,
            counters: None,
            p_key_cap,
            disabled: false,
            relay_error: None,
            reregistrations: 0,
        }
    }

    /// Capabilities, state and settings.
    pub fn info(&self) -> &PortInfo {
        &self.info
    }

    /// A table, as on the wire.
    pub fn table(&self, table: PortTable) -> &[u8] {
        &self.tables[table as usize]
    }

    /// Entries of the P_Key table.
    pub fn p_key_cap(&self) -> u16 {
        self.p_key_cap
    }

    /// Whether management has switched the port off.
    pub fn is_disabled(&self) -> bool {
        self.disabled
    }

    /// Source and destination LID of the last packet received here that could not be forwarded,
    /// since it was cleared.
    pub fn relay_error(&self) -> Option<(u32, u32)> {
        self.relay_error
    }

    /// Number of times that a subnet manager has set `ClientReregister` here since power-on; wraps.
    pub fn reregistrations(&self) -> u32 {
        self.reregistrations
    }

    /// Whether a partition key is in its table.
    pub fn has_p_key(&self, key: u16) -> bool {
        let keys = self.table(PortTable::PKeys).chunks_exact(2);
        keys.take(usize::from(self.p_key_cap))
            .any(|entry| entry == key.to_be_bytes())
    }
}

/// Each data VL has the channel of its number; other channels share VL 0, management has VL15.
fn default_vl(sc: u8, data_vls: u8) -> u8 {
    if sc < data_vls || sc == 15 { sc } else { 0 }
}

fn default_p_keys(cap: u16, full: bool) -> Vec<u8> {
    let mut keys = vec![0; usize::from(cap).next_multiple_of(P_KEYS_PER_BLOCK) * 2];
    let third = if full { P_KEY_MGMT_FULL } else { 0 };
    let defaults = [P_KEY_APPLICATION, P_KEY_MGMT_LIMITED, third];
    let entries = keys.chunks_exact_mut(2).take(usize::from(cap));
    for (entry, key) in entries.zip(defaults) {
        entry.copy_from_slice(&key.to_be_bytes());
    }
    keys
}

/// VL15 has the neighbour's reserved space, the rest nothing.
fn default_buffer_control(vl15: u16) -> [u8; 132] {
    let mut table = [0; 132];
    let at = 4 + 15 * 4;
    table[at..at + 2].copy_from_slice(&vl15.to_be_bytes());
    table
}
