//! Plans of routes: made beside the manager, remembered, carried out, undone.

use std::collections::VecDeque;

use std::sync::Arc;
use thiserror::Error;
use tokio::sync::{Mutex, mpsc, oneshot};
use tracing::info;
use weft_config::Finding;
use weft_manager::sm::drains::Drains;
use weft_manager::sm::reroute::{Arrangement, Basis, Change, Condition, RerouteError, RoutePlan};

use crate::config::{Loaded, Usable};
use crate::engine::{Adopted, Request};
use crate::hub::InForce;
use crate::queries::QuerySettings;
use crate::reload::Reloader;

/// Plans that are remembered; the oldest is forgotten.
pub(crate) const PLANS_MAX: usize = 16;
/// Plans that can be undone; the oldest cannot any more.
const UNDO_MAX: usize = 16;

/// Why there is no plan, or why it is not carried out.
#[derive(Debug, Error)]
pub(crate) enum PlanFailure {
    #[error(transparent)]
    Reroute(#[from] RerouteError),
    #[error("plan {id} is not remembered; the last {PLANS_MAX} are, each until it is carried out")]
    Unknown { id: u64 },
    #[error("no plan has been carried out that could be undone")]
    NothingToUndo,
    #[error("the configuration cannot be used: {0}")]
    Config(String),
    #[error("too many requests wait already; try again later")]
    Busy,
    #[error("the daemon is stopping")]
    Stopping,
}

/// What a configuration says beside the subnet manager's settings.
type Rest = (QuerySettings, InForce);

/// A plan that can be carried out.
struct Kept {
    id: u64,
    epoch: u64,
    wanted: Arrangement,
    rest: Option<Rest>,
    what: String,
}

/// A plan that was carried out.
struct Undo {
    before: Arrangement,
    after: Arrangement,
    rest: Option<Rest>,
    what: String,
}

/// The last that changed settings; drains are kept anyway.
fn planned(undo: &VecDeque<Undo>) -> Option<&Undo> {
    let changes = |undo: &&Undo| undo.before.settings != undo.after.settings;
    undo.iter().rev().find(changes)
}

#[derive(Default)]
struct State {
    last_id: u64,
    kept: VecDeque<Kept>,
    undo: VecDeque<Undo>,
}

/// What is planned and what was carried out.
pub(crate) struct Plans {
    engine: mpsc::Sender<Request>,
    reloader: Arc<Reloader>,
    state: Mutex<State>,
}

/// What somebody wants planned.
pub(crate) enum Wish {
    /// Another configuration, its text.
    Config(String),
    Change(Change, String),
}

/// What came of planning.
pub(crate) struct Planned {
    /// The plan, none where the configuration has errors.
    pub(crate) plan: Option<(u64, RoutePlan)>,
    pub(crate) findings: Vec<Finding>,
}

impl Plans {
    pub(crate) fn new(engine: mpsc::Sender<Request>, reloader: Arc<Reloader>) -> Self {
        Self {
            engine,
            reloader,
            state: Mutex::default(),
        }
    }

    /// Makes a plan.
    pub(crate) async fn plan(&self, wish: Wish) -> Result<Planned, PlanFailure> {
        let (change, what, rest, findings) = match wish {
            Wish::Change(change, what) => (change, what, None, Vec::new()),
            Wish::Config(text) => {
                let checked = self
                    .reloader
                    .check(text)
                    .await
                    .map_err(PlanFailure::Config)?;
                let Loaded { findings, usable } = checked;
                let is_error = |one: &Finding| one.severity == weft_config::Severity::Error;
                if findings.iter().any(is_error) {
                    let plan = None;
                    return Ok(Planned { plan, findings });
                }
                let usable = usable.map_err(PlanFailure::Config)?;
                let Usable {
                    settings,
                    queries,
                    in_force,
                    ..
                } = usable;
                let change = Change::Settings(Box::new(settings));
                let what = "another configuration".to_owned();
                (change, what, Some((queries, in_force)), findings)
            }
        };
        let (done, answer) = oneshot::channel();
        self.ask(Request::Basis { change, done })?;
        let basis: Box<Basis> = answer.await.map_err(|_| PlanFailure::Stopping)??;
        let (epoch, wanted) = (basis.epoch, basis.wanted.clone());
        let plan = tokio::task::spawn_blocking(move || basis.plan()).await;
        let plan = plan.map_err(|_| PlanFailure::Stopping)??;
        let id = self.keep(epoch, wanted, rest, what).await;
        Ok(Planned {
            plan: Some((id, plan)),
            findings,
        })
    }

