//! RouteService.

use std::sync::Arc;

use tonic::{Request, Response, Status};
use weft_api::v1;
use weft_api::v1::plan_routes_request::Change;
use weft_api::v1::route_service_server::RouteService;
use weft_fabric::Snapshot;
use weft_report::{Options, Selection};

use super::limits::begin_by;
use super::operation::origin;
use super::refusal::{status, wrong_field};
use super::route_details::add_choices;
use super::site_limits::Alone;
use super::{Services, plan, select};
use crate::access::{PlanKind, Role, require};
use crate::control::Asked;

/// Most pairs of ports in one answer, so that it stays a message.
const PAIRS_MAX: usize = 1024;

/// Source and destination of a call.
fn ends(
    snapshot: &Snapshot,
    request: &v1::GetRouteRequest,
) -> Result<(Selection, Selection), Status> {
    let source = select(snapshot, "source", &request.source)?;
    let destination = select(snapshot, "destination", &request.destination)?;
    let count = |selection: &Selection| selection.end_ports(snapshot).len();
    let pairs = count(&source).saturating_mul(count(&destination));
    match pairs {
        0..=PAIRS_MAX => Ok((source, destination)),
        _ => {
            let what = format!(
                "with destination it names {pairs} pairs of ports, allowed: up to {PAIRS_MAX}"
            );
            Err(wrong_field("source", &what))
        }
    }
}

#[tonic::async_trait]
impl RouteService for Services {
    async fn get_route(
        &self,
        request: Request<v1::GetRouteRequest>,
    ) -> Result<Response<v1::GetRouteResponse>, Status> {
        let request = request.into_inner();
        let is_now = request.at.is_none();
        if !is_now && !request.engine.is_empty() {
            let what = "not allowed with at: paths of another engine are those of now";
            return Err(wrong_field("engine", what));
        }
        let (snapshot, moment) = self.then_or_now(request.at).await?;
        let ends = ends(&snapshot, &request)?;
        let (snapshot, (source, destination), made) = match request.engine.as_str() {
            "" => (snapshot, ends, None),
            name => {
                let made = self.routes_of(plan::engine(name)?).await?;
                let snapshot = Arc::clone(&made.snapshot);
                let ends = self::ends(&snapshot, &request)?;
                (snapshot, ends, Some(made))
            }
        };
        let of = Arc::clone(&snapshot);
        let routes = self.workers.run(move || routes(&of, &source, &destination));
        let mut routes = routes.await??;
        if let ([route], true) = (&mut routes[..], is_now) {
            self.add_levels(&snapshot, route).await?;
        }
        let (engine, notes) = made
            .map(|made| (made.engine.clone(), made.notes.clone()))
            .unwrap_or_default();
        Ok(Response::new(v1::GetRouteResponse {
            routes,
            generation: snapshot.generation,
            moment,
            engine,
            notes,
        }))
    }

    async fn plan_routes(
        &self,
        request: Request<v1::PlanRoutesRequest>,
    ) -> Result<Response<v1::PlanRoutesResponse>, Status> {
        let begin_by = begin_by(request.metadata());
        let by = origin(&request, |request| request.label.as_ref())?;
        if let Some(what) = other_settings(request.get_ref()) {
            require(&self.access, request.extensions(), what, Role::Administer)?;
        }
        let (_, extensions, request) = request.into_parts();
        let kind = kind(&request);
        let planned = self.plan(request, by, begin_by).await?;
        if let Some(plan) = planned.plan_id {
            self.access.planned(plan, kind, &extensions);
        }
        Ok(Response::new(planned))
    }

