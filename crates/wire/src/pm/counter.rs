//! The counters of ports and of their virtual lanes, each with its place: all attributes have them
//! in the same order.

use crate::pm::counters::{DataPortCounters, ErrorPortCounters, VlDataCounters};
use crate::pm::port_status::{PortStatus, VlStatus};

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
    /// Number of counters.
    pub const COUNT: usize = Self::UncorrectableErrors as usize + 1;

    /// Number of counters of traffic and its congestion; the others count errors.
    pub const DATA: usize = Self::MarkFecn as usize + 1;

    /// All of them, in order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::XmitData,
        Self::RcvData,
        Self::XmitPkts,
        Self::RcvPkts,
        Self::MulticastXmitPkts,
        Self::MulticastRcvPkts,
        Self::XmitWait,
        Self::SwPortCongestion,
        Self::RcvFecn,
        Self::RcvBecn,
        Self::XmitTimeCong,
        Self::XmitWastedBw,
        Self::XmitWaitData,
        Self::RcvBubble,
        Self::MarkFecn,
        Self::RcvConstraintErrors,
        Self::RcvSwitchRelayErrors,
        Self::XmitDiscards,
        Self::XmitConstraintErrors,
        Self::RcvRemotePhysicalErrors,
        Self::LocalLinkIntegrityErrors,
        Self::RcvErrors,
        Self::ExcessiveBufferOverruns,
        Self::FmConfigErrors,
        Self::LinkErrorRecovery,
        Self::LinkDowned,
        Self::UncorrectableErrors,
    ];

    /// Its largest value: a counter of 8 or 32 bits saturates there, one of 64 bits wraps to 0.
    pub fn most(self) -> u64 {
        match self {
            Self::LinkErrorRecovery | Self::LinkDowned => u64::from(u32::MAX),
            Self::UncorrectableErrors => u64::from(u8::MAX),
            _ => u64::MAX,
        }
    }

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
    /// Number of counters.
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

impl PortStatus {
    /// The counters in order of [`Counter`].
    pub fn counters(&self) -> [u64; Counter::COUNT] {
        [
            self.port_xmit_data,
            self.port_rcv_data,
            self.port_xmit_pkts,
            self.port_rcv_pkts,
            self.port_multicast_xmit_pkts,
            self.port_multicast_rcv_pkts,
            self.port_xmit_wait,
            self.sw_port_congestion,
            self.port_rcv_fecn,
            self.port_rcv_becn,
            self.port_xmit_time_cong,
            self.port_xmit_wasted_bw,
            self.port_xmit_wait_data,
            self.port_rcv_bubble,
            self.port_mark_fecn,
            self.port_rcv_constraint_errors,
            self.port_rcv_switch_relay_errors,
            self.port_xmit_discards,
            self.port_xmit_constraint_errors,
            self.port_rcv_remote_physical_errors,
            self.local_link_integrity_errors,
            self.port_rcv_errors,
            self.excessive_buffer_overruns,
            self.fm_config_errors,
            u64::from(self.link_error_recovery),
            u64::from(self.link_downed),
            u64::from(self.uncorrectable_errors),
        ]
    }
}

impl DataPortCounters {
    /// The counters in order: the first [`Counter::DATA`] of them.
    pub fn counters(&self) -> [u64; Counter::DATA] {
        [
            self.port_xmit_data,
            self.port_rcv_data,
            self.port_xmit_pkts,
            self.port_rcv_pkts,
            self.port_multicast_xmit_pkts,
            self.port_multicast_rcv_pkts,
            self.port_xmit_wait,
            self.sw_port_congestion,
            self.port_rcv_fecn,
            self.port_rcv_becn,
            self.port_xmit_time_cong,
            self.port_xmit_wasted_bw,
            self.port_xmit_wait_data,
            self.port_rcv_bubble,
            self.port_mark_fecn,
        ]
    }
}

