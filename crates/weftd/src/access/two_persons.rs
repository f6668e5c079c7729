//! Plans that somebody else applies than who made them.

use std::collections::VecDeque;
use std::sync::PoisonError;

use axum::http::Extensions;
use serde::{Deserialize, Serialize};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use super::Access;
use super::caller::{Caller, caller_of};
use crate::control::PLANS_MAX;
use crate::grpc::{DOMAIN, Facts};

/// Plans whose makers are remembered: more than the daemon remembers plans, as one may be made before its maker is told.
const KEPT: usize = 4 * PLANS_MAX;

/// Which plans need a second person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TwoPersons {
    /// None.
    #[default]
    None,
    /// Those of another configuration or engine, with or without adaptive routing, and those back to a moment.
    Settings,
    /// Drains and their ends as well.
    All,
}

/// Whether a plan changes settings, or only moves data off a part or back to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlanKind {
    Settings,
    Drain,
}

/// Who made a plan.
#[derive(Debug)]
struct Made {
    plan: u64,
    kind: PlanKind,
    identity: Option<String>,
}

/// Who made the last plans.
#[derive(Debug, Default)]
pub(super) struct Makers(VecDeque<Made>);

impl Makers {
    fn add(&mut self, made: Made) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(made);
    }

    /// Why this caller may not apply a plan under a rule; he may where there is nothing to say.
    fn refusal(&self, plan: u64, caller: Option<&Caller>, rule: TwoPersons) -> Option<String> {
        let made = self.0.iter().rev().find(|made| made.plan == plan);
        let concerned = match (rule, made) {
            (TwoPersons::None, _) => false,
            (TwoPersons::Settings, Some(made)) => made.kind == PlanKind::Settings,
            (TwoPersons::Settings, None) | (TwoPersons::All, _) => true,
        };
        if !concerned {
            return None;
        }
        let Some(maker) = made.and_then(|made| made.identity.as_ref()) else {
            return Some(format!(
                "who made plan {plan} is not known; make it at the Unix socket or with a certificate"
            ));
        };
        match person(caller) {
            None => Some(format!(
                "plan {plan} needs a second person, and nothing tells who calls; use the Unix socket or a certificate"
            )),
            Some(caller) if caller == *maker => Some(format!(
                "{maker} made plan {plan}, so somebody else has to apply it: weft route apply {plan}"
            )),
            Some(_) => None,
        }
    }
}

/// The identity of a caller who is somebody in particular.
fn person(caller: Option<&Caller>) -> Option<String> {
    caller
        .filter(|caller| caller.is_known())
        .map(Caller::identity)
}

impl Access {
    /// Remembers who made a plan.
    pub(crate) fn planned(&self, plan: u64, kind: PlanKind, extensions: &Extensions) {
        let identity = person(caller_of(extensions));
        let mut makers = self.0.makers.lock().unwrap_or_else(PoisonError::into_inner);
        makers.add(Made {
            plan,
            kind,
            identity,
        });
    }

    /// Refuses to apply a plan where the rules want a second person for it, and the caller is none.
    pub(crate) fn may_apply(&self, plan: u64, extensions: &Extensions) -> Result<(), Status> {
        let rule = self.rules().two_persons();
        let caller = caller_of(extensions);
        let makers = self.0.makers.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(why) = makers.refusal(plan, caller, rule) else {
            return Ok(());
        };
        drop(makers);
        let identity = caller.map_or_else(|| "unknown".to_owned(), Caller::identity);
        let facts = Facts::none()
            .with("plan_id", plan)
            .with("identity", identity);
        let details = ErrorDetails::with_error_info("SECOND_PERSON", DOMAIN, facts);
        let text = format!("{why}; the rule is two_persons in {}", self.place());
        Err(Status::with_error_details(
            Code::PermissionDenied,
            text,
            details,
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;
    use crate::access::User;

    fn user(name: &str) -> Caller {
        Caller::User(User {
            uid: 5000,
            name: Some(name.to_owned()),
            groups: Vec::new(),
        })
    }

    fn makers() -> Makers {
        let mut makers = Makers::default();
        for (plan, kind, identity) in [
            (1, PlanKind::Settings, Some("user:alice")),
            (2, PlanKind::Drain, Some("user:alice")),
            (3, PlanKind::Settings, None),
        ] {
            let identity = identity.map(str::to_owned);
            makers.add(Made {
                plan,
                kind,
                identity,
            });
        }
        makers
    }

    #[test]
    fn a_plan_needs_somebody_else_where_the_rule_says_so() {
        let (makers, alice, bob) = (makers(), user("alice"), user("bob"));
        let nobody = Caller::Loopback(SocketAddr::from(([127, 0, 0, 1], 9)));
        for (rule, plan, caller, told) in [
            (TwoPersons::None, 1, &alice, None),
            (TwoPersons::None, 3, &nobody, None),
            (TwoPersons::Settings, 1, &alice, Some("somebody else")),
            (TwoPersons::Settings, 1, &bob, None),
            (TwoPersons::Settings, 1, &nobody, Some("nothing tells who")),
            (TwoPersons::Settings, 2, &alice, None),
            (TwoPersons::All, 2, &alice, Some("somebody else")),
            (TwoPersons::All, 2, &bob, None),
            (TwoPersons::Settings, 3, &bob, Some("who made plan 3")),
            (TwoPersons::Settings, 9, &bob, Some("who made plan 9")),
        ] {
            let refusal = makers.refusal(plan, Some(caller), rule);
            match told {
                None => assert_eq!(refusal, None, "{rule:?} {plan} {caller:?}"),
                Some(told) => assert!(refusal.is_some_and(|why| why.contains(told)), "{told}"),
            }
        }
    }

    #[test]
    fn makers_of_old_plans_are_forgotten_and_their_plans_refused() {
        let mut makers = makers();
        for plan in 10..10 + KEPT as u64 {
            makers.add(Made {
                plan,
                kind: PlanKind::Settings,
                identity: Some("user:alice".to_owned()),
            });
        }
        let bob = user("bob");
        assert!(
            makers
                .refusal(1, Some(&bob), TwoPersons::Settings)
                .is_some()
        );
        assert!(
            makers
                .refusal(10, Some(&bob), TwoPersons::Settings)
                .is_none()
        );
    }
}
