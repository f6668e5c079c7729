//! LedInfo, attribute 0x0031: a beacon that shows people which port is meant.

use crate::layout::layout;

layout! {
    /// The beacon of a port (`STL_LED_INFO`).
    pub struct LedInfo: 8, "STL_LED_INFO" {
        /// On.
        led_mask: bool = u32 @ 0 [31:31], "u.s.LedMask";
    }
}
