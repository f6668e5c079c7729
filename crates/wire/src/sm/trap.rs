//! Traps: what happened, by number.

use crate::id::{Gid, Guid, Lid, PortNum, Sl};
use crate::layout::{Block, layout};
use crate::sm::capability::{CapabilityMask, CapabilityMask3};
use crate::sm::notice::Notice;

layout! {
    /// Traps 64 to 67, of a subnet manager (`STL_TRAP_GID`).
    pub struct TrapGid: 16, "STL_TRAP_GID" {
        /// The port or the multicast group.
        gid: Gid = block @ 0, "Gid";
    }
}

layout! {
    /// Trap 128 (`STL_TRAP_PORT_CHANGE_STATE_DATA`).
    pub struct TrapPortChangeState: 4, "STL_TRAP_PORT_CHANGE_STATE_DATA" {
        /// The switch.
        lid: Lid = u32 @ 0, "Lid";
    }
}

layout! {
    /// Traps 129 to 131 (`STL_TRAP_LINK`).
    pub struct TrapLink: 5, "STL_TRAP_LINK" {
        /// The node.
        lid: Lid = u32 @ 0, "Lid";
        /// Its port.
        port: PortNum = u8 @ 4, "Port";
    }
}

layout! {
    /// Trap 144 (`STL_TRAP_CHANGE_CAPABILITY_DATA`).
    pub struct TrapChangeCapability: 14, "STL_TRAP_CHANGE_CAPABILITY_DATA" {
        /// The port.
        lid: Lid = u32 @ 0, "Lid";
        /// New capabilities of its node.
        capability_mask: CapabilityMask = block @ 4, "CapabilityMask";
        /// New capabilities of the port.
        capability_mask3: CapabilityMask3 = block @ 10, "CapabilityMask3";
        /// Other widths may be fallen back to.
        link_width_downgrade_enabled_change: bool = u16 @ 12 [3:3], "u.s.LinkWidthDowngradeEnabledChange";
        /// Other speeds are enabled.
        link_speed_enabled_change: bool = u16 @ 12 [2:2], "u.s.LinkSpeedEnabledChange";
        /// Other widths are enabled.
        link_width_enabled_change: bool = u16 @ 12 [1:1], "u.s.LinkWidthEnabledChange";
        /// The node has another description.
        node_description_change: bool = u16 @ 12 [0:0], "u.s.NodeDescriptionChange";
    }
}

layout! {
    /// Trap 145 (`STL_TRAP_SYSGUID_CHANGE_DATA`).
    pub struct TrapSysGuidChange: 12, "STL_TRAP_SYSGUID_CHANGE_DATA" {
        /// The new one.
        system_image_guid: Guid = u64 @ 0, "SystemImageGuid";
        /// The node.
        lid: Lid = u32 @ 8, "Lid";
    }
}

layout! {
    /// Trap 256 (`STL_TRAP_BAD_M_KEY_DATA`).
    pub struct TrapBadMKey: 54, "STL_TRAP_BAD_M_KEY_DATA" {
        /// Source LID of the datagram.
        lid: Lid = u32 @ 0, "Lid";
        /// Source LID of its directed route.
        dr_slid: Lid = u32 @ 4, "DRSLid";
        /// Its method.
        method: u8 = u8 @ 8, "Method";
        /// It had a directed route.
        dr_notice: bool = u8 @ 9 [7:7], "u.s.DRNotice";
        /// The return path did not fit.
        dr_path_truncated: bool = u8 @ 9 [6:6], "u.s.DRPathTruncated";
        /// Bytes of the return path.
        dr_hop_count: u8 = u8 @ 9 [5:0], "u.s.DRHopCount";
        /// Its attribute.
        attribute_id: u16 = u16 @ 10, "AttributeID";
        /// Its attribute modifier.
        attribute_modifier: u32 = u32 @ 12, "AttributeModifier";
        /// The key that it came with.
        m_key: u64 = u64 @ 16, "MKey";
        /// Its return path.
        dr_return_path: [u8; 30] = block @ 24, "DRReturnPath";
    }
}

