//! The names of things in a fabric: each a newtype, so that a LID is never taken for a port.

use std::fmt;

use serde::{Deserialize, Serialize};
use weft_state::State;

use crate::layout::{Block, Field};
use crate::print::Print;

macro_rules! id {
    ($(#[$meta:meta])* $name:ident($int:ty), $format:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, State)]
        #[serde(transparent)]
        pub struct $name(pub $int);

        impl Field for $name {
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                Self(bits as $int)
            }
            #[inline(always)]
            fn to_bits(self) -> u64 {
                u64::from(self.0)
            }
        }

        impl Block for $name {
            const LEN: usize = <$int as Block>::LEN;
            #[inline(always)]
            fn load(bytes: &[u8]) -> Self {
                Self(<$int as Block>::load(bytes))
            }
            #[inline(always)]
            fn store(&self, bytes: &mut [u8]) {
                self.0.store(bytes);
            }
        }

        impl Print for $name {}

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, $format, self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, $format, self.0)
            }
        }
    };
}

id!(
    /// A globally unique identifier of a node, a port or a system: EUI-64, printed as `0x%016x`.
    Guid(u64), "{:#018x}"
);
id!(
    /// A local identifier, 32 bits wide on the wire: unicast from 1, multicast from 0xF0000000.
    Lid(u32), "{:#06x}"
);
id!(
    /// Number of low LID bits free for paths: a port answers to 2^LMC LIDs (0 to 7).
    Lmc(u8), "{}"
);
id!(
    /// A port's number on its node: 0 is a switch's management port, external ports count from 1.
    PortNum(u8), "{}"
);
id!(
    /// A service level (0 to 31), chosen by the sender.
    Sl(u8), "{}"
);
id!(
    /// A service channel (0 to 31), carried by packets on a link; 15 is for management.
    Sc(u8), "{}"
);
id!(
    /// A virtual lane (0 to 31) of a port's buffers; 15 is for management.
    Vl(u8), "{}"
);
id!(
    /// A partition key: bit 15 marks a full member, bits 14 to 0 name the partition.
    PKey(u16), "{:#06x}"
);

/// A global identifier: a subnet's prefix and a port's identifier in it, printed as
/// `0x%016x:0x%016x`.
#[derive(
    Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, State,
)]
pub struct Gid {
    /// Subnet prefix, or the upper half of a multicast group's identifier.
    pub prefix: u64,
    /// Port GUID, or the lower half of a multicast group's identifier.
    pub interface: Guid,
}

impl Block for Gid {
    const LEN: usize = 16;
    #[inline]
    fn load(bytes: &[u8]) -> Self {
        Self {
            prefix: crate::bits::load(bytes, 0, 8),
            interface: Guid(crate::bits::load(bytes, 8, 8)),
        }
    }
    #[inline]
    fn store(&self, bytes: &mut [u8]) {
        crate::bits::store(bytes, 0, 8, self.prefix);
        crate::bits::store(bytes, 8, 8, self.interface.0);
    }
}

impl Print for Gid {}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}:{}", self.prefix, self.interface)
    }
}

impl fmt::Debug for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Lid {
    /// The destination of a purely directed-route datagram (`STL_LID_PERMISSIVE`).
    pub const PERMISSIVE: Self = Self(0xFFFF_FFFF);
    /// Highest unicast LID that the 16-bit forms can carry (`0xBFFF`).
    pub const MAX_UNICAST_16: Self = Self(0xBFFF);
    /// Lowest multicast LID in its 32-bit form.
    pub const MULTICAST_BASE: Self = Self(0xF000_0000);

    /// Whether it can name an end port.
    pub fn is_unicast(self) -> bool {
        self.0 != 0 && self.0 < Self::MULTICAST_BASE.0
    }
}

impl Lmc {
    /// The largest LMC: 128 LIDs a port.
    pub const MAX: Self = Self(7);

    /// Number of LIDs of a port.
    pub fn lids(self) -> u32 {
        1 << self.0.min(Self::MAX.0)
    }
}

impl PKey {
    /// Full member of the management partition.
    pub const MGMT_FULL: Self = Self(0xFFFF);
    /// Limited member of the management partition.
    pub const MGMT_LIMITED: Self = Self(0x7FFF);

    /// Whether the member is a full one.
    pub fn is_full(self) -> bool {
        self.0 & 0x8000 != 0
    }
}
