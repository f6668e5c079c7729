//! The tables to write, in the order in which that is safe.

use std::sync::Arc;

use weft_routing::{Old, Tables, Transition, certify_transition_over};

use super::Plan;
use super::input::{Held, Told};

/// Plans the transition from the switches' tables to the routes of `plan`.
pub(super) fn plan(plan: &mut Plan, held: &Held, told: &mut Told) {
    plan.late_tops = held.any;
    let Some(routed) = &plan.routes.routed else {
        return;
    };
    // Groups that are not known are proved with no tables, neither their entries nor what they have sent off.
    let unknown = held.any && held.unknown_groups;
    (plan.pause, plan.settle) = (unknown, unknown);
    let new = Arc::clone(routed.linear());
    // Whatever is written elsewhere may close a loop with the entries of this one.
    if let Some(switch) = held.unread.filter(|_| held.changes(&new)) {
        told.unfinished.push(format!(
            "no table is changed before that of switch {switch} has been read"
        ));
        return;
    }
    if held.any && held.differs(&new) {
        let old = Old {
            tables: Tables {
                linear: &held.linear,
                groups: &held.groups,
            },
            possible: held.possible.as_ref(),
        };
        let wanted = Tables {
            linear: &new,
            groups: routed.groups(),
        };
        let all = plan.routes.unused.is_empty() && !held.uses_lost_links();
        // Old entries lead over links that the new routes are made without, too.
        let way = match plan.routes.around {
            true => certify_transition_over(&held.links, &plan.routes.routable, old, wanted),
            false if all => Ok(routed.transition(old)),
            false => Ok(routed.transition_over(&held.links, old)),
        };
        match way {
            Ok(Transition {
                plan: way, middle, ..
            }) => {
                // Groups of an earlier change are not proved together with linear entries of before.
                plan.pause |= way.pause_adaptive || held.paused;
                plan.settle |= way.settle_adaptive || (held.paused && !way.pause_adaptive);
                plan.settle_drained = way.settle_drained;
                plan.steps.extend(middle.map(Arc::new));
            }
            Err(refusal) => {
                told.routing = Some(refusal.to_string());
                told.unfinished.push(refusal.to_string());
                return;
            }
        }
    }
    plan.steps.push(new);
}
