//! Decides on each call before it is carried out.

use axum::extract::{Request, State};
use axum::http::Extensions;
use axum::middleware::Next;
use axum::response::Response;
use tokio::time::Instant;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};
use tracing::warn;
use weft_api::ChangingCall;
use weft_fabric::text::count;

use super::caller::{Caller, caller_of};
use super::methods;
use super::rate::TooOften;
use super::{Access, HasReason, Role};
use crate::audit::{Audit, Outcome, refused_read};
use crate::grpc::{DOMAIN, Facts};

/// Passes a call on where its caller has the role that the method needs. A refused change is recorded by whoever records
/// changes, a refused read here.
pub(crate) async fn admit(
    State((access, audit)): State<(Access, Audit)>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    let Some(needed) = methods::role(path) else {
        let what = format!("there is no method {path}; is this daemon older than the client?");
        return Status::unimplemented(what).into_http();
    };
    let Err(status) = let_in(&access, request.extensions(), path, needed) else {
        return next.run(request).await;
    };
    if ChangingCall::of(path).is_none() {
        let outcome = Outcome::of(&status);
        let asked = refused_read(path, request.extensions());
        audit.asked(asked).await.ended(outcome).await;
    }
    status.into_http()
}

/// Decides by role and by the limits that hold whatever a call would do.
fn let_in(
    access: &Access,
    extensions: &Extensions,
    path: &str,
    needed: Role,
) -> Result<(), Status> {
    let (caller, role) = decide(access, extensions, path, needed)?;
    let (_, method) = path.rsplit_once('/').unwrap_or(("", path));
    let reason = extensions
        .get()
        .is_some_and(|HasReason(has_reason)| *has_reason);
    let within = access.within_limits(caller, role, method, reason);
    within.map_err(|limited| limited.status())
}

/// Refuses a call that needs a higher role than its method alone tells: `what` completes "… needs".
pub(crate) fn require(
    access: &Access,
    extensions: &Extensions,
    what: &str,
    needed: Role,
) -> Result<(), Status> {
    decide(access, extensions, what, needed).map(|_| ())
}

/// Who calls, and his role.
fn decide<'a>(
    access: &Access,
    extensions: &'a Extensions,
    what: &str,
    needed: Role,
) -> Result<(&'a Caller, Role), Status> {
    let (_, what) = what.rsplit_once('/').unwrap_or(("", what));
    let Some(caller) = caller_of(extensions) else {
        let why = "it came through no connection that tells who calls";
        return Err(stranger(why, what, needed));
    };
    match access.role_of(caller) {
        Some(role) if role >= needed => Ok((caller, role)),
        None if matches!(caller, Caller::Loopback(_)) => {
            let why = format!(
                "a loopback address lets in nobody without a certificate here; use the Unix socket \
                 (weft --address unix:/run/weft/api.sock), or a certificate, or set loopback in {}",
                access.place()
            );
            Err(stranger(&why, what, needed))
        }
        role => Err(denied(access, caller, role, what, needed)),
    }
}

fn facts(what: &str, needed: Role) -> Facts {
    Facts::none()
        .with("method", what)
        .with("role_needed", needed.name())
}

fn stranger(why: &str, what: &str, needed: Role) -> Status {
    let text = format!("{what}: who calls is not known: {why}");
    let details = ErrorDetails::with_error_info("NO_IDENTITY", DOMAIN, facts(what, needed));
    Status::with_error_details(Code::Unauthenticated, text, details)
}

fn denied(
    access: &Access,
    caller: &Caller,
    role: Option<Role>,
    what: &str,
    needed: Role,
) -> Status {
    let (identity, has) = (caller.identity(), role.map_or("none", Role::name));
    let next = match caller {
        Caller::Loopback(_) => {
            "at a loopback address nothing tells who calls: use the Unix socket \
             (weft --address unix:/run/weft/api.sock), a certificate, or a link for the page (weft web --link)"
        }
        Caller::Guest(_) => {
            "a link for the page gives the role that it was asked for (weft web --link --role ROLE)"
        }
        _ => "ask whoever administers this daemon",
    };
    let text = format!(
        "{what} needs the role {}, and {identity} has {has}; {next}; roles are given in {}",
        needed.name(),
        access.place()
    );
    let facts = facts(what, needed)
        .with("role", has)
        .with("identity", &identity);
    let details = ErrorDetails::with_error_info("NOT_PERMITTED", DOMAIN, facts);
    Status::with_error_details(Code::PermissionDenied, text, details)
}

/// Passes a call on unless its caller makes too many of them.
pub(crate) async fn not_too_often(
    State(access): State<Access>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    let changes = ChangingCall::of(path).is_some();
    let identity = caller_of(request.extensions()).map(Caller::identity);
    let identity = identity.unwrap_or_else(|| "unknown".to_owned());
    let (limits, now) = (access.rules().limits(), Instant::now());
    match access.0.rates.take(&identity, changes, limits, now) {
        Ok(()) => next.run(request).await,
        Err(refused) => too_often(&identity, refused).into_http(),
    }
}

fn too_often(identity: &str, refused: TooOften) -> Status {
    let TooOften {
        limit,
        changes,
        wait,
        tell,
    } = refused;
    let many = count(limit, if changes { "change" } else { "call" });
    let text = format!(
        "{identity} makes more than {many} in a second; try again in {} ms",
        wait.as_millis() + 1
    );
    if tell {
        warn!(
            event = "calls_refused",
            identity,
            limit,
            "{identity} makes more than {many} in a second: those beyond are refused"
        );
    }
    let facts = Facts::limit(limit as usize).with("identity", identity);
    let mut details = ErrorDetails::with_error_info("TOO_OFTEN", DOMAIN, facts);
    details.set_retry_info(Some(wait));
    Status::with_error_details(Code::ResourceExhausted, text, details)
}
