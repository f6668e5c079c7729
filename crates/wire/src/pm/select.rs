//! Masks that choose ports, virtual lanes and counters.

use std::fmt;

use weft_state::State;

use crate::id::{PortNum, Vl};
use crate::layout::{Block, layout, register};
use crate::print::Print;

/// A set of ports as it is on the wire: four words, the last of which has ports 0 to 63.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, State)]
pub struct PortMask(pub [u64; 4]);

impl PortMask {
    /// A set of one port.
    pub fn one(port: PortNum) -> Self {
        let mut mask = Self::default();
        mask.insert(port);
        mask
    }

    /// Adds a port.
    pub fn insert(&mut self, port: PortNum) {
        if let Some(word) = self.0.get_mut(word_of(port)) {
            *word |= 1 << (port.0 % 64);
        }
    }

    /// Whether the port is in the set.
    pub fn contains(&self, port: PortNum) -> bool {
        let word = self.0.get(word_of(port)).copied().unwrap_or_default();
        word >> (port.0 % 64) & 1 == 1
    }

    /// Number of ports in the set.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether no port is in the set.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    /// The ports in the set, in order.
    pub fn ports(self) -> impl Iterator<Item = PortNum> {
        (0..=u8::MAX)
            .map(PortNum)
            .filter(move |port| self.contains(*port))
    }
}

fn word_of(port: PortNum) -> usize {
    3 - usize::from(port.0 / 64)
}

impl FromIterator<PortNum> for PortMask {
    fn from_iter<I: IntoIterator<Item = PortNum>>(ports: I) -> Self {
        let mut mask = Self::default();
        ports.into_iter().for_each(|port| mask.insert(port));
        mask
    }
}

impl Block for PortMask {
    const LEN: usize = 32;
    const COUNT: usize = 4;
    #[inline]
    fn load(bytes: &[u8]) -> Self {
        Self(Block::load(bytes))
    }
    #[inline]
    fn store(&self, bytes: &mut [u8]) {
        self.0.store(bytes);
    }
}

/// The virtual lanes in a mask, in order: that of the VL blocks in an answer.
pub fn vls(mask: u32) -> impl Iterator<Item = Vl> {
    (0..32u8).filter(move |vl| mask >> vl & 1 == 1).map(Vl)
}

impl Print for PortMask {
    /// The ports, by number.
    fn print(&self, f: &mut fmt::Formatter<'_>, indent: usize, name: &str) -> fmt::Result {
        write!(f, "{:indent$}{name}:", "")?;
        self.ports().try_for_each(|port| write!(f, " {port}"))?;
        writeln!(f)
    }
}

layout! {
    /// Selects counters of a port (`CounterSelectMask_t`).
    pub struct CounterSelectMask: 4, "CounterSelectMask_t" {
        /// Data sent, in flits of 8 bytes.
        port_xmit_data: bool = u32 @ 0 [31:31], "s.PortXmitData";
        /// Data received, in flits of 8 bytes.
        port_rcv_data: bool = u32 @ 0 [30:30], "s.PortRcvData";
        /// Packets sent.
        port_xmit_pkts: bool = u32 @ 0 [29:29], "s.PortXmitPkts";
        /// Packets received.
        port_rcv_pkts: bool = u32 @ 0 [28:28], "s.PortRcvPkts";
        /// Multicast packets sent.
        port_multicast_xmit_pkts: bool = u32 @ 0 [27:27], "s.PortMulticastXmitPkts";
        /// Multicast packets received.
        port_multicast_rcv_pkts: bool = u32 @ 0 [26:26], "s.PortMulticastRcvPkts";
        /// Time in which data waited and could not be sent, in flit times (in cycles on switches).
        port_xmit_wait: bool = u32 @ 0 [25:25], "s.PortXmitWait";
        /// Packets dropped because they waited too long at the head of a queue.
        sw_port_congestion: bool = u32 @ 0 [24:24], "s.SwPortCongestion";
        /// Packets received with the forward congestion mark.
        port_rcv_fecn: bool = u32 @ 0 [23:23], "s.PortRcvFECN";
        /// Packets received with the backward congestion mark.
        port_rcv_becn: bool = u32 @ 0 [22:22], "s.PortRcvBECN";
        /// Time in congestion, in flit times.
        port_xmit_time_cong: bool = u32 @ 0 [21:21], "s.PortXmitTimeCong";
        /// Idle flits sent inside packets of a lower priority.
        port_xmit_wasted_bw: bool = u32 @ 0 [20:20], "s.PortXmitWastedBW";
        /// Idle flits sent because the rest of a packet was late.
        port_xmit_wait_data: bool = u32 @ 0 [19:19], "s.PortXmitWaitData";
        /// Idle flits received inside packets.
        port_rcv_bubble: bool = u32 @ 0 [18:18], "s.PortRcvBubble";
        /// Packets that the port marked with the forward congestion mark.
        port_mark_fecn: bool = u32 @ 0 [17:17], "s.PortMarkFECN";
        /// Packets received and dropped for their P_Key or source LID.
        port_rcv_constraint_errors: bool = u32 @ 0 [16:16], "s.PortRcvConstraintErrors";
        /// Packets received that the switch could not forward.
        port_rcv_switch_relay_errors: bool = u32 @ 0 [15:15], "s.PortRcvSwitchRelayErrors";
        /// Packets not sent: the link was down, or they were too old or too large.
        port_xmit_discards: bool = u32 @ 0 [14:14], "s.PortXmitDiscards";
        /// Packets not sent for their P_Key.
        port_xmit_constraint_errors: bool = u32 @ 0 [13:13], "s.PortXmitConstraintErrors";
        /// Packets received that a switch before had marked as bad.
        port_rcv_remote_physical_errors: bool = u32 @ 0 [12:12], "s.PortRcvRemotePhysicalErrors";
        /// Transfers that had to be repeated.
        local_link_integrity_errors: bool = u32 @ 0 [11:11], "s.LocalLinkIntegrityErrors";
        /// Packets received with errors.
        port_rcv_errors: bool = u32 @ 0 [10:10], "s.PortRcvErrors";
        /// Times that the receive buffer overran.
        excessive_buffer_overruns: bool = u32 @ 0 [9:9], "s.ExcessiveBufferOverruns";
        /// Packets or flits that contradict the configuration.
        fm_config_errors: bool = u32 @ 0 [8:8], "s.FMConfigErrors";
        /// Times that the link recovered from an error.
        link_error_recovery: bool = u32 @ 0 [7:7], "s.LinkErrorRecovery";
        /// Times that the link went down.
        link_downed: bool = u32 @ 0 [6:6], "s.LinkDowned";
        /// Hardware errors that could not be corrected.
        uncorrectable_errors: bool = u32 @ 0 [5:5], "s.UncorrectableErrors";
    }
}
register!(CounterSelectMask, u32);

