//! The tables that every port should hold.

use std::sync::Arc;

use weft_fabric::{Node, PortNum, PortRef, Topology};
use weft_wire::Layout;
use weft_wire::sm::PortInfo;

use super::Manager;
use super::node::TABLE_KINDS;
use super::plan::candidate;
use super::tables::{Kind, TableId};
use super::wanted::qos::Qos;
use super::wanted::{buffers, pkeys};

impl Manager {
    /// Works out the tables of every port.
    pub(super) fn plan_tables(&mut self) {
        let qos = Qos::new(&self.settings);
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
        let lost = maker.lost;
        self.plan.tables = all;
        self.plan.qos = Some(qos);
        if lost > 0 {
            self.sweep.unfinished(format!(
                "{lost} P_Keys find no place in tables that are too small"
            ));
        }
    }
}

/// Makes the tables of port after port; what is the same everywhere is made once.
struct TableMaker {
    sl_to_sc: TableId,
    sc_to_sl: TableId,
    sc_to_vl: TableId,
    arbitration: Option<(ArbitrationKey, [TableId; 2])>,
    buffers: Option<(BufferKey, TableId)>,
    lost: usize,
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
            arbitration: None,
            buffers: None,
            lost: 0,
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
        if is_end || neighbour.is_some() {
            for kind in [Kind::ScToVlr, Kind::ScToVlt, Kind::ScToVlnt] {
                ids[kind.index()] = self.sc_to_vl;
            }
        }
        if let Some(neighbour) = neighbour {
            let [low, high] = self.arbitration(manager, qos, info);
            ids[Kind::ArbitrationLow.index()] = low;
            ids[Kind::ArbitrationHigh.index()] = high;
            ids[Kind::Buffers.index()] = self.buffers(manager, qos, info, &neighbour.info);
        }
        ids
    }

    fn arbitration(&mut self, manager: &mut Manager, qos: &Qos, info: &PortInfo) -> [TableId; 2] {
        let key = (
            info.vl_arbitration_low_cap,
            info.vl_arbitration_high_cap,
            info.mtu_cap.0,
        );
        if let Some((_, ids)) = self.arbitration.filter(|(made, _)| *made == key) {
            return ids;
        }
        let mut id = |table: Option<[u8; 256]>| {
            table.map_or(TableId::UNKNOWN, |table| manager.tables.intern(&table))
        };
        let ids = [
            id(qos.arbitration_low(info)),
            id(qos.arbitration_high(info)),
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
