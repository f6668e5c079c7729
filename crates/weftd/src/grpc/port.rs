//! PortService.

use tokio::sync::oneshot;
use tonic::{Request, Response, Status};
use weft_api::v1;
use weft_api::v1::port_service_server::PortService;
use weft_fabric::enums::SmState;
use weft_fabric::{Guid, PortNum, PortRef, Snapshot};
use weft_manager::{CommandError, PortAction};

use super::{Services, stopping};
use crate::engine;

#[tonic::async_trait]
impl PortService for Services {
    async fn set_port_state(
        &self,
        request: Request<v1::SetPortStateRequest>,
    ) -> Result<Response<v1::SetPortStateResponse>, Status> {
        let request = request.into_inner();
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
        let (node, port) = weft_api::point_of(&id).ok_or_else(|| {
            Status::invalid_argument(format!("port.port: {} is beyond 255", id.port))
        })?;
        self.must_be_master()?;
        validate(&self.hub.snapshot(), node, port, action).map_err(|error| status(&error))?;
        if !request.validate_only {
            let (done, answer) = oneshot::channel();
            self.ask(engine::Request::Port {
                node,
                port,
                action,
                done,
            })
            .await?;
            let answer = answer.await.map_err(|_| stopping())?;
            answer.map_err(|error| status(&error))?;
        }
        let generation = self.hub.snapshot().generation;
        Ok(Response::new(v1::SetPortStateResponse { generation }))
    }
}

/// What the manager would refuse, as far as the snapshot tells.
fn validate(
    snapshot: &Snapshot,
    node: Guid,
    port: PortNum,
    action: PortAction,
) -> Result<(), CommandError> {
    let topology = &snapshot.topology;
    let id = topology.find(node).ok_or(CommandError::NoNode { node })?;
    let last = topology.node(id).map_or(0, |data| data.info.num_ports);
    let at = PortRef { node: id, port };
    if port.0 == 0 || topology.port(at).is_none() {
        let (first, last) = (PortNum(1), PortNum(last));
        return Err(CommandError::NoPort {
            node,
            port,
            first,
            last,
        });
    }
    let mut masters = snapshot.sms.iter().filter(|sm| sm.state == SmState::MASTER);
    let own = masters.any(|sm| sm.port == at || topology.peer(sm.port) == Some(at));
    match (own, action) {
        (true, PortAction::Disable) => Err(CommandError::OwnLink { node, port }),
        _ => Ok(()),
    }
}

fn status(error: &CommandError) -> Status {
    let text = error.to_string();
    match error {
        CommandError::NoNode { .. } => Status::not_found(text),
        CommandError::NoPort { .. } => Status::invalid_argument(text),
        CommandError::OwnLink { .. }
        | CommandError::Refused { .. }
        | CommandError::NotMaster { .. } => Status::failed_precondition(text),
        CommandError::NoAnswer { .. } => Status::deadline_exceeded(text),
        CommandError::Busy { .. } => Status::resource_exhausted(text),
        CommandError::SweepFailed { .. } => Status::aborted(text),
    }
}
