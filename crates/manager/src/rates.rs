//! Static rates of links and groups: codes of `IB_STATIC_RATE`, of which Omni-Path uses some of
//! InfiniBand's for its own rates next to them.

use weft_wire::enums::{LinkSpeed, LinkWidth};

/// The code for any rate.
pub(crate) const DONT_CARE: u8 = 0;
/// The code of a link that has none (`IB_STATIC_RATE_1GB`).
pub(crate) const INVALID: u8 = 1;

/// Codes in the order of their rates, for a step up or down.
pub(crate) const ASCENDING: [u8; 17] = [2, 5, 3, 11, 6, 15, 4, 7, 12, 8, 9, 16, 13, 10, 14, 17, 18];

/// The code of a link by its speed and its lanes.
pub(crate) fn of_link(speed: LinkSpeed, width: LinkWidth) -> u8 {
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

/// The rate of a code in Mb/s: of Omni-Path's own rates, lanes of 12.5 or 25 Gb/s; 0 for an unknown one,
/// which sets no limit. opa-fm names rates so (`StlStaticRateToText` in stl_helper.h).
#[inline]
pub(crate) fn mbps(code: u8) -> u32 {
    const RATES: [u32; 19] = [
        0, 1_000, 2_500, 10_000, 30_000, 5_000, 20_000, 37_500, 60_000, 75_000, 120_000, 12_500,
        50_000, 112_000, 168_000, 25_000, 100_000, 200_000, 300_000,
    ];
    RATES.get(usize::from(code)).copied().unwrap_or(0)
}

/// The slower of two codes' rates.
#[inline]
pub(crate) fn slower(a: u8, b: u8) -> u8 {
    if mbps(b) < mbps(a) { b } else { a }
}

/// Data in 10^6 bytes a second at a link's rate: 64 of 66 bits on the wire are data, and lanes of 25
/// Gb/s have 25.78125 on the wire. A rate that is not of a link counts as one lane. These are the
/// figures of opa-fm (`StlStaticRateToMbps`), of which that of three lanes of 12.5 Gb/s is round.
pub(crate) fn data_mbytes(code: u8) -> u32 {
    let wire: u32 = match code {
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
    fn links_have_the_rates_of_their_lanes() {
        for (width, speed, expected) in [
            (LinkWidth::X4, LinkSpeed::G25, 100_000),
            (LinkWidth::X3, LinkSpeed::G25, 75_000),
            (LinkWidth::X2, LinkSpeed::G25, 50_000),
            (LinkWidth::X1, LinkSpeed::G25, 25_000),
            (LinkWidth::X4, LinkSpeed::G12_5, 50_000),
            (LinkWidth::X3, LinkSpeed::G12_5, 37_500),
            (LinkWidth::X1, LinkSpeed::G12_5, 12_500),
            (LinkWidth::NOP, LinkSpeed::G25, 1_000),
            (LinkWidth::X4, LinkSpeed::NOP, 1_000),
        ] {
            assert_eq!(mbps(of_link(speed, width)), expected, "{width:?} {speed:?}");
        }
        assert_eq!(slower(16, 9), 9, "codes are not in order of their rates");
        assert!(ASCENDING.is_sorted_by_key(|code| mbps(*code)));
    }

    #[test]
    fn a_full_link_carries_twelve_and_a_half_gigabytes() {
        let full = of_link(LinkSpeed::G25, LinkWidth::X4);
        assert_eq!((full, data_mbytes(full)), (16, 12_500));
        let one = of_link(LinkSpeed::G25, LinkWidth::X1);
        assert_eq!(data_mbytes(one), 3_124);
    }
}
