//! A management datagram with the addressing that it has on a link.

use serde::{Deserialize, Serialize};

use crate::header::{class, method};
use crate::id::{Lid, PKey, Sl};

/// One datagram as it crosses an end port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packet {
    /// Source LID of the local route header; [`Lid::PERMISSIVE`] for a pure directed route.
    pub slid: Lid,
    /// Destination LID of the local route header; [`Lid::PERMISSIVE`] for a pure directed route.
    pub dlid: Lid,
    /// Service level; subnet management travels on VL15 whatever its value.
    pub sl: Sl,
    /// Partition key of the base transport header.
    pub pkey: PKey,
    /// Destination queue pair: 0 for subnet management, 1 for general services.
    pub dest_qp: u32,
    /// Source queue pair.
    pub src_qp: u32,
    /// The datagram: header and attribute, at most [`Packet::MAD_LEN_MAX`] bytes.
    pub mad: Vec<u8>,
}

impl Packet {
    /// Bytes of the largest datagram (`STL_MAD_BLOCK_SIZE`).
    pub const MAD_LEN_MAX: usize = 2048;

    /// Whether it is for the subnet manager of the host that it arrives at, or too short for any other class. The subnet
    /// manager sends directed routes only: LID-routed answers are for others.
    pub fn is_for_sm(&self) -> bool {
        match (self.mad.get(1), self.mad.get(3)) {
            (Some(&class::SM_LID_ROUTED), Some(method)) => !method::is_response(*method),
            (Some(class), _) => class::is_sm(*class),
            (None, _) => true,
        }
    }

    /// A datagram of subnet management whose header has the whole directed route.
    pub fn directed(mad: Vec<u8>) -> Self {
        Self {
            slid: Lid::PERMISSIVE,
            dlid: Lid::PERMISSIVE,
            sl: Sl(0),
            pkey: PKey::MGMT_FULL,
            dest_qp: 0,
            src_qp: 0,
            mad,
        }
    }

    /// A datagram of subnet management to a LID, at service level 0.
    pub fn lid_routed(slid: Lid, dlid: Lid, mad: Vec<u8>) -> Self {
        Self {
            slid,
            dlid,
            ..Self::directed(mad)
        }
    }
}
