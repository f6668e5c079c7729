//! The tables to write, in the order in which that is safe.

use std::sync::Arc;

use weft_fabric::{LinearTables, NodeId, SwitchIndex, UNREACHABLE, text};
use weft_routing::{Old, Refusal, Routed, Tables, Transition, certify_transition_over};

use super::Plan;
use super::input::{Held, Told};
use super::routes::Routes;
use crate::io::Certified;

/// Plans the transition from the switches' tables to `new`, the tables of the routes of `plan` with the entries of
/// loops; `moves_halves` where some switches change lanes' halves otherwise by then.
pub(super) fn plan(
    plan: &mut Plan,
    held: &Held,
    (new, moves_halves): (Arc<LinearTables>, bool),
    told: &mut Told,
) {
    plan.late_tops = held.any;
    let Some(routed) = &plan.routes.routed else {
        return;
    };
    let proved = Certified::of(routed.certificate());
    // Groups that are not known are proved with no tables, neither their entries nor what they have sent off.
    let unknown = held.any && held.unknown_groups;
    (plan.pause, plan.settle) = (unknown, unknown);
    // Whatever is written elsewhere may close a loop with the entries of this one.
    if let Some(switch) = held.unread.filter(|_| held.changes(&new)) {
        told.unfinished.push(format!(
            "no table is changed before that of switch {switch} has been read"
        ));
        return;
    }
    if held.any && (held.differs(&new) || moves_halves) {
        match transition(held, &plan.routes, routed, moves_halves) {
            Ok(Transition {
                plan: way, middle, ..
            }) => {
                // Groups of an earlier change are not proved together with linear entries of before.
                plan.pause |= way.pause_adaptive || held.paused;
                plan.settle |= way.settle_adaptive || (held.paused && !way.pause_adaptive);
                plan.settle_drained = way.settle_drained;
                if let Some(middle) = &middle {
                    hold_back_lids(plan, held, middle, told);
                }
                plan.steps.extend(middle.map(Arc::new));
            }
            Err(refusal) => {
                told.routing = Some(refusal.to_string());
                told.unfinished.push(refusal.to_string());
                return;
            }
        }
    }
    told.certificate = Some(proved);
    plan.steps.push(new);
}

/// Holds back LIDs that no port has yet and whose entries are drained: an earlier manager's tables may lead
/// round what goes there.
fn hold_back_lids(plan: &mut Plan, held: &Held, middle: &LinearTables, told: &mut Told) {
    let is_drained = |lid: u32| {
        let entry = |table: &LinearTables, switch| table.row(switch).get(lid as usize).copied();
        let mut switches = (0..middle.len() as u32).map(SwitchIndex);
        switches.any(|switch| {
            let before = [&held.linear].into_iter().chain(&held.possible);
            let mut before = before.filter_map(|table| entry(table, switch));
            let drops = entry(middle, switch).is_none_or(|port| port == UNREACHABLE);
            drops && before.any(|port| port != UNREACHABLE)
        })
    };
    let is_late = |node: &&NodeId| {
        let (lid, lmc) = plan.lids[node.0 as usize];
        (lid.0..lid.0.saturating_add(lmc.lids())).any(is_drained)
    };
    plan.late_lids = held.moving.iter().filter(is_late).copied().collect();
    if !plan.late_lids.is_empty() {
        let ports = text::count(plan.late_lids.len(), "port");
        told.unfinished.push(format!(
            "LIDs for {ports} follow once no table leads round what goes there"
        ));
    }
}

/// The transition from the tables that switches hold to `routed`, the tables of these routes;
/// `moves_halves` where some change lanes' halves otherwise by then.
pub(in super::super) fn transition(
    held: &Held,
    routes: &Routes,
    routed: &Routed,
    moves_halves: bool,
) -> Result<Transition, Refusal> {
    let old = Old {
        tables: Tables {
            linear: &held.linear,
            groups: &held.groups,
        },
        possible: held.possible.as_ref(),
        moves_halves,
    };
    let wanted = Tables {
        linear: routed.linear(),
        groups: routed.groups(),
    };
    let all = routes.unused.is_empty() && !held.uses_lost_links();
    // Old entries lead over links that the new routes are made without, too.
    match routes.around {
        true => certify_transition_over(&held.links, &routes.routable, old, wanted),
        false if all => Ok(routed.transition(old)),
        false => Ok(routed.transition_over(&held.links, old)),
    }
}
