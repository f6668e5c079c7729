//! Rates of links as performance administration reports them.

use weft_wire::enums::{LinkSpeed, LinkWidth};

/// The static rate (`IB_STATIC_RATE`) that stands for no rate.
pub(crate) const DONT_CARE: u8 = 0;
/// The static rate that stands for a link which has none.
const INVALID: u8 = 1;

/// The static rate of a link by its speed and its lanes.
pub(crate) fn static_rate(speed: LinkSpeed, width: LinkWidth) -> u8 {
    match (speed, width.lanes()) {
        (LinkSpeed::G12_5, 1) => 11,
        (LinkSpeed::G12_5, 2) | (LinkSpeed::G25, 1) => 15,
        (LinkSpeed::G12_5, 3) => 7,
        (LinkSpeed::G12_5, 4) | (LinkSpeed::G25, 2) => 12,
        (LinkSpeed::G25, 3) => 9,
        (LinkSpeed::G25, 4) => 16,
        _ => INVALID,
    }
}

/// Whether a static rate is one of a link.
pub(crate) fn is_valid(rate: u8) -> bool {
    rate != INVALID
}

/// Data in 10^6 bytes a second at a static rate: 64 of 66 bits on the wire are data. A rate that is
/// not of a link counts as one lane.
pub(crate) fn mbps(rate: u8) -> u32 {
    let wire: u32 = match rate {
        11 => 12_890,
        7 => 37_500,
        12 => 51_562,
        9 => 77_343,
        16 => 103_125,
        _ => 25_781,
    };
    wire * 8 / 66
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_link_carries_twelve_and_a_half_gigabytes() {
        let rate = static_rate(LinkSpeed::G25, LinkWidth::X4);
        assert_eq!((rate, mbps(rate)), (16, 12_500));
        assert_eq!(mbps(static_rate(LinkSpeed::G25, LinkWidth::X1)), 3_124);
        assert!(!is_valid(static_rate(LinkSpeed::NOP, LinkWidth::X4)));
        assert!(!is_valid(static_rate(LinkSpeed::G25, LinkWidth::NOP)));
    }
}
