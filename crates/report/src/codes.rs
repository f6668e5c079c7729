//! Codes of rates, times and memberships as the vendor's tools print them.

use std::fmt;

use weft_fabric::JoinState;
use weft_wire::id::Gid;

/// A static rate (`IB_STATIC_RATE`) as it is called in InfiniBand.
pub(crate) fn infiniband_rate(code: u8) -> &'static str {
    match code {
        7 => "40g",
        9 => "80g",
        11 => "14g",
        12 => "56g",
        other => static_rate(other),
    }
}

/// A static rate (`IB_STATIC_RATE`) as it is called in Omni-Path.
pub(crate) fn static_rate(code: u8) -> &'static str {
    match code {
        0 => "any",
        1 => "1g",
        2 => "2.5g",
        3 => "10g",
        4 => "30g",
        5 => "5g",
        6 => "20g",
        7 => "37.5g",
        8 => "60g",
        9 => "75g",
        10 => "120g",
        11 => "12.5g",
        12 => "50g",
        13 => "112g",
        14 => "168g",
        15 => "25g",
        16 => "100g",
        17 => "200g",
        18 => "300g",
        _ => "???",
    }
}

/// The time 4.096 µs × 2^`code` in seven columns, rounded as opareport does; from 2^31 on as 2^31.
pub(crate) fn timeout(code: u8) -> String {
    /// From here on opareport rounds more.
    const LONG: u64 = 9_999_000_000;
    let units = 1_u64 << code.min(31);
    let nanoseconds = 4096 * units;
    let milliseconds = match nanoseconds < LONG {
        true => 4096 * (units / 10) / 100_000,
        false => 4096 * (units / 1_000_000),
    };
    match () {
        () if nanoseconds < 1_000_000 => format!("{:4} us", nanoseconds / 1000),
        () if milliseconds < 1000 => format!("{milliseconds:4} ms"),
        () if milliseconds < 180_000 => format!("{:4} s ", milliseconds / 1000),
        () if milliseconds < 180_000 * 60 => format!("{:4} m ", milliseconds / 60_000),
        () => format!("{:4} h ", milliseconds / 3_600_000),
    }
}

/// A GID as both halves with `0x`.
pub fn gid(gid: Gid) -> String {
    format!("{:#018x}:{:#018x}", gid.prefix, gid.interface.0)
}

/// A GID as elements of XML have it.
pub(crate) fn gid_value(gid: Gid) -> String {
    format!("{:#018x}:{:016x}", gid.prefix, gid.interface.0)
}

/// How a port takes part in a multicast group, in words that each end with a space.
pub(crate) struct Membership(pub(crate) JoinState);

impl fmt::Display for Membership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (bit, word) in [
            (JoinState::FULL, "Full "),
            (JoinState::NON, "Non "),
            (JoinState::SEND_ONLY_NON, "Sendonly "),
            (JoinState::SEND_ONLY_FULL, "SendonlyFull "),
        ] {
            if self.0.has(bit) {
                f.write_str(word)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_fits() {
        for (code, text) in [
            (0, "   4 us"),
            (7, " 524 us"),
            (8, "   1 ms"),
            (16, " 268 ms"),
            (18, "   1 s "),
            (23, "  32 s "),
            (25, " 135 s "),
            (26, "   4 m "),
            (31, " 146 m "),
            (63, " 146 m "),
        ] {
            assert_eq!(timeout(code), text, "{code}");
        }
    }
}
