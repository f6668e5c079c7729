//! Multicast forwarding tables of all switches, shared row by row.

use std::sync::Arc;

use weft_state::State;
use weft_wire::id::Lid;

use crate::tables::PortMask;
use crate::topology::SwitchIndex;

/// The first multicast LID; entry 0 of a table is for it.
pub const FIRST_MLID: u32 = 0xF000_0000;
/// Multicast LIDs that there are: 0xF0000000 to 0xF0003FFE.
pub const MLIDS: u32 = 0x3FFF;

/// The multicast forwarding tables: for each switch, the ports to which it sends what comes for a
/// multicast LID.
#[derive(Debug, Clone, Default, PartialEq, Eq, State)]
pub struct MulticastTables {
    rows: Vec<Arc<[PortMask]>>,
}

impl MulticastTables {
    /// One row for each switch, in order of [`SwitchIndex`]; entry n is for LID [`FIRST_MLID`] + n,
    /// and beyond a row's end all is dropped.
    pub fn new(rows: Vec<Arc<[PortMask]>>) -> Self {
        Self { rows }
    }

    /// Number of switches.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no switch.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A switch's table; empty when it has none.
    pub fn row(&self, switch: SwitchIndex) -> &[PortMask] {
        self.rows.get(switch.0 as usize).map_or(&[], |row| row)
    }

    /// A switch's table, shared.
    pub fn row_shared(&self, switch: SwitchIndex) -> Option<&Arc<[PortMask]>> {
        self.rows.get(switch.0 as usize)
    }

    /// Entries of the longest row.
    pub fn entries(&self) -> usize {
        self.rows.iter().map(|row| row.len()).max().unwrap_or(0)
    }

    /// The egress ports of a multicast LID at a switch.
    pub fn ports(&self, switch: SwitchIndex, mlid: Lid) -> PortMask {
        let entry = mlid.0.checked_sub(FIRST_MLID).map(|entry| entry as usize);
        let entry = entry.and_then(|entry| self.row(switch).get(entry));
        entry.copied().unwrap_or_default()
    }
}
