//! What registers of a port say, in words.

use weft_fabric::enums::{LinkDownReason, OfflineDisabledReason, PhysState};
use weft_wire::sm::PortInfo;

/// The physical state of a port, why it is off, and why its link went down last.
pub(super) fn port(info: &PortInfo) -> String {
    let mut words = format!("{}", info.phys_state);
    if info.offline_disabled_reason != OfflineDisabledReason::NONE {
        words += &format!(", {}", info.offline_disabled_reason);
    }
    if info.link_down_reason != LinkDownReason::NONE {
        words += &format!("; went down: {}", info.link_down_reason);
    }
    if info.neighbor_link_down_reason != LinkDownReason::NONE
        && info.neighbor_link_down_reason != info.link_down_reason
    {
        words += &format!(", its neighbour: {}", info.neighbor_link_down_reason);
    }
    words
}

/// What a port without a link says of its module, and what to look at; none where nothing shows that there is one.
pub(super) fn module(info: &PortInfo) -> Option<(&'static str, &'static str)> {
    let policy = "see LinkWidth and LinkSpeed that both ends allow";
    match (info.phys_state, info.offline_disabled_reason) {
        (PhysState::POLLING, _) => Some((
            "a cable is in, and nothing answers at its other end",
            "is the device at the other end on, and its port enabled?",
        )),
        (PhysState::TRAINING | PhysState::RECOVERY, _) => Some((
            "a cable is in, and the link does not come up",
            "reseat the cable at both ends, then replace it",
        )),
        (PhysState::OFFLINE, OfflineDisabledReason::END_TO_END_NOT_INSTALLED) => Some((
            "a module is in here and none at the other end",
            "plug the other end of the cable in",
        )),
        (PhysState::OFFLINE, OfflineDisabledReason::POWER_POLICY) => Some((
            "the module would take more power than allowed",
            "see the power class of the module, and what the switch allows",
        )),
        (PhysState::OFFLINE, OfflineDisabledReason::LINK_SPEED_POLICY) => {
            Some(("no speed that is enabled can be reached", policy))
        }
        (PhysState::OFFLINE, OfflineDisabledReason::LINK_WIDTH_POLICY) => {
            Some(("no width that is enabled can be reached", policy))
        }
        _ => None,
    }
}