    async fn keep(&self, epoch: u64, wanted: Arrangement, rest: Option<Rest>, what: String) -> u64 {
        let mut state = self.state.lock().await;
        state.last_id += 1;
        let id = state.last_id;
        if state.kept.len() == PLANS_MAX {
            state.kept.pop_front();
        }
        state.kept.push_back(Kept {
            id,
            epoch,
            wanted,
            rest,
            what,
        });
        id
    }

    /// Carries a plan out; gives the number of the sweep that does it.
    pub(crate) async fn apply(&self, id: u64) -> Result<u64, PlanFailure> {
        let _turn = self.reloader.turn().await;
        let mut state = self.state.lock().await;
        let at = state.kept.iter().position(|kept| kept.id == id);
        let kept = at.and_then(|at| state.kept.remove(at));
        let kept = kept.ok_or(PlanFailure::Unknown { id })?;
        let condition = Condition::Epoch(kept.epoch);
        let Adopted { before, sweep } = self.adopt(condition, kept.wanted.clone()).await?;
        let what = format!("route plan {id} is in force: {}", kept.what);
        info!(event = "routes_planned", "{what}");
        let rest = kept.rest.map(|rest| self.reloader.put_in_force(rest, what));
        if state.undo.len() == UNDO_MAX {
            state.undo.pop_front();
        }
        state.undo.push_back(Undo {
            before,
            after: kept.wanted,
            rest,
            what: kept.what,
        });
        self.note(&state.undo).await;
        Ok(sweep)
    }

    /// Undoes what was carried out last; gives the number of the sweep that does it, and what it was.
    pub(crate) async fn roll_back(&self) -> Result<(u64, String), PlanFailure> {
        let _turn = self.reloader.turn().await;
        let mut state = self.state.lock().await;
        let undo = state.undo.pop_back().ok_or(PlanFailure::NothingToUndo)?;
        let condition = Condition::InForce(Box::new(undo.after));
        let settings = undo.before.settings.clone();
        let Adopted { sweep, .. } = self.adopt(condition, undo.before).await?;
        let earlier = planned(&state.undo).map_or("an earlier plan", |undo| &undo.what);
        self.reloader.applied().in_force(&settings, earlier).await;
        let what = format!("undone: {}", undo.what);
        info!(event = "routes_planned", "{what}");
        if let Some(rest) = undo.rest {
            self.reloader.put_in_force(rest, what);
        }
        Ok((sweep, undo.what))
    }

    /// Notes what is in force now, after the last of these.
    async fn note(&self, undo: &VecDeque<Undo>) {
        if let Some(last) = planned(undo) {
            let settings = &last.after.settings;
            self.reloader.applied().in_force(settings, &last.what).await;
        }
    }

    /// What is drained.
    pub(crate) async fn drains(&self) -> Result<Drains, PlanFailure> {
        let (told, answer) = oneshot::channel();
        self.ask(Request::Drains(told))?;
        answer.await.map_err(|_| PlanFailure::Stopping)
    }

    async fn adopt(
        &self,
        condition: Condition,
        wanted: Arrangement,
    ) -> Result<Adopted, PlanFailure> {
        let (done, answer) = oneshot::channel();
        let wanted = Box::new(wanted);
        self.ask(Request::Adopt {
            condition,
            wanted,
            done,
        })?;
        Ok(answer.await.map_err(|_| PlanFailure::Stopping)??)
    }

    fn ask(&self, request: Request) -> Result<(), PlanFailure> {
        use mpsc::error::TrySendError::{Closed, Full};
        self.engine.try_send(request).map_err(|error| match error {
            Full(_) => PlanFailure::Busy,
            Closed(_) => PlanFailure::Stopping,
        })
    }
}
