//! Adaptive port groups: the ports among which a switch may choose for a destination.

mod port_sets;
mod room;

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use weft_fabric::tables::LFT_BLOCK;
use weft_fabric::{PortGroupTables, PortMask, SwitchPortGroups, Topology, UNREACHABLE};
use weft_state::State;

use self::port_sets::Lids;
pub(crate) use self::port_sets::PortSets;
use self::room::{Demand, largest_inside};
use crate::engine::Choices;
use crate::network::Network;
use crate::paths::Candidates;
use crate::routed::Note;

/// Table sizes of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
struct Capacity {
    groups: usize,
    entries: usize,
}

/// Destinations that exceeded the tables of a switch, or of all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, State)]
struct Limited {
    /// LIDs that choose among fewer ports than they could.
    lids: u64,
    /// Those of them that have no choice left.
    alone: u64,
}

/// The groups of all switches, with their inputs.
#[derive(Debug, State)]
pub(crate) struct Groups {
    pub(crate) tables: PortGroupTables,
    /// By switch, its table sizes and the destinations that exceeded them.
    limits: Vec<(Option<Capacity>, Limited)>,
}

impl Groups {
    /// Makes the groups of all switches; those that cannot route adaptively get none. Switches
    /// that have the same choices as before (`untouched`, by switch) keep theirs. None where an
    /// engine leaves no choices.
    pub(crate) fn new(
        topology: &Topology,
        network: &Network,
        choices: &Choices,
        before: Option<(&Self, &[bool])>,
    ) -> Option<Self> {
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
        let lids = Lids::new(network);
        let fitted = |candidates: &mut Candidates, switch: usize, capacity| match choices {
            Choices::None => Default::default(),
            Choices::Sets(sets) => fit(&sets[switch], network, capacity),
            Choices::Paths { paths, pruning } => {
                let paths = (&**paths, pruning);
                let sets = PortSets::on_paths((network, &lids), paths, candidates, switch);
                fit(&sets, network, capacity)
            }
        };
        let switches = (0..network.len()).into_par_iter();
        let made = switches.map_init(Candidates::default, |candidates, switch| {
            let capacity = capacity(topology, network, switch);
            kept(switch, capacity).unwrap_or_else(|| {
                let made = capacity.map(|capacity| fitted(candidates, switch, capacity));
                let (groups, limited) = made.unwrap_or_default();
                (Arc::new(groups), (capacity, limited))
            })
        });
        let (switches, limits) = made.unzip();
        let made = Self {
            tables: PortGroupTables { switches },
            limits,
        };
        (!matches!(choices, Choices::None)).then_some(made)
    }

    /// Reports how many destinations had to share or go without, if any.
    pub(crate) fn note(&self) -> Option<Note> {
        let limited = self.limits.iter().map(|(_, limited)| limited);
        let limited = limited.filter(|limited| limited.lids > 0);
        let sum = |of: fn(&Limited) -> u64| limited.clone().map(of).sum();
        let switches = limited.clone().count();
        (switches > 0).then(|| Note::GroupsLimited {
            switches,
            pairs: sum(|limited| limited.lids),
            alone: sum(|limited| limited.alone),
        })
    }
}

fn capacity(topology: &Topology, network: &Network, switch: usize) -> Option<Capacity> {
    let info = topology.node(network.switches[switch].node)?.switch?;
    let groups = usize::from(info.port_group_cap).min(usize::from(UNREACHABLE));
    let entries = info.port_group_fdb_cap.min(info.linear_fdb_cap) as usize;
    let can = info.is_adaptive_routing_supported && groups > 0 && entries > 0;
    can.then_some(Capacity { groups, entries })
}

/// Makes the groups of a switch from its sets: all of them where they fit. Otherwise those that
/// give the most LIDs the most choice, and each set that has none of its own uses the largest one
/// inside it.
fn fit(sets: &PortSets, network: &Network, capacity: Capacity) -> (SwitchPortGroups, Limited) {
    let len = (network.max_lid as usize + 1).next_multiple_of(LFT_BLOCK);
    let len = len.min(capacity.entries);
    let demand = |(ports, lids): (PortMask, Vec<Range<u32>>)| {
        let count = lids.iter().map(|lids| u64::from(lids.end - lids.start));
        let lids_count = count.sum();
        let demand = Demand {
            ports,
            lids: lids_count,
        };
        (demand, lids)
    };
    let mut sets: Vec<_> = sets.below(len as u32).into_iter().map(demand).collect();
    sets.sort_by_key(|(demand, _)| std::cmp::Reverse(demand.worth()));
    let demands: Vec<Demand> = sets.iter().map(|(demand, _)| *demand).collect();
    let groups = room::groups(&demands, capacity.groups);
    let mut limited = Limited::default();
    let mut fdb = vec![UNREACHABLE; if groups.is_empty() { 0 } else { len }];
    for (demand, lids) in &sets {
        let group = largest_inside(demand, &groups);
        let is_own = group.is_some_and(|group| groups[group] == demand.ports);
        limited.lids += if is_own { 0 } else { demand.lids };
        limited.alone += if group.is_none() { demand.lids } else { 0 };
        for lids in lids.iter().filter(|_| group.is_some()) {
            fdb[lids.start as usize..lids.end as usize].fill(group.unwrap_or(0) as u8);
        }
    }
    (SwitchPortGroups { groups, fdb }, limited)
}
