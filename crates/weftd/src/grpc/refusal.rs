//! Refusals as statuses.

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};
use weft_manager::CommandError;
use weft_manager::sm::drains::DrainError;
use weft_manager::sm::loop_test::LoopTestError;
use weft_manager::sm::quarantine::QuarantineError;
use weft_manager::sm::replacements::ReplacementError;
use weft_manager::sm::reroute::RerouteError;

use super::details::{DOMAIN, about_field, detailed};
use super::reason::{code, of_command, of_operation, of_quarantine, of_replacement};
use crate::control::Refusal;
use crate::operations::OperationError;

/// Ports of a refused list that a status names; more would not fit into the header that carries it.
const NAMED_MAX: usize = 8;

/// The status of an order that was not carried out, with the kind of refusal.
pub(super) fn status(refusal: &Refusal) -> Status {
    match refusal {
        Refusal::Port(error) | Refusal::LoopTest(LoopTestError::Command(error)) => {
            port_refused(error)
        }
        Refusal::Operation(error) => operation_refused(error),
        Refusal::LogLevel(_) => about_field(&plain(refusal), "filter", "WRONG_FIELD"),
        Refusal::Config(_) => about_field(&plain(refusal), "config", code(refusal)),
        Refusal::LoopTest(LoopTestError::Range { .. }) => {
            about_field(&plain(refusal), "order", "WRONG_FIELD")
        }
        other => detailed(&plain(other), code(other)),
    }
}
/// The status of an operation about which nothing is done, with the kind of refusal.
pub(super) fn operation_refused(error: &OperationError) -> Status {
    let (kind, text) = (of_operation(error), error.to_string());
    let mut details = ErrorDetails::with_error_info(kind, DOMAIN, []);
    let code = match error {
        OperationError::Unknown { .. } => Code::NotFound,
        OperationError::Taken { .. } => Code::AlreadyExists,
        OperationError::Cancelled { id }
        | OperationError::Applying { id, .. }
        | OperationError::Ended { id, .. } => {
            details.add_precondition_failure_violation(kind, id.clone(), text.clone());
            Code::FailedPrecondition
        }
    };
    Status::with_error_details(code, text, details)
}

/// The status of a port that is not changed, with the kind of refusal and what was wrong.
pub(super) fn port_refused(error: &CommandError) -> Status {
    let status = of_port(error);
    let mut details = ErrorDetails::with_error_info(of_command(error), DOMAIN, []);
    match (status.code(), error) {
        (Code::FailedPrecondition, _) => add_violation(&mut details, error),
        (_, CommandError::Reason) => {
            _ = details.add_bad_request_violation("reason", status.message())
        }
        (_, CommandError::Author) => {
            _ = details.add_bad_request_violation("author", status.message())
        }
        (Code::InvalidArgument, _) => {
            _ = details.add_bad_request_violation("port", status.message())
        }
        _ => {}
    }
    Status::with_error_details(status.code(), status.message(), details)
}

fn add_violation(details: &mut ErrorDetails, error: &CommandError) {
    let subject = match error {
        CommandError::OwnLink { node, port } | CommandError::CutsOff { node, port, .. } => {
            format!("{node}:{port}")
        }
        CommandError::Refused { node, .. } => node.to_string(),
        _ => "fabric".to_owned(),
    };
    details.add_precondition_failure_violation(of_command(error), subject, error.to_string());
}

/// The status of a list of `count` ports that is not begun for these errors, of which there is one.
pub(super) fn list_refused<'a>(
    errors: impl Iterator<Item = &'a CommandError>,
    count: usize,
) -> Status {
    let errors: Vec<&CommandError> = errors.collect();
    let mut details = ErrorDetails::new();
    let mut lines = Vec::new();
    for error in errors.iter().take(NAMED_MAX) {
        if details.error_info().is_none() {
            details.set_error_info(of_command(error), DOMAIN, []);
        }
        add_violation(&mut details, error);
        lines.push(error.to_string());
    }
    if errors.len() > NAMED_MAX {
        lines.push(format!("and {} more", errors.len() - NAMED_MAX));
    }
    if count > 1 {
        lines.push(format!("nothing was changed of {count} ports"));
    }
    Status::with_error_details(Code::FailedPrecondition, lines.join("\n"), details)
}

