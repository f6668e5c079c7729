//! IncidentService: copies of the recording.

use std::path::PathBuf;

use tokio::task;
use tonic::{Request, Response, Status};
use weft_api::time::{Timestamp, timestamp};
use weft_api::v1;
use weft_api::v1::incident_service_server::IncidentService;

use super::Services;
use super::refusal::check_words;
use crate::black_box::{Incident, Kind, REASON_MAX, RecordingState, Unsaved, list};

const NO_RECORDING: &str = "weftd does not record the manager's inputs: it runs without a state directory, or with \
                            --recording-budget 0, or could not write them; the log says so";

#[tonic::async_trait]
impl IncidentService for Services {
    async fn save_incident(
        &self,
        request: Request<v1::SaveIncidentRequest>,
    ) -> Result<Response<v1::SaveIncidentResponse>, Status> {
        let v1::SaveIncidentRequest { reason, author } = request.into_inner();
        check_words("", &author)?;
        if reason.len() > REASON_MAX || reason.contains(char::is_control) {
            return Err(Status::invalid_argument(format!(
                "reason: it is longer than {REASON_MAX} bytes, or has control characters"
            )));
        }
        let saved = self.black_box.save(Kind::ByHand, reason).await;
        let incident = saved.map_err(|error| match error {
            Unsaved::NoRecording => Status::failed_precondition(NO_RECORDING),
            Unsaved::Failed(why) => Status::resource_exhausted(why),
        })?;
        Ok(Response::new(v1::SaveIncidentResponse {
            incident: Some(message(incident)),
            recording: self.black_box.recording().map(recording),
        }))
    }

    async fn list_incidents(
        &self,
        _: Request<v1::ListIncidentsRequest>,
    ) -> Result<Response<v1::ListIncidentsResponse>, Status> {
        let dir: PathBuf = self
            .black_box
            .incidents_dir()
            .ok_or_else(|| Status::failed_precondition(NO_RECORDING))?;
        let shown = dir.display().to_string();
        let listed = task::spawn_blocking(move || list(&dir)).await;
        let listed = listed.map_err(|error| Status::internal(error.to_string()))?;
        let all = listed.map_err(|error| Status::internal(format!("{shown}: {error}")))?;
        let incidents = all.into_iter().map(message).collect();
        Ok(Response::new(v1::ListIncidentsResponse {
            incidents,
            recording: self.black_box.recording().map(recording),
        }))
    }
}

fn time(unix_ms: u64) -> Timestamp {
    timestamp(unix_ms.saturating_mul(1_000_000))
}

fn recording(state: RecordingState) -> v1::Recording {
    let (end, why) = state.end.unzip();
    v1::Recording {
        begin: Some(time(state.begun_unix_ms)),
        end: end.map(time),
        end_reason: why.unwrap_or_default(),
        bytes: state.bytes,
        budget: state.budget,
    }
}

fn message(incident: Incident) -> v1::Incident {
    v1::Incident {
        file: incident.path.display().to_string(),
        time: Some(time(incident.unix_ms)),
        kind: incident.kind.name().to_owned(),
        reason: incident.reason,
        bytes: incident.bytes,
    }
}
