//! SwitchInfo as it should be.

use weft_fabric::Lid;
use weft_routing::{AdaptiveRegister, AdaptiveSettings};
use weft_wire::sm::SwitchInfo;

use crate::sm::settings::TrafficSettings;

/// `RoutingMode.Enabled`: linear tables.
const LINEAR: u8 = 1;

/// `held` with all that the manager decides on as it should be; adaptive routing is suspended
/// while `pause` holds, and `groups` is the number of its port groups, none where it has none.
pub(crate) fn wanted(
    held: &SwitchInfo,
    traffic: &TrafficSettings,
    top: Lid,
    adaptive: Option<&AdaptiveSettings>,
    groups: Option<usize>,
    pause: bool,
) -> SwitchInfo {
    let mut info = SwitchInfo {
        linear_fdb_top: top.0.min(held.linear_fdb_cap.saturating_sub(1)),
        life_time_value: traffic.switch_lifetime.min(31),
        port_state_change: false,
        ..*held
    };
    if held.is_addr_range_config_supported {
        info.multicast_mask = traffic.multicast_mask;
    }
    if held.routing_mode_supported & LINEAR != 0 {
        info.routing_mode_enabled = LINEAR;
    }
    if let Some(groups) = groups {
        info.port_group_top = groups.min(usize::from(u8::MAX)) as u8;
    }
    let register = AdaptiveRegister::wanted(adaptive, held);
    let register = if pause { register.paused() } else { register };
    register.store(&mut info);
    info
}

/// Whether two SwitchInfos agree but for the note that a port changed its state.
pub(crate) fn same_settings(a: &SwitchInfo, b: &SwitchInfo) -> bool {
    let plain = |info: &SwitchInfo| SwitchInfo {
        port_state_change: false,
        ..*info
    };
    plain(a) == plain(b)
}
