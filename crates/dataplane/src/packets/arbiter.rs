//! VL arbitration: which lane of a port sends next.

use weft_wire::Layout;
use weft_wire::sm::{VlArbElement, VlArbTable};

use crate::constants::{
    ARBITRATION_HIGH_UNIT as HIGH_UNIT, ARBITRATION_HIGH_UNLIMITED as HIGH_UNLIMITED,
    ARBITRATION_WEIGHT_UNIT as WEIGHT_UNIT,
};

/// One of the tables and how far its turns are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Section {
    /// Lane and bytes of each turn.
    turns: Vec<(u8, i32)>,
    /// Lanes that have a turn.
    lanes: u32,
    at: usize,
    left: i32,
}

impl Section {
    fn new(table: &[u8], cap: u8) -> Self {
        let table = VlArbTable::decode(table).unwrap_or_default();
        let turns: Vec<(u8, i32)> = table.elements[..usize::from(cap).min(128)]
            .iter()
            .filter(|element| element.weight > 0)
            .map(|element: &VlArbElement| (element.vl.0, i32::from(element.weight) * WEIGHT_UNIT))
            .collect();
        Self {
            lanes: turns.iter().fold(0, |lanes, (vl, _)| lanes | 1 << vl),
            left: turns.first().map_or(0, |(_, bytes)| *bytes),
            turns,
            at: 0,
        }
    }

    /// The lane whose turn it is, of those that `can` send.
    fn choose(&mut self, can: u32) -> Option<u8> {
        if can & self.lanes == 0 {
            return None;
        }
        loop {
            let (lane, _) = self.turns[self.at];
            if self.left > 0 && can & 1 << lane != 0 {
                return Some(lane);
            }
            self.at = (self.at + 1) % self.turns.len();
            self.left = self.turns[self.at].1;
        }
    }
}

/// The arbiter of one port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Arbiter {
    high: Section,
    low: Section,
    /// Bytes of high priority that may go before low priority has a turn.
    limit: i32,
    left: i32,
    /// The lane that was last chosen where no table names one.
    last: u8,
}

impl Arbiter {
    pub(super) fn new(high: &[u8], low: &[u8], caps: (u8, u8), limit: u16) -> Self {
        let limit = match limit {
            HIGH_UNLIMITED.. => i32::MAX,
            limit => i32::from(limit) * HIGH_UNIT,
        };
        Self {
            high: Section::new(high, caps.0),
            low: Section::new(low, caps.1),
            limit,
            left: limit,
            last: 0,
        }
    }

    /// Whether it was made from the same tables.
    pub(super) fn is_same_table(&self, other: &Self) -> bool {
        self.limit == other.limit
            && self.high.turns == other.high.turns
            && self.low.turns == other.low.turns
    }

    /// Chooses one of the lanes that `can` send; there is at least one.
    pub(super) fn choose(&mut self, can: u32) -> u8 {
        let low_waits = can & self.low.lanes != 0;
        if (self.left >= 0 || !low_waits)
            && let Some(lane) = self.high.choose(can)
        {
            return lane;
        }
        self.low.choose(can).unwrap_or_else(|| self.unnamed(can))
    }

    /// Lanes that no table names take turns when no other can send.
    fn unnamed(&mut self, can: u32) -> u8 {
        let above = u32::MAX.checked_shl(u32::from(self.last) + 1).unwrap_or(0);
        let after = can & above;
        let pick = if after != 0 { after } else { can };
        self.last = pick.trailing_zeros() as u8;
        self.last
    }

    /// Accounts for a packet of `bytes` sent on `lane`.
    #[inline]
    pub(super) fn sent(&mut self, lane: u8, bytes: u32) {
        let bytes = bytes as i32;
        if self.is_high_turn(lane) {
            self.high.left = self.high.left.saturating_sub(bytes);
            if self.limit != i32::MAX {
                // Low priority has its turn after the limit, or after one packet when that is 0.
                self.left = self.left.saturating_sub(bytes);
            }
        } else {
            self.low.left = self.low.left.saturating_sub(bytes);
            self.left = self.limit;
        }
    }

