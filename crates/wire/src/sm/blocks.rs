//! Attributes of which a datagram carries several.

use crate::error::DecodeError;
use crate::layout::Layout;
use crate::sm::{
    AttributeId, BufferControlTable, CctBlock, LedInfo, LinearFdb, MulticastFdb, PartitionTable,
    PortGroupFdb, PortGroupTable, PortInfo, PortStateInfo, ScScMap, ScScMultiSet, ScVlMap,
    SwitchPortCongestionSetting, VlArbMatrix, VlArbTable,
};

/// A structure that comes several at a time.
pub trait Repeated: Layout {
    /// Bytes from one to the next.
    const STRIDE: usize;

    /// Number of elements that fit into `capacity` bytes; the last one needs no padding.
    fn max_blocks(capacity: usize) -> usize {
        let after_first = capacity.saturating_sub(Self::LEN);
        if capacity < Self::LEN {
            0
        } else {
            1 + after_first / Self::STRIDE
        }
    }
}

macro_rules! repeated {
    ($($name:ident $stride:literal),* $(,)?) => {$(
        impl Repeated for $name {
            const STRIDE: usize = $stride;
        }
    )*};
}
repeated!(
    PortInfo 248,
    PortStateInfo 8,
    PartitionTable 64,
    VlArbTable 256,
    VlArbMatrix 256,
    LinearFdb 64,
    MulticastFdb 64,
    PortGroupFdb 64,
    PortGroupTable 64,
    LedInfo 8,
    ScScMap 32,
    ScVlMap 32,
    ScScMultiSet 96,
    BufferControlTable 136,
    SwitchPortCongestionSetting 4,
    CctBlock 128,
);

/// The `count` structures that `payload` starts with, in order.
///
/// Ends after the first error, which is [`DecodeError::Short`].
pub fn decode_blocks<T: Repeated>(
    payload: &[u8],
    count: usize,
) -> impl Iterator<Item = Result<T, DecodeError>> + '_ {
    let mut failed = false;
    (0..count)
        .map(|index| T::decode(payload.get(index * T::STRIDE..).unwrap_or_default()))
        .take_while(move |block| !std::mem::replace(&mut failed, block.is_err()))
}

/// Appends `blocks` to `payload`, padding between them included.
pub fn encode_blocks<'a, T: Repeated + 'a>(
    blocks: impl IntoIterator<Item = &'a T>,
    payload: &mut Vec<u8>,
) {
    for block in blocks {
        let start = payload.len();
        payload.resize(start + T::STRIDE, 0);
        if let Some(to) = payload.get_mut(start..start + T::LEN) {
            block.encode(to);
        }
    }
}

/// Bytes of the first block of `attribute` and of each further one, or nothing for an attribute
/// that the wire format does not give a fixed size.
pub fn shape(attribute: AttributeId) -> Option<Shape> {
    let (len, stride) = match attribute {
        AttributeId::NODE_DESCRIPTION | AttributeId::CABLE_INFO => (64, 64),
        AttributeId::NODE_INFO => (44, 48),
        AttributeId::SWITCH_INFO => (84, 88),
        AttributeId::SM_INFO => (26, 32),
        AttributeId::PORT_INFO => (PortInfo::LEN, PortInfo::STRIDE),
        AttributeId::PORT_STATE_INFO | AttributeId::LED_INFO => (8, 8),
        AttributeId::P_KEY_TABLE
        | AttributeId::LINEAR_FDB
        | AttributeId::MULTICAST_FDB
        | AttributeId::PORT_GROUP_FDB
        | AttributeId::PORT_GROUP_TABLE => (64, 64),
        AttributeId::VL_ARBITRATION => (256, 256),
        AttributeId::SL_TO_SC
        | AttributeId::SC_TO_SL
        | AttributeId::SC_TO_SC
        | AttributeId::SC_TO_VLR
        | AttributeId::SC_TO_VLT
        | AttributeId::SC_TO_VLNT => (32, 32),
        AttributeId::SC_TO_SC_MULTISET => (96, 96),
        AttributeId::BUFFER_CONTROL_TABLE => (BufferControlTable::LEN, BufferControlTable::STRIDE),
        AttributeId::CONGESTION_INFO | AttributeId::SWITCH_PORT_CONGESTION_SETTING => (4, 4),
        AttributeId::SWITCH_CONGESTION_LOG => (1576, 1576),
        AttributeId::SWITCH_CONGESTION_SETTING => (76, 80),
        AttributeId::HFI_CONGESTION_LOG => (1548, 1552),
        AttributeId::HFI_CONGESTION_SETTING => (198, 200),
        AttributeId::HFI_CONGESTION_CONTROL_TABLE => (130, 128),
        _ => return None,
    };
    Some(Shape { len, stride })
}

/// Sizes of an attribute in a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of one block.
    pub len: usize,
    /// Bytes from one block to the next.
    pub stride: usize,
}

impl Shape {
    /// Bytes of `count` blocks, the last one without padding; 0 for none.
    pub fn total(self, count: usize) -> usize {
        match count {
            0 => 0,
            _ => (count - 1)
                .saturating_mul(self.stride)
                .saturating_add(self.len),
        }
    }

    /// Number of blocks that fit into `capacity` bytes.
    pub fn max_blocks(self, capacity: usize) -> usize {
        match capacity.checked_sub(self.len) {
            Some(rest) => 1 + rest / self.stride,
            None => 0,
        }
    }
}
