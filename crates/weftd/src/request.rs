//! Requests to the manager's thread.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use weft_fabric::{Guid, PortNum};
use weft_manager::sm::drains::Drains;
use weft_manager::sm::evidence::Evidence;
use weft_manager::sm::loop_test::{LoopTestError, LoopTestOrder, LoopTestStatus};
use weft_manager::sm::pause::Pause;
use weft_manager::sm::quarantine::{QuarantineError, QuarantineOrder};
use weft_manager::sm::replacements::{
    Offer, Replaced, Replacement, ReplacementError, ReplacementOrder,
};
use weft_manager::sm::reroute::{Arrangement, Basis, Change, Condition, RerouteError};
use weft_manager::sm::{Settings, Told};
use weft_manager::{BarredPort, CommandError, DisabledPort, PortAction, PortOrder};

use crate::attachment::Detached;
use crate::control::Refusal;

/// Requests that wait for the manager's thread.
pub(crate) const REQUESTS_MAX: usize = 64;

/// A request to the manager. One whose requester has gone is not started.
pub(crate) enum Request {
    /// A standby is told something of its master.
    Tell(Told),
    /// Sweep; the answer is the number of the sweep that will have seen everything from now on.
    Sweep(oneshot::Sender<Result<u64, Detached>>),
    /// Change a port.
    Port {
        order: PortOrder,
        /// Gets the number of the state that keeps the change.
        done: oneshot::Sender<Result<u64, CommandError>>,
    },
    /// Says of ports whether they could be changed, and how far from the manager they are.
    MayChange {
        ends: Vec<(Guid, PortNum)>,
        action: PortAction,
        force: bool,
        told: oneshot::Sender<Result<Vec<MayChange>, CommandError>>,
    },
    /// Returns the ports that are switched off.
    DisabledPorts(oneshot::Sender<Vec<DisabledPort>>),
    /// Continue with other settings; the answer is the earlier ones.
    Reconfigure {
        settings: Box<Settings>,
        done: oneshot::Sender<Arrangement>,
    },
    /// Returns the inputs of a plan.
    Basis {
        change: Change,
        done: oneshot::Sender<Result<Box<Basis>, RerouteError>>,
    },
    /// Put an arrangement in force.
    Adopt {
        condition: Condition,
        wanted: Box<Arrangement>,
        done: oneshot::Sender<Result<Adopted, RerouteError>>,
    },
    /// Returns how often routes, settings and drains have changed.
    RouteEpoch(oneshot::Sender<u64>),
    /// Returns what the page of what is wrong needs to know.
    Health(oneshot::Sender<Box<HealthState>>),
    /// Returns the drains in force.
    Drains(oneshot::Sender<Drains>),
    /// Returns the ports whose links went down too often, or were put into quarantine.
    Quarantine(oneshot::Sender<Vec<BarredPort>>),
    /// Returns the losses of a port's link, and what follows from them.
    Explain {
        port: (Guid, PortNum),
        told: oneshot::Sender<Result<Evidence, CommandError>>,
    },
    /// Puts a port into quarantine.
    PutInQuarantine {
        port: (Guid, PortNum),
        order: QuarantineOrder,
        done: oneshot::Sender<Result<Kept, QuarantineError>>,
    },
    /// Returns whether a port can be put into quarantine.
    MayQuarantine {
        port: (Guid, PortNum),
        order: QuarantineOrder,
        told: oneshot::Sender<Result<(), QuarantineError>>,
    },
    /// About HFIs in the place of others.
    Replacing(Replacing),
    /// Gives the loop test an order; the answer is the number of the sweep that will have carried it out.
    LoopTest {
        order: LoopTestOrder,
        done: oneshot::Sender<Result<u64, LoopTestError>>,
    },
    /// Returns the loop test as it is.
    LoopTestStatus(oneshot::Sender<Box<LoopTestStatus>>),
    /// Pauses sweeps.
    Pause {
        time: Duration,
        done: oneshot::Sender<Result<Pause, CommandError>>,
    },
    /// Ends the pause; the answer is whether there was one.
    Resume(oneshot::Sender<bool>),
    /// Drops back from the elevated priority; the answer is the priority before and after.
    RestorePriority(oneshot::Sender<Result<(u8, u8), CommandError>>),
    /// Lets the link of such a port be used again; the answer is none where it is used anyway.
    Release {
        port: (Guid, PortNum),
        done: oneshot::Sender<Option<Kept>>,
    },
}

/// Whether a port could be changed.
pub(crate) struct MayChange {
    pub(crate) result: Result<(), CommandError>,
    /// Hops from the manager to its node, none if that is not in the fabric.
    pub(crate) hops: Option<usize>,
}

/// State of the manager for the page of what is wrong.
#[derive(Debug, Clone, Default)]
pub(crate) struct HealthState {
    /// Ports whose links are not to be used.
    pub(crate) barred: Vec<BarredPort>,
    pub(crate) drains: Drains,
    /// Nodes that do not answer, by GUID.
    pub(crate) silent: Vec<Guid>,
}

/// A request about HFIs in the place of others.
pub(crate) enum Replacing {
    /// Returns those that have been recognised, and those in force.
    List(oneshot::Sender<(Vec<Offer>, Vec<Replacement>)>),
    /// Puts an HFI in the place of another; nothing is kept where the order is only checked.
    Replace {
        order: ReplacementOrder,
        done: oneshot::Sender<Result<(Replaced, Option<Kept>), ReplacementError>>,
    },
    /// Ends replacements by an old or a new HFI; the answer has the old ones.
    End {
        guid: Guid,
        done: oneshot::Sender<Result<(Vec<Guid>, Kept), ReplacementError>>,
    },
}

/// An arrangement that has been put in force.
pub(crate) struct Adopted {
    /// The one that was in force.
    pub(crate) before: Arrangement,
    /// Number of the sweep that will have brought the fabric in line.
    pub(crate) sweep: u64,
    /// Number of the state that has it when it is on disk.
    pub(crate) state: u64,
}

/// A change that outlasts a restart.
pub(crate) struct Kept {
    /// Number of the sweep that will have seen it.
    pub(crate) sweep: u64,
    /// Number of the state that has it when it is on disk.
    pub(crate) state: u64,
}

/// The manager's answer to a request.
///
/// # Errors
/// As [`ask`].
pub(crate) async fn told<T>(
    engine: &mpsc::Sender<Request>,
    request: impl FnOnce(oneshot::Sender<T>) -> Request,
) -> Result<T, Refusal> {
    let (told, answer) = oneshot::channel();
    ask(engine, request(told))?;
    answer.await.map_err(|_| Refusal::Stopping)
}

/// Hands a request to the manager's thread.
///
/// # Errors
/// [`Refusal::Busy`] when too many wait, [`Refusal::Stopping`].
pub(crate) fn ask(engine: &mpsc::Sender<Request>, request: Request) -> Result<(), Refusal> {
    use mpsc::error::TrySendError::{Closed, Full};
    engine.try_send(request).map_err(|error| match error {
        Full(_) => Refusal::Busy,
        Closed(_) => Refusal::Stopping,
    })
}
