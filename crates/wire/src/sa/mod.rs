//! Subnet administration (class 0x03): header and records. The payload starts 56 bytes into the
//! datagram: common header, RMPP header, SA header.

pub mod fabric;
pub mod header;
pub mod ib;
mod names;
pub mod node;
pub mod path;
pub mod service;
pub mod table;

pub use fabric::{
    DeviceGroupMemberRecord, DeviceGroupNameRecord, DeviceTreeMemberRecord, FabricInfoRecord,
    SwitchCost, SwitchCostRecord, VfInfoRecord,
};
pub use header::{SaHeader, attribute, capability, status};
pub use ib::{
    IbInformInfo, IbInformInfoRecord, IbMcMemberRecord, IbNodeRecord, IbNotice, IbPortInfoRecord,
    IbServiceRecord,
};
pub use names::attribute_name;
pub use node::{
    ExpectedNodeInfo, LinkDownEvent, LinkRecord, NodeRecord, PortInfoRecord, QuarantinedNodeRecord,
    SmInfoRecord, SwitchInfoRecord,
};
pub use path::{MultiPathRecord, PathRecord, TraceRecord};
pub use service::{InformInfoRecord, McMemberRecord, ServiceRecord};
pub use table::{
    BufferControlRecord, CableInfoRecord, CongestionInfoRecord, HfiCongestionControlRecord,
    HfiCongestionRecord, LinearFdbRecord, MulticastFdbRecord, PKeyTableRecord, PortGroupFdbRecord,
    PortGroupTableRecord, ScScRecord, ScSlRecord, ScVlRecord, SlScRecord, SwitchCongestionRecord,
    SwitchPortCongestionRecord, VlArbRecord,
};

/// Offset of the payload in a datagram.
pub const PAYLOAD_AT: usize = 56;
/// Most bytes of payload in an Omni-Path datagram.
pub const PAYLOAD_MAX: usize = 1992;
/// Most bytes of payload in an InfiniBand datagram.
pub const PAYLOAD_MAX_IB: usize = 200;
