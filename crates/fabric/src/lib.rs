//! The fabric as data: cabling, reported port state, forwarding.
//!
//! Everything here is a value: generators and importers make a [`Topology`], the subnet manager
//! makes one from discovery, routing adds [`LinearTables`] and [`PortGroupTables`], and all readers use a
//! [`Snapshot`] of all of them, immutable and numbered.

pub mod administration;
pub mod admission;
pub mod cable_identity;
pub mod cables;
pub mod cabling;
pub mod constants;
pub mod counts;
pub mod datelines;
pub mod expected;
pub mod export;
pub mod generate;
pub mod hfi_guids;
pub mod import;
pub mod intended;
pub mod key_mask;
pub mod lanes;
pub mod multicast;
pub mod natural;
pub mod picture;
pub mod port_tables;
pub mod powered_on;
pub mod snapshot;
pub mod tables;
pub mod text;
pub mod time;
pub mod topology;
pub mod tree;
pub mod upward;

pub use administration::{Administration, DeviceGroup, GroupMember, JoinState, MulticastGroup};
pub use cable_identity::{CableIdentity, CableKind, CableText};
pub use cables::{CableMemories, CableMemory};
pub use counts::{CountsByPort, PortCounts};
pub use datelines::{Datelines, Half, RingPort};
pub use generate::{FabricSpec, GenerateError, SpecError};
pub use hfi_guids::hfi_port_guid;
pub use lanes::Lanes;
pub use multicast::{FIRST_MLID, MLIDS, MulticastTables};
pub use port_tables::{
    NodeTables, PortTable, PortTableIds, PortTables, PortTablesBuilder, TableId,
};
pub use snapshot::{Lacking, QuarantinedNode, SmRecord, Snapshot};
pub use tables::{LinearTables, PortGroupTables, PortMask, SwitchPortGroups, UNREACHABLE};
pub use time::Tick;
pub use topology::{
    Node, NodeId, Port, PortRef, SwitchIndex, Topology, TopologyBuilder, TopologyError,
};
pub use upward::links_upward;
pub use weft_wire::enums;
pub use weft_wire::id::{Guid, Lid, Lmc, PKey, PortNum, Sc, Sl, Vl};
