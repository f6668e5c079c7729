//! `<PortStatus>`: what a port has counted.

use weft_wire::pm::Counter;
use weft_wire::sm::PortInfo;

use crate::counts::PortCounts;
use crate::import::ImportError;
use crate::import::xml::Element;

/// The counters of a port; none where the snapshot has been taken without them. A counter that is missing is 0.
pub(super) fn read_counts(
    port: &Element<'_>,
    info: &PortInfo,
) -> Result<Option<PortCounts>, ImportError> {
    let Some(status) = port.child("PortStatus") else {
        return Ok(None);
    };
    let mut counters = [0; Counter::COUNT];
    for counter in Counter::ALL {
        counters[counter as usize] = status.optional(name(counter))?.unwrap_or(0);
    }
    let up = info.link_width_active.lanes();
    let left = info.link_width_downgrade_rx_active;
    let has_lost = left.0 < info.link_width_active.0;
    Ok(Some(PortCounts {
        counters,
        quality: status.optional("LinkQualityIndicator")?.unwrap_or(0),
        lanes_down: match has_lost {
            true => up.saturating_sub(left.lanes()) as u8,
            false => 0,
        },
    }))
}

/// Name of a counter's element.
fn name(counter: Counter) -> &'static str {
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
