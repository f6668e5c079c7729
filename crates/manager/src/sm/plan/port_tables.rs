//! The tables that every port should hold.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_fabric::{Guid, Node, PortNum, PortRef, Topology};
use weft_wire::Layout;
use weft_wire::enums::Mtu;
use weft_wire::sm::PortInfo;

use super::super::devices::TABLE_KINDS;
use super::super::settings::Settings;
use super::super::tables::{Kind, TableId, TableStore};
use super::super::wanted::preemption::{can_interleave, marks_lanes};
use super::super::wanted::qos::Qos;
use super::super::wanted::{buffers, pkeys};
use super::Plan;
use super::channel_maps::ChannelMaps;
use super::input::Told;
use crate::settings::members::Candidate;

/// Works out the tables of every port; gives their contents in order of their names.
pub(super) fn plan(
    plan: &mut Plan,
    settings: &Settings,
    (qos, maps): (Qos, &ChannelMaps),
    told: &mut Told,
) -> Vec<Arc<[u8]>> {
    let topology = Arc::clone(&plan.topology);
    let mut maker = TableMaker::new(settings, &topology, &qos);
    for (id, node) in topology.nodes() {
        let of_node = node.ports().map(|(port, end)| {
            let at = PortRef { node: id, port };
            maker.port(node, at, &end.info)
        });
        plan.tables.push(of_node.collect());
    }
    plan.maps_channels = !maps.is_empty();
    for (id, node) in topology.nodes().filter(|(_, node)| node.is_switch()) {
        let ports = node.ports().zip(&mut plan.tables[id.0 as usize]);
        for ((port, _), ids) in ports {
            if let Some(row) = maps.row(id, port) {
                ids[Kind::ScToSc.index()] = maker.tables.intern(row);
            }
        }
    }
    if maker.lost > 0 {
        told.unfinished.push(format!(
            "{} P_Keys find no place in tables that are too small",
            maker.lost
        ));
    }
    for (node, ports) in std::mem::take(&mut maker.unchecked) {
        let what =
            format!("does not check P_Keys at {ports} of its ports: its tables are too small");
        told.faults.push((Some(node), what));
    }
    let contents = maker.tables.contents().to_vec();
    plan.qos = Some(qos);
    contents
}

/// Makes the tables of port after port; equal ones are made once.
struct TableMaker<'a> {
    settings: &'a Settings,
    topology: &'a Topology,
    qos: &'a Qos,
    tables: TableStore,
    sl_to_sc: TableId,
    sc_to_sl: TableId,
    /// By data lanes that a port has on its link.
    in_lanes: BTreeMap<u8, InLanes>,
    arbitration: Option<(ArbitrationKey, [TableId; 2])>,
    buffers: Option<(BufferKey, TableId)>,
    lost: usize,
    /// Some partition is secured.
    secured: bool,
    /// Switches that cannot hold the keys of all their HFIs, with the number of those ports.
    unchecked: BTreeMap<Guid, u32>,
}

/// Inputs of a port's arbitration: capacities, largest packet and data lanes.
type ArbitrationKey = (u8, u8, u8, u8);
/// Inputs of a port's use of its neighbour's buffer.
type BufferKey = ([u16; 4], [u8; 8]);

/// Tables of ports with a number of data lanes.
#[derive(Debug, Clone, Copy)]
struct InLanes {
    sc_to_vl: TableId,
    /// Preemption matrix, [`TableId::UNKNOWN`] while preemption is off.
    preemption: TableId,
}

impl<'a> TableMaker<'a> {
    fn new(settings: &'a Settings, topology: &'a Topology, qos: &'a Qos) -> Self {
        let mut tables = TableStore::default();
        let mut intern = |bytes: &[u8]| tables.intern(bytes);
        Self {
            settings,
            topology,
            qos,
            sl_to_sc: intern(&qos.sl_to_sc().to_bytes()),
            sc_to_sl: intern(&qos.sc_to_sl().to_bytes()),
            in_lanes: BTreeMap::new(),
            arbitration: None,
            buffers: None,
            lost: 0,
            secured: settings
                .partitions
                .iter()
                .any(|partition| partition.secured),
            unchecked: BTreeMap::new(),
            tables,
        }
    }

