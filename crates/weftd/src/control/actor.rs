//! The actor: carries orders out, one after the other, each to its end whether its client still waits
//! or not.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tracing::{error, info};
use weft_api::v1::{OperationKind, OperationState};
use weft_config::Severity;
use weft_manager::PortOrder;
use weft_manager::sm::Settings;
use weft_manager::sm::reroute::{Arrangement, Condition, RerouteError, RoutePlan};

use super::disk::Disk;
use super::drift::Drift;
use super::fabrics;
use super::planning::{Computed, Made, Planner};
use super::plans::{Plan, Plans, Undo, Undone};
use super::ports::Ports;
use super::requester::Requester;
use super::running::{Running, not_paused};
use super::switched::{self, PortsSwitched};
use super::{
    Applied, Asked, Configuration, Order, PLANNING_MAX, PlanRequest, Planned, Refusal, Reloaded,
    Switching, Version, WouldBe,
};
use crate::config::{self, Loaded, Source};
use crate::event::DaemonEvent;
use crate::event_hub::EventHub;
use crate::link_rules::log_rules;
use crate::logging::Log;
use crate::operations::{OperationError, Operations, Origin};
use crate::query_thread::QuerySettings;
use crate::request::{Adopted, Request, ask, told};
use crate::stopping::Stopping;
use crate::store::Saved;

/// Time limit for reading the configuration file.
const READING: Duration = Duration::from_secs(10);

/// Dependencies of the actor.
pub(crate) struct Parts {
    pub(crate) source: Source,
    pub(crate) hub: Arc<EventHub>,
    pub(crate) engine: mpsc::Sender<Request>,
    pub(crate) queries: watch::Sender<QuerySettings>,
    /// Progress of writing the manager's state to disk.
    pub(crate) saved: watch::Receiver<Saved>,
    pub(crate) drift: Drift,
    pub(crate) log: Log,
    /// In force at the start.
    pub(crate) configuration: Configuration,
}

/// A plan that is being computed, with its requester.
struct Making {
    /// None where it has its answer: the plan was cancelled.
    requester: Option<Requester<Planned>>,
    operation: String,
    revision: u64,
    made: Result<Made, Refusal>,
}

/// Owns the settings in force.
pub(crate) struct Actor {
    orders: mpsc::Receiver<Order>,
    /// To give itself orders, as long as somebody else can.
    own_orders: mpsc::WeakSender<Order>,
    source: Source,
    hub: Arc<EventHub>,
    engine: mpsc::Sender<Request>,
    queries: watch::Sender<QuerySettings>,
    disk: Disk,
    /// In force now.
    configuration: Arc<Configuration>,
    /// Number of versions put in force.
    revision: u64,
    plans: Plans,
    planning: JoinSet<Making>,
    ports: Ports,
    running: Running,
    log: Log,
    drift: Drift,
    operations: Arc<Operations>,
}

impl Actor {
    pub(super) fn new(
        parts: Parts,
        operations: Arc<Operations>,
        (own_orders, orders): (mpsc::WeakSender<Order>, mpsc::Receiver<Order>),
    ) -> Self {
        let disk = Disk::new(parts.saved);
        let ports = Ports::new(parts.engine.clone(), parts.hub.clone(), disk.clone());
        let running = Running {
            engine: parts.engine.clone(),
            hub: parts.hub.clone(),
            log: parts.log.levels.clone(),
        };
        parts.hub.set_planned(parts.drift.planned());
        Self {
            orders,
            own_orders,
            source: parts.source,
            hub: parts.hub,
            engine: parts.engine,
            queries: parts.queries,
            disk,
            configuration: Arc::new(parts.configuration),
            revision: 0,
            plans: Plans::default(),
            planning: JoinSet::new(),
            ports,
            running,
            log: parts.log,
            drift: parts.drift,
            operations,
        }
    }