layout! {
    /// Traps 257 and 258 (`STL_TRAP_BAD_KEY_DATA`).
    pub struct TrapBadKey: 56, "STL_TRAP_BAD_KEY_DATA" {
        /// Source of the packet.
        lid1: Lid = u32 @ 0, "Lid1";
        /// Destination of the packet.
        lid2: Lid = u32 @ 4, "Lid2";
        /// The P_Key or Q_Key that it came with.
        key: u32 = u32 @ 8, "Key";
        /// Service level.
        sl: Sl = u8 @ 12 [7:3], "u.s.SL";
        /// Source of the packet.
        gid1: Gid = block @ 16, "Gid1";
        /// Destination of the packet.
        gid2: Gid = block @ 32, "Gid2";
        /// Source queue pair.
        qp1: u32 = u32 @ 48 [23:0], "qp1.s.qp";
        /// Destination queue pair.
        qp2: u32 = u32 @ 52 [23:0], "qp2.s.qp";
    }
}

layout! {
    /// Trap 259 (`STL_TRAP_SWITCH_BAD_PKEY_DATA`).
    pub struct TrapSwitchBadPKey: 56, "STL_TRAP_SWITCH_BAD_PKEY_DATA" {
        /// The source LID is valid.
        has_lid1: bool = u16 @ 0 [15:15], "u.s.Lid1";
        /// The destination LID is valid.
        has_lid2: bool = u16 @ 0 [14:14], "u.s.Lid2";
        /// The partition key is valid.
        has_p_key: bool = u16 @ 0 [13:13], "u.s.PKey";
        /// The service level is valid.
        has_sl: bool = u16 @ 0 [12:12], "u.s.SL";
        /// The source queue pair is valid.
        has_qp1: bool = u16 @ 0 [11:11], "u.s.QP1";
        /// The destination queue pair is valid.
        has_qp2: bool = u16 @ 0 [10:10], "u.s.QP2";
        /// The source GID is valid.
        has_gid1: bool = u16 @ 0 [9:9], "u.s.Gid1";
        /// The destination GID is valid.
        has_gid2: bool = u16 @ 0 [8:8], "u.s.Gid2";
        /// The partition key that it came with.
        p_key: u16 = u16 @ 2, "PKey";
        /// Source of the packet.
        lid1: Lid = u32 @ 4, "Lid1";
        /// Destination of the packet.
        lid2: Lid = u32 @ 8, "Lid2";
        /// Service level.
        sl: Sl = u8 @ 12 [7:3], "u2.s.SL";
        /// Source of the packet.
        gid1: Gid = block @ 16, "Gid1";
        /// Destination of the packet.
        gid2: Gid = block @ 32, "Gid2";
        /// Source queue pair.
        qp1: u32 = u32 @ 48 [31:8], "qp1.s.qp";
        /// Destination queue pair.
        qp2: u32 = u32 @ 52 [31:8], "qp2.s.qp";
    }
}

layout! {
    /// Trap 2048 (`STL_SMA_TRAP_DATA_LINK_WIDTH`).
    pub struct TrapLinkWidth: 4, "STL_SMA_TRAP_DATA_LINK_WIDTH" {
        /// The node, one of whose links changed its width.
        reporting_lid: Lid = u32 @ 0, "ReportingLID";
    }
}

