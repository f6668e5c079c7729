//! What ports have counted, where a snapshot tells it.

use std::collections::BTreeMap;

use weft_wire::pm::Counter;

use crate::topology::PortRef;

/// What a port has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortCounts {
    /// Its counters, in order of [`Counter`].
    pub counters: [u64; Counter::COUNT],
    /// Quality of its link: 5 excellent to 1 bad, 0 down; none where it is not known, as of the past.
    pub quality: Option<u8>,
    /// Lanes that its link has lost.
    pub lanes_down: u8,
}

/// Counters of ports.
pub type CountsByPort = BTreeMap<PortRef, PortCounts>;

/// Name of a counter's element in the files and reports of the vendor's tools.
pub fn element_name(counter: Counter) -> &'static str {
    match counter {
        Counter::XmitData => "XmitData",
        Counter::RcvData => "RcvData",
        Counter::XmitPkts => "XmitPkts",
        Counter::RcvPkts => "RcvPkts",
        Counter::MulticastXmitPkts => "MulticastXmitPkts",
        Counter::MulticastRcvPkts => "MulticastRcvPkts",
        Counter::XmitWait => "XmitWait",
        Counter::SwPortCongestion => "CongDiscards",
        Counter::RcvFecn => "RcvFECN",
        Counter::RcvBecn => "RcvBECN",
        Counter::XmitTimeCong => "XmitTimeCong",
        Counter::XmitWastedBw => "XmitWastedBW",
        Counter::XmitWaitData => "XmitWaitData",
        Counter::RcvBubble => "RcvBubble",
        Counter::MarkFecn => "MarkFECN",
        Counter::RcvConstraintErrors => "RcvConstraintErrors",
        Counter::RcvSwitchRelayErrors => "RcvSwitchRelayErrors",
        Counter::XmitDiscards => "XmitDiscards",
        Counter::XmitConstraintErrors => "XmitConstraintErrors",
        Counter::RcvRemotePhysicalErrors => "RcvRemotePhysicalErrors",
        Counter::LocalLinkIntegrityErrors => "LocalLinkIntegrityErrors",
        Counter::RcvErrors => "RcvErrors",
        Counter::ExcessiveBufferOverruns => "ExcessiveBufferOverruns",
        Counter::FmConfigErrors => "FMConfigErrors",
        Counter::LinkErrorRecovery => "LinkErrorRecovery",
        Counter::LinkDowned => "LinkDowned",
        Counter::UncorrectableErrors => "UncorrectableErrors",
    }
}
