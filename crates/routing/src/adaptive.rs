//! Adaptive port groups: the ports among which a switch may choose for a destination.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;
use weft_fabric::tables::LFT_BLOCK;
use weft_fabric::{PortGroupTables, PortMask, PortNum, SwitchPortGroups, Topology, UNREACHABLE};

use crate::engine::Pruning;
use crate::network::{EndPort, Network};
use crate::paths::{Candidates, Paths};
use crate::routed::Note;

/// What a switch can hold.
#[derive(Debug, Clone, Copy)]
struct Capacity {
    groups: usize,
    entries: usize,
}

/// Makes the groups of all switches; those that cannot route adaptively get none. A note says how
/// many destinations had to share or go without.
pub(crate) fn groups(
    topology: &Topology,
    network: &Network,
    (paths, pruning): (&Paths, &Pruning),
    notes: &mut Vec<Note>,
) -> PortGroupTables {
    let made: Vec<(SwitchPortGroups, u64)> = (0..network.len())
        .into_par_iter()
        .map_init(Candidates::default, |candidates, switch| {
            let Some(capacity) = capacity(topology, network, switch) else {
                return Default::default();
            };
            Wanted::find(network, (paths, pruning), candidates, switch).fit(network, capacity)
        })
        .collect();
    let limited = made.iter().filter(|(_, without)| *without > 0);
    let switches = limited.clone().count();
    if switches > 0 {
        let pairs = limited.map(|(_, without)| without).sum();
        notes.push(Note::GroupsLimited { switches, pairs });
    }
    let switches = made.into_iter().map(|(groups, _)| Arc::new(groups));
    PortGroupTables {
        switches: switches.collect(),
    }
}

fn capacity(topology: &Topology, network: &Network, switch: usize) -> Option<Capacity> {
    let info = topology.node(network.switches[switch].node)?.switch?;
    let groups = usize::from(info.port_group_cap).min(usize::from(UNREACHABLE));
    let entries = info.port_group_fdb_cap.min(info.linear_fdb_cap) as usize;
    let can = info.is_adaptive_routing_supported && groups > 0 && entries > 0;
    can.then_some(Capacity { groups, entries })
}

/// The sets of ports that a switch could use, each with its destinations.
struct Wanted {
    sets: BTreeMap<PortMask, Vec<u32>>,
}

impl Wanted {
    /// Candidates of more than one port.
    fn find(
        network: &Network,
        (paths, pruning): (&Paths, &Pruning),
        candidates: &mut Candidates,
        switch: usize,
    ) -> Self {
        let egress = network.egress(switch);
        let order: Vec<u16> = (0..egress.len() as u16).collect();
        pruning.fill(candidates, network, paths, switch, &order);
        let mut sets: BTreeMap<PortMask, Vec<u32>> = BTreeMap::new();
        for target in (0..network.len()).filter(|target| *target != switch) {
            let links = candidates.links(candidates.run(paths.column(target)));
            if links.len() > 1 {
                let ports = links
                    .iter()
                    .map(|link| PortNum(egress[usize::from(*link)].port));
                sets.entry(ports.collect()).or_default().push(target as u32);
            }
        }
        Self { sets }
    }

    /// Keeps as many sets as fit, those first that give the most HFI LIDs the most choice. A set
    /// that does not fit borrows the largest kept one that lies inside it; the rest have none.
    /// Says how many destination switches had to.
    fn fit(self, network: &Network, capacity: Capacity) -> (SwitchPortGroups, u64) {
        let use_of = |(ports, targets): &(PortMask, Vec<u32>)| {
            let lids: u64 = targets
                .iter()
                .map(|target| hfi_lids(network, *target))
                .sum();
            (lids + targets.len() as u64) * u64::from(ports.len() - 1)
        };
        let mut sets: Vec<(PortMask, Vec<u32>)> = self.sets.into_iter().collect();
        sets.sort_by_key(|set| std::cmp::Reverse(use_of(set)));
        let kept = sets.len().min(capacity.groups);
        let groups: Vec<PortMask> = sets[..kept].iter().map(|set| set.0).collect();
        let mut made = Made::new(network, groups, capacity);
        let mut limited = 0;
        for (index, (ports, targets)) in sets.iter().enumerate() {
            let own = (index < kept).then_some(index);
            let group = own.or_else(|| made.inside(ports));
            limited += if own.is_none() {
                targets.len() as u64
            } else {
                0
            };
            for target in targets.iter().filter(|_| group.is_some()) {
                made.point(network, *target as usize, group.unwrap_or(0) as u8);
            }
        }
        (made.tables, limited)
    }
}

fn hfi_lids(network: &Network, target: u32) -> u64 {
    let hfis = network.hfis(target as usize).iter();
    hfis.map(|end| u64::from(end.lmc.lids())).sum()
}

struct Made {
    tables: SwitchPortGroups,
}

impl Made {
    fn new(network: &Network, groups: Vec<PortMask>, capacity: Capacity) -> Self {
        let len = (network.max_lid as usize + 1).next_multiple_of(LFT_BLOCK);
        let len = if groups.is_empty() {
            0
        } else {
            len.min(capacity.entries)
        };
        Self {
            tables: SwitchPortGroups {
                groups,
                fdb: vec![UNREACHABLE; len],
            },
        }
    }

    /// The largest group that is part of `ports`.
    fn inside(&self, ports: &PortMask) -> Option<usize> {
        let groups = self.tables.groups.iter().enumerate();
        let part = |group: &PortMask| group.iter().all(|port| ports.contains(port));
        groups
            .filter(|(_, group)| part(group))
            .max_by_key(|(index, group)| (group.len(), usize::MAX - index))
            .map(|(index, _)| index)
    }

    /// Points all LIDs at a switch to a group.
    fn point(&mut self, network: &Network, target: usize, group: u8) {
        let own = network.management(target);
        for EndPort { lid, lmc, .. } in network.hfis(target).iter().chain(own) {
            let end = (lid.0 + lmc.lids()) as usize;
            let end = end.min(self.tables.fdb.len());
            let start = (lid.0 as usize).min(end);
            self.tables.fdb[start..end].fill(group);
        }
    }
}