macro_rules! traps {
    ($( $(#[$meta:meta])* $variant:ident($data:ident) = $number:literal, $text:literal, $kind:ident; )*) => {
        /// An event with its data.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(clippy::large_enum_variant)] // a trap is short-lived and a copy of 64 bytes at most
        pub enum Trap {
            $( $(#[$meta])* $variant($data), )*
            /// The master subnet manager computed its routes anew (trap 2049). No data.
            CostMatrixChange,
            /// A number that is not known here.
            Other {
                /// The number.
                number: u16,
                /// Its data.
                data: [u8; 64],
            },
        }

        impl Trap {
            /// The trap `number` with `data`.
            pub fn decode(number: u16, data: &[u8; 64]) -> Self {
                match number {
                    $( $number => Self::$variant(<$data as Block>::load(data)), )*
                    2049 => Self::CostMatrixChange,
                    _ => Self::Other { number, data: *data },
                }
            }

            /// The trap's number.
            pub fn number(&self) -> u16 {
                match self {
                    $( Self::$variant(_) => $number, )*
                    Self::CostMatrixChange => 2049,
                    Self::Other { number, .. } => *number,
                }
            }

            /// The trap's data, zeros after it.
            pub fn data(&self) -> [u8; 64] {
                let mut bytes = [0; 64];
                match self {
                    $( Self::$variant(data) => data.store(&mut bytes), )*
                    Self::CostMatrixChange => {}
                    Self::Other { data, .. } => bytes = *data,
                }
                bytes
            }

            /// The trap's name, or nothing where its number has none.
            pub fn name(number: u16) -> Option<&'static str> {
                match number {
                    $( $number => Some($text), )*
                    2049 => Some("cost matrix change"),
                    _ => None,
                }
            }

            /// The type of the notice that carries it.
            pub fn notice_type(&self) -> u8 {
                match self {
                    $( Self::$variant(_) => Notice::$kind, )*
                    Self::CostMatrixChange | Self::Other { .. } => Notice::TYPE_SUBNET_MANAGEMENT,
                }
            }
        }
    };
}

traps! {
    /// A port came into service.
    GidNowInService(TrapGid) = 64, "GID in service", TYPE_SUBNET_MANAGEMENT;
    /// A port went out of service.
    GidOutOfService(TrapGid) = 65, "GID out of service", TYPE_SUBNET_MANAGEMENT;
    /// A multicast group was made.
    AddMulticastGroup(TrapGid) = 66, "multicast group created", TYPE_SUBNET_MANAGEMENT;
    /// A multicast group was removed.
    DelMulticastGroup(TrapGid) = 67, "multicast group deleted", TYPE_SUBNET_MANAGEMENT;
    /// A port of a switch changed its state.
    PortChangeState(TrapPortChangeState) = 128, "port state change", TYPE_URGENT;
    /// Too many errors on a link.
    LinkIntegrity(TrapLink) = 129, "link integrity", TYPE_URGENT;
    /// A buffer overran.
    BufferOverrun(TrapLink) = 130, "buffer overrun", TYPE_URGENT;
    /// Flow control stood still.
    FlowWatchdog(TrapLink) = 131, "flow control watchdog", TYPE_URGENT;
    /// A port's capabilities or link policy changed, or its node's description.
    ChangeCapability(TrapChangeCapability) = 144, "capability change", TYPE_INFORMATIONAL;
    /// A node's system changed.
    ChangeSysGuid(TrapSysGuidChange) = 145, "system image GUID change", TYPE_INFORMATIONAL;
    /// A datagram with a wrong M_Key.
    BadMKey(TrapBadMKey) = 256, "bad M_Key", TYPE_SECURITY;
    /// A packet with a wrong P_Key.
    BadPKey(TrapBadKey) = 257, "bad P_Key", TYPE_SECURITY;
    /// A packet with a wrong Q_Key.
    BadQKey(TrapBadKey) = 258, "bad Q_Key", TYPE_SECURITY;
    /// A switch saw a packet with a wrong P_Key.
    SwitchBadPKey(TrapSwitchBadPKey) = 259, "bad P_Key at switch", TYPE_SECURITY;
    /// A link of a switch changed its width.
    LinkWidth(TrapLinkWidth) = 2048, "link width change", TYPE_INFORMATIONAL;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trap_keeps_its_number_and_data() {
        let content = std::array::from_fn(|index| index as u8 + 1);
        for number in (0..=300).chain([2048, 2049]) {
            let trap = Trap::decode(number, &content);
            let again = Trap::decode(trap.number(), &trap.data());
            assert_eq!((again, trap.number()), (trap, number));
            let known = !matches!(trap, Trap::Other { .. });
            assert_eq!(known, Trap::name(number).is_some(), "trap {number}");
        }
    }

    #[test]
    fn a_notice_carries_its_trap() {
        let trap = Trap::LinkIntegrity(TrapLink {
            lid: Lid(7),
            port: PortNum(3),
        });
        let notice = Notice::of(&trap, Notice::PRODUCER_SWITCH, Lid(7));
        assert_eq!(notice.trap(), Some(trap));
        assert_eq!(notice.data[..6], [0, 0, 0, 7, 3, 0]);
        assert_eq!(
            (notice.trap_number, notice.notice_type),
            (129, Notice::TYPE_URGENT)
        );
        let vendor = Notice {
            is_generic: false,
            ..notice
        };
        assert_eq!(vendor.trap(), None);
    }
}
