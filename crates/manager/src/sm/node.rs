//! What the manager holds of each node: what it has confirmed, and where its work stands.

use std::sync::Arc;

use weft_fabric::tables::{LFT_BLOCK, SwitchPortGroups, UNREACHABLE};
use weft_fabric::{Guid, Node, PortMask, PortNum, Tick};
use weft_wire::sm::{NodeDescription, NodeInfo, PortInfo, SwitchInfo};

use super::mft::Mft;
use super::rtt::RoundTrip;
use super::tables::TableId;
use super::unused_links::InactivePorts;

/// What a node's pipeline does at present. Each node goes its own way through these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Nothing to do.
    Idle,
    /// Who is it?
    Identify,
    /// Lets a switch report state changes again.
    Rearm,
    /// States of all ports of a switch.
    States,
    /// PortInfo of the ports of a switch that need it.
    Ports,
    /// Forwarding table of a switch that was set up before this manager.
    ReadTable,
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
    /// Asks the host to register again.
    Reregister,
}

impl Stage {
    /// Whether it only finds out what is there.
    pub(crate) fn is_discovery(self) -> bool {
        (Self::Identify..=Self::AskSm).contains(&self)
    }
}

/// What came so far of a node that is being identified.
#[derive(Debug, Default)]
pub(crate) struct Identity {
    pub info: Option<NodeInfo>,
    pub description: Option<NodeDescription>,
    pub switch: Option<SwitchInfo>,
    pub port: Option<PortInfo>,
}

/// Confirmed tables of a port; [`TableId::UNKNOWN`] where nothing is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PortTables {
    pub ids: [TableId; TABLE_KINDS],
}

/// Number of kinds of tables that a port has; see [`super::tables::Kind`].
pub(crate) const TABLE_KINDS: usize = 10;

/// A switch's linear forwarding table as far as it is confirmed.
#[derive(Debug, Clone, Default)]
pub(crate) enum Lft {
    /// Nothing is known; it counts as dropping everything.
    #[default]
    Unknown,
    /// All of it.
    Whole(Arc<[u8]>),
    /// Some blocks.
    Partial {
        /// Entries; those of unknown blocks mean nothing.
        row: Vec<u8>,
        /// For each block, whether it is known.
        known: Vec<bool>,
    },
}

impl Lft {
    /// Whether `block` is confirmed to hold `entries`.
    pub(crate) fn block_is(&self, block: usize, entries: &[u8]) -> bool {
        let start = block * LFT_BLOCK;
        match self {
            Self::Unknown => false,
            Self::Whole(row) => same(row, start, entries),
            Self::Partial { row, known } => {
                known.get(block).copied().unwrap_or(false) && same(row, start, entries)
            }
        }
    }

    /// Takes in that `block` holds `entries`.
    pub(crate) fn confirm(&mut self, block: usize, entries: &[u8]) {
        let (row, known) = self.partial();
        if known.len() <= block {
            known.resize(block + 1, false);
            row.resize((block + 1) * LFT_BLOCK, UNREACHABLE);
        }
        known[block] = true;
        let start = block * LFT_BLOCK;
        row[start..start + entries.len()].copy_from_slice(entries);
    }

    fn partial(&mut self) -> (&mut Vec<u8>, &mut Vec<bool>) {
        if !matches!(self, Self::Partial { .. }) {
            let mut row = match self {
                Self::Whole(row) => row.to_vec(),
                _ => Vec::new(),
            };
            row.resize(row.len().next_multiple_of(LFT_BLOCK), UNREACHABLE);
            let known = vec![true; row.len() / LFT_BLOCK];
            *self = Self::Partial { row, known };
        }
        match self {
            Self::Partial { row, known } => (row, known),
            _ => unreachable!("made partial above"),
        }
    }

    /// The confirmed entries; unknown ones drop.
    pub(crate) fn row(&self) -> Arc<[u8]> {
        match self {
            Self::Unknown => Arc::from([]),
            Self::Whole(row) => Arc::clone(row),
            Self::Partial { row, known } => {
                let mut row = row.clone();
                let unknown = known.iter().enumerate().filter(|(_, known)| !**known);
                for (block, _) in unknown {
                    row[block * LFT_BLOCK..(block + 1) * LFT_BLOCK].fill(UNREACHABLE);
                }
                row.into()
            }
        }
    }
}

