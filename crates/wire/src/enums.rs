//! Codes on the wire that have names.
//!
//! Each is an open newtype: a value that has no name here is kept as it came and printed as its
//! number.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::layout::Field;

macro_rules! codes {
    ($(#[$meta:meta])* $name:ident($int:ty) { $( $(#[$vmeta:meta])* $variant:ident = $value:literal, $text:literal; )* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $int);

        impl $name {
            $( $(#[$vmeta])* pub const $variant: Self = Self($value); )*

            /// Its name, or nothing where the code has none.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $( $value => Some($text), )*
                    _ => None,
                }
            }
        }

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

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "{}", self.0),
                }
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.name() {
                    Some(name) => write!(f, "{name} ({})", self.0),
                    None => write!(f, "{}", self.0),
                }
            }
        }
    };
}

codes!(
    /// What a node is (`NodeInfo.NodeType`).
    NodeType(u8) {
        /// A host fabric interface ("FI" in the vendor's tools).
        HFI = 1, "FI";
        /// A switch.
        SWITCH = 2, "SW";
    }
);

codes!(
    /// Logical state of a port (`PortStates.PortState`). In a Set, 0 means no change.
    PortState(u8) {
        /// No change (Set only).
        NOP = 0, "Nop";
        /// No link.
        DOWN = 1, "Down";
        /// Link up, management only.
        INIT = 2, "Init";
        /// Configured, receives data.
        ARMED = 3, "Armed";
        /// Sends and receives data.
        ACTIVE = 4, "Active";
    }
);

codes!(
    /// Physical state of a port (`PortStates.PortPhysicalState`). In a Set, 0 means no change.
    PhysState(u8) {
        /// No change (Set only).
        NOP = 0, "Nop";
        /// Looking for a partner.
        POLLING = 2, "Polling";
        /// Switched off by management.
        DISABLED = 3, "Disabled";
        /// Training.
        TRAINING = 4, "Training";
        /// The link is up.
        LINK_UP = 5, "LinkUp";
        /// Recovering from errors.
        RECOVERY = 6, "LinkErrorRecovery";
        /// Physically off.
        OFFLINE = 9, "Offline";
        /// Under test.
        TEST = 11, "Test";
    }
);

codes!(
    /// One link width, or a set of them (`LinkWidth.*`): bit n is n + 1 lanes.
    LinkWidth(u16) {
        /// No change (Set), or none.
        NOP = 0, "Nop";
        /// One lane.
        X1 = 1, "1";
        /// Two lanes.
        X2 = 2, "2";
        /// Three lanes.
        X3 = 4, "3";
        /// Four lanes.
        X4 = 8, "4";
    }
);

codes!(
    /// One link speed a lane, or a set of them (`LinkSpeed.*`).
    LinkSpeed(u16) {
        /// No change (Set), or none.
        NOP = 0, "Nop";
        /// 12.5 Gb/s a lane.
        G12_5 = 1, "12.5Gb";
        /// 25.78125 Gb/s a lane.
        G25 = 2, "25Gb";
    }
);

codes!(
    /// A maximum transfer unit (`STL_MTU`).
    Mtu(u8) {
        /// None.
        NONE = 0, "0";
        /// 256 bytes.
        B256 = 1, "256";
        /// 512 bytes.
        B512 = 2, "512";
        /// 1024 bytes.
        B1024 = 3, "1024";
        /// 2048 bytes.
        B2048 = 4, "2048";
        /// 4096 bytes.
        B4096 = 5, "4096";
        /// 8192 bytes.
        B8192 = 6, "8192";
        /// 10240 bytes.
        B10240 = 7, "10240";
    }
);

codes!(
    /// Why the SM left a port in Init (`LinkInitReason`).
    LinkInitReason(u8) {
        /// None.
        NOP = 0, "None";
        /// The link came up.
        LINKUP = 1, "LinkUp";
        /// The link bounced too often.
        FLAPPING = 2, "Flapping";
        /// Outside the link policy.
        OUTSIDE_POLICY = 8, "Out of policy";
        /// Quarantined by a security check.
        QUARANTINED = 9, "Quarantined";
        /// Too few VLs, MTU or the like.
        INSUFFICIENT_CAPABILITY = 10, "Insufficient capability";
    }
);

codes!(
    /// State of a subnet manager (`SMInfo.SMStateCurrent`).
    SmState(u8) {
        /// Does not take part.
        NOT_ACTIVE = 0, "Inactive";
        /// Looking for others.
        DISCOVERING = 1, "Discovering";
        /// Waits for the master to fail.
        STANDBY = 2, "Standby";
        /// Runs the fabric.
        MASTER = 3, "Master";
    }
);

impl LinkWidth {
    /// Lanes of the widest link in the set, 0 when it is empty.
    pub fn lanes(self) -> u32 {
        u16::BITS - self.0.leading_zeros()
    }
}

impl LinkSpeed {
    /// Data rate of a lane in Mb/s as the vendor's tools count it, 0 for none.
    pub fn lane_mbps(self) -> u32 {
        match self {
            Self::G25 => 25_000,
            Self::G12_5 => 12_500,
            _ => 0,
        }
    }
}

impl Mtu {
    /// The code's size in bytes, 0 for an unknown one.
    pub fn bytes(self) -> u32 {
        match self.0 {
            1..=6 => 128 << self.0,
            7 => 10_240,
            _ => 0,
        }
    }
}
