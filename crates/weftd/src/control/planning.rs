//! Computes plans in parallel with the actor.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use weft_config::{Finding, Severity};
use weft_manager::sm::back::Back;
use weft_manager::sm::reroute::{Basis, Change, RoutePlan};

use super::{Configuration, PlanRequest, Refusal, Version};
use crate::config::{Loaded, Source, Usable};
use crate::request::{Request, ask};

/// A plan that was computed.
pub(super) struct Made {
    /// None where the configuration has errors.
    pub(super) plan: Option<Computed>,
    pub(super) findings: Vec<Finding>,
}

/// Its content.
pub(super) struct Computed {
    pub(super) epoch: u64,
    pub(super) wanted: Version,
    pub(super) what: String,
    pub(super) plan: RoutePlan,
    pub(super) back: Option<Back>,
}

/// Inputs of a plan.
pub(super) struct Planner {
    pub(super) engine: mpsc::Sender<Request>,
    pub(super) source: Source,
    /// The configuration in force.
    pub(super) configuration: Arc<Configuration>,
}

impl Planner {
    /// Computes a plan; may take seconds on a fabric of ten thousands of hosts.
    pub(super) async fn make(self, request: PlanRequest) -> Result<Made, Refusal> {
        let (text, what) = match request {
            PlanRequest::Change(change, what) => {
                let configuration = Arc::clone(&self.configuration);
                return self.compute(change, what, configuration, Vec::new()).await;
            }
            PlanRequest::Back(then, what) => {
                let configuration = Arc::clone(&self.configuration);
                let change = Change::Back(then);
                return self.compute(change, what, configuration, Vec::new()).await;
            }
            PlanRequest::Config(text) => (text, "another configuration".to_owned()),
            PlanRequest::Elements(order) => {
                let text = order.applied(&self.configuration.text, &self.source)?;
                (text, order.what())
            }
        };
        let source = self.source.clone();
        let rules = self.configuration.queries.link_rules.unwrap_or_default();
        let loaded = tokio::task::spawn_blocking(move || source.check(text, rules)).await;
        let loaded = loaded.map_err(|error| Refusal::Failed(error.to_string()))?;
        let Loaded { findings, usable } = loaded;
        if findings.iter().any(|one| one.severity == Severity::Error) {
            return Ok(Made {
                plan: None,
                findings,
            });
        }
        let (settings, configuration) = usable.map_err(|why| Refusal::Config(why.into()))?.split();
        let change = Change::Settings(Box::new(settings));
        self.compute(change, what, Arc::new(configuration), findings)
            .await
    }

    async fn compute(
        self,
        change: Change,
        what: String,
        configuration: Arc<Configuration>,
        findings: Vec<Finding>,
    ) -> Result<Made, Refusal> {
        let (done, answer) = oneshot::channel();
        ask(&self.engine, Request::Basis { change, done })?;
        let basis: Box<Basis> = answer.await.map_err(|_| Refusal::Stopping)??;
        let (epoch, arrangement) = (basis.epoch, basis.wanted.clone());
        let back = basis.back.clone();
        let plan = tokio::task::spawn_blocking(move || basis.plan()).await;
        let plan = plan.map_err(|error| Refusal::Failed(error.to_string()))??;
        let wanted = Version {
            arrangement,
            configuration,
        };
        Ok(Made {
            plan: Some(Computed {
                epoch,
                wanted,
                what,
                plan,
                back,
            }),
            findings,
        })
    }
}

impl Usable {
    /// The subnet manager's settings, and all else.
    pub(crate) fn split(self) -> (weft_manager::sm::Settings, Configuration) {
        let configuration = Configuration {
            queries: self.queries,
            shown: self.in_force,
            text: self.text,
            log: self.log,
        };
        (self.settings, configuration)
    }
}
