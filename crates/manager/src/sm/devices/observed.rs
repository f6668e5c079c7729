//! Confirmed state of a node.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_fabric::tables::SwitchPortGroups;
use weft_fabric::{Guid, Lid, Node, PortMask, PortNum};
use weft_state::State;
use weft_wire::sm::{PortInfo, SwitchInfo};

use super::lft::Lft;
use crate::sm::mft::Mft;
use crate::sm::tables::{Kind, TableId};
use crate::sm::unused_links::InactivePorts;

/// Confirmed tables of a port; [`TableId::UNKNOWN`] where nothing is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, State)]
pub(crate) struct PortTables {
    pub ids: [TableId; TABLE_KINDS],
}

/// Number of kinds of tables that a port has; see [`crate::sm::tables::Kind`].
pub(crate) const TABLE_KINDS: usize = 11;

/// PortInfo as a device reports it; LIDs that are not all unicast count as none.
pub(crate) fn reported_port(info: PortInfo) -> PortInfo {
    let last = Lid(info.lid.0.saturating_add(info.lmc.lids() - 1));
    let lid = if last.is_unicast() { info.lid } else { Lid(0) };
    PortInfo { lid, ..info }
}

/// The same of an external port of a switch, which may let packets of any LID in.
pub(crate) fn reported_external_port(info: PortInfo) -> PortInfo {
    match info.lid {
        Lid::PERMISSIVE => info,
        _ => reported_port(info),
    }
}

/// Confirmed state of a node.
#[derive(Debug, Clone, Default, State)]
pub(crate) struct Observed {
    /// None before it has answered for the first time.
    pub node: Option<Arc<Node>>,
    /// Confirmed tables of each port, in the node's order of ports.
    pub port_tables: Vec<PortTables>,
    /// Ports whose PortInfo was read since their link came up.
    pub read_ports: PortMask,
    /// Links that were found good from both ends.
    pub good_ports: PortMask,
    /// Ports whose links bounced during this sweep.
    pub bounced_ports: PortMask,
    /// Ports whose links should be active and are not.
    pub inactive_ports: InactivePorts,
    /// The node and port at the other end of each link that has gone down.
    pub lost_neighbours: BTreeMap<PortNum, (Guid, PortNum)>,
    pub lft: Lft,
    /// The linear table that was sent last, until all of it is confirmed: its entries may be there or not.
    pub sent_row: Option<Arc<[u8]>>,
    pub mft: Mft,
    /// Confirmed adaptive-routing groups; none where it is not known what the switch holds.
    pub groups: Option<Arc<SwitchPortGroups>>,
    /// Blocks of the groups of LIDs that are confirmed with them.
    pub group_blocks: usize,
    /// A part of the groups was not taken over.
    pub groups_refused: bool,
}

impl Observed {
    /// PortInfo of a port.
    pub(crate) fn port(&self, port: PortNum) -> Option<&PortInfo> {
        self.node.as_deref()?.port(port).map(|port| &port.info)
    }

    /// SwitchInfo, none of an HFI.
    pub(crate) fn switch(&self) -> Option<SwitchInfo> {
        self.node.as_ref()?.switch
    }

    /// External ports of a switch, ports of an HFI.
    pub(crate) fn num_ports(&self) -> u8 {
        self.node.as_ref().map_or(0, |node| node.info.num_ports)
    }

    /// Place of a port in the node's order of ports, which at a switch begins with port 0.
    pub(crate) fn port_index(&self, port: PortNum) -> usize {
        let first = u8::from(self.switch().is_none());
        usize::from(port.0.saturating_sub(first))
    }

    pub(crate) fn tables(&self, port: PortNum) -> PortTables {
        self.port_tables
            .get(self.port_index(port))
            .copied()
            .unwrap_or_default()
    }

    /// The table of a kind that a port holds.
    pub(crate) fn table(&self, port: PortNum, kind: Kind) -> TableId {
        let tables = self.port_tables.get(self.port_index(port));
        tables.map_or(TableId::UNKNOWN, |tables| tables.ids[kind.index()])
    }

    fn tables_mut(&mut self, port: PortNum) -> Option<&mut PortTables> {
        let index = self.port_index(port);
        self.port_tables.get_mut(index)
    }

    /// A port holds this table.
    pub(crate) fn set_table(&mut self, port: PortNum, kind: Kind, id: TableId) {
        if let Some(tables) = self.tables_mut(port) {
            tables.ids[kind.index()] = id;
        }
    }

    /// The node and port at the other end of a port's link, or of the last one that it had.
    pub(crate) fn last_neighbour(&self, port: PortNum) -> Option<(Guid, PortNum)> {
        let info = self.port(port)?;
        match info.neighbor_node_guid {
            Guid(0) => self.lost_neighbours.get(&port).copied(),
            guid => Some((guid, info.neighbor_port_num)),
        }
    }

    /// The external ports of a switch that have good links.
    pub(crate) fn linked_ports(&self) -> impl Iterator<Item = PortNum> + use<> {
        let good = self.good_ports;
        let ports = (1..=self.num_ports()).map(PortNum);
        ports.filter(move |port| good.contains(*port))
    }

    /// Changes the state of a port; a snapshot that shares it keeps the old one. Does nothing
    /// if nothing changes.
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
        let neighbour = |info: &PortInfo| (info.neighbor_node_guid, info.neighbor_port_num);
        if before.neighbor_node_guid != Guid(0) && after.neighbor_node_guid == Guid(0) {
            self.lost_neighbours.insert(port, neighbour(&before));
        }
        if let Some(port) = Arc::make_mut(node).port_mut(port) {
            port.info = after;
        }
    }

    /// Records written adaptive groups, with the number of blocks of the groups of LIDs. If a part of
    /// them was not confirmed, the switch may hold something of both.
    pub(crate) fn take_groups(&mut self, groups: Option<Arc<SwitchPortGroups>>, blocks: usize) {
        if std::mem::take(&mut self.groups_refused) {
            self.forget_groups();
        } else if groups.is_some() {
            (self.groups, self.group_blocks) = (groups, blocks);
        }
    }

    /// Forgets adaptive groups.
    pub(crate) fn forget_groups(&mut self) {
        (self.groups, self.group_blocks) = (None, 0);
    }

    /// Forgets all confirmed tables: the node was reset.
    pub(crate) fn forget_tables(&mut self) {
        self.forget_linear_table();
        self.forget_other_tables();
    }

    /// Forgets the linear table.
    pub(crate) fn forget_linear_table(&mut self) {
        (self.lft, self.sent_row) = (Lft::Unknown, None);
    }

    /// Forgets all confirmed tables but the linear one.
    pub(super) fn forget_other_tables(&mut self) {
        self.port_tables.fill(PortTables::default());
        self.mft.forget();
        self.forget_groups();
    }

    /// Discards the state of a port without a link. Maps of service channels are the switch's and stay.
    pub(crate) fn forget_port(&mut self, port: PortNum) {
        self.read_ports.remove(port);
        self.inactive_ports.forget(port);
        let channels = self.table(port, Kind::ScToSc);
        if let Some(tables) = self.tables_mut(port) {
            *tables = PortTables::default();
        }
        self.set_table(port, Kind::ScToSc, channels);
    }
}
