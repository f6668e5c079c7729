//! Plans that can be carried out, and those that were and can be undone.

use std::collections::VecDeque;

use weft_manager::PortOrder;
use weft_manager::sm::back::PortBack;
use weft_manager::sm::reroute::RerouteError;

use super::{Asked, Refusal, Switching, Version, WouldBe};

/// Plans that are remembered; the oldest is forgotten.
pub(crate) const PLANS_MAX: usize = 16;
/// Plans that can be undone; the oldest cannot any more.
const UNDO_MAX: usize = 16;

/// A plan that can be carried out.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// The manager's count of changes when it was made.
    pub(super) epoch: u64,
    /// The actor's count of changes when it was made.
    pub(super) revision: u64,
    pub(super) wanted: Version,
    /// Description of the change.
    pub(super) what: String,
    /// Ports that it switches.
    pub(super) ports: Vec<PortBack>,
    /// Something else has been put in force since.
    pub(super) is_outdated: bool,
}

/// A plan that was carried out.
#[derive(Debug, Clone)]
pub(super) struct Undo {
    /// Number of the plan.
    pub(super) id: u64,
    pub(super) before: Version,
    pub(super) after: Version,
    pub(super) what: String,
    /// Orders that switch its ports back.
    pub(super) ports: Vec<PortOrder>,
}

/// Result of an undo.
#[derive(Debug)]
pub(crate) struct Undone {
    /// Number of the sweep that does it.
    pub(crate) sweep: u64,
    pub(crate) what: String,
    /// Number of the plan.
    pub(crate) id: u64,
    /// Identity of the operation.
    pub(crate) operation: String,
    /// Ports that are switched back.
    pub(crate) switching: Switching,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Plans {
    last_id: u64,
    plans: VecDeque<(u64, Plan)>,
    undo: VecDeque<Undo>,
}

impl Plans {
    /// Remembers a plan; its number, and that of one that is forgotten for it.
    pub(super) fn keep(&mut self, plan: Plan) -> (u64, Option<u64>) {
        self.last_id += 1;
        let forgotten = match self.plans.len() == PLANS_MAX {
            true => self.plans.pop_front().map(|(id, _)| id),
            false => None,
        };
        self.plans.push_back((self.last_id, plan));
        (self.last_id, forgotten)
    }

    /// Forgets a plan.
    pub(super) fn forget(&mut self, id: u64) {
        self.plans.retain(|(known, _)| *known != id);
    }

    /// The plan with this number.
    pub(super) fn get(&self, id: u64) -> Result<Plan, Refusal> {
        let found = self.plans.iter().find(|(known, _)| *known == id);
        let plan = found.map(|(_, plan)| plan.clone());
        plan.ok_or(Refusal::Unknown { id })
    }

    /// Marks plans that do not know of a change: those up to this count of changes. Returns which it newly concerns.
    pub(super) fn outdate(&mut self, epoch: u64) -> Vec<u64> {
        let plans = self.plans.iter_mut();
        let old = plans.filter(|(_, plan)| plan.epoch <= epoch && !plan.is_outdated);
        old.map(|(id, plan)| {
            plan.is_outdated = true;
            *id
        })
        .collect()
    }

    /// What would be once a plan is carried out or undone.
    pub(super) fn would_be(&self, asked: Asked) -> Result<WouldBe, Refusal> {
        Ok(match asked {
            Asked::Apply(id) => {
                let plan = self.get(id)?;
                let ports = plan.ports.iter();
                WouldBe {
                    plan: id,
                    drains: plan.wanted.arrangement.drains,
                    ports: ports.map(|one| (one.port, one.action)).collect(),
                }
            }
            Asked::RollBack(expected) => {
                let undo = self.last(expected)?;
                let ports = undo.ports.iter();
                WouldBe {
                    plan: undo.id,
                    drains: undo.before.arrangement.drains.clone(),
                    ports: ports
                        .map(|one| ((one.node, one.port), one.action))
                        .collect(),
                }
            }
        })
    }

    /// Handles the result of applying a plan: it is forgotten if it was applied, or never can be; a plan
    /// refused for another reason can be tried again.
    pub(super) fn tried<T>(&mut self, id: u64, result: &Result<T, Refusal>) {
        let over = matches!(result, Ok(_) | Err(Refusal::Reroute(RerouteError::Stale)));
        if over {
            self.forget(id);
        }
    }

    /// Remembers an applied plan.
    pub(super) fn carried_out(&mut self, undo: Undo) {
        if self.undo.len() == UNDO_MAX {
            self.undo.pop_front();
        }
        self.undo.push_back(undo);
    }

    /// The next plan to undo, which has to be `expected` unless that is 0; it stays until [`Self::undone`].
    pub(super) fn last(&self, expected: u64) -> Result<&Undo, Refusal> {
        let last = self.undo.back().ok_or(Refusal::NothingToUndo)?;
        match expected == 0 || expected == last.id {
            true => Ok(last),
            false => Err(Refusal::NotLast {
                expected,
                id: last.id,
                what: last.what.clone(),
            }),
        }
    }

    /// The last one was undone.
    pub(super) fn undone(&mut self) {
        self.undo.pop_back();
    }

    /// Description of the plan that last changed settings; drains do not count, because they are stored.
    pub(super) fn in_force(&self) -> Option<&str> {
        let changes = |undo: &&Undo| {
            undo.before.arrangement.settings != undo.after.arrangement.settings
                || undo.before.configuration.text != undo.after.configuration.text
        };
        let last = self.undo.iter().rev().find(changes);
        last.map(|undo| undo.what.as_str())
    }
}
