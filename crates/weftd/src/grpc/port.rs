//! PortService.

use std::time::Duration;

use tokio::sync::oneshot;
use tonic::{Request, Response, Status};
use weft_api::time::timestamp;
use weft_api::v1;
use weft_api::v1::port_service_server::PortService;
use weft_fabric::{Guid, PortNum};
use weft_manager::sm::drains::{Drain, drain_use};
use weft_manager::sm::evidence::{EndEvidence, LinkUse, way_round};
use weft_manager::sm::quarantine::QuarantineOrder;
use weft_manager::{PortAction, PortNote, PortOrder};

use super::limits::begin_by;
use super::ports::{PortsStream, action, peer};
use super::refusal::{check_words, not_quarantined, port_refused, status, wrong_field};
use super::{Services, stopping};
use crate::event_hub::unix_time_ns;
use crate::request::{Kept, Request as Ask, ask};

#[tonic::async_trait]
impl PortService for Services {
    async fn set_port_state(
        &self,
        request: Request<v1::SetPortStateRequest>,
    ) -> Result<Response<v1::SetPortStateResponse>, Status> {
        let (begin_by, peer) = (begin_by(request.metadata()), peer(&request));
        let bounds = self.access.bounds(request.extensions(), "SetPortState");
        let request = request.into_inner();
        let (node, port) = named(request.port)?;
        let order = PortOrder {
            node,
            port,
            action: action(request.action(), request.link)?,
            force: request.force,
            note: PortNote {
                reason: request.reason,
                author: request.author,
                peer,
            },
        };
        self.must_be_master()?;
        order.note.check().map_err(|error| port_refused(&error))?;
        let bounds = bounds.filter(|_| order.action == PortAction::Disable);
        match request.validate_only {
            true => {
                if let Some(bounds) = &bounds {
                    let within = self.ports_within(bounds, [(node, port)]).await;
                    within.map_err(|refusal| status(&refusal))?;
                }
                let asked = self.may_change(vec![(node, port)], order.action, order.force);
                for may in asked.await? {
                    may.result.map_err(|error| port_refused(&error))?;
                }
            }
            false => {
                let changed = self.change_port(order, begin_by, bounds.as_ref()).await;
                changed.map_err(|refusal| status(&refusal))?;
            }
        }
        let generation = self.hub.snapshot().generation;
        Ok(Response::new(v1::SetPortStateResponse { generation }))
    }

    type SetPortsStream = PortsStream;

    async fn set_ports(
        &self,
        request: Request<v1::SetPortsRequest>,
    ) -> Result<Response<PortsStream>, Status> {
        self.change_ports(request).await.map(Response::new)
    }

    async fn list_disabled_ports(
        &self,
        request: Request<v1::ListDisabledPortsRequest>,
    ) -> Result<Response<v1::ListDisabledPortsResponse>, Status> {
        let listed = self.disabled_ports(request.into_inner()).await?;
        Ok(Response::new(listed))
    }

    async fn list_quarantine(
        &self,
        request: Request<v1::ListQuarantineRequest>,
    ) -> Result<Response<v1::ListQuarantineResponse>, Status> {
        let listed = self.quarantine(request.into_inner()).await?;
        Ok(Response::new(listed))
    }

    async fn quarantine_port(
        &self,
        request: Request<v1::QuarantinePortRequest>,
    ) -> Result<Response<v1::QuarantinePortResponse>, Status> {
        let request = request.into_inner();
        let port = named(request.port)?;
        check_words("", &request.author)?;
        self.must_be_master()?;
        let attached = self.hub.attachment().required();
        attached.map_err(|detached| status(&detached.into()))?;
        let order = QuarantineOrder {
            comment: request.comment,
            force: request.force,
        };
        if request.validate_only {
            let (told, answer) = oneshot::channel();
            let asked = Ask::MayQuarantine { port, order, told };
            ask(&self.engine, asked).map_err(|refusal| status(&refusal))?;
            let may = answer.await.map_err(|_| stopping())?;
            may.map_err(|error| not_quarantined(&error))?;
            return Ok(Response::new(v1::QuarantinePortResponse { sweep: 0 }));
        }
        let (done, answer) = oneshot::channel();
        let asked = Ask::PutInQuarantine { port, order, done };
        ask(&self.engine, asked).map_err(|refusal| status(&refusal))?;
        let put = answer.await.map_err(|_| stopping())?;
        let kept = put.map_err(|error| not_quarantined(&error))?;
        self.on_disk(&kept, port, "is in quarantine").await?;
        let sweep = kept.sweep;
        Ok(Response::new(v1::QuarantinePortResponse { sweep }))
    }

