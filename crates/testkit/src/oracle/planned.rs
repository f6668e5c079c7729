//! P1: what was planned is in force, and a rollback brings back what was.

use super::{Breach, Invariant};
use weft_fabric::Guid;
use weft_manager::sm::reroute::Arrangement;

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

/// P1 after the sweep of a plan.
pub fn check_engine(planned: &str, engine: &str) -> Option<Breach> {
    let what = || format!("{planned} planned, {engine} in force");
    (planned != engine).then(|| Breach::new(Invariant::AsPlanned, what()))
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