    /// Runs until the daemon stops; waiting requesters are then told that it is stopping.
    pub(crate) async fn run(mut self, stopping: Stopping) {
        let mut stop = std::pin::pin!(stopping.wait());
        loop {
            tokio::select! {
                () = &mut stop => return,
                order = self.orders.recv() => match order {
                    Some(order) => self.carry_out(order).await,
                    None => return,
                },
                Some(made) = self.planning.join_next() => match made {
                    Ok(making) => self.planned(making),
                    Err(error) => error!(event = "plan_failed", %error, "a plan could not be computed"),
                },
                () = self.ports.end_one() => self.ports.next(self.hub.attachment()),
            }
        }
    }

    async fn carry_out(&mut self, order: Order) {
        match order {
            Order::Plan(request, by, requester) => self.plan(request, &by, requester),
            Order::Port(order, requester) => {
                self.ports.push(order, requester, self.hub.attachment())
            }
            Order::Running(order, by) => self.running.carry_out(order, by).await,
            Order::Foresee(asked, requester) => {
                let foreseen = self.foresee(asked).await;
                requester.answer(foreseen);
            }
            Order::Apply(id, by, requester) => {
                if begins(&requester, "a route plan is not applied") {
                    requester.answer(self.apply(id, &by).await);
                }
            }
            Order::RollBack(expected, by, requester) => {
                if begins(&requester, "nothing is rolled back") {
                    requester.answer(self.roll_back(expected, &by).await);
                }
            }
            Order::Reload(validate_only, requester) => {
                if begins(&requester, "the configuration is not reloaded") {
                    requester.answer(self.reload(validate_only).await);
                }
            }
        }
    }

    fn plan(&mut self, request: PlanRequest, by: &Origin, requester: Requester<Planned>) {
        if let Err(detached) = self.hub.attachment().required() {
            requester.answer(Err(detached.into()));
            return;
        }
        if self.planning.len() >= PLANNING_MAX {
            requester.answer(Err(Refusal::ManyPlans));
            return;
        }
        if !begins(&requester, "no route plan is made") {
            return;
        }
        let planner = Planner {
            engine: self.engine.clone(),
            source: self.source.clone(),
            configuration: Arc::clone(&self.configuration),
        };
        let state = OperationState::Planning;
        let begun = self
            .operations
            .begin(by, request.kind(), state, &request.what());
        let mut begun = match begun {
            Ok(begun) => begun,
            Err(error) => {
                requester.answer(Err(error.into()));
                return;
            }
        };
        let revision = self.revision;
        self.planning.spawn(async move {
            let mut making = pin!(planner.make(request));
            let (requester, made) = tokio::select! {
                made = &mut making => (Some(requester), made),
                () = begun.cancelled() => {
                    requester.answer(Err(cancelled(&begun.id)));
                    // It counts among those that are computed until it ends.
                    (None, making.await)
                }
            };
            Making {
                requester,
                operation: begun.id,
                revision,
                made,
            }
        });
    }

    fn planned(&mut self, making: Making) {
        let Making {
            requester,
            operation,
            revision,
            made,
        } = making;
        let Some(requester) = requester else { return };
        let planned = match made {
            Ok(made) => self.made(made, operation, revision),
            Err(refusal) => {
                self.not_done(&operation, &refusal);
                Err(refusal)
            }
        };
        requester.answer(planned);
    }

    fn made(&mut self, made: Made, operation: String, revision: u64) -> Result<Planned, Refusal> {
        let Made { plan, findings } = made;
        let back = plan.as_ref().and_then(|computed| computed.back.clone());
        let plan = plan.map(|computed| self.keep(computed, revision));
        match &plan {
            None => {
                let errors = findings.iter().map(ToString::to_string);
                let why = errors.collect::<Vec<_>>().join("; ");
                self.operations.refused(&operation, &why);
            }
            Some((id, plan)) => {
                let flows = plan.flows.clone().into();
                self.operations.carries(&operation, flows);
                if !self
                    .operations
                    .planned(&operation, *id, plan.clone().into())
                {
                    self.plans.forget(*id);
                    return Err(cancelled(&operation));
                }
            }
        }
        Ok(Planned {
            plan,
            findings,
            operation,
            back,
        })
    }

