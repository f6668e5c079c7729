//! Performance counters of ports and their virtual lanes.

use weft_fabric::Vl;
pub use weft_wire::pm::{Counter, VlCounter};

/// The lane that carries subnet management.
pub const VL15: Vl = Vl(15);

/// Sent and received on one lane: the four counters that every packet moves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// In the order of [`VlCounter`]: flits sent and received, packets sent and received.
    values: [u64; 4],
}

impl Traffic {
    /// Counts a packet of `flits` that was sent.
    #[inline]
    pub fn sent(&mut self, flits: u64) {
        self.values[0] = self.values[0].wrapping_add(flits);
        self.values[2] = self.values[2].wrapping_add(1);
    }

    /// Counts a packet of `flits` that was received.
    #[inline]
    pub fn received(&mut self, flits: u64) {
        self.values[1] = self.values[1].wrapping_add(flits);
        self.values[3] = self.values[3].wrapping_add(1);
    }

    /// A counter's value, 0 for one that is not kept here.
    pub fn get(&self, counter: VlCounter) -> u64 {
        self.values.get(counter as usize).copied().unwrap_or(0)
    }

    /// Sets a counter to zero.
    pub fn clear(&mut self, counter: VlCounter) {
        if let Some(value) = self.values.get_mut(counter as usize) {
            *value = 0;
        }
    }
}

/// The counters of a port, without VL15's [`Traffic`], which is kept next to the link.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PortCounters {
    values: [u64; Counter::COUNT],
    /// VLs that have counted something, in order of number.
    lanes: Vec<(Vl, [u64; VlCounter::COUNT])>,
}

impl PortCounters {
    /// Counts something of the port.
    pub fn add(&mut self, counter: Counter, amount: u64) {
        let value = &mut self.values[counter as usize];
        *value = value.wrapping_add(amount);
    }

    /// Counts something of a lane, and of the port with it.
    pub fn add_lane(&mut self, vl: Vl, counter: VlCounter, amount: u64) {
        self.add(VlCounter::TOTALS[counter as usize], amount);
        self.add_lane_only(vl, counter, amount);
    }

    /// Counts something of a lane that is not the port's.
    pub(crate) fn add_lane_only(&mut self, vl: Vl, counter: VlCounter, amount: u64) {
        let place = match self.lanes.binary_search_by_key(&vl, |lane| lane.0) {
            Ok(place) => place,
            Err(place) => {
                self.lanes.insert(place, (vl, [0; VlCounter::COUNT]));
                place
            }
        };
        let value = &mut self.lanes[place].1[counter as usize];
        *value = value.wrapping_add(amount);
    }

    /// A counter of the port.
    pub fn get(&self, counter: Counter) -> u64 {
        self.values[counter as usize]
    }

    /// A counter of a lane.
    pub fn get_lane(&self, vl: Vl, counter: VlCounter) -> u64 {
        let place = self.lanes.binary_search_by_key(&vl, |lane| lane.0);
        place.map_or(0, |place| self.lanes[place].1[counter as usize])
    }

    /// Sets to zero what `select`, a `CounterSelectMask_t`, names: the port's counters and their
    /// lanes' parts.
    pub fn clear(&mut self, select: u32) {
        for (index, value) in self.values.iter_mut().enumerate() {
            if select & 1 << (31 - index) != 0 {
                *value = 0;
            }
        }
        for (_, lane) in &mut self.lanes {
            for (value, total) in lane.iter_mut().zip(VlCounter::TOTALS) {
                if select & total.select_bit() != 0 {
                    *value = 0;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clearing_touches_only_what_is_selected() {
        let mut counters = PortCounters::default();
        counters.add_lane(Vl(3), VlCounter::XmitDiscards, 2);
        counters.add_lane(Vl(0), VlCounter::XmitData, 7);
        counters.add(Counter::LinkDowned, 1);
        counters.clear(Counter::XmitDiscards.select_bit());
        assert_eq!(counters.get(Counter::XmitDiscards), 0);
        assert_eq!(counters.get_lane(Vl(3), VlCounter::XmitDiscards), 0);
        assert_eq!(counters.get_lane(Vl(0), VlCounter::XmitData), 7);
        assert_eq!(counters.get(Counter::XmitData), 7);
        assert_eq!(counters.get(Counter::LinkDowned), 1);
    }
}
