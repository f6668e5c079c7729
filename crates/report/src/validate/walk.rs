//! The way of packets through forwarding tables and maps of channels, hop by hop, as opareport follows it.

use weft_fabric::{Lid, NodeId, PortNum, PortRef, PortTable, Sl, Snapshot};
use weft_wire::sm::{ScScMap, ScVlMap, SlScMap};

use crate::tables::{NO_DATA, is_initialized, table};

/// Switches on a path that opareport follows.
pub(crate) const SWITCHES_MAX: usize = 64;
/// `RoutingModeEnabled` of a switch that uses its linear table.
const ROUTE_LINEAR: u8 = 1;

/// Where a packet comes into a device and where it leaves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) entry: Option<PortRef>,
    pub(crate) exit: Option<PortRef>,
    pub(crate) vl: u8,
}

/// A path as far as it goes.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    pub(crate) steps: Vec<Step>,
    pub(crate) complete: bool,
}

/// The channel and lane with which a port sends a service level; none if it may not. Both are 0 where its tables are not
/// known.
pub(crate) fn first_channel(snapshot: &Snapshot, at: PortRef, sl: Sl) -> Option<(u8, u8)> {
    let Some(channels) = table::<SlScMap>(snapshot, at, PortTable::SlToSc) else {
        return Some((0, 0));
    };
    let sc = channels.get(sl);
    let lanes: ScVlMap = table(snapshot, at, PortTable::ScToVlt).unwrap_or_default();
    let vl = lanes.get(sc).0;
    (sc.0 != NO_DATA && vl != NO_DATA).then_some((sc.0, vl))
}

/// The port by which a switch sends packets to a LID; none where it does not.
pub(crate) fn egress(snapshot: &Snapshot, switch: NodeId, lid: Lid) -> Option<PortRef> {
    let topology = &snapshot.topology;
    let info = topology.node(switch)?.switch.as_ref()?;
    if lid.0 == 0 || info.routing_mode_enabled != ROUTE_LINEAR {
        return None;
    }
    let port = snapshot
        .linear
        .egress(topology.switch_index(switch)?, lid)?;
    let at = PortRef { node: switch, port };
    let leads_on = port.0 == 0 || topology.peer(at).is_some();
    (leads_on && is_initialized(snapshot, at)).then_some(at)
}

/// Whether a port answers to a LID.
pub(crate) fn answers(snapshot: &Snapshot, at: PortRef, lid: Lid) -> bool {
    let info = snapshot.topology.port(at).map(|port| &port.info);
    info.is_some_and(|info| {
        let last = info.lid.0 | (info.lmc.lids() - 1);
        (info.lid.0..=last).contains(&lid.0)
    })
}

/// Whether a node is a switch.
pub(crate) fn is_switch(snapshot: &Snapshot, node: NodeId) -> bool {
    snapshot.topology.switch_index(node).is_some()
}

/// Follows a packet from an end port.
pub(crate) fn walk(snapshot: &Snapshot, from: PortRef, lid: Lid, sl: Sl) -> Walk {
    let mut walk = Walk::default();
    walk.complete = follow(snapshot, from, lid, sl, &mut walk.steps).is_some();
    walk
}

fn follow(
    snapshot: &Snapshot,
    from: PortRef,
    lid: Lid,
    sl: Sl,
    steps: &mut Vec<Step>,
) -> Option<()> {
    let (mut sc, mut vl) = first_channel(snapshot, from, sl)?;
    let mut at = from;
    if !is_switch(snapshot, from.node) {
        steps.push(Step {
            entry: None,
            exit: Some(from),
            vl,
        });
        at = snapshot.topology.peer(from)?;
    }
    let mut entries: Vec<PortRef> = Vec::new();
    while is_switch(snapshot, at.node) && (entries.is_empty() || at.port != PortNum(0)) {
        if entries.len() >= SWITCHES_MAX || entries.contains(&at) {
            return None;
        }
        entries.push(at);
        let exit = egress(snapshot, at.node, lid)?;
        if at.port.0 != 0 && exit.port.0 != 0 {
            (sc, vl) = channel_behind(snapshot, at, exit.port, (sc, vl))?;
        }
        steps.push(Step {
            entry: Some(at),
            exit: Some(exit),
            vl,
        });
        at = match exit.port {
            PortNum(0) => exit,
            _ => snapshot.topology.peer(exit)?,
        };
    }
    if !answers(snapshot, at, lid) {
        return None;
    }
    if !is_switch(snapshot, at.node) {
        steps.push(Step {
            entry: Some(at),
            exit: None,
            vl,
        });
    }
    Some(())
}

/// The map of channels from an ingress to an egress port.
pub(crate) fn channel_map(maps: &[u8], egress: PortNum) -> Option<ScScMap> {
    use weft_wire::Layout;
    let at = usize::from(egress.0).checked_sub(1)? * ScScMap::LEN;
    let map = maps.get(at..at + ScScMap::LEN)?;
    if map[0] == weft_fabric::port_tables::UNKNOWN_CHANNEL {
        return None;
    }
    ScScMap::decode(map).ok()
}

/// Channel and lane behind a switch; none where the packet is dropped.
fn channel_behind(
    snapshot: &Snapshot,
    entry: PortRef,
    exit: PortNum,
    (sc, vl): (u8, u8),
) -> Option<(u8, u8)> {
    let maps = snapshot.port_tables.table(entry, PortTable::ScToSc);
    let Some(map) = maps.and_then(|maps| channel_map(maps, exit)) else {
        return Some((sc, vl));
    };
    let behind = map.get(weft_fabric::Sc(sc));
    let lanes: ScVlMap = table(snapshot, entry, PortTable::ScToVlt).unwrap_or_default();
    let vl = lanes.get(behind).0;
    (behind.0 != NO_DATA && vl != NO_DATA).then_some((behind.0, vl))
}
