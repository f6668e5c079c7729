//! The tables that every port should hold.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weft_fabric::{Guid, Node, NodeId, PortNum, PortRef, Topology};
use weft_wire::Layout;
use weft_wire::enums::Mtu;
use weft_wire::sm::PortInfo;

use super::Manager;
use super::devices::TABLE_KINDS;
use super::plan::candidate;
use super::tables::{Kind, TableId};
use super::wanted::preemption::{can_interleave, marks_lanes};
use super::wanted::qos::Qos;
use super::wanted::{buffers, pkeys};

impl Manager {
    /// Works out the tables of every port.
    pub(super) fn plan_tables(&mut self) {
        let qos = Qos::new(&self.settings, self.plan.routing.lanes);
        let mut maker = TableMaker::new(self, &qos);
        let topology = Arc::clone(&self.plan.topology);
        let mut all = Vec::with_capacity(topology.len());
        for (id, node) in topology.nodes() {
            let of_node = node.ports().map(|(port, end)| {
                let at = PortRef { node: id, port };
                maker.port(self, &topology, &qos, node, at, &end.info)
            });
            all.push(of_node.collect());
        }
        let (lost, unchecked) = (maker.lost, std::mem::take(&mut maker.unchecked));
        self.plan.tables = all;
        self.plan.qos = Some(qos);
        self.drop_unused_tables();
        if lost > 0 {
            self.sweep.unfinished(format!(
                "{lost} P_Keys find no place in tables that are too small"
            ));
        }
        for (node, ports) in unchecked {
            self.fault(
                Some(node),
                format!("does not check P_Keys at {ports} of its ports: its tables are too small"),
            );
        }
    }
}

impl Manager {
    /// Drops tables that no port has, is to have, or is published with.
    fn drop_unused_tables(&mut self) {
        if !self.tables.is_crowded() {
            return;
        }
        let mut used = BTreeSet::new();
        for state in self.devices.iter() {
            used.extend(
                state
                    .observed
                    .port_tables
                    .iter()
                    .flat_map(|tables| tables.ids),
            );
        }
        used.extend(self.plan.tables.iter().flatten().flatten());
        let published = &self.snapshot.port_tables;
        let nodes = (0..published.len() as u32).map(NodeId);
        for node in nodes.filter_map(|node| published.node(node)) {
            used.extend(node.ports.iter().flatten());
        }
        self.tables.keep(&used);
    }
}

/// Makes the tables of port after port; what is the same everywhere is made once.
struct TableMaker {
    sl_to_sc: TableId,
    sc_to_sl: TableId,
    sc_to_vl: TableId,
    /// Which lanes may interrupt which, [`TableId::UNKNOWN`] while none may.
    preemption: TableId,
    arbitration: Option<(ArbitrationKey, [TableId; 2])>,
    buffers: Option<(BufferKey, TableId)>,
    lost: usize,
    /// Some partition is secured.
    secured: bool,
    /// Switches that cannot hold the keys of all their HFIs, with the number of those ports.
    unchecked: BTreeMap<Guid, u32>,
}

/// What decides on a port's arbitration: capacities and largest packet.
type ArbitrationKey = (u8, u8, u8);
/// What decides on a port's use of its neighbour's buffer.
type BufferKey = ([u16; 4], [u8; 8]);

impl TableMaker {
    fn new(manager: &mut Manager, qos: &Qos) -> Self {
        let mut intern = |bytes: &[u8]| manager.tables.intern(bytes);
        Self {
            sl_to_sc: intern(&qos.sl_to_sc().to_bytes()),
            sc_to_sl: intern(&qos.sc_to_sl().to_bytes()),
            sc_to_vl: intern(&qos.sc_to_vl().to_bytes()),
            preemption: qos
                .preemption()
                .map_or(TableId::UNKNOWN, |matrix| intern(&matrix)),
            arbitration: None,
            buffers: None,
            lost: 0,
            secured: manager
                .settings
                .partitions
                .iter()
                .any(|partition| partition.secured),
            unchecked: BTreeMap::new(),
        }
    }