/// The status of a request with a wrong field.
pub(super) fn wrong_field(field: &str, what: &str) -> Status {
    let mut details = ErrorDetails::with_bad_request_violation(field, what);
    details.set_error_info("WRONG_FIELD", DOMAIN, []);
    Status::with_error_details(Code::InvalidArgument, format!("{field}: {what}"), details)
}

fn plain(refusal: &Refusal) -> Status {
    let text = refusal.to_string();
    match refusal {
        Refusal::Unknown { .. } => Status::not_found(text),
        Refusal::Config(_) | Refusal::LogLevel(_) => Status::invalid_argument(text),
        Refusal::File(_) | Refusal::NothingToUndo | Refusal::NotLast { .. } => {
            Status::failed_precondition(text)
        }
        Refusal::Busy | Refusal::ManyPlans => Status::resource_exhausted(text),
        Refusal::TooLate => Status::deadline_exceeded(text),
        Refusal::Detached(_) | Refusal::Stopping => Status::unavailable(text),
        Refusal::NotDurable { .. } => Status::data_loss(text),
        Refusal::Failed(_) => Status::internal(text),
        Refusal::Port(error) => of_port(error),
        Refusal::Operation(error) => operation_refused(error),
        Refusal::LoopTest(error) => match error {
            LoopTestError::Command(error) => of_port(error),
            LoopTestError::Range { .. } => Status::invalid_argument(text),
            LoopTestError::NoSwitch { .. } => Status::not_found(text),
            LoopTestError::Running | LoopTestError::NotRunning => Status::failed_precondition(text),
        },
        Refusal::Reroute(error) => match error {
            RerouteError::Stale => Status::aborted(text),
            RerouteError::Drain(DrainError::NoSwitch(_)) => Status::not_found(text),
            _ => Status::failed_precondition(text),
        },
    }
}

/// The status of a port that was not put into quarantine.
pub(super) fn not_quarantined(error: &QuarantineError) -> Status {
    let text = error.to_string();
    let status = match error {
        QuarantineError::Command(error) => return port_refused(error),
        QuarantineError::Comment => Status::invalid_argument(text),
        QuarantineError::Many => Status::resource_exhausted(text),
        QuarantineError::NoLink { .. }
        | QuarantineError::Host { .. }
        | QuarantineError::LastWay { .. } => Status::failed_precondition(text),
    };
    match error {
        QuarantineError::Comment => wrong_field("comment", status.message()),
        _ => detailed(&status, of_quarantine(error)),
    }
}

/// The status of an HFI that was not replaced.
pub(super) fn not_replaced(error: &ReplacementError) -> Status {
    let text = error.to_string();
    let status = match error {
        ReplacementError::Command(error) => return port_refused(error),
        ReplacementError::Reason | ReplacementError::Switch { .. } => {
            Status::invalid_argument(text)
        }
        ReplacementError::Many => Status::resource_exhausted(text),
        ReplacementError::Unknown { .. } | ReplacementError::None { .. } => Status::not_found(text),
        ReplacementError::StillThere { .. }
        | ReplacementError::NoOffer { .. }
        | ReplacementError::Already { .. }
        | ReplacementError::Taken { .. }
        | ReplacementError::Intended { .. } => Status::failed_precondition(text),
    };
    match error {
        ReplacementError::Reason => wrong_field("reason", status.message()),
        ReplacementError::Switch { .. } => wrong_field("new_guid", status.message()),
        _ => detailed(&status, of_replacement(error)),
    }
}

fn of_port(error: &CommandError) -> Status {
    let text = error.to_string();
    match error {
        CommandError::NoNode { .. } => Status::not_found(text),
        CommandError::NoPort { .. } => Status::invalid_argument(text),
        CommandError::Reason | CommandError::Author | CommandError::NotSupported { .. } => {
            Status::invalid_argument(text)
        }
        CommandError::OwnLink { .. }
        | CommandError::CutsOff { .. }
        | CommandError::Refused { .. }
        | CommandError::Paused
        | CommandError::NotMaster { .. } => Status::failed_precondition(text),
        CommandError::NoAnswer { .. } => Status::deadline_exceeded(text),
        CommandError::Busy { .. } | CommandError::ManyDisabled { .. } => {
            Status::resource_exhausted(text)
        }
        CommandError::NotDone { .. }
        | CommandError::NotSet { .. }
        | CommandError::SweepFailed { .. } => Status::aborted(text),
        CommandError::Detached { .. } => Status::unavailable(text),
    }
}
