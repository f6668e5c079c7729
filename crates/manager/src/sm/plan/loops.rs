//! The loops of the loop test, and tables with their entries.

use std::sync::Arc;

use weft_fabric::{Lid, LinearTables, NodeId, PortRef, SwitchIndex, Topology, UNREACHABLE};
use weft_routing::{LoopCoverage, LoopPaths, LoopSettings, certify_loops};
use weft_state::State;

use super::Plan;
use super::input::Told;
use super::routes::Routes;

/// LIDs of loops begin at a multiple of this: a block of a forwarding table.
const LIDS_FROM: u32 = 64;

/// Loops of a fabric whose entries are planned.
#[derive(Debug, Clone, Default, PartialEq, State)]
pub struct LoopPlan {
    /// Nodes and links, those that carry no data left out.
    pub topology: Arc<Topology>,
    /// The loops.
    pub paths: LoopPaths,
    /// How often links are in them.
    pub coverage: LoopCoverage,
}

impl LoopPlan {
    /// Links between switches over which no packet circles.
    pub fn uncovered(&self) -> Vec<(PortRef, PortRef)> {
        let ports = self.coverage.uncovered();
        let links = ports.filter_map(|port| Some((port, self.topology.peer(port)?)));
        links.filter(|(port, far)| port < far).collect()
    }

    /// Tables without the entries of the loops.
    pub(in super::super) fn removed_from(&self, tables: &LinearTables) -> LinearTables {
        let rows = (0..tables.len() as u32).map(SwitchIndex).map(|switch| {
            let mut row: Arc<[u8]> = tables.row_shared(switch).cloned().unwrap_or_default();
            let entries = Arc::make_mut(&mut row);
            for lid in self.paths.lids() {
                if let Some(entry) = entries.get_mut(lid.0 as usize) {
                    *entry = UNREACHABLE;
                }
            }
            row
        });
        LinearTables::new(rows.collect()).with_lanes(Arc::clone(tables.lanes()))
    }
}

/// Finds the loops that are wanted and takes them into a plan, which has its routes; gives the tables to be written,
/// none where there are no routes. LIDs of loops follow those of ports, up to `highest`.
pub(super) fn plan(
    plan: &mut Plan,
    wanted: Option<LoopSettings>,
    highest: Lid,
    told: &mut Told,
) -> Option<Arc<LinearTables>> {
    let bare = Arc::clone(plan.routes.routed.as_ref()?.linear());
    let Some(settings) = wanted else {
        return Some(bare);
    };
    let topology = Arc::clone(&plan.routes.routable);
    let Some(from) = own_switch(&plan.routes) else {
        return Some(bare);
    };
    let first = (plan.top.0 + LIDS_FROM) / LIDS_FROM * LIDS_FROM;
    let paths = LoopPaths::find(&topology, settings, from, first..end(&topology, highest));
    let with = paths.written_into(&topology, &bare, from);
    match certify_loops(&topology, (&bare, &with), &paths.paths, from) {
        Ok(coverage) => {
            plan.top = plan.top.max(paths.top().unwrap_or_default());
            plan.loops = Some(Arc::new(LoopPlan {
                topology,
                paths,
                coverage,
            }));
            Some(Arc::new(with))
        }
        Err(fault) => {
            told.unfinished
                .push(format!("no loops are tested: {fault}"));
            Some(bare)
        }
    }
}

/// The switch at which packets of the manager start.
fn own_switch(routes: &Routes) -> Option<NodeId> {
    let (node, topology) = (NodeId(0), &routes.routable);
    if topology.switch_index(node).is_some() {
        return Some(node);
    }
    let port = routes.fabric.end(node);
    let far = topology.peer(PortRef { node, port })?.node;
    topology.switch_index(far).map(|_| far)
}

/// One past the last LID that all switches can forward.
fn end(topology: &Topology, highest: Lid) -> u32 {
    let switches = topology.switches().iter();
    let caps = switches.filter_map(|node| topology.node(*node)?.switch);
    let caps = caps.map(|switch| switch.linear_fdb_cap);
    let least = caps.filter(|cap| *cap != 0).min().unwrap_or(u32::MAX);
    least.min(highest.0.saturating_add(1))
}
