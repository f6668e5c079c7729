//! Forwarding tables of all switches: shared row by row, so that a new generation that changes a
//! few switches costs only those.

use std::ops::{BitAnd, BitOr};
use std::sync::Arc;

use crate::lanes::Lanes;
use crate::topology::SwitchIndex;
use weft_state::State;
use weft_wire::id::{Lid, PortNum};

/// The entry of a linear table that drops the packet.
pub const UNREACHABLE: u8 = 0xFF;

/// LIDs in one block of a linear table on the wire.
pub const LFT_BLOCK: usize = 64;

/// The linear forwarding tables: for each switch, the egress port of each unicast LID.
#[derive(Debug, Clone, Default, PartialEq, Eq, State)]
pub struct LinearTables {
    rows: Vec<Arc<[u8]>>,
    lanes: Arc<Lanes>,
}

impl LinearTables {
    /// One row for each switch, in order of [`SwitchIndex`]; entry n is the egress port for LID n.
    pub fn new(rows: Vec<Arc<[u8]>>) -> Self {
        Self {
            rows,
            lanes: Arc::default(),
        }
    }

    /// Returns the tables with an assignment of destinations to lanes.
    pub fn with_lanes(self, lanes: Arc<Lanes>) -> Self {
        Self { lanes, ..self }
    }

    /// The lane of each LID; no switch holds it, the path records of the LID do.
    pub fn lanes(&self) -> &Arc<Lanes> {
        &self.lanes
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
    pub fn row(&self, switch: SwitchIndex) -> &[u8] {
        self.rows.get(switch.0 as usize).map_or(&[], |row| row)
    }

    /// A switch's table, shared.
    pub fn row_shared(&self, switch: SwitchIndex) -> Option<&Arc<[u8]>> {
        self.rows.get(switch.0 as usize)
    }

    /// The egress port of a LID on a switch, none when it is dropped there.
    pub fn egress(&self, switch: SwitchIndex, lid: Lid) -> Option<PortNum> {
        let entry = self.row(switch).get(lid.0 as usize).copied();
        entry.filter(|port| *port != UNREACHABLE).map(PortNum)
    }

    /// A switch's block of [`LFT_BLOCK`] entries, [`UNREACHABLE`] beyond the end of its row.
    pub fn block(&self, switch: SwitchIndex, block: usize) -> [u8; LFT_BLOCK] {
        block_of(self.row(switch), block)
    }
}

/// A set of ports of one switch, any of 0 to 255.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, State)]
pub struct PortMask([u64; 4]);

impl PortMask {
    /// No port.
    pub const EMPTY: Self = Self([0; 4]);

    /// Adds a port.
    pub fn insert(&mut self, port: PortNum) {
        self.0[usize::from(port.0 >> 6)] |= 1 << (port.0 & 63);
    }

    /// Takes a port out.
    pub fn remove(&mut self, port: PortNum) {
        self.0[usize::from(port.0 >> 6)] &= !(1 << (port.0 & 63));
    }

    /// Whether a port is in it.
    pub fn contains(&self, port: PortNum) -> bool {
        self.0[usize::from(port.0 >> 6)] >> (port.0 & 63) & 1 == 1
    }

    /// Number of ports.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    /// The ports in order.
    pub fn iter(&self) -> impl Iterator<Item = PortNum> + '_ {
        self.0.iter().enumerate().flat_map(|(word, bits)| {
            let rest = std::iter::successors(Some(*bits), |bits| Some(bits & bits.wrapping_sub(1)));
            rest.take_while(|bits| *bits != 0)
                .map(move |bits| PortNum((word * 64) as u8 + bits.trailing_zeros() as u8))
        })
    }

