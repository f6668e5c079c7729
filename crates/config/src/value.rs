//! Types of values that the configuration has and the wire has not.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weft_state::State;

/// A duration in the format of fabric devices: 4.096 µs · 2ⁿ, n from 0 to 31.
///
/// As head-of-line or switch lifetime, n above 19 means that packets never age.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct TimeExponent(pub u8);

impl TimeExponent {
    /// The largest finite lifetime of a packet: 2.1 s.
    pub const MAX_LIFETIME: Self = Self(19);
    /// The largest n that fits its five bits.
    pub const MAX: Self = Self(31);

    /// The smallest exponent whose time is at least `nanoseconds`, at most 31.
    pub fn at_least(nanoseconds: u128) -> Self {
        let n = (0..Self::MAX.0).find(|&n| (4096_u128 << n) >= nanoseconds);
        n.map_or(Self::MAX, Self)
    }

    /// The time itself.
    pub fn duration(self) -> Duration {
        Duration::from_nanos(4096_u64 << self.0.min(Self::MAX.0))
    }
}

/// A part of a hundred (0 to 100).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, State,
)]
#[serde(transparent)]
pub struct Percent(pub u8);

/// The largest packet payload, in bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, State,
)]
pub enum Mtu {
    /// 2,048 bytes: wire code 4.
    B2048,
    /// 4,096 bytes: wire code 5.
    B4096,
    /// 8,192 bytes: wire code 6.
    B8192,
    /// 10,240 bytes: wire code 7.
    B10240,
    /// Whatever the links allow.
    #[default]
    Unlimited,
}

impl Mtu {
    /// The number of bytes; without a limit the largest that the format knows.
    pub fn bytes(self) -> u32 {
        match self {
            Self::B2048 => 2048,
            Self::B4096 => 4096,
            Self::B8192 => 8192,
            Self::B10240 | Self::Unlimited => 10_240,
        }
    }

    /// The code in PathRecords and PortInfo (`IB_MTU_*`, `STL_MTU_*`); `None` is unlimited.
    pub fn code(self) -> Option<u8> {
        [Self::B2048, Self::B4096, Self::B8192, Self::B10240]
            .iter()
            .position(|&mtu| mtu == self)
            .map(|at| 4 + at as u8)
    }
}

/// A static rate, in Gbit/s.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, State,
)]
pub enum Rate {
    /// 12.5 Gbit/s (one lane of four).
    G12_5,
    /// 25 Gbit/s.
    G25,
    /// 37.5 Gbit/s.
    G37_5,
    /// 50 Gbit/s.
    G50,
    /// 75 Gbit/s.
    G75,
    /// 100 Gbit/s.
    G100,
    /// Whatever the links allow.
    #[default]
    Unlimited,
}

impl Rate {
    /// The rate in Mbit/s; without a limit the highest number.
    pub fn mbps(self) -> u32 {
        match self {
            Self::G12_5 => 12_500,
            Self::G25 => 25_000,
            Self::G37_5 => 37_500,
            Self::G50 => 50_000,
            Self::G75 => 75_000,
            Self::G100 => 100_000,
            Self::Unlimited => u32::MAX,
        }
    }

    /// The code in PathRecords (`IB_STATIC_RATE_*`, shared with the InfiniBand rates next to them);
    /// `None` is unlimited.
    pub fn code(self) -> Option<u8> {
        match self {
            Self::G12_5 => Some(11),
            Self::G25 => Some(15),
            Self::G37_5 => Some(7),
            Self::G50 => Some(12),
            Self::G75 => Some(9),
            Self::G100 => Some(16),
            Self::Unlimited => None,
        }
    }
}

/// A multicast GID: 128 bits, written `upper:lower`.
#[derive(
    Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, State,
)]
#[serde(try_from = "String", into = "String")]
pub struct Mgid(pub u128);

impl Mgid {
    /// From its two halves.
    pub fn new(upper: u64, lower: u64) -> Self {
        Self(u128::from(upper) << 64 | u128::from(lower))
    }

    /// The upper 64 bits (the prefix).
    pub fn upper(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// The lower 64 bits (the interface id).
    pub fn lower(self) -> u64 {
        self.0 as u64
    }
}

impl fmt::Display for Mgid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}:{:#018x}", self.upper(), self.lower())
    }
}

impl From<Mgid> for String {
    fn from(mgid: Mgid) -> Self {
        mgid.to_string()
    }
}

impl TryFrom<String> for Mgid {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let half = |half: &str| {
            half.strip_prefix("0x")
                .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        };
        let halves = text
            .split_once(':')
            .and_then(|(upper, lower)| Some(Self::new(half(upper)?, half(lower)?)));
        halves.ok_or_else(|| format!("`{text}` is not two hexadecimal numbers with `:` between"))
    }
}

impl fmt::Debug for Mgid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A service identifier: 64 bits, chosen by the application.
#[derive(
    Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, State,
)]
#[serde(transparent)]
pub struct ServiceId(pub u64);

impl fmt::Display for ServiceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}", self.0)
    }
}

impl fmt::Debug for ServiceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A range, both ends included.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, State,
)]
pub struct Interval<T> {
    /// The lowest value.
    pub first: T,
    /// The highest value.
    pub last: T,
}

impl<T: PartialOrd> Interval<T> {
    /// Whether a value lies in the range.
    pub fn contains(&self, value: &T) -> bool {
        self.first <= *value && *value <= self.last
    }
}

/// A value of which only the bits of a mask count.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, State,
)]
pub struct Masked<T> {
    /// The value.
    pub value: T,
    /// The bits that count.
    pub mask: T,
}

impl Masked<ServiceId> {
    /// Whether a service identifier equals the value in the bits of the mask.
    pub fn matches(&self, id: ServiceId) -> bool {
        id.0 & self.mask.0 == self.value.0 & self.mask.0
    }
}

impl Masked<Mgid> {
    /// Whether the bits of the mask of a multicast GID are the value: a value with other bits
    /// matches nothing.
    pub fn matches(&self, mgid: Mgid) -> bool {
        mgid.0 & self.mask.0 == self.value.0
    }
}

/// Size limit of a core file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CoreLimit {
    /// Maximum number of bytes; 0 writes no core file.
    Bytes(u64),
    /// No limit.
    Unlimited,
}

/// Two ports of switches that a dimension of a mesh or torus joins: `first` leads to `second`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PortPair {
    /// The port on the nearer switch.
    pub first: u8,
    /// The port on the farther switch.
    pub second: u8,
}
