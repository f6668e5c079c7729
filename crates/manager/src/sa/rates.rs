//! Static rates and MTUs as paths and groups state them, and what selectors mean.

use weft_fabric::enums::LinkSpeed;
use weft_wire::sm::PortInfo;

/// Comparison for the value next to a selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Selector {
    Greater,
    Less,
    Equal,
    Best,
}

impl Selector {
    pub(crate) fn of(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::Greater,
            1 => Self::Less,
            2 => Self::Equal,
            _ => Self::Best,
        }
    }

    /// Whether `have` meets the request `asked`; the best available always does.
    pub(crate) fn admits(self, have: u32, asked: u32) -> bool {
        match self {
            Self::Greater => have > asked,
            Self::Less => have < asked,
            Self::Equal => have == asked,
            Self::Best => true,
        }
    }
}

/// Rate of an invalid link (`IB_STATIC_RATE_1GB`).
const INVALID: u8 = 1;

/// The rate of a port's link (`IB_STATIC_RATE_*`, Omni-Path's own rates under the code of the
/// InfiniBand rate next to them).
pub(crate) fn link_rate(info: &PortInfo) -> u8 {
    let codes = match info.link_speed_active {
        LinkSpeed::G12_5 => [11, 15, 7, 12],
        LinkSpeed::G25 => [15, 12, 9, 16],
        _ => [INVALID; 4],
    };
    let lanes = info.link_width_active.lanes() as usize;
    let code = lanes.checked_sub(1).and_then(|lanes| codes.get(lanes));
    code.copied().unwrap_or(INVALID)
}

/// A rate code in Mb/s, 0 for an unknown one.
#[inline]
pub(crate) fn mbps(code: u8) -> u32 {
    const RATES: [u32; 19] = [
        0, 1_000, 2_500, 10_000, 30_000, 5_000, 20_000, 40_000, 60_000, 80_000, 120_000, 14_000,
        56_000, 112_000, 168_000, 25_000, 100_000, 200_000, 300_000,
    ];
    RATES.get(usize::from(code)).copied().unwrap_or(0)
}

/// The slower of two rates.
#[inline]
pub(crate) fn slower(a: u8, b: u8) -> u8 {
    if mbps(b) < mbps(a) { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_fabric::enums::LinkWidth;

    #[test]
    fn links_have_the_rates_of_their_lanes() {
        for (width, speed, expected) in [
            (LinkWidth::X4, LinkSpeed::G25, 100_000),
            (LinkWidth::X3, LinkSpeed::G25, 80_000),
            (LinkWidth::X2, LinkSpeed::G25, 56_000),
            (LinkWidth::X1, LinkSpeed::G25, 25_000),
            (LinkWidth::X4, LinkSpeed::G12_5, 56_000),
            (LinkWidth::NOP, LinkSpeed::G25, 1_000),
        ] {
            let info = PortInfo {
                link_width_active: width,
                link_speed_active: speed,
                ..PortInfo::default()
            };
            assert_eq!(mbps(link_rate(&info)), expected, "{width:?} {speed:?}");
        }
        assert_eq!(slower(16, 9), 9, "codes are not in order of their rates");
    }

    #[test]
    fn selectors_compare() {
        let cases = [
            (Selector::Greater, [false, false, true]),
            (Selector::Less, [true, false, false]),
        ];
        for (selector, expected) in cases {
            assert_eq!([4, 5, 6].map(|have| selector.admits(have, 5)), expected);
        }
        assert!(Selector::of(2).admits(5, 5) && !Selector::of(2).admits(4, 5));
        assert!(Selector::of(3).admits(0, 5));
    }
}
