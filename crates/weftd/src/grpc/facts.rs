//! What google.rpc.ErrorInfo tells programs of a refusal besides its reason: facts by name, listed in docs/api.md.

use std::collections::HashMap;

use weft_fabric::{Guid, PortNum};
use weft_manager::sm::drains::DrainError;
use weft_manager::sm::loop_test::LoopTestError;
use weft_manager::sm::quarantine::{self, COMMENT_MAX, QuarantineError};
use weft_manager::sm::replacements::{self, REPLACEMENTS_MAX, ReplacementError};
use weft_manager::sm::reroute::RerouteError;
use weft_manager::{AUTHOR_MAX, CommandError, LinkEnd, REASON_MAX};

use crate::control::{PLANNING_MAX, Refusal};
use crate::operations::OperationError;

/// Longest value, bytes: a name that a request gives may be of any length, and facts travel in a header.
const VALUE_MAX: usize = 256;

/// Facts of a refusal. A GUID is written as 0x and 16 hexadecimal digits, a number in decimal digits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Facts(HashMap<String, String>);

impl Facts {
    /// None, to begin with.
    pub(crate) fn none() -> Self {
        Self::default()
    }

    /// With a fact more; of one that is longer than [`VALUE_MAX`] the beginning, and an ellipsis.
    pub(crate) fn with(mut self, name: &str, value: impl ToString) -> Self {
        let mut value = value.to_string();
        if value.len() > VALUE_MAX {
            value.truncate(value.floor_char_boundary(VALUE_MAX));
            value.push('…');
        }
        self.0.insert(name.to_owned(), value);
        self
    }

    /// The field of the request that is wrong, empty where none is known.
    pub(super) fn field(self, field: &str) -> Self {
        match field {
            "" => self,
            field => self.with("field", field),
        }
    }

    /// A bound that is reached, or what is allowed at most.
    pub(crate) fn limit(limit: usize) -> Self {
        Self::none().with("limit", limit)
    }

    /// A node, under this name.
    pub(super) fn guid(self, name: &str, guid: Guid) -> Self {
        self.with(name, format_args!("{:#018x}", guid.0))
    }

    /// A node.
    pub(super) fn node(node: Guid) -> Self {
        Self::none().guid("node_guid", node)
    }

    /// A port of a node.
    pub(super) fn port(node: Guid, port: PortNum) -> Self {
        Self::node(node).with("port", port.0)
    }

    fn end(end: &LinkEnd) -> Self {
        Self::port(end.node, end.port)
    }

    fn range(self, least: impl ToString, most: impl ToString) -> Self {
        self.with("least", least).with("most", most)
    }
}

impl From<Facts> for HashMap<String, String> {
    fn from(facts: Facts) -> Self {
        facts.0
    }
}

/// Of an order that was not carried out.
pub(super) fn of(refusal: &Refusal) -> Facts {
    match refusal {
        Refusal::Port(error) | Refusal::LoopTest(LoopTestError::Command(error)) => {
            of_command(error)
        }
        Refusal::LoopTest(error) => of_loop_test(error),
        Refusal::Operation(error) => of_operation(error),
        Refusal::Limited(limited) => limited.facts(),
        Refusal::Reroute(error) => of_reroute(error),
        Refusal::Detached(detached) => {
            Facts::none().with("since_unix_s", detached.since_unix_ns / 1_000_000_000)
        }
        Refusal::Unknown { id } => Facts::none().with("plan_id", id),
        Refusal::NotLast { expected, id, .. } => Facts::none()
            .with("expected_plan_id", expected)
            .with("plan_id", id),
        Refusal::ManyPlans => Facts::limit(PLANNING_MAX),
        Refusal::LogLevel(_) => Facts::none().with("allowed", "error, warn, info, debug, trace"),
        Refusal::NothingToUndo
        | Refusal::Config(_)
        | Refusal::File(_)
        | Refusal::Busy
        | Refusal::TooLate
        | Refusal::NotDurable { .. }
        | Refusal::Failed(_)
        | Refusal::Stopping => Facts::none(),
    }
}

