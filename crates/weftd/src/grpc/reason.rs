//! The reasons of refusals, as google.rpc.ErrorInfo has them: stable words for programs, listed in docs/api.md.

use tonic::Code;
use weft_manager::CommandError;
use weft_manager::sm::drains::DrainError;
use weft_manager::sm::loop_test::LoopTestError;
use weft_manager::sm::quarantine::QuarantineError;
use weft_manager::sm::replacements::ReplacementError;
use weft_manager::sm::reroute::RerouteError;

use crate::access::Limited;
use crate::control::Refusal;
use crate::operations::OperationError;

/// The reason of a refusal.
pub(super) fn code(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Port(error) => of_command(error),
        Refusal::Operation(error) => of_operation(error),
        Refusal::Detached(_) => "DETACHED",
        Refusal::Busy => "BUSY",
        Refusal::TooLate => "TOO_LATE",
        Refusal::NotDurable { .. } => "NOT_DURABLE",
        Refusal::Limited(_) => Limited::REASON,
        Refusal::Stopping => "STOPPING",
        Refusal::Reroute(error) => of_reroute(error),
        Refusal::Unknown { .. } => "NO_PLAN",
        Refusal::NothingToUndo => "NOTHING_TO_UNDO",
        Refusal::NotLast { .. } => "NOT_LAST_PLAN",
        Refusal::Config(_) => "WRONG_CONFIGURATION",
        Refusal::File(_) => "CONFIGURATION_FILE",
        Refusal::LogLevel(_) => "WRONG_FIELD",
        Refusal::ManyPlans => "BUSY",
        Refusal::Failed(_) => "INTERNAL",
        Refusal::LoopTest(error) => match error {
            LoopTestError::Command(error) => of_command(error),
            LoopTestError::Range { .. } => "WRONG_FIELD",
            LoopTestError::NoSwitch { .. } => "NO_NODE",
            LoopTestError::Running => "LOOP_TEST_RUNS",
            LoopTestError::NotRunning => "NO_LOOP_TEST",
        },
    }
}

fn of_reroute(error: &RerouteError) -> &'static str {
    match error {
        RerouteError::NotMaster { .. } => "NOT_MASTER",
        RerouteError::NoRoutes => "NO_ROUTES",
        RerouteError::OtherLids => "OTHER_LIDS",
        RerouteError::Drain(DrainError::NoSwitch(_)) => "NO_NODE",
        RerouteError::Drain(_) => "CANNOT_DRAIN",
        RerouteError::CutsOff(_) => "CUTS_OFF",
        RerouteError::Stale => "PLAN_OUTDATED",
        _ => "NO_CERTIFIED_ROUTES",
    }
}

/// The reason of a port that is not changed.
pub(super) fn of_command(error: &CommandError) -> &'static str {
    match error {
        CommandError::NoNode { .. } => "NO_NODE",
        CommandError::NoPort { .. } => "NO_PORT",
        CommandError::OwnLink { .. } => "OWN_LINK",
        CommandError::CutsOff { .. } => "CUTS_OFF",
        CommandError::Reason => "REASON",
        CommandError::Author => "AUTHOR",
        CommandError::NotSupported { .. } => "NOT_SUPPORTED",
        CommandError::NotSet { .. } => "NOT_SET",
        CommandError::NoAnswer { .. } => "NO_ANSWER",
        CommandError::Refused { .. } => "DEVICE_REFUSED",
        CommandError::Busy { .. } => "BUSY",
        CommandError::NotMaster { .. } => "NOT_MASTER",
        CommandError::NotDone { .. } => "NOT_DONE",
        CommandError::ManyDisabled { .. } => "MANY_DISABLED",
        CommandError::Detached { .. } => "DETACHED",
        CommandError::Paused => "PAUSED",
        CommandError::SweepFailed { .. } => "SWEEP_FAILED",
    }
}

/// The reason of an operation about which nothing is done.
pub(super) fn of_operation(error: &OperationError) -> &'static str {
    match error {
        OperationError::Unknown { .. } => "NO_OPERATION",
        OperationError::Taken { .. } => "OPERATION_EXISTS",
        OperationError::Cancelled { .. } => "CANCELLED",
        OperationError::Applying { .. } => "APPLYING",
        OperationError::Ended { .. } => "ENDED",
    }
}

/// The reason of a port that is not put into quarantine.
pub(super) fn of_quarantine(error: &QuarantineError) -> &'static str {
    match error {
        QuarantineError::Command(error) => of_command(error),
        QuarantineError::Comment => "WRONG_FIELD",
        QuarantineError::Many => "LIMIT",
        QuarantineError::NoLink { .. } => "NO_LINK",
        QuarantineError::Host { .. } => "CUTS_OFF_HOST",
        QuarantineError::LastWay { .. } => "CUTS_OFF",
    }
}

/// The reason of an HFI that is not replaced.
pub(super) fn of_replacement(error: &ReplacementError) -> &'static str {
    match error {
        ReplacementError::Command(error) => of_command(error),
        ReplacementError::Reason | ReplacementError::Switch { .. } => "WRONG_FIELD",
        ReplacementError::Many => "LIMIT",
        ReplacementError::Unknown { .. } => "NO_NODE",
        ReplacementError::None { .. } => "NO_REPLACEMENT",
        ReplacementError::StillThere { .. } => "STILL_THERE",
        ReplacementError::NoOffer { .. } => "NO_OFFER",
        ReplacementError::Already { .. } => "REPLACED_ALREADY",
        ReplacementError::Taken { .. } => "TAKEN",
        ReplacementError::Intended { .. } => "INTENDED",
    }
}

/// The reason of a refusal of which only the code is known.
pub(super) fn of_code(code: Code) -> &'static str {
    match code {
        Code::Ok | Code::Unknown | Code::Internal => "INTERNAL",
        Code::Cancelled => "CALL_CANCELLED",
        Code::InvalidArgument | Code::OutOfRange => "WRONG_FIELD",
        Code::DeadlineExceeded => "TOO_LATE",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "EXISTS",
        Code::PermissionDenied | Code::Unauthenticated => "NOT_PERMITTED",
        Code::ResourceExhausted => "LIMIT",
        Code::FailedPrecondition => "STATE",
        Code::Aborted => "CHANGED_MEANWHILE",
        Code::Unimplemented => "NOT_IMPLEMENTED",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "NOT_DURABLE",
    }
}
