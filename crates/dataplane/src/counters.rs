//! Performance counters of ports and their virtual lanes.

use weft_fabric::Vl;

/// A counter of a port, in the order of the performance agent's records; its place is also 31
/// minus its bit in `CounterSelectMask_t`. Data is counted in flits of 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counter {
    /// Flits sent.
    XmitData,
    /// Flits received.
    RcvData,
    /// Packets sent.
    XmitPkts,
    /// Packets received.
    RcvPkts,
    /// Multicast packets sent.
    MulticastXmitPkts,
    /// Multicast packets received.
    MulticastRcvPkts,
    /// Flit times with something to send and no credit.
    XmitWait,
    /// Packets that met congestion in the switch.
    SwPortCongestion,
    /// Packets received with FECN.
    RcvFecn,
    /// Packets received with BECN.
    RcvBecn,
    /// Flit times in congestion.
    XmitTimeCong,
    /// Flit times wasted.
    XmitWastedBw,
    /// Flit times waiting for the rest of a packet.
    XmitWaitData,
    /// Idle flits received inside packets.
    RcvBubble,
    /// Packets marked with FECN.
    MarkFecn,
    /// Packets received that violated a constraint.
    RcvConstraintErrors,
    /// Packets received that the switch could not forward.
    RcvSwitchRelayErrors,
    /// Packets dropped before they were sent.
    XmitDiscards,
    /// Packets not sent because of a constraint.
    XmitConstraintErrors,
    /// Packets received that were marked bad upstream.
    RcvRemotePhysicalErrors,
    /// Errors that link retry repaired.
    LocalLinkIntegrityErrors,
    /// Packets received with errors.
    RcvErrors,
    /// Buffer overruns.
    ExcessiveBufferOverruns,
    /// Configuration errors.
    FmConfigErrors,
    /// Links recovered.
    LinkErrorRecovery,
    /// Links lost.
    LinkDowned,
    /// Uncorrectable errors.
    UncorrectableErrors,
}

impl Counter {
    /// How many there are.
    pub const COUNT: usize = Self::UncorrectableErrors as usize + 1;

    /// The counter's bit in a `CounterSelectMask_t`.
    pub fn select_bit(self) -> u32 {
        1 << (31 - self as u32)
    }
}

/// A counter of one VL of a port, in the order of `PortStatus`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VlCounter {
    /// Flits sent.
    XmitData,
    /// Flits received.
    RcvData,
    /// Packets sent.
    XmitPkts,
    /// Packets received.
    RcvPkts,
    /// Flit times with something to send and no credit.
    XmitWait,
    /// Packets that met congestion in the switch.
    SwPortCongestion,
    /// Packets received with FECN.
    RcvFecn,
    /// Packets received with BECN.
    RcvBecn,
    /// Flit times in congestion.
    XmitTimeCong,
    /// Flit times wasted.
    XmitWastedBw,
    /// Flit times waiting for the rest of a packet.
    XmitWaitData,
    /// Idle flits received inside packets.
    RcvBubble,
    /// Packets marked with FECN.
    MarkFecn,
    /// Packets dropped before they were sent.
    XmitDiscards,
}

impl VlCounter {
    /// How many there are.
    pub const COUNT: usize = Self::XmitDiscards as usize + 1;

    /// The port's counter that includes this one.
    pub const TOTALS: [Counter; Self::COUNT] = [
        Counter::XmitData,
        Counter::RcvData,
        Counter::XmitPkts,
        Counter::RcvPkts,
        Counter::XmitWait,
        Counter::SwPortCongestion,
        Counter::RcvFecn,
        Counter::RcvBecn,
        Counter::XmitTimeCong,
        Counter::XmitWastedBw,
        Counter::XmitWaitData,
        Counter::RcvBubble,
        Counter::MarkFecn,
        Counter::XmitDiscards,
    ];
}

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

    #[test]
    fn select_bits_are_the_vendors() {
        assert_eq!(Counter::XmitData.select_bit(), 1 << 31);
        assert_eq!(Counter::LinkDowned.select_bit(), 1 << 6);
        assert_eq!(Counter::UncorrectableErrors.select_bit(), 1 << 5);
    }
}