    fn keep(&mut self, computed: Computed, revision: u64) -> (u64, RoutePlan) {
        let Computed {
            epoch,
            wanted,
            what,
            plan,
            back,
        } = computed;
        let (id, forgotten) = self.plans.keep(Plan {
            epoch,
            revision,
            wanted,
            what,
            ports: back.map_or_else(Vec::new, |back| back.ports),
            is_outdated: false,
        });
        if let Some(forgotten) = forgotten {
            let why = Refusal::Unknown { id: forgotten }.to_string();
            self.operations.outdated(forgotten, &why);
        }
        (id, plan)
    }

    /// What would be once a change is carried out, which a plan for another fabric or configuration cannot be.
    async fn foresee(&mut self, asked: Asked) -> Result<WouldBe, Refusal> {
        let would_be = self.plans.would_be(asked)?;
        if let Asked::Apply(id) = asked {
            let plan = self.plans.get(id)?;
            let epoch = told(&self.engine, Request::RouteEpoch).await?;
            if plan.epoch < epoch {
                self.outdate(epoch - 1);
            }
            if plan.epoch != epoch || plan.revision != self.revision {
                return Err(RerouteError::Stale.into());
            }
        }
        Ok(would_be)
    }

    /// Tells of plans that do not know of a change, up to this count of changes, that they cannot be applied.
    fn outdate(&mut self, epoch: u64) {
        let why = RerouteError::Stale.to_string();
        for id in self.plans.outdate(epoch) {
            self.operations.outdated(id, &why);
        }
    }

    async fn apply(&mut self, id: u64, by: &Origin) -> Result<Applied, Refusal> {
        let plan = self.plans.get(id)?;
        if plan.is_outdated {
            return Err(RerouteError::Stale.into());
        }
        if let Err(error) = self.operations.applies(id, by) {
            self.plans.forget(id);
            return Err(error.into());
        }
        let adopted = match plan.revision == self.revision {
            true => {
                let condition = Condition::Epoch(plan.epoch);
                self.adopt(condition, plan.wanted.arrangement.clone()).await
            }
            false => Err(RerouteError::Stale.into()),
        };
        self.plans.tried(id, &adopted);
        if let Err(refusal) = &adopted {
            let over = self.plans.get(id).is_err();
            self.operations.not_applied(id, &refusal.to_string(), over);
        }
        let adopted = adopted?;
        self.outdate(plan.epoch);
        let operation = self.operations.of_plan(id);
        self.follow(&operation, &plan.ports, adopted.sweep);
        let before = Version {
            arrangement: adopted.before,
            configuration: Arc::clone(&self.configuration),
        };
        let drains = plan.wanted.arrangement.drains != before.arrangement.drains;
        let what = format!("route plan {id} is in force: {}", plan.what);
        self.hub.tell(DaemonEvent::Plan {
            id,
            what: plan.what.clone(),
            sweep: adopted.sweep,
        });
        self.put_in_force_and_tell(&plan.wanted, &what);
        let [forth, back] = switched::orders(&plan.ports, by, &plan.what);
        self.plans.carried_out(Undo {
            id,
            before,
            after: plan.wanted.clone(),
            what: plan.what,
            ports: back,
        });
        let switching = self.switch(forth, operation);
        self.note(&plan.wanted).await;
        if drains {
            self.disk
                .has(adopted.state, Disk::deadline(), || what)
                .await?;
        }
        Ok(Applied {
            sweep: adopted.sweep,
            switching,
        })
    }

    /// Has an operation end with a sweep, or where it switches ports with the one that has seen them.
    fn follow<T>(&self, operation: &str, ports: &[T], sweep: u64) {
        if !ports.is_empty() {
            self.operations.switches(operation);
        }
        self.operations.sweeps(operation, sweep);
    }