    /// The ports as `1-3,7`.
    pub fn ranges(&self) -> String {
        let mut runs: Vec<(u8, u8)> = Vec::new();
        for port in self.iter() {
            match runs.last_mut() {
                Some((_, last)) if port.0 == *last + 1 => *last = port.0,
                _ => runs.push((port.0, port.0)),
            }
        }
        let runs = runs.into_iter().map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        });
        runs.collect::<Vec<_>>().join(",")
    }

    /// Ports 64·n to 64·n + 63 as bits from the lowest, n = 0 to 3.
    pub fn word(&self, n: usize) -> u64 {
        self.0.get(n).copied().unwrap_or(0)
    }

    /// Replaces ports 64·n to 64·n + 63; nothing happens for n above 3.
    pub fn set_word(&mut self, n: usize, bits: u64) {
        if let Some(word) = self.0.get_mut(n) {
            *word = bits;
        }
    }
}

impl BitOr for PortMask {
    type Output = Self;

    /// The ports of either.
    fn bitor(self, other: Self) -> Self {
        Self(std::array::from_fn(|n| self.0[n] | other.0[n]))
    }
}

impl BitAnd for PortMask {
    type Output = Self;

    /// The ports of both.
    fn bitand(self, other: Self) -> Self {
        Self(std::array::from_fn(|n| self.0[n] & other.0[n]))
    }
}

impl FromIterator<PortNum> for PortMask {
    fn from_iter<I: IntoIterator<Item = PortNum>>(ports: I) -> Self {
        let mut mask = Self::EMPTY;
        ports.into_iter().for_each(|port| mask.insert(port));
        mask
    }
}

/// The adaptive-routing groups of one switch.
#[derive(Debug, Clone, Default, PartialEq, Eq, State)]
pub struct SwitchPortGroups {
    /// The PortGroup table: ports of each group.
    pub groups: Vec<PortMask>,
    /// The PortGroupFDB: the group of each LID, [`UNREACHABLE`] for none.
    pub fdb: Vec<u8>,
}

/// The adaptive-routing groups of all switches, in order of [`SwitchIndex`]; empty where adaptive
/// routing is off.
#[derive(Debug, Clone, Default, PartialEq, Eq, State)]
pub struct PortGroupTables {
    /// One entry a switch.
    pub switches: Vec<Arc<SwitchPortGroups>>,
}

impl SwitchPortGroups {
    /// Groups in a block of the PortGroup table.
    pub const PER_BLOCK: usize = 8;

    /// A block of the PortGroup table, as on the wire: for each of its groups ports 64 × `position` + 1 and up, bit 0
    /// for the first of them.
    pub fn block(&self, position: usize, block: usize) -> [u8; LFT_BLOCK] {
        let mut bytes = [0; LFT_BLOCK];
        let first = block * Self::PER_BLOCK;
        let masks = self.groups.iter().skip(first).take(Self::PER_BLOCK);
        for (to, mask) in bytes.chunks_exact_mut(8).zip(masks) {
            // Port 0 is in no group: the mask on the wire is shifted by one port.
            let word = mask.word(position) >> 1 | mask.word(position + 1) << 63;
            to.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }
}

/// The entries of a block of a table with a byte for each LID; beyond its end they are [`UNREACHABLE`].
pub fn block_of(row: &[u8], block: usize) -> [u8; LFT_BLOCK] {
    let mut entries = [UNREACHABLE; LFT_BLOCK];
    let start = (block * LFT_BLOCK).min(row.len());
    let end = (start + LFT_BLOCK).min(row.len());
    entries[..end - start].copy_from_slice(&row[start..end]);
    entries
}

impl PortGroupTables {
    /// The ports that a switch may choose among for a LID, none when it has only its linear entry.
    pub fn group(&self, switch: SwitchIndex, lid: Lid) -> Option<&PortMask> {
        let tables = self.switches.get(switch.0 as usize)?;
        let group = *tables.fdb.get(lid.0 as usize)?;
        tables
            .groups
            .get(usize::from(group))
            .filter(|_| group != UNREACHABLE)
    }
}
