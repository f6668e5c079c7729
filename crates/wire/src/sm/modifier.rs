//! Attribute modifiers: which ports or blocks of an attribute a datagram reads or writes.
//!
//! Each is a value with `from_bits` and `bits`; reserved bits are dropped. `count` 0 is taken by
//! agents as it stands: there is no default.

use crate::id::PortNum;
use crate::layout::{layout, register};
use crate::sm::AttributeId;

layout! {
    /// Modifier of PortInfo, PortStateInfo, LedInfo, BufferControlTable and SwitchPortCongestionSetting.
    pub struct PortModifier: 4, "attribute modifier of STL_PORT_INFO" {
        /// Ports in the datagram.
        count: u8 = u32 @ 0 [31:24], "N";
        /// The subnet manager starts to configure the port (PortInfo and PortStateInfo).
        start_of_sm_configuration: bool = u32 @ 0 [9:9], "S";
        /// Set of one block for all ports from `port` on.
        all_ports: bool = u32 @ 0 [8:8], "A";
        /// The first port; an HFI ignores it.
        port: PortNum = u32 @ 0 [7:0], "P";
    }
}
register!(PortModifier, u32);

impl PortModifier {
    /// One port.
    pub fn one(port: PortNum) -> Self {
        Self::range(port, 1)
    }

    /// `count` ports from `port` on.
    pub fn range(port: PortNum, count: u8) -> Self {
        Self {
            count,
            port,
            ..Self::default()
        }
    }

    /// This modifier with the flag that makes agents set `is_sm_configuration_started`.
    pub fn starting_configuration(self) -> Self {
        Self {
            start_of_sm_configuration: true,
            ..self
        }
    }
}

layout! {
    /// Modifier of SCtoVLr, SCtoVLt and SCtoVLnt.
    pub struct ScVlModifier: 4, "attribute modifier of STL_SCVLMAP" {
        /// Ports in the datagram.
        count: u8 = u32 @ 0 [31:24], "N";
        /// SCtoVLt: the Set is meant for a port that is armed or active.
        asynchronous: bool = u32 @ 0 [12:12], "Y";
        /// Set of one block for all ports from `port` on.
        all_ports: bool = u32 @ 0 [8:8], "A";
        /// The first port; an HFI ignores it.
        port: PortNum = u32 @ 0 [7:0], "P";
    }
}
register!(ScVlModifier, u32);

layout! {
    /// Modifier of the P_Key table.
    pub struct PKeyModifier: 4, "attribute modifier of STL_PARTITION_TABLE" {
        /// Blocks in the datagram.
        count: u8 = u32 @ 0 [31:24], "N";
        /// The port; an HFI ignores it.
        port: PortNum = u32 @ 0 [23:16], "P";
        /// The first block, 32 keys each.
        block: u16 = u32 @ 0 [10:0], "B";
    }
}
register!(PKeyModifier, u32);

layout! {
    /// Modifier of VLArbitration.
    pub struct VlArbModifier: 4, "attribute modifier of STL_VLARB_TABLE" {
        /// Ports in the datagram.
        count: u8 = u32 @ 0 [31:24], "N";
        /// Section, see [`crate::sm::VlArbSection`].
        section: u8 = u32 @ 0 [23:16], "S";
        /// Set of one block for all ports from `port` on.
        all_ports: bool = u32 @ 0 [8:8], "A";
        /// The first port; an HFI ignores it.
        port: PortNum = u32 @ 0 [7:0], "P";
    }
}
register!(VlArbModifier, u32);

layout! {
    /// Modifier of LinearFDB and PortGroupFDB, 64 LIDs per block.
    pub struct BlockModifier: 4, "attribute modifier of STL_LINEAR_FORWARDING_TABLE" {
        /// Blocks in the datagram.
        count: u8 = u32 @ 0 [31:24], "N";
        /// Set of one block for all blocks from `block` on.
        all_blocks: bool = u32 @ 0 [18:18], "A";
        /// The first block.
        block: u32 = u32 @ 0 [17:0], "B";
    }
}
register!(BlockModifier, u32);

layout! {
    /// Modifier of MulticastFDB, 8 LIDs per block.
    pub struct MulticastModifier: 4, "attribute modifier of STL_MULTICAST_FORWARDING_TABLE" {
        /// Blocks in the datagram.
        count: u8 = u32 @ 0 [31:24], "N";
        /// Group of 64 ports: 0 to 3.
        position: u8 = u32 @ 0 [23:22], "P";
        /// Set of one block for all blocks from `block` on.
        all_blocks: bool = u32 @ 0 [20:20], "A";
        /// The first block.
        block: u32 = u32 @ 0 [19:0], "B";
    }
}
register!(MulticastModifier, u32);

layout! {
    /// Modifier of PortGroupTable, 8 groups per block.
    pub struct PortGroupModifier: 4, "attribute modifier of STL_PORT_GROUP_TABLE" {
        /// Blocks in the datagram.
        count: u8 = u32 @ 0 [31:24], "N";
        /// Group of 64 ports: 0 to 3.
        position: u8 = u32 @ 0 [23:22], "P";
        /// Set of one block for all blocks from `block` on.
        all_blocks: bool = u32 @ 0 [5:5], "A";
        /// The first block.
        block: u8 = u32 @ 0 [4:0], "B";
    }
}
register!(PortGroupModifier, u32);

