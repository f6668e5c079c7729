//! What a node's agent claims in place of the truth, as a broken or hostile device does.

use serde::{Deserialize, Serialize};
use weft_fabric::enums::Mtu;
use weft_fabric::{Guid, Lid};
use weft_wire::sm::{AttributeId, NodeInfo, PortInfo, SwitchInfo};

/// What an agent says about its node; what is none is true.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Claims {
    /// NodeGUID.
    pub node_guid: Option<Guid>,
    /// PortGUID.
    pub port_guid: Option<Guid>,
    /// Largest packet of its ports, as in PortInfo: 1 is 256 bytes, 5 is 4,096.
    pub mtu: Option<u8>,
    /// Data lanes of its ports.
    pub lanes: Option<u8>,
    /// Packet formats of its ports, by bit: 1 8B, 2 9B, 4 10B, 8 16B.
    pub packet_formats: Option<u16>,
    /// Entries of a switch's forwarding table.
    pub table_size: Option<u32>,
    /// An attribute that its agent says it cannot write.
    pub refuses: Option<AttributeId>,
    /// An attribute that it does not write: it answers without an error, with what it holds.
    pub ignores: Option<AttributeId>,
    /// An attribute that it does not write either, and that it answers with as if it had.
    pub pretends: Option<AttributeId>,
    /// An attribute that it writes, and answers with an error, as where what it could not write was only a part.
    pub denies: Option<AttributeId>,
    /// The LID that its answers come from.
    pub answers_from: Option<Lid>,
}

impl Claims {
    pub(crate) fn change_node(&self, info: &mut NodeInfo) {
        put(&mut info.node_guid, self.node_guid);
        put(&mut info.port_guid, self.port_guid);
    }

    pub(crate) fn change_port(&self, info: &mut PortInfo) {
        put(&mut info.mtu_cap, self.mtu.map(Mtu));
        put(&mut info.vl_cap, self.lanes);
        put(&mut info.port_packet_formats_supported, self.packet_formats);
    }

    pub(crate) fn change_switch(&self, info: &mut SwitchInfo) {
        put(&mut info.linear_fdb_cap, self.table_size);
    }
}

fn put<T>(field: &mut T, claim: Option<T>) {
    if let Some(claim) = claim {
        *field = claim;
    }
}
