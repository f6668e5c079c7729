//! Executes all changes: an actor that owns the configuration in force, plans, the undo list, and the
//! order of port changes. The fabric itself belongs to the manager.
//!
//! | module | contents |
//! |---|---|
//! | `requester` | the requester of a command, and its deadline |
//! | `actor` | executes orders one after the other |
//! | `elements` | a change of single elements of the configuration |
//! | `planning` | computes plans in parallel with the actor |
//! | `plans` | plans that can be applied or undone |
//! | `ports` | port changes, one after the other |
//! | `running` | log level, pause of sweeps, priority, counts |
//! | `drift` | plans in force that the configuration file lacks, also after a restart |
//! | `fabrics` | what a configuration changes of the virtual fabrics |
//! | `hangup` | reload by SIGHUP |
//! | `switched` | ports that a way back to a moment switches |
//!
//! A disconnected client cancels its commands that have not started. Started commands run to their end.

mod actor;
mod disk;
mod drift;
mod elements;
mod fabrics;
mod hangup;
mod planning;
mod plans;
mod ports;
mod requester;
mod running;
mod switched;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::mpsc;
use tokio::time::Instant;
use weft_api::v1::OperationKind;
use weft_config::Finding;
use weft_config::link_rules::LinkRules;
use weft_fabric::{Guid, PortNum};
use weft_manager::sm::back::{Back, Then};
use weft_manager::sm::drains::Drains;
use weft_manager::sm::loop_test::LoopTestError;
use weft_manager::sm::pause::Pause;
use weft_manager::sm::reroute::{Arrangement, Change, RerouteError, RoutePlan};
use weft_manager::vf::FabricPlan;
use weft_manager::{CommandError, PortAction, PortOrder};

pub(crate) use actor::{Actor, Parts};
use disk::Disk;
pub(crate) use drift::Drift;
pub(crate) use elements::{AdaptiveOrder, ElementOrder};
pub(crate) use hangup::reload_and_tell;
pub(crate) use plans::PLANS_MAX;
pub(crate) use plans::Undone;
use requester::Requester;
pub(crate) use running::Restored;
use running::RunningOrder;
pub(crate) use switched::{PortsSwitched, Switching};

use crate::access::Limited;
use crate::attachment::Detached;
use crate::config::{Loaded, Source};
use crate::counters::{Counted, Scope};
use crate::event_hub::InForce;
use crate::logging::{Log, LogLevel, LogSettings};
use crate::operations::{OperationError, Operations, Origin};
use crate::query_thread::QuerySettings;

/// Orders that wait for the actor.
const ORDERS_MAX: usize = 64;
/// Time limit for an order to get its turn if its client sets no deadline.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// Plans that are computed at the same time: each takes a core for seconds, and hundreds of MB, on a
/// fabric of ten thousands of hosts.
pub(crate) const PLANNING_MAX: usize = 2;

