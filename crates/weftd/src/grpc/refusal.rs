//! Refusals as statuses.

use tonic::Status;
use weft_manager::CommandError;
use weft_manager::sm::drains::DrainError;
use weft_manager::sm::quarantine::QuarantineError;
use weft_manager::sm::reroute::RerouteError;

use crate::control::Refusal;

/// The status of an order that was not carried out.
pub(super) fn status(refusal: &Refusal) -> Status {
    let text = refusal.to_string();
    match refusal {
        Refusal::Unknown { .. } => Status::not_found(text),
        Refusal::Config(_) | Refusal::LogLevel(_) => Status::invalid_argument(text),
        Refusal::File(_) | Refusal::NothingToUndo => Status::failed_precondition(text),
        Refusal::Busy | Refusal::ManyPlans => Status::resource_exhausted(text),
        Refusal::TooLate => Status::deadline_exceeded(text),
        Refusal::Detached(_) | Refusal::Stopping => Status::unavailable(text),
        Refusal::NotDurable { .. } => Status::data_loss(text),
        Refusal::Failed(_) => Status::internal(text),
        Refusal::Port(error) => of_port(error),
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
    match error {
        QuarantineError::Command(error) => of_port(error),
        QuarantineError::Comment => Status::invalid_argument(text),
        QuarantineError::Many => Status::resource_exhausted(text),
        QuarantineError::NoLink { .. }
        | QuarantineError::Host { .. }
        | QuarantineError::LastWay { .. } => Status::failed_precondition(text),
    }
}

fn of_port(error: &CommandError) -> Status {
    let text = error.to_string();
    match error {
        CommandError::NoNode { .. } => Status::not_found(text),
        CommandError::NoPort { .. } => Status::invalid_argument(text),
        CommandError::OwnLink { .. }
        | CommandError::Refused { .. }
        | CommandError::Paused
        | CommandError::NotMaster { .. } => Status::failed_precondition(text),
        CommandError::NoAnswer { .. } => Status::deadline_exceeded(text),
        CommandError::Busy { .. } | CommandError::ManyDisabled { .. } => {
            Status::resource_exhausted(text)
        }
        CommandError::NotDone { .. } | CommandError::SweepFailed { .. } => Status::aborted(text),
        CommandError::Detached { .. } => Status::unavailable(text),
    }
}
