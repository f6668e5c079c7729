//! Work of a node in the current sweep.

use weft_fabric::{PortMask, Tick};
use weft_state::State;
use weft_wire::sm::{NodeDescription, NodeInfo, PortInfo, SwitchInfo};

use super::lft::Lft;

/// Stage of a node's pipeline. Each node passes through these independently.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, State)]
pub(crate) enum Stage {
    /// Nothing to do.
    #[default]
    Idle,
    /// Read the node's identity.
    Identify,
    /// Lets a switch report state changes again.
    Rearm,
    /// States of all ports of a switch.
    States,
    /// PortInfo of the ports of a switch that need it.
    Ports,
    /// Forwarding table of a switch that was set up before this manager.
    ReadTable,
    /// Maps of service channels from port 1 of a switch that was set up before this manager.
    ReadChannels,
    /// Those from its other ports, where these change channels, or are to.
    ReadAllChannels,
    /// Multicast table of a switch that was set up before this manager.
    ReadMulticast,
    /// The subnet manager that runs on an HFI.
    AskSm,
    /// Tables of a node that was set up before this manager.
    Compare,
    /// Settings of the node, and those that all ports of a switch share.
    WriteNode,
    /// Settings of single ports of a switch.
    WritePorts,
    /// P_Key tables of ports that waited for others to give up partitions.
    WriteKeys,
    /// Maps of service channels between the ports of a switch.
    WriteChannels,
    /// Forwarding table.
    WriteTable,
    /// Adaptive-routing groups.
    WriteGroups,
    /// End of a change of adaptive-routing groups.
    Resume,
    /// Multicast table.
    WriteMulticast,
    /// Arms the ports of a switch.
    Arm,
    /// Waits for the others.
    Ready,
    /// Activates ports.
    Activate,
    /// Ask the host to register again.
    Reregister,
}

impl Stage {
    /// Whether it belongs to discovery.
    pub(crate) fn is_discovery(self) -> bool {
        (Self::Identify..=Self::AskSm).contains(&self)
    }
}

/// The attributes that identify a node, as far as received.
#[derive(Debug, Clone, Default, State)]
pub(crate) struct IdentityAnswers {
    pub info: Option<NodeInfo>,
    pub description: Option<NodeDescription>,
    pub switch: Option<SwitchInfo>,
    pub port: Option<PortInfo>,
}

/// A read of several requests. It counts when all of it is there.
#[derive(Debug, Clone, Default, State)]
pub(crate) struct Reading {
    pub identity: Box<IdentityAnswers>,
    /// Ports whose PortInfo is to be read.
    pub ports: PortMask,
    /// Blocks of the forwarding table that are to be read, from the first on.
    pub blocks: u32,
    /// Those of them that have come.
    pub lft: Lft,
}

/// Progress of a node in the current sweep.
#[derive(Debug, Clone, Default, State)]
pub(crate) struct Work {
    pub stage: Stage,
    /// Next item of the stage.
    pub cursor: u32,
    /// Requests of this node in flight.
    pub outstanding: u8,
    /// It is in the list of nodes that may send.
    pub queued: bool,
    /// Time at which it may send again after a BUSY.
    pub wake_at: Option<Tick>,
    /// Something was sent in this stage.
    pub sent: bool,
    /// Number of times that this stage started over because a device did not apply a write.
    pub repeats: u32,
    /// Faults of its writes that were reported in this sweep.
    pub told: Vec<String>,
    /// This sweep does not look at it: it is taken as the last one left it.
    pub kept: bool,
    /// Its forwarding table is read once the election is decided.
    pub table_waits: bool,
    pub reading: Reading,
}

impl Work {
    /// Starts a stage.
    pub(crate) fn enter(&mut self, stage: Stage) {
        self.stage = stage;
        self.cursor = 0;
        self.sent = false;
        self.repeats = 0;
    }

    /// Has nothing more to do in this sweep.
    pub(crate) fn stop(&mut self) {
        self.stage = Stage::Idle;
        self.queued = false;
        self.wake_at = None;
    }
}
