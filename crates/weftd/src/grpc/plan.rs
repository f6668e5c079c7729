//! The part of RouteService that changes routes.

use std::sync::Arc;

use tokio::time::Instant;
use tonic::Status;
use weft_api::v1;
use weft_api::v1::plan_routes_request::Change as Asked;
use weft_fabric::Topology;
use weft_manager::sm::drains::{Drain, drain_use};
use weft_manager::sm::reroute::Change;
use weft_routing::EngineKind;

use super::Services;
use super::facts::Facts;
use super::refusal::{status, wrong_field, wrong_field_with};
use crate::control::PlanRequest;
use crate::operations::Origin;
use crate::request::{Request, told};

impl Services {
    pub(super) async fn plan(
        &self,
        request: v1::PlanRoutesRequest,
        by: Origin,
        begin_by: Instant,
    ) -> Result<v1::PlanRoutesResponse, Status> {
        let (request, moment) = match request.change {
            Some(Asked::AsOf(at)) => {
                let (request, moment) = self.way_back(at).await?;
                (request, Some(moment))
            }
            _ => {
                let topology = Arc::clone(&self.hub.snapshot().topology);
                (plan_request(request, &topology)?, None)
            }
        };
        let planned = self.control.plan(request, by, begin_by).await;
        let planned = planned.map_err(|refusal| status(&refusal))?;
        let way_back = moment.zip(planned.back);
        let way_back = way_back.map(|(moment, back)| self.way_back_message(moment, &back));
        if let Some(way_back) = &way_back {
            let operations = self.control.operations();
            operations.leads_back(&planned.operation, way_back.clone());
        }
        let (plan_id, plan) = planned.plan.unzip();
        Ok(v1::PlanRoutesResponse {
            plan_id,
            plan: plan.map(v1::RoutePlan::from),
            findings: planned
                .findings
                .into_iter()
                .map(v1::Finding::from)
                .collect(),
            generation: self.hub.snapshot().generation,
            operation_id: planned.operation,
            way_back,
        })
    }

    pub(super) async fn drains(&self) -> Result<v1::ListDrainsResponse, Status> {
        let drains = told(&self.engine, Request::Drains).await;
        let drains = drains.map_err(|refusal| status(&refusal))?;
        let snapshot = self.hub.snapshot();
        let drains = drains.into_iter();
        let drains = drains.map(|drain| v1::Drain {
            name: self.hub.name_of(match drain {
                Drain::Switch(node) | Drain::Link(node, _) => node,
            }),
            ..(drain, drain_use(&snapshot, drain)).into()
        });
        Ok(v1::ListDrainsResponse {
            drains: drains.collect(),
            generation: snapshot.generation,
        })
    }
}

fn plan_request(
    request: v1::PlanRoutesRequest,
    topology: &Topology,
) -> Result<PlanRequest, Status> {
    let change = request.change.ok_or_else(|| {
        Status::invalid_argument(
            "change: expected config, engine, adaptive, drain, undrain or as_of",
        )
    })?;
    Ok(match change {
        Asked::AsOf(_) => return Err(Status::internal("a moment is no change by itself")),
        Asked::Config(text) => PlanRequest::Config(text),
        Asked::Engine(name) => {
            let what = format!("engine {name}");
            PlanRequest::Change(Change::Engine(engine(&name)?), what)
        }
        Asked::Adaptive(change) => adaptive(change)?,
        Asked::Drain(target) => {
            let drain = named("drain", &target)?;
            PlanRequest::Change(
                Change::Drain(drain),
                format!("drain {}", drain.describe(topology)),
            )
        }
        Asked::Undrain(target) => {
            let drain = named("undrain", &target)?;
            PlanRequest::Change(
                Change::Undrain(drain),
                format!("undrain {}", drain.describe(topology)),
            )
        }
    })
}

/// Highest threshold of adaptive routing.
const THRESHOLD_MAX: u8 = 7;

fn adaptive(change: v1::AdaptiveChange) -> Result<PlanRequest, Status> {
    let threshold = u8::try_from(change.threshold).ok();
    let threshold = threshold.filter(|threshold| *threshold <= THRESHOLD_MAX);
    let threshold = threshold.ok_or_else(|| {
        let what = format!("{}, allowed: 0 to {THRESHOLD_MAX}", change.threshold);
        wrong_field("adaptive.threshold", &what)
    })?;
    let threshold = Some(threshold).filter(|threshold| *threshold > 0);
    let enabled = change.enabled;
    let what = match (enabled, threshold) {
        (true, Some(threshold)) => format!("adaptive routing on, threshold {threshold}"),
        (true, None) => "adaptive routing on".to_owned(),
        (false, _) => "adaptive routing off".to_owned(),
    };
    Ok(PlanRequest::Change(
        Change::Adaptive { enabled, threshold },
        what,
    ))
}

/// The switch or link of a request.
pub(super) fn named(field: &str, target: &v1::DrainTarget) -> Result<Drain, Status> {
    let wrong = format!("{field}: expected a switch's GUID, or a link's node and port to 255");
    weft_api::drain_of(target).ok_or_else(|| Status::invalid_argument(wrong))
}

/// The engine of a name.
pub(super) fn engine(name: &str) -> Result<EngineKind, Status> {
    let found = EngineKind::NAMED.iter().find(|(known, _)| *known == name);
    found.map(|(_, kind)| *kind).ok_or_else(|| {
        let names: Vec<&str> = EngineKind::NAMED.iter().map(|(known, _)| *known).collect();
        let names = names.join(", ");
        let what = format!("no engine is called {name:?}; allowed: {names}");
        wrong_field_with("engine", &what, Facts::none().with("allowed", &names))
    })
}
