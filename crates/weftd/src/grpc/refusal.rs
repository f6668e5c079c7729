//! Refusals as statuses.

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};
use weft_manager::sm::drains::DrainError;
use weft_manager::sm::loop_test::LoopTestError;
use weft_manager::sm::quarantine::QuarantineError;
use weft_manager::sm::replacements::ReplacementError;
use weft_manager::sm::reroute::RerouteError;
use weft_manager::{CommandError, PortNote};

use super::details::{DOMAIN, about_field, bounded, detailed};
use super::facts::{self, Facts};
use super::reason::{code, of_code, of_command, of_operation, of_quarantine, of_replacement};
use crate::control::Refusal;
use crate::operations::OperationError;

/// Ports of a refused list that a status names; more would not fit into the header that carries it.
const NAMED_MAX: usize = 8;

/// The status of an order that was not carried out, with the kind of refusal.
pub(super) fn status(refusal: &Refusal) -> Status {
    let facts = facts::of(refusal);
    match refusal {
        Refusal::Port(error) | Refusal::LoopTest(LoopTestError::Command(error)) => {
            port_refused(error)
        }
        Refusal::Operation(error) => operation_refused(error),
        Refusal::Limited(limited) => limited.status(),
        Refusal::LogLevel(_) => about_field(&plain(refusal), "filter", "WRONG_FIELD", facts),
        Refusal::Config(_) => about_field(&plain(refusal), "config", code(refusal), facts),
        Refusal::LoopTest(LoopTestError::Range { .. }) => {
            about_field(&plain(refusal), "order", "WRONG_FIELD", facts)
        }
        other => detailed(&plain(other), code(other), facts),
    }
}

/// The status of an operation about which nothing is done, with the kind of refusal.
pub(super) fn operation_refused(error: &OperationError) -> Status {
    let (kind, text) = (of_operation(error), error.to_string());
    let text = bounded(&text);
    let mut details = ErrorDetails::with_error_info(kind, DOMAIN, facts::of_operation(error));
    let code = match error {
        OperationError::Unknown { .. } => Code::NotFound,
        OperationError::Taken { .. } => Code::AlreadyExists,
        OperationError::Cancelled { id }
        | OperationError::Applying { id, .. }
        | OperationError::Ended { id, .. } => {
            details.add_precondition_failure_violation(kind, id.clone(), text);
            Code::FailedPrecondition
        }
    };
    Status::with_error_details(code, text, details)
}

/// The status of a port that is not changed, with the kind of refusal and what was wrong.
pub(super) fn port_refused(error: &CommandError) -> Status {
    let status = of_port(error);
    let (reason, facts) = (of_command(error), facts::of_command(error));
    let field = match error {
        CommandError::Reason => "reason",
        CommandError::Author => "author",
        _ => "port",
    };
    if status.code() == Code::InvalidArgument {
        return about_field(&status, field, reason, facts);
    }
    let mut details = ErrorDetails::with_error_info(reason, DOMAIN, facts);
    if status.code() == Code::FailedPrecondition {
        add_violation(&mut details, error);
    }
    Status::with_error_details(status.code(), status.message(), details)
}

/// Whether a reason and an author are short enough, and without characters that act on a terminal.
pub(super) fn check_words(reason: &str, author: &str) -> Result<(), Status> {
    let note = PortNote {
        reason: reason.to_owned(),
        author: author.to_owned(),
        peer: String::new(),
    };
    note.check().map_err(|error| port_refused(&error))
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
            let facts = facts::of_command(error).with("ports", errors.len());
            details.set_error_info(of_command(error), DOMAIN, facts);
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
    let message = lines.join("\n");
    Status::with_error_details(Code::FailedPrecondition, bounded(&message), details)
}

/// The status of a request with a wrong field.
pub(super) fn wrong_field(field: &str, what: &str) -> Status {
    wrong_field_with(field, what, Facts::none())
}

/// The status of a request with a wrong field, and what is allowed or at most.
pub(super) fn wrong_field_with(field: &str, what: &str, facts: Facts) -> Status {
    let message = format!("{field}: {what}");
    let mut details = ErrorDetails::with_bad_request_violation(field, bounded(what));
    details.set_error_info("WRONG_FIELD", DOMAIN, facts.field(field));
    Status::with_error_details(Code::InvalidArgument, bounded(&message), details)
}

/// The status where a bound is reached.
pub(super) fn limit_reached(what: &str, limit: usize) -> Status {
    detailed(
        &Status::resource_exhausted(what),
        of_code(Code::ResourceExhausted),
        Facts::limit(limit),
    )
}

/// The status where something that is named is not there.
pub(super) fn not_there(what: &str, facts: Facts) -> Status {
    detailed(&Status::not_found(what), of_code(Code::NotFound), facts)
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
        Refusal::Limited(limited) => limited.status(),
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
    let (text, facts) = (error.to_string(), facts::of_quarantine(error));
    let status = match error {
        QuarantineError::Command(error) => return port_refused(error),
        QuarantineError::Comment => Status::invalid_argument(text),
        QuarantineError::Many => Status::resource_exhausted(text),
        QuarantineError::NoLink { .. }
        | QuarantineError::Host { .. }
        | QuarantineError::LastWay { .. } => Status::failed_precondition(text),
    };
    match error {
        QuarantineError::Comment => wrong_field_with("comment", status.message(), facts),
        _ => detailed(&status, of_quarantine(error), facts),
    }
}

/// The status of an HFI that was not replaced.
pub(super) fn not_replaced(error: &ReplacementError) -> Status {
    let (text, facts) = (error.to_string(), facts::of_replacement(error));
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
        ReplacementError::Reason => wrong_field_with("reason", status.message(), facts),
        ReplacementError::Switch { .. } => wrong_field_with("new_guid", status.message(), facts),
        _ => detailed(&status, of_replacement(error), facts),
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
