//! P1: what was planned is in force, and a rollback brings back what was.

use super::{Breach, Invariant};
use weft_fabric::Guid;
use weft_manager::sm::reroute::{Arrangement, RoutePlan};

/// Linear tables by GUID.
pub type Tables = Vec<(Guid, Vec<u8>)>;

/// An arrangement and what it has led to.
#[derive(Debug, Clone, PartialEq)]
pub struct InForce {
    /// The arrangement.
    pub arrangement: Arrangement,
    /// The engine, as the manager reports it.
    pub engine: String,
    /// The tables that switches hold.
    pub tables: Tables,
}

/// P1 after the sweep of a plan: its engine routes, and as many LIDs have `changed` their service level as
/// it announces.
pub fn check(plan: &RoutePlan, engine: &str, changed: usize) -> Vec<Breach> {
    let mut wrong = Vec::new();
    if plan.engine != engine {
        wrong.push(format!("{} planned, {engine} in force", plan.engine));
    }
    let announced = plan.changed_levels;
    if announced as usize != changed {
        wrong.push(format!(
            "{announced} LIDs are announced to change their level, {changed} do"
        ));
    }
    let breach = |what| Breach::new(Invariant::AsPlanned, what);
    wrong.into_iter().map(breach).collect()
}

/// P1 after a rollback: the arrangement is back; with `untouched`, where nothing but plans has changed the
/// fabric, also its engine and its tables.
pub fn check_rollback(before: &InForce, now: &InForce, untouched: bool) -> Vec<Breach> {
    let mut wrong = Vec::new();
    if now.arrangement != before.arrangement {
        wrong.push("another arrangement is in force than before the plan".to_owned());
    }
    if untouched && now.engine != before.engine {
        wrong.push(format!("{} is in force, {} was", now.engine, before.engine));
    }
    if untouched && now.tables != before.tables {
        wrong.push("tables are not what they were".to_owned());
    }
    let breach = |what| Breach::new(Invariant::AsPlanned, what);
    wrong.into_iter().map(breach).collect()
}
