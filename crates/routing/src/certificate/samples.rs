//! Fabrics and tables for tests of proofs that are kept.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use weft_fabric::generate::FabricSpec;
use weft_fabric::{
    Lid, LinearTables, PortGroupTables, PortNum, PortRef, SwitchIndex, SwitchPortGroups, Topology,
};

/// Numbers that look random.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// A tree of three tiers whose end ports have LIDs.
pub(super) fn fabric(spec: &str) -> Topology {
    let spec: FabricSpec = spec.parse().unwrap();
    let mut topology = spec.generate().unwrap();
    let ends: Vec<PortRef> = topology.end_ports().map(|(end, _, _)| end).collect();
    for (end, lid) in ends.into_iter().zip(1..) {
        let node = topology.node_mut(end.node).unwrap();
        node.port_mut(end.port).unwrap().info.lid = Lid(lid);
    }
    topology
}

/// Some entries of some switches point elsewhere, in some cases most of one switch's, as after a
/// lost link.
pub(super) fn changed(old: &LinearTables, dice: &mut Dice) -> Arc<LinearTables> {
    let mut rows: Vec<Arc<[u8]>> = (0..old.len() as u32)
        .map(|switch| Arc::clone(old.row_shared(SwitchIndex(switch)).unwrap()))
        .collect();
    if dice.below(3) == 0 {
        let count = rows.len();
        let row = Arc::make_mut(&mut rows[dice.below(count)]);
        let (from, to) = (4 + dice.below(3) as u8, 4 + dice.below(3) as u8);
        let entries = row.iter_mut().filter(|port| **port == from);
        entries.for_each(|port| *port = to);
    }
    for _ in 0..dice.below(4) {
        let count = rows.len();
        let row = Arc::make_mut(&mut rows[dice.below(count)]);
        let lid = dice.below(row.len());
        row[lid] = [1, 2, 3, 4, 5, 6, 0xFF][dice.below(7)];
    }
    Arc::new(LinearTables::new(rows))
}

/// One switch may have a group of two ports for a few LIDs.
pub(super) fn grouped(topology: &Topology, dice: &mut Dice) -> Arc<PortGroupTables> {
    let count = topology.switches().len();
    let chosen = dice.below(count * 2);
    let ports = [1, 4 + dice.below(3) as u8].map(PortNum);
    let mut fdb = vec![0xFF; 128];
    fdb[1 + dice.below(54)] = 0;
    let groups = SwitchPortGroups {
        groups: vec![ports.into_iter().collect()],
        fdb,
    };
    let switch = |switch| {
        Arc::new(if switch == chosen {
            groups.clone()
        } else {
            SwitchPortGroups::default()
        })
    };
    Arc::new(PortGroupTables {
        switches: (0..count).map(switch).collect(),
    })
}