    async fn apply_route_plan(
        &self,
        request: Request<v1::ApplyRoutePlanRequest>,
    ) -> Result<Response<v1::ApplyRoutePlanResponse>, Status> {
        let begin_by = begin_by(request.metadata());
        let by = origin(&request, |request| request.label.as_ref())?;
        if !by.id.is_empty() {
            let what = "not allowed: the operation is that of the plan";
            return Err(wrong_field("label.operation_id", what));
        }
        let id = request.get_ref().plan_id;
        self.access.may_apply(id, request.extensions())?;
        let only_asks = request.get_ref().validate_only;
        let bounds = self.access.bounds(request.extensions(), "ApplyRoutePlan");
        let foreseen = match only_asks || bounds.is_some() {
            true => {
                let asked = self.control.foresee(Asked::Apply(id), begin_by).await;
                Some(asked.map_err(|refusal| status(&refusal))?)
            }
            false => None,
        };
        let alone = match (&bounds, &foreseen) {
            (Some(bounds), Some(would_be)) => self.plan_within(bounds, would_be).await?,
            _ => Alone::default(),
        };
        if only_asks {
            return Ok(Response::new(v1::ApplyRoutePlanResponse {
                operation_id: self.control.operations().of_plan(id),
                ..v1::ApplyRoutePlanResponse::default()
            }));
        }
        let control = self.control.clone();
        let applied = alone.carry_out(async move {
            let applied = control.apply(id, by, begin_by).await?;
            Ok((applied.sweep, applied.switching.ended().await))
        });
        let (sweep, ports) = applied.await.map_err(|refusal| status(&refusal))?;
        let swept = ports.as_ref().and_then(|ports| ports.sweep);
        Ok(Response::new(v1::ApplyRoutePlanResponse {
            sweep: swept.unwrap_or(sweep),
            operation_id: self.control.operations().of_plan(id),
            ports: ports.map(|ports| self.switched_message(ports)),
        }))
    }

    async fn roll_back_routes(
        &self,
        request: Request<v1::RollBackRoutesRequest>,
    ) -> Result<Response<v1::RollBackRoutesResponse>, Status> {
        let begin_by = begin_by(request.metadata());
        let by = origin(&request, |request| request.label.as_ref())?;
        let mut expected = request.get_ref().expected_plan_id;
        let bounds = self.access.bounds(request.extensions(), "RollBackRoutes");
        let alone = match &bounds {
            Some(bounds) => {
                let asked = self.control.foresee(Asked::RollBack(expected), begin_by);
                let would_be = asked.await.map_err(|refusal| status(&refusal))?;
                expected = would_be.plan;
                self.plan_within(bounds, &would_be).await?
            }
            None => Alone::default(),
        };
        let control = self.control.clone();
        let undone = alone.carry_out(async move {
            let mut undone = control.roll_back(expected, by, begin_by).await?;
            let switching = std::mem::take(&mut undone.switching);
            Ok((undone, switching.ended().await))
        });
        let (undone, ports) = undone.await.map_err(|refusal| status(&refusal))?;
        let swept = ports.as_ref().and_then(|ports| ports.sweep);
        Ok(Response::new(v1::RollBackRoutesResponse {
            sweep: swept.unwrap_or(undone.sweep),
            undone: undone.what,
            plan_id: undone.id,
            operation_id: undone.operation,
            ports: ports.map(|ports| self.switched_message(ports)),
        }))
    }

    async fn list_drains(
        &self,
        _: Request<v1::ListDrainsRequest>,
    ) -> Result<Response<v1::ListDrainsResponse>, Status> {
        self.drains().await.map(Response::new)
    }
}

/// The routes between two selections; of a single one also what switches may choose.
fn routes(
    snapshot: &Snapshot,
    source: &Selection,
    destination: &Selection,
) -> Result<Vec<v1::Route>, Status> {
    let report = weft_report::route(snapshot, source, destination, &Options::default());
    let report = report.map_err(|error| wrong_field("source", &error.to_string()))?;
    let mut routes: Vec<v1::Route> = report.routes.into_iter().map(v1::Route::from).collect();
    if let [route] = &mut routes[..] {
        add_choices(snapshot, route);
    }
    Ok(routes)
}

/// Whether a plan would change settings.
fn kind(request: &v1::PlanRoutesRequest) -> PlanKind {
    match request.change {
        Some(Change::Drain(_) | Change::Undrain(_)) => PlanKind::Drain,
        _ => PlanKind::Settings,
    }
}

/// A plan that would put other settings in force than those of the manager's configuration, in words; none of another kind.
fn other_settings(request: &v1::PlanRoutesRequest) -> Option<&'static str> {
    match request.change {
        Some(Change::Config(_)) => Some("a plan of another configuration"),
        Some(Change::Engine(_)) => Some("a plan with another engine"),
        Some(Change::Adaptive(_)) => Some("a plan with or without adaptive routing"),
        _ => None,
    }
}
