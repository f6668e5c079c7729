//! The state for readers: everything of one moment, immutable and numbered.

use std::sync::Arc;

use weft_state::State;
use weft_wire::enums::SmState;
use weft_wire::id::{Guid, Lid, PortNum};
use weft_wire::sm::NodeDescription;

use crate::administration::Administration;
use crate::admission::RefusedNode;
use crate::cables::CableMemories;
use crate::counts::CountsByPort;
use crate::intended::Faults;
use crate::multicast::MulticastTables;
use crate::port_tables::PortTables;
use crate::tables::{LinearTables, PortGroupTables};
use crate::topology::{PortRef, Topology};

/// A subnet manager seen in the fabric.
#[derive(Debug, Clone, PartialEq, Eq, State)]
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
    #[state(key)]
    pub sm_key: u64,
    /// Counts up while it lives.
    pub act_count: u32,
}

/// A node that is not as the topology file has it, and that no data reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub struct QuarantinedNode {
    /// The port before it, of a node that is trusted.
    pub trusted: (Guid, PortNum),
    /// The node.
    pub node: Guid,
    /// What differs.
    pub faults: Faults,
    /// NodeGUID of the file, where that differs.
    pub expected_guid: Option<Guid>,
    /// NodeDesc of the file, where that differs.
    pub expected_description: Option<NodeDescription>,
    /// PortGUID of the file, where that differs.
    pub expected_port_guid: Option<Guid>,
}

/// Parts that a snapshot lacks: a file without them, or an answer to which they were not asked. All are false for
/// what the manager publishes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, State)]
pub struct Lacking {
    /// Forwarding tables of all kinds.
    pub routes: bool,
    /// Maps of service levels and channels, arbitration and partition keys of ports.
    pub port_tables: bool,
    /// Limits of buffers.
    pub buffers: bool,
    /// Multicast groups and virtual fabrics.
    pub administration: bool,
    /// Memories of cables.
    pub cables: bool,
}

/// The fabric at one moment. Its [`State`] is that of a snapshot which the subnet manager publishes: it has none of what is added
/// later.
#[derive(Debug, Clone, Default, State)]
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
    /// Nodes in quarantine, in the order in which they were found.
    pub quarantined: Vec<QuarantinedNode>,
    /// Devices that are not let into the fabric, by the ports before them.
    pub refused: Vec<RefusedNode>,
    /// Multicast groups, virtual fabrics, device groups and records of nodes in quarantine. The subnet manager publishes
    /// none: they are added where a snapshot leaves the daemon.
    #[state(skip)]
    pub administration: Arc<Administration>,
    /// Memories of cables. The subnet manager publishes none: they are read after a sweep, and added where a snapshot
    /// leaves the daemon.
    #[state(skip)]
    pub cables: Arc<CableMemories>,
    /// What ports have counted; none where that is not known. The subnet manager publishes none.
    #[state(skip)]
    pub counts: Option<Arc<CountsByPort>>,
    /// What it lacks.
    pub lacking: Lacking,
}