    fn port(
        &mut self,
        manager: &mut Manager,
        topology: &Topology,
        qos: &Qos,
        node: &Node,
        at: PortRef,
        info: &PortInfo,
    ) -> [TableId; TABLE_KINDS] {
        let mut ids = [TableId::UNKNOWN; TABLE_KINDS];
        let neighbour = topology.peer(at).and_then(|peer| topology.port(peer));
        let is_end = at.port == PortNum(0) || (!node.is_switch() && neighbour.is_some());
        if is_end {
            let port = candidate(topology, at.node, node, at.port);
            let (keys, lost) =
                pkeys::table(&port, &manager.settings.partitions, node.info.partition_cap);
            self.lost += lost;
            ids[Kind::PKeys.index()] = manager.tables.intern(&keys);
            ids[Kind::SlToSc.index()] = self.sl_to_sc;
            ids[Kind::ScToSl.index()] = self.sc_to_sl;
        }
        if !is_end && self.secured {
            ids[Kind::PKeys.index()] = self.checked_keys(manager, topology, node, at);
        }
        if is_end || neighbour.is_some() {
            for kind in [Kind::ScToVlr, Kind::ScToVlt, Kind::ScToVlnt] {
                ids[kind.index()] = self.sc_to_vl;
            }
        }
        if let Some(neighbour) = neighbour {
            let mtu_cap = info.mtu_cap.min(neighbour.info.mtu_cap);
            let [low, high] = self.arbitration(manager, qos, info, mtu_cap);
            ids[Kind::ArbitrationLow.index()] = low;
            ids[Kind::ArbitrationHigh.index()] = high;
            ids[Kind::Buffers.index()] = self.buffers(manager, qos, info, &neighbour.info);
        }
        if qos.preempts() && interleaves(topology, at) {
            ids[Kind::Preemption.index()] = self.preemption;
        }
        ids
    }

    /// The keys that a switch's port lets through: what the HFI there may use. Nothing towards
    /// another switch, which is trusted, or where they do not fit: then nothing is checked.
    fn checked_keys(
        &mut self,
        manager: &mut Manager,
        topology: &Topology,
        node: &Node,
        at: PortRef,
    ) -> TableId {
        let peer = topology.peer(at);
        let hfi = peer.and_then(|peer| Some((peer, topology.node(peer.node)?)));
        let Some((peer, hfi)) = hfi.filter(|(_, hfi)| !hfi.is_switch()) else {
            return TableId::UNKNOWN;
        };
        let own_cap = node
            .switch
            .map_or(0, |switch| switch.partition_enforcement_cap);
        let port = candidate(topology, peer.node, hfi, peer.port);
        let cap = own_cap.min(hfi.info.partition_cap);
        let (keys, lost) = pkeys::table(&port, &manager.settings.partitions, cap);
        if lost > 0 {
            *self.unchecked.entry(node.guid()).or_default() += 1;
            return TableId::UNKNOWN;
        }
        manager.tables.intern(&keys)
    }

    fn arbitration(
        &mut self,
        manager: &mut Manager,
        qos: &Qos,
        info: &PortInfo,
        mtu_cap: Mtu,
    ) -> [TableId; 2] {
        let (low, high) = (info.vl_arbitration_low_cap, info.vl_arbitration_high_cap);
        let key = (low, high, mtu_cap.0);
        if let Some((_, ids)) = self.arbitration.filter(|(made, _)| *made == key) {
            return ids;
        }
        let mut id = |table: Option<[u8; 256]>| {
            table.map_or(TableId::UNKNOWN, |table| manager.tables.intern(&table))
        };
        let ids = [
            id(qos.arbitration_low(mtu_cap, low)),
            id(qos.arbitration_high(mtu_cap, high)),
        ];
        self.arbitration = Some((key, ids));
        ids
    }

    fn buffers(
        &mut self,
        manager: &mut Manager,
        qos: &Qos,
        info: &PortInfo,
        neighbour: &PortInfo,
    ) -> TableId {
        let depth = |high: u8, low: u8| u16::from(high) << 8 | u16::from(low);
        let words = [
            neighbour.overall_buffer_space,
            neighbour.vl15_init,
            depth(info.wire_depth_h, info.wire_depth),
            depth(neighbour.wire_depth_h, neighbour.wire_depth),
        ];
        let bytes = [
            info.buffer_depth_h,
            info.buffer_depth,
            info.mtu_cap.0,
            neighbour.mtu_cap.0,
            neighbour.buffer_alloc,
            info.port_ltp_crc_mode_active,
            0,
            0,
        ];
        let key = (words, bytes);
        if let Some((_, id)) = self.buffers.filter(|(made, _)| *made == key) {
            return id;
        }
        let table = buffers::table(info, neighbour, qos, &manager.settings.traffic);
        let id = table.map_or(TableId::UNKNOWN, |table| manager.tables.intern(&table));
        self.buffers = Some((key, id));
        id
    }
}

/// Whether packets can be interleaved on a port's cable.
fn interleaves(topology: &Topology, at: PortRef) -> bool {
    let Some(peer) = topology.peer(at) else {
        return false;
    };
    let marks = |end: PortRef| {
        let node = topology.node(end.node);
        node.is_some_and(|node| marks_lanes(node, end.port))
    };
    let ends = topology.port(at).zip(topology.port(peer));
    let markers = marks(at) && marks(peer);
    ends.is_some_and(|(port, peer)| can_interleave(&port.info, &peer.info, markers))
}