impl CounterSelectMask {
    /// All counters.
    pub fn all() -> Self {
        Self::from_bits(u32::MAX)
    }
}

layout! {
    /// Selects counters of a virtual lane (`STLVlCounterSelectMask`).
    pub struct VlCounterSelectMask: 4, "STLVlCounterSelectMask" {
        /// Data sent, in flits of 8 bytes.
        port_vl_xmit_data: bool = u32 @ 0 [31:31], "s.PortVLXmitData";
        /// Data received, in flits of 8 bytes.
        port_vl_rcv_data: bool = u32 @ 0 [30:30], "s.PortVLRcvData";
        /// Packets sent.
        port_vl_xmit_pkts: bool = u32 @ 0 [29:29], "s.PortVLXmitPkts";
        /// Packets received.
        port_vl_rcv_pkts: bool = u32 @ 0 [28:28], "s.PortVLRcvPkts";
        /// Packets not sent: the link was down, or they were too old or too large.
        port_vl_xmit_discards: bool = u32 @ 0 [27:27], "s.PortVLXmitDiscards";
        /// Packets dropped because they waited too long at the head of a queue.
        sw_port_vl_congestion: bool = u32 @ 0 [26:26], "s.SwPortVLCongestion";
        /// Time in which data waited and could not be sent, in flit times (in cycles on switches).
        port_vl_xmit_wait: bool = u32 @ 0 [25:25], "s.PortVLXmitWait";
        /// Packets received with the forward congestion mark.
        port_vl_rcv_fecn: bool = u32 @ 0 [24:24], "s.PortVLRcvFECN";
        /// Packets received with the backward congestion mark.
        port_vl_rcv_becn: bool = u32 @ 0 [23:23], "s.PortVLRcvBECN";
        /// Time in congestion, in flit times.
        port_vl_xmit_time_cong: bool = u32 @ 0 [22:22], "s.PortVLXmitTimeCong";
        /// Idle flits sent inside packets of a lower priority.
        port_vl_xmit_wasted_bw: bool = u32 @ 0 [21:21], "s.PortVLXmitWastedBW";
        /// Idle flits sent because the rest of a packet was late.
        port_vl_xmit_wait_data: bool = u32 @ 0 [20:20], "s.PortVLXmitWaitData";
        /// Idle flits received inside packets.
        port_vl_rcv_bubble: bool = u32 @ 0 [19:19], "s.PortVLRcvBubble";
        /// Packets that the port marked with the forward congestion mark.
        port_vl_mark_fecn: bool = u32 @ 0 [18:18], "s.PortVLMarkFECN";
    }
}
register!(VlCounterSelectMask, u32);
