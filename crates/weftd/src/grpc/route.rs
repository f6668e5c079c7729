//! RouteService.

use tonic::{Request, Response, Status};
use weft_api::v1;
use weft_api::v1::route_service_server::RouteService;
use weft_report::Detail;

use super::limits::begin_by;
use super::refusal::status;
use super::{Services, select};
use crate::control::Undone;

/// Most pairs of ports in one answer, so that it stays a message.
const PAIRS_MAX: usize = 1024;

#[tonic::async_trait]
impl RouteService for Services {
    async fn get_route(
        &self,
        request: Request<v1::GetRouteRequest>,
    ) -> Result<Response<v1::GetRouteResponse>, Status> {
        let request = request.into_inner();
        let snapshot = self.hub.snapshot();
        let source = select(&snapshot, "source", &request.source)?;
        let destination = select(&snapshot, "destination", &request.destination)?;
        let count = |selection: &weft_report::Selection| selection.end_ports(&snapshot).len();
        let pairs = count(&source).saturating_mul(count(&destination));
        if pairs > PAIRS_MAX {
            return Err(Status::invalid_argument(format!(
                "source and destination name {pairs} pairs of ports, allowed: up to {PAIRS_MAX}"
            )));
        }
        let report = weft_report::route(&snapshot, &source, &destination, Detail::USUAL);
        let report = report.map_err(|error| Status::invalid_argument(error.to_string()))?;
        Ok(Response::new(v1::GetRouteResponse {
            routes: report.routes.into_iter().map(v1::Route::from).collect(),
            generation: snapshot.generation,
        }))
    }

    async fn plan_routes(
        &self,
        request: Request<v1::PlanRoutesRequest>,
    ) -> Result<Response<v1::PlanRoutesResponse>, Status> {
        let begin_by = begin_by(request.metadata());
        let planned = self.plan(request.into_inner(), begin_by).await;
        planned.map(Response::new)
    }

    async fn apply_route_plan(
        &self,
        request: Request<v1::ApplyRoutePlanRequest>,
    ) -> Result<Response<v1::ApplyRoutePlanResponse>, Status> {
        let begin_by = begin_by(request.metadata());
        let id = request.into_inner().plan_id;
        let sweep = self.control.apply(id, begin_by).await;
        let sweep = sweep.map_err(|refusal| status(&refusal))?;
        Ok(Response::new(v1::ApplyRoutePlanResponse { sweep }))
    }

    async fn roll_back_routes(
        &self,
        request: Request<v1::RollBackRoutesRequest>,
    ) -> Result<Response<v1::RollBackRoutesResponse>, Status> {
        let undone = self.control.roll_back(begin_by(request.metadata())).await;
        let Undone { sweep, what } = undone.map_err(|refusal| status(&refusal))?;
        Ok(Response::new(v1::RollBackRoutesResponse {
            sweep,
            undone: what,
        }))
    }

    async fn list_drains(
        &self,
        _: Request<v1::ListDrainsRequest>,
    ) -> Result<Response<v1::ListDrainsResponse>, Status> {
        self.drains().await.map(Response::new)
    }
}
