//! The state for readers: everything of one moment, immutable and numbered.

use std::sync::Arc;

use weft_wire::enums::SmState;
use weft_wire::id::{Guid, Lid};

use crate::multicast::MulticastTables;
use crate::port_tables::PortTables;
use crate::tables::{LinearTables, PortGroupTables};
use crate::topology::{PortRef, Topology};

/// A subnet manager seen in the fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmRecord {
    /// The port that it runs on.
    pub port: PortRef,
    /// That port's base LID.
    pub lid: Lid,
    /// That port's GUID.
    pub port_guid: Guid,
    /// Master, standby, …
    pub state: SmState,
    /// 0 to 15, the higher wins.
    pub priority: u8,
    /// Its key.
    pub sm_key: u64,
    /// Counts up while it lives.
    pub act_count: u32,
}

/// The fabric at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Goes up by one with each change that is published; 0 before the first.
    pub generation: u64,
    /// Seconds since 1970 when it was taken, 0 where there is no clock.
    pub unix_time: u64,
    /// Nodes, ports and cables.
    pub topology: Arc<Topology>,
    /// Linear forwarding tables, confirmed by the switches.
    pub linear: Arc<LinearTables>,
    /// Adaptive-routing groups, confirmed by the switches.
    pub groups: Arc<PortGroupTables>,
    /// Multicast forwarding tables, confirmed by the switches.
    pub multicast: Arc<MulticastTables>,
    /// Tables of the ports, confirmed by their devices.
    pub port_tables: Arc<PortTables>,
    /// The subnet managers.
    pub sms: Vec<SmRecord>,
}