/// Of a port that is not changed.
pub(super) fn of_command(error: &CommandError) -> Facts {
    match error {
        CommandError::NoNode { node } => Facts::node(*node),
        CommandError::NoPort {
            node,
            port,
            first,
            last,
        } => Facts::port(*node, *port).range(first.0, last.0),
        CommandError::OwnLink { node, port } => Facts::port(*node, *port),
        CommandError::CutsOff {
            node, port, count, ..
        } => Facts::port(*node, *port).with("nodes", count),
        CommandError::Reason => Facts::limit(REASON_MAX),
        CommandError::Author => Facts::limit(AUTHOR_MAX),
        CommandError::NotSupported {
            node,
            port,
            supported,
            ..
        } => Facts::port(*node, *port).with("allowed", supported),
        CommandError::NotSet { node, port, what } => {
            Facts::port(*node, *port).with("setting", what)
        }
        CommandError::NoAnswer { node, attempts } => Facts::node(*node).with("attempts", attempts),
        CommandError::Refused { node, status } => {
            Facts::node(*node).with("status", format_args!("{status:#06x}"))
        }
        CommandError::Busy { waiting } => Facts::none().with("waiting", waiting),
        CommandError::NotMaster { role, master } => {
            let facts = Facts::none().with("role", role);
            match master.0 {
                0 => facts,
                _ => facts.guid("master_guid", *master),
            }
        }
        CommandError::NotDone { node, port, held } => Facts::port(*node, *port).with("state", held),
        CommandError::ManyDisabled { most } => Facts::limit(*most),
        CommandError::Detached { begun } => Facts::none().with("begun", begun),
        CommandError::Paused | CommandError::SweepFailed { .. } => Facts::none(),
    }
}

/// Of an operation about which nothing is done.
pub(super) fn of_operation(error: &OperationError) -> Facts {
    let of = |id: &String| Facts::none().with("operation_id", id);
    match error {
        OperationError::Unknown { id }
        | OperationError::Taken { id, .. }
        | OperationError::Cancelled { id } => of(id),
        OperationError::Applying { id, sweep, .. } => of(id).with("sweep", sweep),
        OperationError::Ended { id, state } => of(id).with("state", state),
    }
}

/// Of a port that is not put into quarantine.
pub(super) fn of_quarantine(error: &QuarantineError) -> Facts {
    match error {
        QuarantineError::Command(error) => of_command(error),
        QuarantineError::Comment => Facts::limit(COMMENT_MAX),
        QuarantineError::Many => Facts::limit(quarantine::PORTS_MAX),
        QuarantineError::NoLink { port }
        | QuarantineError::Host { port }
        | QuarantineError::LastWay { port } => Facts::end(port),
    }
}

/// Of an HFI that is not replaced.
pub(super) fn of_replacement(error: &ReplacementError) -> Facts {
    let old = |old: Guid| Facts::none().guid("old_guid", old);
    let new = |new: Guid| Facts::none().guid("new_guid", new);
    match error {
        ReplacementError::Command(error) => of_command(error),
        ReplacementError::Reason => Facts::limit(replacements::REASON_MAX),
        ReplacementError::Many => Facts::limit(REPLACEMENTS_MAX),
        ReplacementError::Switch { new: guid } | ReplacementError::Intended { new: guid } => {
            new(*guid)
        }
        ReplacementError::StillThere { old: end } => old(end.node),
        ReplacementError::Unknown { old: guid } | ReplacementError::NoOffer { old: guid } => {
            old(*guid)
        }
        ReplacementError::Already { old, new: guid } => new(*guid).guid("old_guid", *old),
        ReplacementError::Taken { new: guid, other } => new(*guid).guid("old_guid", *other),
        ReplacementError::None { guid } => Facts::node(*guid),
    }
}

fn of_loop_test(error: &LoopTestError) -> Facts {
    match error {
        LoopTestError::Command(error) => of_command(error),
        LoopTestError::Range {
            value, least, most, ..
        } => Facts::none().with("value", value).range(least, most),
        LoopTestError::NoSwitch { node } => Facts::node(*node),
        LoopTestError::Running | LoopTestError::NotRunning => Facts::none(),
    }
}

fn of_reroute(error: &RerouteError) -> Facts {
    match error {
        RerouteError::NotMaster { role } => Facts::none().with("role", role),
        RerouteError::Drain(DrainError::NoSwitch(switch)) => Facts::node(switch.guid),
        RerouteError::Drain(DrainError::HasHfis { switch, hfis }) => {
            Facts::node(switch.guid).with("hfis", hfis.len())
        }
        RerouteError::Drain(DrainError::NoLink { node, port }) => Facts::port(node.guid, *port),
        RerouteError::Drain(DrainError::NotDrained(target)) | RerouteError::CutsOff(target) => {
            Facts::none().with("target", target)
        }
        RerouteError::NoRoutes
        | RerouteError::OtherLids
        | RerouteError::Routes(_)
        | RerouteError::Way(_)
        | RerouteError::Stale => Facts::none(),
    }
}