    /// Has the ports of an operation switched once this order is carried out.
    fn switch(&self, ports: Vec<PortOrder>, operation: String) -> Switching {
        let (operations, hub) = (Arc::clone(&self.operations), Arc::clone(&self.hub));
        let done = move |switched: &PortsSwitched| {
            let trouble = switched.trouble(|guid| hub.name_of(guid));
            operations.switched(&operation, trouble, switched.sweep);
        };
        switched::begin(self.own_orders.upgrade(), &self.engine, ports, done)
    }

    async fn roll_back(&mut self, expected: u64, by: &Origin) -> Result<Undone, Refusal> {
        let undo = self.plans.last(expected)?.clone();
        let what = format!("undo plan {}: {}", undo.id, undo.what);
        let (kind, state) = (OperationKind::RollBack, OperationState::Applying);
        let operation = self.operations.begin(by, kind, state, &what)?.id;
        let undone = self.undo(undo, &operation).await;
        if let Err(refusal) = &undone {
            self.not_done(&operation, refusal);
        }
        undone
    }

    /// Nothing comes of an operation: it was refused, or could not be tried.
    fn not_done(&self, operation: &str, refusal: &Refusal) {
        let why = refusal.to_string();
        match refusal.is_failure() {
            true => self.operations.failed(operation, &why),
            false => self.operations.refused(operation, &why),
        }
    }

    async fn undo(&mut self, undo: Undo, operation: &str) -> Result<Undone, Refusal> {
        if undo.after.configuration.text != self.configuration.text {
            return Err(RerouteError::Stale.into());
        }
        let condition = Condition::InForce(Box::new(undo.after.arrangement.clone()));
        let adopted = self
            .adopt(condition, undo.before.arrangement.clone())
            .await?;
        self.plans.undone();
        self.outdate(u64::MAX);
        self.follow(operation, &undo.ports, adopted.sweep);
        let what = format!("undone: {}", undo.what);
        self.hub.tell(DaemonEvent::PlanUndone {
            what: undo.what.clone(),
            sweep: adopted.sweep,
        });
        self.put_in_force_and_tell(&undo.before, &what);
        let switching = self.switch(undo.ports, operation.to_owned());
        self.note(&undo.before).await;
        if undo.before.arrangement.drains != undo.after.arrangement.drains {
            self.disk
                .has(adopted.state, Disk::deadline(), || what)
                .await?;
        }
        Ok(Undone {
            sweep: adopted.sweep,
            what: undo.what,
            id: undo.id,
            operation: operation.to_owned(),
            switching,
        })
    }

    async fn reload(&mut self, validate_only: bool) -> Result<Reloaded, Refusal> {
        if !validate_only {
            self.log.reopen();
        }
        let source = self.source.clone();
        let loading = tokio::task::spawn_blocking(move || source.load());
        let loaded = tokio::time::timeout(READING, loading).await;
        let file = |why: String| Refusal::File(why);
        let late = |_| {
            file(format!(
                "the file was not read within {} s",
                READING.as_secs()
            ))
        };
        let loaded = loaded
            .map_err(late)?
            .map_err(|error| file(error.to_string()))?;
        let Loaded { findings, usable } = loaded.map_err(|error| file(error.to_string()))?;
        let refused = findings.iter().any(|one| one.severity == Severity::Error);
        let nothing = |findings, fabrics| Reloaded {
            findings,
            applied: false,
            fabrics,
        };
        if refused {
            return Ok(nothing(findings, None));
        }
        let usable = usable.map_err(|why| Refusal::File(why.into()))?;
        let before = &self.configuration.queries.sa;
        let fabrics = fabrics::change(&self.hub, before, &usable.queries.sa);
        if validate_only {
            return Ok(nothing(findings, fabrics));
        }
        let (settings, configuration) = usable.split();
        let before = self.reconfigure(settings.clone()).await?;
        let arrangement = Arrangement {
            settings,
            drains: before.drains,
        };
        let version = Version {
            arrangement,
            configuration: Arc::new(configuration),
        };
        if before.settings != version.arrangement.settings {
            self.revision += 1;
            self.outdate(u64::MAX);
        }
        let name = self.source.file().map(|file| file.display().to_string());
        let name = name.unwrap_or_else(|| "the built-in configuration".to_owned());
        self.put_in_force(&version);
        self.announce(format!("{name} is in force"));
        fabrics::tell(&self.hub, fabrics.as_ref());
        config::log_warnings(&findings);
        self.drift.reloaded(&version).await;
        self.hub.set_planned(self.drift.planned());
        Ok(Reloaded {
            findings,
            applied: true,
            fabrics,
        })
    }