    async fn explain_quarantine(
        &self,
        request: Request<v1::ExplainQuarantineRequest>,
    ) -> Result<Response<v1::ExplainQuarantineResponse>, Status> {
        let port = named(request.into_inner().port)?;
        self.must_be_master()?;
        let (told, answer) = oneshot::channel();
        ask(&self.engine, Ask::Explain { port, told }).map_err(|refusal| status(&refusal))?;
        let evidence = answer.await.map_err(|_| stopping())?;
        let evidence = evidence.map_err(|error| status(&error.into()))?;
        let snapshot = self.hub.snapshot();
        let (node, number) = port;
        let over = drain_use(&snapshot, Drain::Link(node, number));
        let way = way_round(&snapshot, port);
        Ok(Response::new(v1::ExplainQuarantineResponse {
            thresholds: evidence.thresholds.map(Into::into),
            link_use: v1::LinkUse::from(evidence.link).into(),
            unused_reason: match evidence.link {
                LinkUse::LeftOut(reason) => reason.to_string(),
                _ => String::new(),
            },
            ends: evidence.ends.into_iter().map(losses).collect(),
            routes: over.routes,
            multicast: over.multicast,
            way: way.into_iter().map(Into::into).collect(),
        }))
    }

    async fn release_port(
        &self,
        request: Request<v1::ReleasePortRequest>,
    ) -> Result<Response<v1::ReleasePortResponse>, Status> {
        let request = request.into_inner();
        let port = named(request.port)?;
        check_words(&request.reason, &request.author)?;
        self.must_be_master()?;
        let (done, answer) = oneshot::channel();
        ask(&self.engine, Ask::Release { port, done }).map_err(|refusal| status(&refusal))?;
        let Some(kept) = answer.await.map_err(|_| stopping())? else {
            let (node, number) = port;
            let name = self.hub.name_of(node);
            return Err(Status::failed_precondition(format!(
                "port {number} of {name} ({node}) is in no quarantine that can be ended so: ListQuarantine tells \
                 which are; one for the topology file ends when fabric and file agree"
            )));
        };
        self.on_disk(&kept, port, "is released").await?;
        let sweep = kept.sweep;
        Ok(Response::new(v1::ReleasePortResponse { sweep }))
    }
}

impl Services {
    /// Waits until a change of a port's quarantine is on disk; `what` has become of the port.
    async fn on_disk(
        &self,
        kept: &Kept,
        (node, port): (Guid, PortNum),
        what: &str,
    ) -> Result<(), Status> {
        let done = || format!("port {port} of {node} {what}");
        let kept = self.control.kept(kept.state, done).await;
        kept.map_err(|refusal| status(&refusal))
    }
}

pub(super) fn named(port: Option<v1::PortId>) -> Result<(Guid, PortNum), Status> {
    let id = port.ok_or_else(|| wrong_field("port", "is missing"))?;
    let end = weft_api::point_of(&id);
    end.ok_or_else(|| wrong_field("port.port", &format!("{} is beyond 255", id.port)))
}

/// The losses of a port's link, by the present clock.
fn losses(end: EndEvidence) -> v1::PortLosses {
    let now = unix_time_ns();
    let at = |age: &Duration| timestamp(now.saturating_sub(age.as_nanos() as u64));
    v1::PortLosses {
        port: Some(end.port.into()),
        lost_times: end.losses.iter().map(at).collect(),
        entry: end.bar.map(Into::into),
    }
}
