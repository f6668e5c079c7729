//! PortService.

use tonic::{Request, Response, Status};
use weft_api::v1;
use weft_api::v1::port_service_server::PortService;
use weft_manager::PortAction;

use super::Services;
use super::limits::begin_by;
use super::refusal::status;
use crate::control::PortOrder;

#[tonic::async_trait]
impl PortService for Services {
    async fn set_port_state(
        &self,
        request: Request<v1::SetPortStateRequest>,
    ) -> Result<Response<v1::SetPortStateResponse>, Status> {
        let begin_by = begin_by(request.metadata());
        let order = order(request.into_inner())?;
        self.must_be_master()?;
        let changed = self.control.port(order, begin_by).await;
        changed.map_err(|refusal| status(&refusal))?;
        let generation = self.hub.snapshot().generation;
        Ok(Response::new(v1::SetPortStateResponse { generation }))
    }
}

fn order(request: v1::SetPortStateRequest) -> Result<PortOrder, Status> {
    let action = match request.action() {
        v1::PortAction::Disable => PortAction::Disable,
        v1::PortAction::Enable => PortAction::Enable,
        v1::PortAction::Unspecified => {
            return Err(Status::invalid_argument(
                "action: expected DISABLE or ENABLE",
            ));
        }
    };
    let id = request
        .port
        .ok_or_else(|| Status::invalid_argument("port: is missing"))?;
    let (node, port) = weft_api::point_of(&id)
        .ok_or_else(|| Status::invalid_argument(format!("port.port: {} is beyond 255", id.port)))?;
    Ok(PortOrder {
        node,
        port,
        action,
        validate_only: request.validate_only,
    })
}
