//! ReplacementService.

use tokio::sync::oneshot;
use tonic::{Request, Response, Status};
use weft_api::v1;
use weft_api::v1::replacement_service_server::ReplacementService;
use weft_fabric::Guid;
use weft_manager::sm::replacements::ReplacementOrder;

use super::refusal::{not_replaced, status};
use super::{Services, stopping};
use crate::request::{Kept, Replacing, Request as Ask, ask};

#[tonic::async_trait]
impl ReplacementService for Services {
    async fn list_replacements(
        &self,
        _: Request<v1::ListReplacementsRequest>,
    ) -> Result<Response<v1::ListReplacementsResponse>, Status> {
        self.must_be_master()?;
        let (told, answer) = oneshot::channel();
        let asked = Ask::Replacing(Replacing::List(told));
        ask(&self.engine, asked).map_err(|refusal| status(&refusal))?;
        let (offers, replacements) = answer.await.map_err(|_| stopping())?;
        Ok(Response::new(v1::ListReplacementsResponse {
            offers: offers.into_iter().map(Into::into).collect(),
            replacements: replacements.into_iter().map(Into::into).collect(),
        }))
    }

    async fn replace_hfi(
        &self,
        request: Request<v1::ReplaceHfiRequest>,
    ) -> Result<Response<v1::ReplaceHfiResponse>, Status> {
        let request = request.into_inner();
        let old = given("old_guid", request.old_guid)?;
        self.may_replace()?;
        let order = ReplacementOrder {
            old,
            new: Some(Guid(request.new_guid)).filter(|new| new.0 != 0),
            reason: request.reason,
            validate_only: request.validate_only,
        };
        let (done, answer) = oneshot::channel();
        let asked = Ask::Replacing(Replacing::Replace { order, done });
        ask(&self.engine, asked).map_err(|refusal| status(&refusal))?;
        let replaced = answer.await.map_err(|_| stopping())?;
        let (replaced, kept) = replaced.map_err(|error| not_replaced(&error))?;
        let sweep = match kept {
            Some(kept) => self.replacement_kept(&kept, old).await?,
            None => 0,
        };
        Ok(Response::new(v1::ReplaceHfiResponse {
            replaced: Some(replaced.into()),
            sweep,
        }))
    }

    async fn remove_replacement(
        &self,
        request: Request<v1::RemoveReplacementRequest>,
    ) -> Result<Response<v1::RemoveReplacementResponse>, Status> {
        let guid = given("guid", request.into_inner().guid)?;
        self.may_replace()?;
        let (done, answer) = oneshot::channel();
        let asked = Ask::Replacing(Replacing::End { guid, done });
        ask(&self.engine, asked).map_err(|refusal| status(&refusal))?;
        let ended = answer.await.map_err(|_| stopping())?;
        let (old, kept) = ended.map_err(|error| not_replaced(&error))?;
        let sweep = self.replacement_kept(&kept, guid).await?;
        Ok(Response::new(v1::RemoveReplacementResponse {
            old_guids: old.into_iter().map(|guid| guid.0).collect(),
            sweep,
        }))
    }
}

impl Services {
    fn may_replace(&self) -> Result<(), Status> {
        self.must_be_master()?;
        let attached = self.hub.attachment().required();
        attached.map_err(|detached| status(&detached.into()))
    }

    /// Waits until a change of an HFI's replacement is on disk; returns the sweep that brings the fabric in line.
    async fn replacement_kept(&self, kept: &Kept, guid: Guid) -> Result<u64, Status> {
        let done = || format!("the replacement of {guid} is changed");
        let written = self.control.kept(kept.state, done).await;
        written.map_err(|refusal| status(&refusal))?;
        Ok(kept.sweep)
    }
}

fn given(field: &str, guid: u64) -> Result<Guid, Status> {
    match guid {
        0 => Err(Status::invalid_argument(format!(
            "{field}: is missing, expected the NodeGUID of an HFI"
        ))),
        guid => Ok(Guid(guid)),
    }
}