impl ErrorPortCounters {
    /// The counters in order: those after the first [`Counter::DATA`].
    pub fn counters(&self) -> [u64; Counter::COUNT - Counter::DATA] {
        [
            self.port_rcv_constraint_errors,
            self.port_rcv_switch_relay_errors,
            self.port_xmit_discards,
            self.port_xmit_constraint_errors,
            self.port_rcv_remote_physical_errors,
            self.local_link_integrity_errors,
            self.port_rcv_errors,
            self.excessive_buffer_overruns,
            self.fm_config_errors,
            u64::from(self.link_error_recovery),
            u64::from(self.link_downed),
            u64::from(self.uncorrectable_errors),
        ]
    }
}

impl VlStatus {
    /// The counters in order of [`VlCounter`].
    pub fn counters(&self) -> [u64; VlCounter::COUNT] {
        [
            self.port_vl_xmit_data,
            self.port_vl_rcv_data,
            self.port_vl_xmit_pkts,
            self.port_vl_rcv_pkts,
            self.port_vl_xmit_wait,
            self.sw_port_vl_congestion,
            self.port_vl_rcv_fecn,
            self.port_vl_rcv_becn,
            self.port_vl_xmit_time_cong,
            self.port_vl_xmit_wasted_bw,
            self.port_vl_xmit_wait_data,
            self.port_vl_rcv_bubble,
            self.port_vl_mark_fecn,
            self.port_vl_xmit_discards,
        ]
    }
}

impl VlDataCounters {
    /// The counters in order: all but [`VlCounter::XmitDiscards`], which is the last.
    pub fn counters(&self) -> [u64; VlCounter::COUNT - 1] {
        [
            self.port_vl_xmit_data,
            self.port_vl_rcv_data,
            self.port_vl_xmit_pkts,
            self.port_vl_rcv_pkts,
            self.port_vl_xmit_wait,
            self.sw_port_vl_congestion,
            self.port_vl_rcv_fecn,
            self.port_vl_rcv_becn,
            self.port_vl_xmit_time_cong,
            self.port_vl_xmit_wasted_bw,
            self.port_vl_xmit_wait_data,
            self.port_vl_rcv_bubble,
            self.port_vl_mark_fecn,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;

    #[test]
    fn select_bits_are_the_vendors() {
        assert_eq!(Counter::XmitData.select_bit(), 1 << 31);
        assert_eq!(Counter::LinkDowned.select_bit(), 1 << 6);
        assert_eq!(Counter::UncorrectableErrors.select_bit(), 1 << 5);
        for (place, counter) in Counter::ALL.into_iter().enumerate() {
            assert_eq!(counter as usize, place);
        }
    }

    /// The names of a structure's fields that hold counters, in order.
    fn names<T: Layout>() -> Vec<&'static str> {
        let wide = T::FIELDS.iter().filter(|field| field.bits.is_none());
        let counters = wide.map(|field| field.name);
        let others = [
            "port_number",
            "vl_select_mask",
            "port_error_counter_summary",
        ];
        counters.filter(|name| !others.contains(name)).collect()
    }

    #[test]
    fn all_attributes_have_the_counters_in_one_order() {
        let all = names::<PortStatus>();
        assert_eq!(all.len(), Counter::COUNT);
        assert_eq!(names::<DataPortCounters>(), all[..Counter::DATA]);
        assert_eq!(names::<ErrorPortCounters>(), all[Counter::DATA..]);
        let lanes = names::<VlStatus>();
        assert_eq!(lanes.len(), VlCounter::COUNT);
        assert_eq!(names::<VlDataCounters>(), lanes[..VlCounter::COUNT - 1]);
    }

    #[test]
    fn each_counter_is_at_its_place() {
        let mut bytes = [0; <PortStatus as Layout>::LEN];
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = place as u8;
        }
        let status = PortStatus::decode(&bytes).unwrap_or_default();
        let mut at = 8;
        for (counter, value) in Counter::ALL.into_iter().zip(status.counters()) {
            let width = ((64 - counter.most().leading_zeros()) / 8) as usize;
            assert_eq!(value, crate::bits::load(&bytes, at, width), "{counter:?}");
            at += width;
        }
    }
}
