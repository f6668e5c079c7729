//! PortStateInfo, attribute 0x0087: the states of many ports at a glance.

use crate::enums::{LinkWidth, OfflineDisabledReason, PhysState, PortState};
use crate::layout::layout;

layout! {
    /// State of one port (`STL_PORT_STATE_INFO`).
    pub struct PortStateInfo: 8, "STL_PORT_STATE_INFO" {
        /// Beacon is on.
        led_enabled: bool = u32 @ 0 [22:22], "PortStates.s.LEDEnabled";
        /// Set by the subnet manager's S flag, cleared when the link bounces.
        is_sm_configuration_started: bool = u32 @ 0 [21:21], "PortStates.s.IsSMConfigurationStarted";
        /// The neighbour is armed or active.
        neighbor_normal: bool = u32 @ 0 [20:20], "PortStates.s.NeighborNormal";
        /// Why the port is off although it should be on.
        offline_disabled_reason: OfflineDisabledReason = u32 @ 0 [19:16], "PortStates.s.OfflineDisabledReason";
        /// Physical state.
        phys_state: PhysState = u32 @ 0 [7:4], "PortStates.s.PortPhysicalState";
        /// Logical state.
        port_state: PortState = u32 @ 0 [3:0], "PortStates.s.PortState";
        /// Width in use to send.
        link_width_downgrade_tx_active: LinkWidth = u16 @ 4, "LinkWidthDowngradeTxActive";
        /// Width in use to receive.
        link_width_downgrade_rx_active: LinkWidth = u16 @ 6, "LinkWidthDowngradeRxActive";
    }
}