/// Whether a row holds `entries` from `start` on; beyond its end it drops.
fn same(row: &[u8], start: usize, entries: &[u8]) -> bool {
    let held = row.get(start.min(row.len())..(start + entries.len()).min(row.len()));
    let held = held.unwrap_or_default();
    let (head, tail) = entries.split_at(held.len());
    head == held && tail.iter().all(|entry| *entry == UNREACHABLE)
}

/// A node as the manager knows it.
#[derive(Debug)]
pub(crate) struct NodeState {
    pub guid: Guid,
    /// Egress ports of the directed route to it.
    pub path: Box<[PortNum]>,
    /// It was said to be a switch, before it answered.
    pub said_switch: bool,
    /// The port by which it was reached.
    pub entered: PortNum,
    /// What it has confirmed, none before it has answered for the first time.
    pub node: Option<Arc<Node>>,
    /// What came so far while it is being identified.
    pub identity: Box<Identity>,
    /// Confirmed tables of each port, in the node's order of ports.
    pub port_tables: Vec<PortTables>,
    /// Ports whose PortInfo was read since their link came up.
    pub read_ports: PortMask,
    /// Ports whose PortInfo is to be read.
    pub wanted_ports: PortMask,
    /// Links that were found good from both ends.
    pub good_ports: PortMask,
    /// Ports whose links bounced during this sweep.
    pub bounced_ports: PortMask,
    /// Ports whose links should be active and are not.
    pub inactive_ports: InactivePorts,
    pub lft: Lft,
    /// Highest LID block of the forwarding table that is to be read.
    pub read_blocks: u32,
    /// What has been read of that table so far; it counts when all of it is there.
    pub reading: Lft,
    pub mft: Mft,
    /// Confirmed adaptive-routing groups.
    pub groups: Option<Arc<SwitchPortGroups>>,
    /// Blocks of the groups of LIDs that are confirmed with them.
    pub group_blocks: usize,
    /// A part of the groups was not taken over.
    pub groups_refused: bool,
    pub stage: Stage,
    /// Next item of the stage.
    pub cursor: u32,
    /// Requests of this node under way.
    pub outstanding: u8,
    /// It is in the list of nodes that may send.
    pub queued: bool,
    /// This sweep does not look at it: it is taken as the last one left it.
    pub kept: bool,
    /// It could not do its work in this sweep.
    pub failed: bool,
    /// Something was sent in this stage.
    pub sent: bool,
    /// Times that this stage started over because a device did not do as told.
    pub repeats: u32,
    /// What was reported of it while it was written to in this sweep.
    pub told: Vec<String>,
    /// Something was in the sweep before.
    pub stubborn: bool,
    /// It may hold something else than it has confirmed: it is read again when it next answers. As
    /// long as it does not, what it has confirmed is the best guess.
    pub doubtful: bool,
    /// Its agent does not know Aggregate.
    pub single: bool,
    /// Its key, where another than the manager's is set.
    pub m_key: Option<u64>,
    pub round_trip: RoundTrip,
    /// The sweep that found it last.
    pub seen: u64,
    /// The sweep in which it answered last.
    pub answered: u64,
    pub answered_at: Tick,
    /// When it may send again after it was asked to wait.
    pub wake_at: Option<Tick>,
}

impl NodeState {
    pub(crate) fn new(guid: Guid, path: Box<[PortNum]>, said_switch: bool) -> Self {
        Self {
            guid,
            path,
            said_switch,
            entered: PortNum(0),
            node: None,
            identity: Box::default(),
            port_tables: Vec::new(),
            read_ports: PortMask::EMPTY,
            wanted_ports: PortMask::EMPTY,
            good_ports: PortMask::EMPTY,
            bounced_ports: PortMask::EMPTY,
            inactive_ports: InactivePorts::default(),
            lft: Lft::Unknown,
            read_blocks: 0,
            reading: Lft::Unknown,
            mft: Mft::default(),
            groups: None,
            group_blocks: 0,
            groups_refused: false,
            stage: Stage::Idle,
            cursor: 0,
            outstanding: 0,
            queued: false,
            kept: false,
            failed: false,
            sent: false,
            repeats: 0,
            told: Vec::new(),
            stubborn: false,
            doubtful: false,
            single: false,
            m_key: None,
            round_trip: RoundTrip::default(),
            seen: 0,
            answered: 0,
            answered_at: Tick(0),
            wake_at: None,
        }
    }