    fn port(&mut self, node: &Node, at: PortRef, info: &PortInfo) -> [TableId; TABLE_KINDS] {
        let (topology, qos) = (self.topology, self.qos);
        let mut ids = [TableId::UNKNOWN; TABLE_KINDS];
        let neighbour = topology.peer(at).and_then(|peer| topology.port(peer));
        let lanes = match neighbour {
            Some(neighbour) => info.vl_cap.min(neighbour.info.vl_cap),
            None => qos.lanes(),
        };
        let in_lanes = self.in_lanes(lanes.min(qos.lanes()));
        let is_end = at.port == PortNum(0) || (!node.is_switch() && neighbour.is_some());
        if is_end {
            let port = Candidate::new(topology, node, at);
            let (keys, lost) =
                pkeys::table(&port, &self.settings.partitions, node.info.partition_cap);
            self.lost += lost;
            ids[Kind::PKeys.index()] = self.tables.intern(&keys);
            ids[Kind::SlToSc.index()] = self.sl_to_sc;
            ids[Kind::ScToSl.index()] = self.sc_to_sl;
        }
        if !is_end && self.secured {
            ids[Kind::PKeys.index()] = self.checked_keys(node, at);
        }
        if is_end || neighbour.is_some() {
            for kind in [Kind::ScToVlr, Kind::ScToVlt, Kind::ScToVlnt] {
                ids[kind.index()] = in_lanes.sc_to_vl;
            }
        }
        if let Some(neighbour) = neighbour {
            let mtu_cap = info.mtu_cap.min(neighbour.info.mtu_cap);
            let [low, high] = self.arbitration(info, mtu_cap, lanes);
            ids[Kind::ArbitrationLow.index()] = low;
            ids[Kind::ArbitrationHigh.index()] = high;
            ids[Kind::Buffers.index()] = self.buffers(info, &neighbour.info, lanes);
        }
        if qos.preempts() && interleaves(topology, at) {
            ids[Kind::Preemption.index()] = in_lanes.preemption;
        }
        ids
    }

    /// The keys that a switch's port passes: those of the HFI there. Empty towards
    /// another switch, which is trusted, or if they do not fit: then nothing is checked.
    fn checked_keys(&mut self, node: &Node, at: PortRef) -> TableId {
        let topology = self.topology;
        let peer = topology.peer(at);
        let hfi = peer.and_then(|peer| Some((peer, topology.node(peer.node)?)));
        let Some((peer, hfi)) = hfi.filter(|(_, hfi)| !hfi.is_switch()) else {
            return TableId::UNKNOWN;
        };
        let own_cap = node
            .switch
            .map_or(0, |switch| switch.partition_enforcement_cap);
        let port = Candidate::new(topology, hfi, peer);
        let cap = own_cap.min(hfi.info.partition_cap);
        let (keys, lost) = pkeys::table(&port, &self.settings.partitions, cap);
        if lost > 0 {
            *self.unchecked.entry(node.guid()).or_default() += 1;
            return TableId::UNKNOWN;
        }
        self.tables.intern(&keys)
    }

    fn in_lanes(&mut self, lanes: u8) -> InLanes {
        if let Some(made) = self.in_lanes.get(&lanes) {
            return *made;
        }
        let qos = self.qos.within(lanes);
        let preemption = qos.preemption();
        let preemption = preemption.map(|matrix| self.tables.intern(&matrix));
        let made = InLanes {
            sc_to_vl: self.tables.intern(&qos.sc_to_vl().to_bytes()),
            preemption: preemption.unwrap_or(TableId::UNKNOWN),
        };
        self.in_lanes.insert(lanes, made);
        made
    }

    fn arbitration(&mut self, info: &PortInfo, mtu_cap: Mtu, lanes: u8) -> [TableId; 2] {
        let (low, high) = (info.vl_arbitration_low_cap, info.vl_arbitration_high_cap);
        let key = (low, high, mtu_cap.0, lanes);
        if let Some((_, ids)) = self.arbitration.filter(|(made, _)| *made == key) {
            return ids;
        }
        let qos = self.qos.within(lanes);
        let mut id = |table: Option<[u8; 256]>| {
            table.map_or(TableId::UNKNOWN, |table| self.tables.intern(&table))
        };
        let ids = [
            id(qos.arbitration_low(mtu_cap, low)),
            id(qos.arbitration_high(mtu_cap, high)),
        ];
        self.arbitration = Some((key, ids));
        ids
    }

    fn buffers(&mut self, info: &PortInfo, neighbour: &PortInfo, lanes: u8) -> TableId {
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
            lanes,
            0,
        ];
        let key = (words, bytes);
        if let Some((_, id)) = self.buffers.filter(|(made, _)| *made == key) {
            return id;
        }
        let table = buffers::table(
            info,
            neighbour,
            &self.qos.within(lanes),
            &self.settings.traffic,
        );
        let id = table.map_or(TableId::UNKNOWN, |table| self.tables.intern(&table));
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
