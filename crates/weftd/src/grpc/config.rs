//! ConfigService.

use tonic::{Request, Response, Status};
use weft_api::v1;
use weft_api::v1::config_service_server::ConfigService;

use super::Services;
use super::limits::begin_by;
use super::refusal::status;

#[tonic::async_trait]
impl ConfigService for Services {
    async fn validate_config(
        &self,
        request: Request<v1::ValidateConfigRequest>,
    ) -> Result<Response<v1::ValidateConfigResponse>, Status> {
        let text = request.into_inner().text;
        let checked = tokio::task::spawn_blocking(move || weft_config::check(text, "text"));
        let checked = checked
            .await
            .map_err(|error| Status::internal(error.to_string()))?;
        let findings = checked
            .findings
            .into_iter()
            .map(v1::Finding::from)
            .collect();
        Ok(Response::new(v1::ValidateConfigResponse { findings }))
    }

    async fn get_effective_config(
        &self,
        _: Request<v1::GetEffectiveConfigRequest>,
    ) -> Result<Response<v1::GetEffectiveConfigResponse>, Status> {
        let text = self.hub.config().effective.clone();
        let file = self.control.file().to_owned();
        Ok(Response::new(v1::GetEffectiveConfigResponse { text, file }))
    }

    async fn reload_config(
        &self,
        request: Request<v1::ReloadConfigRequest>,
    ) -> Result<Response<v1::ReloadConfigResponse>, Status> {
        let begin_by = begin_by(request.metadata());
        let validate_only = request.into_inner().validate_only;
        let outcome = self.control.reload(validate_only, begin_by).await;
        let outcome = outcome.map_err(|refusal| status(&refusal))?;
        let findings = outcome
            .findings
            .into_iter()
            .map(v1::Finding::from)
            .collect();
        let applied = outcome.applied;
        let snapshot = self.hub.snapshot();
        let fabrics = outcome.fabrics;
        Ok(Response::new(v1::ReloadConfigResponse {
            findings,
            applied,
            virtual_fabrics: fabrics.map(|plan| v1::FabricPlan::of(&snapshot, plan)),
        }))
    }
}
