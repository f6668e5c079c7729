//! Service levels, channels and virtual lanes of a virtual fabric.

use weft_fabric::{NodeId, PortRef, PortTable, Sc, Sl, Snapshot, Vl};
use weft_wire::Layout;
use weft_wire::sm::{ScVlMap, SlScMap};

use super::Fabrics;
use crate::settings::VirtualFabric;

/// A service level, with its channel and virtual lane where packets of it are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelUse {
    /// The level.
    pub sl: Sl,
    /// Its channel and lane as registers have them; none where they are not confirmed.
    pub channel: Option<(Sc, Vl)>,
}

impl Fabrics<'_> {
    /// The levels of a virtual fabric in each lane of routes, that of multicast last where it has its own.
    pub(super) fn levels(&self, fabric: &VirtualFabric) -> Vec<LevelUse> {
        let names = self.settings.lane_levels();
        let lanes = 0..self.snapshot.linear.lanes().count().max(1);
        let mut levels: Vec<Sl> = lanes.map(|lane| names.in_lane(fabric.sl, lane)).collect();
        levels.push(fabric.multicast_sl);
        levels.dedup();
        let own = own_port(self.snapshot);
        let level = |sl| LevelUse {
            sl,
            channel: own.and_then(|at| channel(self.snapshot, at, sl)),
        };
        levels.into_iter().map(level).collect()
    }
}

/// The manager's own port.
fn own_port(snapshot: &Snapshot) -> Option<PortRef> {
    let node = NodeId(0);
    let (port, _) = snapshot.topology.node(node)?.end_ports().next()?;
    Some(PortRef { node, port })
}

/// The channel and lane of a level at an end port.
fn channel(snapshot: &Snapshot, at: PortRef, sl: Sl) -> Option<(Sc, Vl)> {
    let tables = &snapshot.port_tables;
    let channels = SlScMap::decode(tables.table(at, PortTable::SlToSc)?).ok()?;
    let lanes = ScVlMap::decode(tables.table(at, PortTable::ScToVlt)?).ok()?;
    let sc = channels.get(sl);
    Some((sc, lanes.get(sc)))
}
