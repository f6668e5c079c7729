//! The entries of loops in linear forwarding tables.

use std::collections::VecDeque;
use std::sync::Arc;

use weft_fabric::{Lid, LinearTables, NodeId, PortRef, SwitchIndex, Topology, UNREACHABLE};

use super::links::{Link, Links};
use super::{LoopPath, LoopPaths};

impl LoopPaths {
    /// Tables with the entries of the loops, and those that lead from the switch `from` to each of them. Switches
    /// that no loop concerns keep their rows.
    pub fn written_into(
        &self,
        topology: &Topology,
        tables: &LinearTables,
        from: NodeId,
    ) -> LinearTables {
        let links = Links::read(topology, from);
        let ways = Ways::find(&links, topology.switch_index(from));
        let switches = topology.switches().len();
        let mut entries: Vec<Vec<(Lid, PortRef)>> = vec![Vec::new(); switches];
        let mut add = |lid: Lid, port: PortRef| {
            if let Some(switch) = topology.switch_index(port.node) {
                entries[switch.0 as usize].push((lid, port));
            }
        };
        for path in &self.paths {
            path.hops.iter().for_each(|port| add(path.lid, *port));
            let back = path.hops.iter().filter_map(|port| topology.peer(*port));
            for (lid, port) in path
                .reverse
                .into_iter()
                .flat_map(|lid| back.clone().map(move |port| (lid, port)))
            {
                add(lid, port);
            }
            let way = ways.to(path, topology);
            path.lids()
                .for_each(|lid| way.iter().for_each(|port| add(lid, *port)));
        }
        let rows = entries.iter().zip(0..).map(|(entries, switch)| {
            let row = tables.row_shared(SwitchIndex(switch)).cloned();
            with_entries(row.unwrap_or_default(), entries)
        });
        LinearTables::new(rows.collect()).with_lanes(Arc::clone(tables.lanes()))
    }
}

fn with_entries(row: Arc<[u8]>, entries: &[(Lid, PortRef)]) -> Arc<[u8]> {
    let Some(top) = entries.iter().map(|(lid, _)| lid.0 as usize).max() else {
        return row;
    };
    let mut row = row.to_vec();
    if row.len() <= top {
        row.resize(top + 1, UNREACHABLE);
    }
    for (lid, port) in entries {
        row[lid.0 as usize] = port.port.0;
    }
    row.into()
}

/// Shortest ways from a switch to all others.
struct Ways {
    /// By switch, the link over which it is reached and the switch before it; none where it is the first, or is not
    /// reached.
    before: Vec<Option<(usize, Link)>>,
    /// By switch, links on the way to it.
    hops: Vec<u32>,
}

impl Ways {
    fn find(links: &Links, from: Option<SwitchIndex>) -> Self {
        let mut ways = Self {
            before: vec![None; links.len()],
            hops: vec![u32::MAX; links.len()],
        };
        let from = from.map(|from| from.0 as usize);
        let mut queue: VecDeque<usize> = from.into_iter().collect();
        queue.iter().for_each(|from| ways.hops[*from] = 0);
        while let Some(at) = queue.pop_front() {
            for link in links.of(at) {
                if ways.hops[link.to] == u32::MAX {
                    ways.hops[link.to] = ways.hops[at] + 1;
                    ways.before[link.to] = Some((at, *link));
                    queue.push_back(link.to);
                }
            }
        }
        ways
    }

    /// The sending ports on the way to the nearest switch of a loop.
    fn to(&self, path: &LoopPath, topology: &Topology) -> Vec<PortRef> {
        let switches = path.hops.iter();
        let switches = switches.filter_map(|hop| topology.switch_index(hop.node));
        let switches = switches.map(|switch| switch.0 as usize);
        let nearest = switches.min_by_key(|switch| self.hops[*switch]);
        let steps = std::iter::successors(
            nearest.and_then(|nearest| self.before[nearest]),
            |(before, _)| self.before[*before],
        );
        steps.map(|(_, link)| link.port).collect()
    }
}