layout! {
    /// Modifier of SCtoSC.
    pub struct ScScModifier: 4, "attribute modifier of STL_SCSCMAP" {
        /// Ports in the datagram: egress ports, or ingress ports with `all_egress`.
        count: u8 = u32 @ 0 [31:24], "N";
        /// Set for all ingress ports from `ingress` on, port 0 excluded.
        all_ingress: bool = u32 @ 0 [17:17], "A";
        /// Set for all egress ports from `egress` on, port 0 excluded.
        all_egress: bool = u32 @ 0 [16:16], "B";
        /// The first ingress port, from 1.
        ingress: PortNum = u32 @ 0 [15:8], "I";
        /// The first egress port, from 1.
        egress: PortNum = u32 @ 0 [7:0], "E";
    }
}
register!(ScScModifier, u32);

layout! {
    /// Modifier of CableInfo.
    pub struct CableInfoModifier: 4, "attribute modifier of STL_CABLE_INFO" {
        /// First byte, 0 to 4095.
        address: u16 = u32 @ 0 [30:19], "A";
        /// Bytes less one; the read must not leave its page of 128.
        len_less_one: u8 = u32 @ 0 [18:13], "L";
        /// The port; an HFI ignores it.
        port: PortNum = u32 @ 0 [7:0], "P";
    }
}
register!(CableInfoModifier, u32);

layout! {
    /// Modifier of HfiCongestionControlTable, 64 entries per block.
    pub struct CctModifier: 4, "attribute modifier of STL_HFI_CONGESTION_CONTROL_TABLE" {
        /// Blocks in the datagram.
        count: u8 = u32 @ 0 [31:24], "N";
        /// The first block.
        block: u8 = u32 @ 0 [7:0], "B";
    }
}
register!(CctModifier, u32);

layout! {
    /// Modifier of SCtoSC MultiSet, and of performance management's counters.
    pub struct CountModifier: 4, "attribute modifier of STL_SCSC_MULTISET" {
        /// Blocks in the datagram.
        count: u8 = u32 @ 0 [31:24], "N";
    }
}
register!(CountModifier, u32);

layout! {
    /// Modifier of Aggregate.
    pub struct AggregateModifier: 4, "attribute modifier of STL_AGGREGATE" {
        /// Segments in the datagram, 1 to 117.
        segments: u8 = u32 @ 0 [7:0], "N";
    }
}
register!(AggregateModifier, u32);

/// An attribute's modifier, by attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Modifier {
    /// The attribute has none, or none that is known: the number as it is.
    Plain(u32),
    /// See [`PortModifier`].
    Port(PortModifier),
    /// See [`ScVlModifier`].
    ScVl(ScVlModifier),
    /// See [`PKeyModifier`].
    PKey(PKeyModifier),
    /// See [`VlArbModifier`].
    VlArb(VlArbModifier),
    /// See [`BlockModifier`].
    Block(BlockModifier),
    /// See [`MulticastModifier`].
    Multicast(MulticastModifier),
    /// See [`PortGroupModifier`].
    PortGroup(PortGroupModifier),
    /// See [`ScScModifier`].
    ScSc(ScScModifier),
    /// See [`CableInfoModifier`].
    CableInfo(CableInfoModifier),
    /// See [`CctModifier`].
    Cct(CctModifier),
    /// See [`CountModifier`].
    Count(CountModifier),
    /// See [`AggregateModifier`].
    Aggregate(AggregateModifier),
}

impl Modifier {
    /// The modifier `bits` as `attribute` understands it.
    pub fn decode(attribute: AttributeId, bits: u32) -> Self {
        match attribute {
            AttributeId::PORT_INFO
            | AttributeId::PORT_STATE_INFO
            | AttributeId::LED_INFO
            | AttributeId::BUFFER_CONTROL_TABLE
            | AttributeId::SWITCH_PORT_CONGESTION_SETTING => {
                Self::Port(PortModifier::from_bits(bits))
            }
            AttributeId::SC_TO_VLR | AttributeId::SC_TO_VLT | AttributeId::SC_TO_VLNT => {
                Self::ScVl(ScVlModifier::from_bits(bits))
            }
            AttributeId::P_KEY_TABLE => Self::PKey(PKeyModifier::from_bits(bits)),
            AttributeId::VL_ARBITRATION => Self::VlArb(VlArbModifier::from_bits(bits)),
            AttributeId::LINEAR_FDB | AttributeId::PORT_GROUP_FDB => {
                Self::Block(BlockModifier::from_bits(bits))
            }
            AttributeId::MULTICAST_FDB => Self::Multicast(MulticastModifier::from_bits(bits)),
            AttributeId::PORT_GROUP_TABLE => Self::PortGroup(PortGroupModifier::from_bits(bits)),
            AttributeId::SC_TO_SC => Self::ScSc(ScScModifier::from_bits(bits)),
            AttributeId::CABLE_INFO => Self::CableInfo(CableInfoModifier::from_bits(bits)),
            AttributeId::HFI_CONGESTION_CONTROL_TABLE => Self::Cct(CctModifier::from_bits(bits)),
            AttributeId::SC_TO_SC_MULTISET => Self::Count(CountModifier::from_bits(bits)),
            AttributeId::AGGREGATE => Self::Aggregate(AggregateModifier::from_bits(bits)),
            _ => Self::Plain(bits),
        }
    }