    /// Whether it is by the high table that a lane sends. One that is in both does so until the limit
    /// is reached; then its packet may be low priority's one.
    #[inline]
    fn is_high_turn(&self, lane: u8) -> bool {
        let is_in = |section: &Section| section.lanes & 1 << lane != 0;
        is_in(&self.high) && (self.left >= 0 || !is_in(&self.low))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_fabric::Vl;

    fn table(turns: &[(u8, u8)]) -> [u8; 256] {
        let mut table = VlArbTable::default();
        for (element, (vl, weight)) in table.elements.iter_mut().zip(turns) {
            *element = VlArbElement {
                vl: Vl(*vl),
                weight: *weight,
            };
        }
        let mut bytes = [0; 256];
        table.encode(&mut bytes);
        bytes
    }

    /// Bytes that each lane gets of many packets of 64 bytes while all of `can` send.
    fn shares(mut arbiter: Arbiter, can: u32) -> [u32; 4] {
        let mut sent = [0; 4];
        for _ in 0..12_000 {
            let lane = arbiter.choose(can);
            arbiter.sent(lane, 64);
            sent[usize::from(lane)] += 1;
        }
        sent
    }

    #[test]
    fn lanes_share_the_link_as_their_weights_say() {
        let low = table(&[(0, 1), (1, 2), (2, 3)]);
        let none = table(&[]);
        let arbiter = |high: &[u8; 256], limit| Arbiter::new(high, &low, (16, 16), limit);
        assert_eq!(shares(arbiter(&none, 0), 0b111), [2_000, 4_000, 6_000, 0]);
        assert_eq!(shares(arbiter(&none, 0), 0b101), [3_000, 0, 9_000, 0]);
        // Without a limit, high priority takes all; with 1, 4,096 bytes and one more packet for
        // each of low priority; with 0, every other packet.
        let high = table(&[(3, 4)]);
        assert_eq!(shares(arbiter(&high, 255), 0b1111), [0, 0, 0, 12_000]);
        assert_eq!(shares(arbiter(&high, 255), 0b0011)[3], 0);
        let limited = shares(arbiter(&high, 1), 0b1111);
        assert_eq!(limited[3], 12_000 - 12_000 / 66);
        let even = shares(arbiter(&high, 0), 0b1111);
        assert_eq!(even[3], 6_000);
    }

    /// A lane in both tables: its low turns count as low priority's one packet.
    #[test]
    fn a_lane_in_both_tables_leaves_the_others_their_low_turns() {
        let (high, low) = (table(&[(3, 4)]), table(&[(0, 1), (3, 1)]));
        let both = |limit| shares(Arbiter::new(&high, &low, (16, 16), limit), 0b1001);
        assert_eq!(both(0), [3_000, 0, 0, 9_000]);
        // 65 packets of high priority, then one of each lane of low priority in turn.
        assert_eq!(both(1)[0], 12_000_u32.div_ceil(2 * 66));
        assert_eq!(both(255)[0], 0);
    }

    /// A lane that waits alone is never chosen, it just sends: its turn must not run away.
    #[test]
    fn a_lane_that_sent_alone_for_long_loses_one_turn_and_no_more() {
        let low = table(&[(0, 1), (1, 1)]);
        let mut arbiter = Arbiter::new(&table(&[]), &low, (16, 16), 0);
        for _ in 0..i32::MAX as u32 / 10_000 + 2 {
            arbiter.sent(0, 10_000);
        }
        assert_eq!(shares(arbiter, 0b11), [6_000, 6_000, 0, 0]);
    }

    #[test]
    fn lanes_without_a_table_take_turns() {
        let none = table(&[]);
        let arbiter = Arbiter::new(&none, &none, (16, 16), 0);
        assert_eq!(shares(arbiter, 0b1011), [4_000, 4_000, 0, 4_000]);
    }
}
