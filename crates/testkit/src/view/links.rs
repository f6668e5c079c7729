//! The stock link policy's verdict on a link, by the registers of its ends.

use weft_wire::sm::PortInfo;

/// Lanes that each direction may drop (`<MaxDroppedLanes>`).
const DROPPED_MAX: u32 = 1;

/// Of the speeds of a lane, 25 Gb/s (`STL_LINK_SPEED_25G`), which all emulated ports support.
const SPEED_25G: u16 = 0x0002;

/// Whether a link may carry data: it came up with the best width and speed that both ends support (`<Width>`,
/// `<Speed>`), and neither end sends on too few lanes of it.
pub(super) fn are_permitted(near: &PortInfo, far: &PortInfo) -> bool {
    let best = lanes(near.link_width_supported.0 & far.link_width_supported.0);
    let full = |end: &PortInfo| end.link_speed_active.0 & SPEED_25G != 0;
    [near, far].into_iter().all(|end| {
        let width = lanes(end.link_width_active.0);
        let sends = lanes(end.link_width_downgrade_tx_active.0);
        width >= best && sends + DROPPED_MAX >= width && full(end)
    })
}

/// Lanes of the widest of a set of widths: bit n stands for n + 1.
fn lanes(widths: u16) -> u32 {
    u16::BITS - widths.leading_zeros()
}
