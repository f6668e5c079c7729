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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Capacity {
    groups: usize,
    entries: usize,
}

/// The groups of all switches, with what they follow from.
#[derive(Debug)]
pub(crate) struct Groups {
    pub(crate) tables: PortGroupTables,
    /// By switch, what it can hold and how many destinations had to share or go without.
    limits: Vec<(Option<Capacity>, u64)>,
}

impl Groups {
    /// Makes the groups of all switches; those that cannot route adaptively get none. Switches
    /// that have the same choices as before (`untouched`, by switch) keep theirs.
    pub(crate) fn new(
        topology: &Topology,
        network: &Network,
        choices: (&Paths, &Pruning),
        before: Option<(&Self, &[bool])>,
    ) -> Self {
        let kept = |switch: usize, capacity: Option<Capacity>| {
            let (before, untouched) = before?;
            let limit = before
                .limits
                .get(switch)
                .filter(|limit| limit.0 == capacity)?;
            let groups = before.tables.switches.get(switch)?;
            let same = untouched.get(switch).copied().unwrap_or(false);
            same.then(|| (Arc::clone(groups), *limit))
        };
        let switches = (0..network.len()).into_par_iter();
        let made = switches.map_init(Candidates::default, |candidates, switch| {
            let capacity = capacity(topology, network, switch);
            kept(switch, capacity).unwrap_or_else(|| {
                let fit = |capacity| {
                    Wanted::find(network, choices, candidates, switch).fit(network, capacity)
                };
                let (groups, limited) = capacity.map(fit).unwrap_or_default();
                (Arc::new(groups), (capacity, limited))
            })
        });
        let (switches, limits) = made.unzip();
        Self {
            tables: PortGroupTables { switches },
            limits,
        }
    }

    /// How many destinations had to share or go without, if any.
    pub(crate) fn note(&self) -> Option<Note> {
        let limited = self.limits.iter().filter(|(_, limited)| *limited > 0);
        let pairs = limited.clone().map(|(_, limited)| limited).sum();
        let switches = limited.count();
        (switches > 0).then_some(Note::GroupsLimited { switches, pairs })
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
            let links = candidates.links(candidates.set(paths.column(target)));
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
