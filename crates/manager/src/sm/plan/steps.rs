//! The tables to write, in the order in which that is safe.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_fabric::{Datelines, Guid, Lanes, RingPort};
use weft_routing::{Old, Refusal, Routed, Tables, Transition, certify_transition_over};

use super::Plan;
use super::input::{Crossings, Held, Told};
use super::routes::Routes;

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
    let same_halves = held_lanes(held, new.lanes()).change_halves_alike(new.lanes());
    // Whatever is written elsewhere may close a loop with the entries of this one.
    if let Some(switch) = held.unread.filter(|_| held.changes(&new)) {
        told.unfinished.push(format!(
            "no table is changed before that of switch {switch} has been read"
        ));
        return;
    }
    if held.any && (held.differs(&new) || !same_halves) {
        match transition(held, &plan.routes, routed) {
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

/// The transition from the tables that switches hold to `routed`, the tables of these routes.
pub(in super::super) fn transition(
    held: &Held,
    routes: &Routes,
    routed: &Routed,
) -> Result<Transition, Refusal> {
    let lanes = held_lanes(held, routed.lanes());
    let linear = held.linear.clone().with_lanes(lanes);
    let old = Old {
        tables: Tables {
            linear: &linear,
            groups: &held.groups,
        },
        possible: held.possible.as_ref(),
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

/// The lanes of what switches hold. A manager that has just started knows only where datelines were: if
/// they stay there, packets change halves now as they will.
fn held_lanes(held: &Held, new: &Lanes) -> Arc<Lanes> {
    let (known, crossings) = (held.linear.lanes(), &held.crossings);
    if known.datelines().is_some() || held.mapped.is_empty() {
        return Arc::clone(known);
    }
    let stays = |datelines: &Arc<Datelines>| datelines.crossings().eq(crossings.iter().copied());
    Arc::new(match new.datelines().is_some_and(stays) {
        true => known.with_halves_of(new),
        false => Lanes::clone(known).with_datelines(Arc::new(unlike_any(crossings)), 1),
    })
}

/// Datelines of which only the ports are known: they agree with none that are planned.
fn unlike_any(crossings: &Crossings) -> Datelines {
    let mut switches: BTreeMap<Guid, Vec<RingPort>> = BTreeMap::new();
    for (switch, port) in crossings {
        let ports = switches.entry(*switch).or_default();
        let place = usize::from(port.0);
        ports.resize(ports.len().max(place + 1), RingPort::default());
        ports[place].crosses = true;
    }
    let shared = switches
        .into_iter()
        .map(|(guid, ports)| (guid, Arc::from(ports)));
    Datelines::new(shared)
}