    /// Puts a version's settings in force, and reports that if they were not before.
    fn put_in_force_and_tell(&mut self, version: &Version, what: &str) {
        let (before, after) = (&self.configuration.queries, &version.configuration.queries);
        let fabrics = fabrics::change(&self.hub, &before.sa, &after.sa);
        if self.put_in_force(version) {
            self.announce(what.to_owned());
            fabrics::tell(&self.hub, fabrics.as_ref());
        }
    }

    /// Puts a version's settings in force, except the subnet manager's, which are already;
    /// returns false if they were in force before.
    fn put_in_force(&mut self, version: &Version) -> bool {
        let configuration = &version.configuration;
        let before = &self.configuration;
        let other_rules = before.queries.link_rules != configuration.queries.link_rules;
        if before.text == configuration.text && !other_rules {
            return false;
        }
        if other_rules {
            log_rules(configuration.queries.link_rules.as_ref());
        }
        self.revision += 1;
        self.outdate(u64::MAX);
        self.configuration = Arc::clone(configuration);
        self.queries.send_replace(configuration.queries.clone());
        self.hub.set_config(configuration.shown.clone());
        self.hub.set_log_limits(configuration.log.limits.clone());
        self.log.reconfigure(&configuration.log);
        true
    }

    /// Reports that a configuration is in force.
    fn announce(&self, what: String) {
        info!(event = "config_reloaded", applied = true, "{what}");
        let applied = true;
        self.hub.tell(DaemonEvent::Config { applied, what });
    }

    /// Records the settings in force, for readers and for the next start.
    async fn note(&mut self, version: &Version) {
        let what = self
            .plans
            .in_force()
            .unwrap_or("an earlier plan")
            .to_owned();
        self.drift.in_force(version, &what).await;
        self.hub.set_planned(self.drift.planned());
    }

    async fn adopt(&self, condition: Condition, wanted: Arrangement) -> Result<Adopted, Refusal> {
        self.hub.attachment().required()?;
        not_paused(&self.hub)?;
        let (done, answer) = oneshot::channel();
        let wanted = Box::new(wanted);
        let request = Request::Adopt {
            condition,
            wanted,
            done,
        };
        ask(&self.engine, request)?;
        Ok(answer.await.map_err(|_| Refusal::Stopping)??)
    }

    async fn reconfigure(&self, settings: Settings) -> Result<Arrangement, Refusal> {
        let (done, answer) = oneshot::channel();
        let settings = Box::new(settings);
        ask(&self.engine, Request::Reconfigure { settings, done })?;
        answer.await.map_err(|_| Refusal::Stopping)
    }
}

fn cancelled(operation: &str) -> Refusal {
    let id = operation.to_owned();
    OperationError::Cancelled { id }.into()
}

/// Whether an order begins; if it does not, this is logged.
pub(super) fn begins<T>(requester: &Requester<T>, what: &str) -> bool {
    let begins = requester.begin();
    if !begins {
        info!(
            event = "order_given_up",
            "{what}: its client has disconnected"
        );
    }
    begins
}

#[cfg(test)]
#[path = "actor_tests.rs"]
mod tests;