    /// The modifier as it is on the wire.
    pub fn bits(&self) -> u32 {
        match self {
            Self::Plain(bits) => *bits,
            Self::Port(modifier) => modifier.bits(),
            Self::ScVl(modifier) => modifier.bits(),
            Self::PKey(modifier) => modifier.bits(),
            Self::VlArb(modifier) => modifier.bits(),
            Self::Block(modifier) => modifier.bits(),
            Self::Multicast(modifier) => modifier.bits(),
            Self::PortGroup(modifier) => modifier.bits(),
            Self::ScSc(modifier) => modifier.bits(),
            Self::CableInfo(modifier) => modifier.bits(),
            Self::Cct(modifier) => modifier.bits(),
            Self::Count(modifier) => modifier.bits(),
            Self::Aggregate(modifier) => modifier.bits(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(attribute: AttributeId, bits: u32, expected: Modifier) {
        assert_eq!(
            Modifier::decode(attribute, bits),
            expected,
            "{attribute} {bits:#x}"
        );
        assert_eq!(expected.bits(), bits, "{expected:?}");
    }

    #[test]
    fn each_attribute_has_its_own_bits() {
        let port = PortModifier::range(PortNum(0x24), 3);
        same(AttributeId::PORT_INFO, 0x0300_0024, Modifier::Port(port));
        let starting = Modifier::Port(port.starting_configuration());
        same(AttributeId::PORT_STATE_INFO, 0x0300_0224, starting);
        let all = PortModifier {
            all_ports: true,
            ..PortModifier::one(PortNum(1))
        };
        same(
            AttributeId::BUFFER_CONTROL_TABLE,
            0x0100_0101,
            Modifier::Port(all),
        );
        let vl = ScVlModifier {
            count: 1,
            asynchronous: true,
            all_ports: false,
            port: PortNum(5),
        };
        same(AttributeId::SC_TO_VLT, 0x0100_1005, Modifier::ScVl(vl));
        let p_key = PKeyModifier {
            count: 2,
            port: PortNum(9),
            block: 0x7FF,
        };
        same(AttributeId::P_KEY_TABLE, 0x0209_07FF, Modifier::PKey(p_key));
        let arb = VlArbModifier {
            count: 1,
            section: 3,
            all_ports: true,
            port: PortNum(0),
        };
        same(
            AttributeId::VL_ARBITRATION,
            0x0103_0100,
            Modifier::VlArb(arb),
        );
        let lft = BlockModifier {
            count: 29,
            all_blocks: true,
            block: 0x3_0001,
        };
        same(AttributeId::LINEAR_FDB, 0x1D07_0001, Modifier::Block(lft));
        let mft = MulticastModifier {
            count: 1,
            position: 3,
            all_blocks: true,
            block: 0xF_0001,
        };
        same(
            AttributeId::MULTICAST_FDB,
            0x01DF_0001,
            Modifier::Multicast(mft),
        );
        let pgt = PortGroupModifier {
            count: 31,
            position: 1,
            all_blocks: false,
            block: 31,
        };
        same(
            AttributeId::PORT_GROUP_TABLE,
            0x1F40_001F,
            Modifier::PortGroup(pgt),
        );
        let sc = ScScModifier {
            count: 4,
            all_ingress: true,
            all_egress: true,
            ingress: PortNum(1),
            egress: PortNum(2),
        };
        same(AttributeId::SC_TO_SC, 0x0403_0102, Modifier::ScSc(sc));
        let cable = CableInfoModifier {
            address: 0xFFF,
            len_less_one: 63,
            port: PortNum(1),
        };
        same(
            AttributeId::CABLE_INFO,
            0x7FFF_E001,
            Modifier::CableInfo(cable),
        );
        let cct = CctModifier {
            count: 14,
            block: 2,
        };
        same(
            AttributeId::HFI_CONGESTION_CONTROL_TABLE,
            0x0E00_0002,
            Modifier::Cct(cct),
        );
        let aggregate = AggregateModifier { segments: 117 };
        same(AttributeId::AGGREGATE, 0x75, Modifier::Aggregate(aggregate));
        same(AttributeId::SM_INFO, 5, Modifier::Plain(5));
    }

    #[test]
    fn reserved_bits_are_dropped() {
        assert_eq!(PortModifier::from_bits(u32::MAX).bits(), 0xFF00_03FF);
        assert_eq!(BlockModifier::from_bits(u32::MAX).bits(), 0xFF07_FFFF);
        assert_eq!(CableInfoModifier::from_bits(u32::MAX).bits(), 0x7FFF_E0FF);
    }
}
