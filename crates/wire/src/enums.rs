//! Codes on the wire that have names.
//!
//! Each is an open newtype: a value that has no name here is kept as it came and printed as its
//! number.

use std::fmt;

use serde::{Deserialize, Serialize};
use weft_state::State;

use crate::layout::{Block, Field};
use crate::print::Print;

macro_rules! codes {
    ($(#[$meta:meta])* $name:ident($int:ty) { $( $(#[$vmeta:meta])* $variant:ident = $value:literal, $text:literal; )* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, State)]
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
    /// Type of a node (`NodeInfo.NodeType`).
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

codes!(
    /// Why a port is off although it should be on (`PortStates.OfflineDisabledReason`,
    /// `STL_OFFDIS_REASON`).
    OfflineDisabledReason(u8) {
        /// No reason given.
        NONE = 0, "None";
        /// Not connected by design.
        DISCONNECTED = 1, "Disconnected";
        /// No module in the cage.
        LOCAL_MEDIA_NOT_INSTALLED = 2, "Local media not installed";
        /// The internal link has no card at its other end.
        NOT_INSTALLED = 3, "Not installed";
        /// Forced off by the chassis.
        CHASSIS_CONFIG = 4, "Chassis config";
        /// A module here, none at the other end.
        END_TO_END_NOT_INSTALLED = 6, "End to end not installed";
        /// It would take more power than allowed.
        POWER_POLICY = 8, "Power policy";
        /// No enabled speed can be reached.
        LINK_SPEED_POLICY = 9, "Link speed policy";
        /// No enabled width can be reached.
        LINK_WIDTH_POLICY = 10, "Link width policy";
        /// Switched off through the switch's own management.
        SWITCH_MGMT = 12, "Switch management";
        /// Switched off by the subnet manager.
        SMA_DISABLED = 13, "SMA disabled";
        /// During a link bounce.
        TRANSIENT = 15, "Transient";
    }
);

codes!(
    /// Why a link went down (`STL_LINKDOWN_REASON`).
    LinkDownReason(u8) {
        /// None.
        NONE = 0, "None";
        /// Rcv error 0.
        RCV_ERROR_0 = 1, "Rcv error 0";
        /// Bad pkt len.
        BAD_PKT_LEN = 2, "Bad pkt len";
        /// Pkt too long.
        PKT_TOO_LONG = 3, "Pkt too long";
        /// Pkt too short.
        PKT_TOO_SHORT = 4, "Pkt too short";
        /// Bad SLID.
        BAD_SLID = 5, "Bad SLID";
        /// Bad DLID.
        BAD_DLID = 6, "Bad DLID";
        /// Bad L2.
        BAD_L2 = 7, "Bad L2";
        /// Bad SC.
        BAD_SC = 8, "Bad SC";
        /// Rcv error 8.
        RCV_ERROR_8 = 9, "Rcv error 8";
        /// Bad mid tail.
        BAD_MID_TAIL = 10, "Bad mid tail";
        /// Rcv error 10.
        RCV_ERROR_10 = 11, "Rcv error 10";
        /// Preempt error.
        PREEMPT_ERROR = 12, "Preempt error";
        /// Preempt VL15.
        PREEMPT_VL15 = 13, "Preempt VL15";
        /// Bad VL marker.
        BAD_VL_MARKER = 14, "Bad VL marker";
        /// Rcv error 14.
        RCV_ERROR_14 = 15, "Rcv error 14";
        /// Rcv error 15.
        RCV_ERROR_15 = 16, "Rcv error 15";
        /// Bad head dist.
        BAD_HEAD_DIST = 17, "Bad head dist";
        /// Bad tail dist.
        BAD_TAIL_DIST = 18, "Bad tail dist";
        /// Bad ctrl dist.
        BAD_CTRL_DIST = 19, "Bad ctrl dist";
        /// Bad credit ack.
        BAD_CREDIT_ACK = 20, "Bad credit ack";
        /// Unsupported VL marker.
        UNSUPPORTED_VL_MARKER = 21, "Unsupported VL marker";
        /// Bad preempt.
        BAD_PREEMPT = 22, "Bad preempt";
        /// Bad control flit.
        BAD_CONTROL_FLIT = 23, "Bad control flit";
        /// Exceed multicast limit.
        EXCEED_MULTICAST_LIMIT = 24, "Exceed multicast limit";
        /// Rcv error 24.
        RCV_ERROR_24 = 25, "Rcv error 24";
        /// Rcv error 25.
        RCV_ERROR_25 = 26, "Rcv error 25";
        /// Rcv error 26.
        RCV_ERROR_26 = 27, "Rcv error 26";
        /// Rcv error 27.
        RCV_ERROR_27 = 28, "Rcv error 27";
        /// Rcv error 28.
        RCV_ERROR_28 = 29, "Rcv error 28";
        /// Rcv error 29.
        RCV_ERROR_29 = 30, "Rcv error 29";
        /// Rcv error 30.
        RCV_ERROR_30 = 31, "Rcv error 30";
        /// Excessive buffer overrun.
        EXCESSIVE_BUFFER_OVERRUN = 32, "Excessive buffer overrun";
        /// Unknown.
        UNKNOWN = 33, "Unknown";
        /// Reboot.
        REBOOT = 35, "Reboot";
        /// Neighbor unknown.
        NEIGHBOR_UNKNOWN = 36, "Neighbor unknown";
        /// FM bounce.
        FM_BOUNCE = 39, "FM bounce";
        /// Speed policy.
        SPEED_POLICY = 40, "Speed policy";
        /// Width policy.
        WIDTH_POLICY = 41, "Width policy";
        /// Disconnected.
        DISCONNECTED = 49, "Disconnected";
        /// Local media not installed.
        LOCAL_MEDIA_NOT_INSTALLED = 50, "Local media not installed";
        /// Not installed.
        NOT_INSTALLED = 51, "Not installed";
        /// Chassis config.
        CHASSIS_CONFIG = 52, "Chassis config";
        /// End to end not installed.
        END_TO_END_NOT_INSTALLED = 54, "End to end not installed";
        /// Power policy.
        POWER_POLICY = 56, "Power policy";
        /// Linkspeed policy.
        LINKSPEED_POLICY = 57, "Linkspeed policy";
        /// Linkwidth policy.
        LINKWIDTH_POLICY = 58, "Linkwidth policy";
        /// Switch mgmt.
        SWITCH_MGMT = 60, "Switch mgmt";
        /// SMA disabled.
        SMA_DISABLED = 61, "SMA disabled";
        /// Transient.
        TRANSIENT = 63, "Transient";
    }
);

codes!(
    /// Attachment of a port (`STL_PORT_TYPE`).
    PortType(u8) {
        /// Not known.
        UNKNOWN = 0, "Unknown";
        /// Not usable at present.
        DISCONNECTED = 1, "Disconnected";
        /// A fixed backplane port of a director.
        FIXED = 2, "Fixed";
        /// A backplane port of a blade system.
        VARIABLE = 3, "Variable";
        /// A cage for QSFP modules.
        STANDARD = 4, "Standard";
        /// A silicon photonics module.
        SI_PHOTONICS = 5, "SiPhotonics";
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