    /// What it has confirmed of a port.
    pub(crate) fn port(&self, port: PortNum) -> Option<&PortInfo> {
        self.node.as_deref()?.port(port).map(|port| &port.info)
    }

    pub(crate) fn is_switch(&self) -> bool {
        self.node
            .as_ref()
            .map_or(self.said_switch, |node| node.is_switch())
    }

    /// External ports of a switch, ports of an HFI.
    pub(crate) fn num_ports(&self) -> u8 {
        self.node.as_ref().map_or(0, |node| node.info.num_ports)
    }

    /// Its port that has a LID: a switch's port 0, an HFI's port by which it was reached.
    pub(crate) fn end_port(&self) -> PortNum {
        if self.is_switch() {
            PortNum(0)
        } else {
            self.entered
        }
    }

    /// Place of a port in [`Self::port_tables`].
    pub(crate) fn port_index(&self, port: PortNum) -> usize {
        usize::from(port.0).saturating_sub(usize::from(!self.is_switch()))
    }

    pub(crate) fn tables(&self, port: PortNum) -> PortTables {
        self.port_tables
            .get(self.port_index(port))
            .copied()
            .unwrap_or_default()
    }

    pub(crate) fn tables_mut(&mut self, port: PortNum) -> Option<&mut PortTables> {
        let index = self.port_index(port);
        self.port_tables.get_mut(index)
    }

    /// Changes what is known of a port; a snapshot that shares it keeps what it has. Nothing
    /// happens when nothing changes.
    pub(crate) fn update_port(&mut self, port: PortNum, change: impl FnOnce(&mut PortInfo)) {
        let Some(node) = self.node.as_mut() else {
            return;
        };
        let Some(before) = node.port(port).map(|port| port.info) else {
            return;
        };
        let mut after = before;
        change(&mut after);
        if after == before {
            return;
        }
        if let Some(port) = Arc::make_mut(node).port_mut(port) {
            port.info = after;
        }
    }

    /// Forgets all confirmed tables: the node was reset.
    pub(crate) fn forget_tables(&mut self) {
        self.lft = Lft::Unknown;
        self.forget_other_tables();
    }

    /// The same of all but the linear table.
    fn forget_other_tables(&mut self) {
        self.port_tables.fill(PortTables::default());
        self.mft.forget();
        (self.groups, self.group_blocks) = (None, 0);
    }

    /// Forgets, now that it answers, what it may not hold any more. The linear table of a switch stays
    /// the best guess until it has been read.
    pub(crate) fn settle_doubt(&mut self) {
        if self.doubtful {
            self.forget_other_tables();
            self.read_ports = PortMask::EMPTY;
            self.doubtful = self.is_switch();
        }
    }

    /// Its linear table has been read.
    pub(crate) fn take_reading(&mut self) {
        self.lft = std::mem::take(&mut self.reading);
    }

    /// Its linear table could not be read to the end.
    pub(crate) fn stop_reading(&mut self) {
        if matches!(self.lft, Lft::Unknown) {
            self.take_reading();
        }
        self.doubtful = true;
    }

    /// Starts a stage.
    pub(crate) fn enter(&mut self, stage: Stage) {
        self.stage = stage;
        self.cursor = 0;
        self.sent = false;
        self.repeats = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_knows_what_was_confirmed() {
        let mut lft = Lft::default();
        assert!(!lft.block_is(0, &[UNREACHABLE; LFT_BLOCK]));
        lft.confirm(1, &[3; LFT_BLOCK]);
        assert!(lft.block_is(1, &[3; LFT_BLOCK]));
        assert!(
            !lft.block_is(0, &[UNREACHABLE; LFT_BLOCK]),
            "block 0 is not known"
        );
        let row = lft.row();
        assert_eq!((row[63], row[64], row.len()), (UNREACHABLE, 3, 128));
    }

    #[test]
    fn beyond_the_end_of_a_whole_table_packets_are_dropped() {
        let lft = Lft::Whole(Arc::from([1_u8; 70]));
        let mut end = [UNREACHABLE; LFT_BLOCK];
        end[..6].fill(1);
        assert!(lft.block_is(1, &end));
        assert!(lft.block_is(2, &[UNREACHABLE; LFT_BLOCK]));
        assert!(!lft.block_is(0, &[UNREACHABLE; LFT_BLOCK]));
    }
}
