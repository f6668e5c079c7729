//! Tables of ports, decoded.

use weft_fabric::enums::PortState;
use weft_fabric::{NodeId, PortNum, PortRef, PortTable, Sc, Sl, Snapshot, Vl};
use weft_wire::Layout;
use weft_wire::sa::VfInfoRecord;
use weft_wire::sm::{PartitionTable, ScVlMap, SlScMap, SwitchInfo};

/// The line in place of a report on forwarding tables that are not known.
pub(crate) const NO_ROUTES: &str =
    "Report skipped: provided snapshot was created without -r option";

/// Whether a switch chooses among ports of groups.
pub(crate) fn uses_groups(info: &SwitchInfo) -> bool {
    info.ar_enable && info.port_group_top > 0
}

/// Channel and lane that carry no data packets.
pub(crate) const NO_DATA: u8 = 15;

/// Every port with a link and port 0 of every switch, in order of GUID and port: the ports that opareport knows.
pub(crate) fn known_ports(snapshot: &Snapshot) -> Vec<PortRef> {
    let ports = nodes_by_guid(snapshot).into_iter().flat_map(|id| {
        let node = snapshot.topology.node(id).into_iter();
        let ports = node.flat_map(|node| node.ports());
        let known = ports.filter(|(_, port)| port.info.port_state != PortState::DOWN);
        known.map(move |(port, _)| PortRef { node: id, port })
    });
    ports.collect()
}

/// All nodes in order of GUID.
pub(crate) fn nodes_by_guid(snapshot: &Snapshot) -> Vec<NodeId> {
    let mut nodes: Vec<_> = snapshot.topology.nodes().collect();
    nodes.sort_by_key(|(_, node)| node.guid());
    nodes.into_iter().map(|(id, _)| id).collect()
}

/// The LID under which a port is known: its own, or its switch's; 0 for none.
pub(crate) fn end_port_lid(snapshot: &Snapshot, at: PortRef) -> u32 {
    let node = snapshot.topology.node(at.node);
    let port = node.and_then(|node| match node.is_switch() {
        true => node.port(PortNum(0)),
        false => node.port(at.port),
    });
    port.map_or(0, |port| port.info.lid.0)
}

/// Whether a port is armed or active.
pub(crate) fn is_initialized(snapshot: &Snapshot, at: PortRef) -> bool {
    let state = snapshot.topology.port(at).map(|port| port.info.port_state);
    matches!(state, Some(PortState::ARMED | PortState::ACTIVE))
}

/// Decodes a table of a port, none where it is not known.
pub(crate) fn table<T: Layout>(snapshot: &Snapshot, at: PortRef, kind: PortTable) -> Option<T> {
    T::decode(snapshot.port_tables.table(at, kind)?).ok()
}

/// The channel and the lane on which a port sends a service level, as far as its tables are known.
pub(crate) fn channel_and_lane(snapshot: &Snapshot, at: PortRef, sl: Sl) -> (Sc, Vl) {
    let channels: SlScMap = table(snapshot, at, PortTable::SlToSc).unwrap_or_default();
    let lanes: ScVlMap = table(snapshot, at, PortTable::ScToVlt).unwrap_or_default();
    let sc = channels.get(sl);
    (sc, lanes.get(sc))
}

/// Whether an end port takes part in a virtual fabric, as far as its tables tell: one of the fabric's service levels has
/// a channel there, and the port has its key.
pub(crate) fn is_member(snapshot: &Snapshot, at: PortRef, fabric: &VfInfoRecord) -> bool {
    if !is_initialized(snapshot, at) {
        return false;
    }
    let Some(channels) = table::<SlScMap>(snapshot, at, PortTable::SlToSc) else {
        return false;
    };
    let or_base = |specified: bool, sl: Sl| if specified { sl } else { fabric.sl_base };
    let levels = [
        fabric.sl_base,
        or_base(fabric.sl_response_specified, fabric.sl_response),
        or_base(fabric.sl_multicast_specified, fabric.sl_multicast),
    ];
    if levels.iter().all(|sl| channels.get(*sl).0 == NO_DATA) {
        return false;
    }
    let keys = table::<PartitionTable>(snapshot, at, PortTable::PKeys);
    keys.is_some_and(|keys| {
        let mut keys = keys.partition_table_block.iter();
        keys.any(|key| key.0 & 0x7FFF == fabric.p_key.0 & 0x7FFF)
    })
}