/// Why an order is not carried out.
#[derive(Debug, Error)]
pub(crate) enum Refusal {
    #[error(transparent)]
    Reroute(#[from] RerouteError),
    #[error("plan {id} is not remembered; the last {PLANS_MAX} are, each until it is carried out")]
    Unknown { id: u64 },
    #[error("no plan has been carried out that could be undone")]
    NothingToUndo,
    #[error("plan {expected} is not the one that was carried out last: that is plan {id}, {what}")]
    NotLast {
        expected: u64,
        id: u64,
        what: String,
    },
    #[error("the configuration cannot be used: {0}")]
    Config(String),
    #[error("{0}")]
    File(String),
    #[error("{0}")]
    LogLevel(String),
    #[error(transparent)]
    Port(#[from] CommandError),
    #[error(transparent)]
    LoopTest(#[from] LoopTestError),
    #[error(transparent)]
    Operation(#[from] OperationError),
    #[error(transparent)]
    Detached(#[from] Detached),
    #[error("too many requests wait already; try again later")]
    Busy,
    #[error("{PLANNING_MAX} plans are being computed already, which is the most; try again later")]
    ManyPlans,
    #[error("it did not start in time and was cancelled: nothing was changed")]
    TooLate,
    #[error(
        "{what}, but that is not on disk yet: {why}. The write is tried again; until it succeeds, a \
         restart forgets it"
    )]
    NotDurable { what: String, why: String },
    #[error("the plan could not be computed: {0}")]
    Failed(String),
    #[error(transparent)]
    Limited(#[from] Limited),
    #[error("the daemon is stopping")]
    Stopping,
}

impl Refusal {
    /// Whether the daemon has failed, and does not refuse what it was asked for.
    pub(super) fn is_failure(&self) -> bool {
        matches!(
            self,
            Self::Failed(_) | Self::Stopping | Self::Detached(_) | Self::NotDurable { .. }
        )
    }
}

/// Settings of a configuration other than the subnet manager's.
#[derive(Debug)]
pub(crate) struct Configuration {
    pub(crate) queries: QuerySettings,
    /// The part shown to readers.
    pub(crate) shown: InForce,
    /// XML with every value written out, keys included; empty for the built-in defaults.
    pub(crate) text: String,
    pub(crate) log: LogSettings,
}

/// Everything that is in force at one time.
#[derive(Debug, Clone)]
pub(crate) struct Version {
    pub(crate) arrangement: Arrangement,
    pub(crate) configuration: Arc<Configuration>,
}

/// A request for a plan.
pub(crate) enum PlanRequest {
    /// Another configuration, its text.
    Config(String),
    /// A change and its description.
    Change(Change, String),
    /// The configuration in force with other elements.
    Elements(ElementOrder),
    /// Back to a moment, and which one that is, in words.
    Back(Box<Then>, String),
}

impl PlanRequest {
    /// What kind of operation it is.
    fn kind(&self) -> OperationKind {
        match self {
            Self::Change(Change::Drain(_), _) => OperationKind::Drain,
            Self::Change(Change::Undrain(_), _) => OperationKind::Undrain,
            _ => OperationKind::RoutePlan,
        }
    }

    /// The change in words.
    fn what(&self) -> String {
        match self {
            Self::Config(_) => "another configuration".to_owned(),
            Self::Change(_, what) | Self::Back(_, what) => what.clone(),
            Self::Elements(order) => order.what(),
        }
    }
}

/// Result of planning.
pub(crate) struct Planned {
    /// The plan, none where the configuration has errors.
    pub(crate) plan: Option<(u64, RoutePlan)>,
    pub(crate) findings: Vec<Finding>,
    /// Identity of the operation.
    pub(crate) operation: String,
    /// What a way back to a moment changes besides routes.
    pub(crate) back: Option<Back>,
}

/// A plan that is carried out.
#[derive(Debug)]
pub(crate) struct Applied {
    /// Number of the sweep that does it.
    pub(crate) sweep: u64,
    /// Ports that it switches.
    pub(crate) switching: Switching,
}

/// Result of a reload.
#[derive(Debug)]
pub(crate) struct Reloaded {
    pub(crate) findings: Vec<Finding>,
    pub(crate) applied: bool,
    /// What changes of the virtual fabrics, none where nothing does.
    pub(crate) fabrics: Option<FabricPlan>,
}

/// A change of routes about which somebody asks what it would do.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Asked {
    /// A plan, by its number.
    Apply(u64),
    /// The undoing of the plan with this number, 0 for the last one.
    RollBack(u64),
}

/// What would be once it is carried out.
#[derive(Debug, Clone)]
pub(crate) struct WouldBe {
    /// Number of the plan.
    pub(crate) plan: u64,
    pub(crate) drains: Drains,
    /// Ports that it switches, each with what is done to it.
    pub(crate) ports: Vec<((Guid, PortNum), PortAction)>,
}

/// Orders to the actor.
enum Order {
    Plan(PlanRequest, Origin, Requester<Planned>),
    Apply(u64, Origin, Requester<Applied>),
    Foresee(Asked, Requester<WouldBe>),
    /// With the number of the plan to undo, 0 for the last one.
    RollBack(u64, Origin, Requester<Undone>),
    Reload(bool, Requester<Reloaded>),
    Port(PortOrder, Requester<()>),
    Running(RunningOrder, Asker),
}

/// Who gives an order, for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asker(pub(crate) &'static str);

impl Asker {
    /// A client of the API.
    pub(crate) const CLIENT: Self = Self("a client");
}

impl fmt::Display for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Handle that sends orders to the actor.
#[derive(Clone)]
pub(crate) struct Control {
    orders: mpsc::Sender<Order>,
    disk: Disk,
    source: Source,
    /// The configuration file's name, empty where there is none.
    file: Arc<str>,
    log: Log,
    operations: Arc<Operations>,
}

/// Until when a command may begin whose client sets no deadline.
pub(crate) fn usual_deadline() -> Instant {
    Instant::now() + PATIENCE
}

impl Control {
    /// Creates the actor and a handle to it.
    pub(crate) fn new(parts: Parts) -> (Self, Actor) {
        let (orders, receiver) = mpsc::channel(ORDERS_MAX);
        let file = parts.source.file();
        let file = file.map_or_else(String::new, |file| file.display().to_string());
        let control = Self {
            orders,
            disk: Disk::new(parts.saved.clone()),
            source: parts.source.clone(),
            file: file.into(),
            log: parts.log.clone(),
            operations: Arc::new(Operations::new(parts.hub.clone())),
        };
        let orders = control.orders.downgrade();
        let actor = Actor::new(parts, control.operations.clone(), (orders, receiver));
        (control, actor)
    }

    /// Plans, their application and sweeps that clients asked for.
    pub(crate) fn operations(&self) -> &Arc<Operations> {
        &self.operations
    }

    /// The configuration file's name, empty where there is none.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// Checks the text of a configuration in place of the file; may take a second for a large one.
    pub(crate) fn check(&self, text: String, rules: LinkRules) -> Loaded {
        self.source.check(text, rules)
    }

    /// Makes a plan; nothing changes.
    pub(crate) async fn plan(
        &self,
        request: PlanRequest,
        by: Origin,
        begin_by: Instant,
    ) -> Result<Planned, Refusal> {
        self.order(begin_by, |requester| Order::Plan(request, by, requester))
            .await
    }

    /// What would be once a change of routes is carried out.
    pub(crate) async fn foresee(&self, asked: Asked, by: Instant) -> Result<WouldBe, Refusal> {
        self.order(by, |requester| Order::Foresee(asked, requester))
            .await
    }

    /// Carries a plan out.
    pub(crate) async fn apply(
        &self,
        id: u64,
        by: Origin,
        begin_by: Instant,
    ) -> Result<Applied, Refusal> {
        self.order(begin_by, |requester| Order::Apply(id, by, requester))
            .await
    }

    /// Plans and carries out a change of single elements of the configuration; returns the number of the sweep that does it.
    pub(crate) async fn set_elements(
        &self,
        order: ElementOrder,
        by: Origin,
        begin_by: Instant,
    ) -> Result<u64, Refusal> {
        let request = PlanRequest::Elements(order);
        let planned = self.plan(request, by.clone(), begin_by).await?;
        match planned.plan {
            Some((id, _)) => Ok(self.apply(id, by, begin_by).await?.sweep),
            None => {
                let findings = planned.findings.iter().map(ToString::to_string);
                Err(Refusal::Config(findings.collect::<Vec<_>>().join("\n")))
            }
        }
    }

    /// Undoes the last applied plan, which has to be `expected` unless that is 0.
    pub(crate) async fn roll_back(
        &self,
        expected: u64,
        by: Origin,
        begin_by: Instant,
    ) -> Result<Undone, Refusal> {
        self.order(begin_by, |requester| {
            Order::RollBack(expected, by, requester)
        })
        .await
    }

    /// Reads the configuration file; puts it in force unless something in it is wrong, or it is only to
    /// be checked. Findings are no refusal.
    pub(crate) async fn reload(
        &self,
        validate_only: bool,
        begin_by: Instant,
    ) -> Result<Reloaded, Refusal> {
        self.order(begin_by, |requester| {
            Order::Reload(validate_only, requester)
        })
        .await
    }

    /// Changes a port; answered when its device has confirmed it.
    pub(crate) async fn port(&self, port: PortOrder, begin_by: Instant) -> Result<(), Refusal> {
        self.order(begin_by, |requester| Order::Port(port, requester))
            .await
    }

    /// Sets the log level, empty for the one of the start.
    pub(crate) async fn set_log_level(
        &self,
        filter: String,
        by: Asker,
        begin_by: Instant,
    ) -> Result<LogLevel, Refusal> {
        let order = |requester| RunningOrder::LogLevel(filter, requester);
        self.order_running(begin_by, by, order).await
    }

    /// The log level.
    pub(crate) fn log_level(&self) -> LogLevel {
        self.log.levels.now()
    }

    /// The log file, empty where there is none.
    pub(crate) fn log_file(&self) -> String {
        let path = self.log.path();
        path.map_or_else(String::new, |path| path.display().to_string())
    }

    /// Pauses sweeps for this time.
    pub(crate) async fn pause(
        &self,
        time: Duration,
        by: Asker,
        begin_by: Instant,
    ) -> Result<Pause, Refusal> {
        let order = |requester| RunningOrder::Pause(time, requester);
        self.order_running(begin_by, by, order).await
    }

    /// Ends the pause; returns whether there was one.
    pub(crate) async fn resume(&self, by: Asker, begin_by: Instant) -> Result<bool, Refusal> {
        self.order_running(begin_by, by, RunningOrder::Resume).await
    }

    /// Drops back from the elevated priority.
    pub(crate) async fn restore_priority(
        &self,
        by: Asker,
        begin_by: Instant,
    ) -> Result<Restored, Refusal> {
        self.order_running(begin_by, by, RunningOrder::RestorePriority)
            .await
    }

    /// Sets counts to 0; returns them as they were.
    pub(crate) async fn reset_counters(
        &self,
        scope: Scope,
        by: Asker,
        begin_by: Instant,
    ) -> Result<Counted, Refusal> {
        let order = |requester| RunningOrder::ResetCounters(scope, requester);
        self.order_running(begin_by, by, order).await
    }

    async fn order_running<T>(
        &self,
        begin_by: Instant,
        by: Asker,
        order: impl FnOnce(Requester<T>) -> RunningOrder,
    ) -> Result<T, Refusal> {
        self.order(begin_by, |requester| Order::Running(order(requester), by))
            .await
    }

    /// Waits until the manager's state of this number is on disk; `what` was done.
    pub(crate) async fn kept(
        &self,
        state: u64,
        what: impl FnOnce() -> String,
    ) -> Result<(), Refusal> {
        let mut disk = self.disk.clone();
        disk.has(state, Disk::deadline(), what).await
    }

    async fn order<T>(
        &self,
        begin_by: Instant,
        order: impl FnOnce(Requester<T>) -> Order,
    ) -> Result<T, Refusal> {
        use mpsc::error::TrySendError::{Closed, Full};
        let (requester, answer) = requester::pair(begin_by);
        self.orders
            .try_send(order(requester))
            .map_err(|error| match error {
                Full(_) => Refusal::Busy,
                Closed(_) => Refusal::Stopping,
            })?;
        answer.wait().await
    }
}
