//! Limits of a site beyond roles: when, with which reason, and how much of the fabric at once.
//!
//! | module | contents |
//! |---|---|
//! | `limit` | a limit of the file of rules |
//! | `times` | days and hours at which one holds |
//!
//! A limit never allows what a role does not. Those that count are judged where it is known what a call would do.

mod limit;
mod times;

use std::sync::Arc;

use axum::http::Extensions;
use thiserror::Error;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};
use tracing::info;

use super::caller::{Caller, caller_of};
use super::rules::Rules;
use super::{Access, Role};
use crate::grpc::{DOMAIN, Facts};
use limit::Call;
pub(super) use limit::{Described, Limit};
use times::Moment;

/// Most limits of a file.
pub(super) const LIMITS_MAX: usize = 64;

/// Whether a request has a reason; whoever records changes has read it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HasReason(pub(crate) bool);

/// A number that a call would change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) before: usize,
    pub(crate) after: usize,
}

/// What a call would leave out of use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Foreseen {
    pub(crate) drained_switches: Change,
    pub(crate) drained_links: Change,
    pub(crate) disabled_ports: Change,
}

/// A call that a limit refuses.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(transparent)]
pub(crate) struct Limited(Box<Refused>);

/// Which call, and by which limit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{method}: the limit \"{limit}\" {why}; {identity} has the role {}, limits are in {place}", .role.name())]
struct Refused {
    method: String,
    limit: String,
    why: String,
    identity: String,
    role: Role,
    place: String,
}

impl Limited {
    /// As google.rpc.ErrorInfo has it.
    pub(crate) const REASON: &'static str = "SITE_LIMIT";

    pub(crate) fn facts(&self) -> Facts {
        Facts::none()
            .with("method", &self.0.method)
            .with("site_limit", &self.0.limit)
            .with("identity", &self.0.identity)
            .with("role", self.0.role.name())
    }

    pub(crate) fn status(&self) -> Status {
        let details = ErrorDetails::with_error_info(Self::REASON, DOMAIN, self.facts());
        Status::with_error_details(Code::PermissionDenied, self.to_string(), details)
    }
}

/// Limits that count what a call would do, of those that concern it.
#[derive(Debug)]
pub(crate) struct Bounds {
    access: Access,
    rules: Arc<Rules>,
    /// Their places among the limits of the rules.
    limits: Vec<usize>,
    who: Who,
}

/// A call and its caller, for refusals.
#[derive(Debug)]
struct Who {
    method: String,
    identity: String,
    role: Role,
}

impl Who {
    fn of(call: &Call<'_>) -> Self {
        Self {
            method: call.method.to_owned(),
            identity: call.caller.identity(),
            role: call.role,
        }
    }
}

impl Bounds {
    /// Whether one of them counts disabled ports.
    pub(crate) fn count_ports(&self) -> bool {
        self.limits().any(Limit::counts_ports)
    }

    /// Waits until nobody else changes ports that are counted; while this is held, nobody does.
    pub(crate) async fn alone(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.access.0.one_by_one).lock_owned().await
    }

    /// Refuses what they do not allow.
    pub(crate) fn judge(&self, foreseen: &Foreseen) -> Result<(), Limited> {
        for limit in self.limits() {
            if let Some(why) = limit.exceeded(foreseen) {
                self.access.refuse(limit, &self.who, why)?;
            }
        }
        Ok(())
    }

    fn limits(&self) -> impl Iterator<Item = &Limit> {
        self.limits
            .iter()
            .filter_map(|place| self.rules.site_limits().get(*place))
    }
}

impl Access {
    /// Refuses a call that a limit forbids, whatever it would do.
    pub(super) fn within_limits(
        &self,
        caller: &Caller,
        role: Role,
        method: &str,
        reason: bool,
    ) -> Result<(), Limited> {
        let rules = self.rules();
        let call = Call {
            caller,
            role,
            method,
            at: Moment::now(),
        };
        for limit in rules.site_limits() {
            if let Some(why) = limit.forbids(&call, reason) {
                self.refuse(limit, &Who::of(&call), why)?;
            }
        }
        Ok(())
    }

    /// The limits that count what a call of this method would do; none where none does.
    pub(crate) fn bounds(&self, extensions: &Extensions, method: &str) -> Option<Bounds> {
        let rules = self.rules();
        let caller = caller_of(extensions)?;
        // Rules that have just been read may leave it none: what it began is judged all the same.
        let role = rules.role_of(caller).unwrap_or(Role::View);
        let call = Call {
            caller,
            role,
            method,
            at: Moment::now(),
        };
        let limits = rules.site_limits().iter().enumerate();
        let limits = limits.filter(|(_, limit)| limit.counts(&call));
        let limits: Vec<usize> = limits.map(|(place, _)| place).collect();
        let who = Who::of(&call);
        (!limits.is_empty()).then(|| Bounds {
            access: self.clone(),
            rules,
            limits,
            who,
        })
    }

    /// Refuses a call where the limit is enforced; else the log says that it would.
    fn refuse(&self, limit: &Limit, who: &Who, why: String) -> Result<(), Limited> {
        let refused = Refused {
            method: who.method.clone(),
            limit: limit.name().to_owned(),
            why,
            identity: who.identity.clone(),
            role: who.role,
            place: self.place(),
        };
        if limit.is_enforced() {
            return Err(Limited(Box::new(refused)));
        }
        info!(
            event = "limit_tried",
            limit = refused.limit,
            method = refused.method,
            identity = refused.identity,
            "not refused, as the limit is not enforced: {refused}"
        );
        Ok(())
    }
}

/// Lets one change of counted ports after the other.
pub(super) type OneByOne = Arc<Mutex<()>>;
