//! The part of RouteService that changes routes.

use std::sync::Arc;

use tonic::Status;
use weft_api::v1;
use weft_api::v1::plan_routes_request::Change as Asked;
use weft_fabric::Topology;
use weft_manager::sm::drains::{DrainError, drain_use};
use weft_manager::sm::reroute::{Change, RerouteError};
use weft_routing::EngineKind;

use super::Services;
use crate::plans::{PlanFailure, Wish};

impl Services {
    pub(super) async fn plan(
        &self,
        request: v1::PlanRoutesRequest,
    ) -> Result<v1::PlanRoutesResponse, Status> {
        let topology = Arc::clone(&self.hub.snapshot().topology);
        let planned = self.plans.plan(wish(request, &topology)?).await;
        let planned = planned.map_err(|failure| status(&failure))?;
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
        })
    }

    pub(super) async fn apply(&self, id: u64) -> Result<v1::ApplyRoutePlanResponse, Status> {
        let sweep = self.plans.apply(id).await;
        let sweep = sweep.map_err(|failure| status(&failure))?;
        Ok(v1::ApplyRoutePlanResponse { sweep })
    }

    pub(super) async fn roll_back(&self) -> Result<v1::RollBackRoutesResponse, Status> {
        let undone = self.plans.roll_back().await;
        let (sweep, undone) = undone.map_err(|failure| status(&failure))?;
        Ok(v1::RollBackRoutesResponse { sweep, undone })
    }

    pub(super) async fn drains(&self) -> Result<v1::ListDrainsResponse, Status> {
        let drains = self.plans.drains().await;
        let drains = drains.map_err(|failure| status(&failure))?;
        let snapshot = self.hub.snapshot();
        let drains = drains.into_iter();
        let drains = drains.map(|drain| (drain, drain_use(&snapshot, drain)).into());
        Ok(v1::ListDrainsResponse {
            drains: drains.collect(),
            generation: snapshot.generation,
        })
    }
}

fn wish(request: v1::PlanRoutesRequest, topology: &Topology) -> Result<Wish, Status> {
    let change = request.change.ok_or_else(|| {
        Status::invalid_argument("change: expected config, engine, drain or undrain")
    })?;
    let named = |field: &str, target: &v1::DrainTarget| {
        let wrong = format!("{field}: expected a switch's GUID, or a link's node and port to 255");
        weft_api::drain_of(target).ok_or_else(|| Status::invalid_argument(wrong))
    };
    Ok(match change {
        Asked::Config(text) => Wish::Config(text),
        Asked::Engine(name) => {
            let what = format!("engine {name}");
            Wish::Change(Change::Engine(engine(&name)?), what)
        }
        Asked::Drain(target) => {
            let drain = named("drain", &target)?;
            Wish::Change(
                Change::Drain(drain),
                format!("drain {}", drain.describe(topology)),
            )
        }
        Asked::Undrain(target) => {
            let drain = named("undrain", &target)?;
            Wish::Change(
                Change::Undrain(drain),
                format!("undrain {}", drain.describe(topology)),
            )
        }
    })
}

fn engine(name: &str) -> Result<EngineKind, Status> {
    let found = EngineKind::NAMED.iter().find(|(known, _)| *known == name);
    found.map(|(_, kind)| *kind).ok_or_else(|| {
        let names: Vec<&str> = EngineKind::NAMED.iter().map(|(known, _)| *known).collect();
        let names = names.join(", ");
        Status::invalid_argument(format!(
            "engine: no engine is called {name:?}; allowed: {names}"
        ))
    })
}

fn status(failure: &PlanFailure) -> Status {
    let text = failure.to_string();
    match failure {
        PlanFailure::Unknown { .. } => Status::not_found(text),
        PlanFailure::Config(_) => Status::invalid_argument(text),
        PlanFailure::Busy => Status::resource_exhausted(text),
        PlanFailure::Stopping => Status::unavailable(text),
        PlanFailure::NothingToUndo => Status::failed_precondition(text),
        PlanFailure::Reroute(error) => match error {
            RerouteError::Stale => Status::aborted(text),
            RerouteError::Drain(DrainError::NoSwitch(_)) => Status::not_found(text),
            _ => Status::failed_precondition(text),
        },
    }
}
