//! ManagerService.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};
use weft_api::time::timestamp;
use weft_api::v1;
use weft_api::v1::manager_service_server::ManagerService;
use weft_manager::sm::pause::PAUSE_MAX;

use super::Services;
use super::limits::begin_by;
use super::refusal::{status, wrong_field};
use crate::control::Asker;
use crate::counters::{Count, Scope};
use crate::dump::{Sources, dump};
use crate::logging::LogLevel;

/// Bytes of a dump in one message.
const CHUNK: usize = 64 << 10;
/// Messages of a dump that wait for their reader.
const CHUNKS_AHEAD: usize = 8;

type Out<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl ManagerService for Services {
    async fn get_manager(&self, _: Request<v1::GetManagerRequest>) -> Out<v1::GetManagerResponse> {
        let status = self.hub.status();
        Ok(Response::new(v1::GetManagerResponse {
            log_level: Some(level(self.control.log_level())),
            pause: status.pause.map(Into::into),
            priority: status.priority.into(),
            elevated: status.elevated,
            log_file: self.control.log_file(),
        }))
    }

    async fn set_log_level(
        &self,
        request: Request<v1::SetLogLevelRequest>,
    ) -> Out<v1::SetLogLevelResponse> {
        let begin_by = begin_by(request.metadata());
        let filter = request.into_inner().filter;
        let set = self.control.set_log_level(filter, Asker::CLIENT, begin_by);
        let set = set.await.map_err(|refusal| status(&refusal))?;
        let log_level = Some(level(set));
        Ok(Response::new(v1::SetLogLevelResponse { log_level }))
    }

    async fn pause_sweeps(
        &self,
        request: Request<v1::PauseSweepsRequest>,
    ) -> Out<v1::PauseSweepsResponse> {
        let begin_by = begin_by(request.metadata());
        let time = pause_time(request.into_inner().duration)?;
        self.must_be_master()?;
        let paused = self.control.pause(time, Asker::CLIENT, begin_by).await;
        let pause = paused.map_err(|refusal| status(&refusal))?;
        let pause = Some(pause.into());
        Ok(Response::new(v1::PauseSweepsResponse { pause }))
    }

    async fn resume_sweeps(
        &self,
        request: Request<v1::ResumeSweepsRequest>,
    ) -> Out<v1::ResumeSweepsResponse> {
        let begin_by = begin_by(request.metadata());
        let resumed = self.control.resume(Asker::CLIENT, begin_by).await;
        let was_paused = resumed.map_err(|refusal| status(&refusal))?;
        Ok(Response::new(v1::ResumeSweepsResponse { was_paused }))
    }

    async fn restore_priority(
        &self,
        request: Request<v1::RestorePriorityRequest>,
    ) -> Out<v1::RestorePriorityResponse> {
        let begin_by = begin_by(request.metadata());
        self.must_be_master()?;
        let restored = self.control.restore_priority(Asker::CLIENT, begin_by);
        let restored = restored.await.map_err(|refusal| status(&refusal))?;
        Ok(Response::new(v1::RestorePriorityResponse {
            before: restored.before.into(),
            now: restored.now.into(),
        }))
    }

    async fn get_counters(
        &self,
        request: Request<v1::GetCountersRequest>,
    ) -> Out<v1::GetCountersResponse> {
        let scope = scope(request.into_inner().scope());
        let counted = self.hub.counters().read(&self.hub.status(), scope);
        Ok(Response::new(v1::GetCountersResponse {
            counters: counted.counts.into_iter().map(counter).collect(),
            since_time: Some(timestamp(counted.since_unix_ns)),
        }))
    }

    async fn reset_counters(
        &self,
        request: Request<v1::ResetCountersRequest>,
    ) -> Out<v1::ResetCountersResponse> {
        let begin_by = begin_by(request.metadata());
        let scope = scope(request.into_inner().scope());
        let reset = self.control.reset_counters(scope, Asker::CLIENT, begin_by);
        let counted = reset.await.map_err(|refusal| status(&refusal))?;
        Ok(Response::new(v1::ResetCountersResponse {
            counters: counted.counts.into_iter().map(counter).collect(),
            since_time: Some(timestamp(counted.since_unix_ns)),
        }))
    }

    async fn control_loop_test(
        &self,
        request: Request<v1::ControlLoopTestRequest>,
    ) -> Out<v1::ControlLoopTestResponse> {
        self.order_loop_test(request).await
    }

    async fn get_loop_test(
        &self,
        request: Request<v1::GetLoopTestRequest>,
    ) -> Out<v1::GetLoopTestResponse> {
        self.show_loop_test(request).await
    }

    type DumpStateStream = ReceiverStream<Result<v1::DumpStateResponse, Status>>;

    async fn dump_state(&self, _: Request<v1::DumpStateRequest>) -> Out<Self::DumpStateStream> {
        let document = dump(Sources {
            hub: &self.hub,
            control: &self.control,
            engine: &self.engine,
            connected_to: &self.connected_to,
        });
        let document = document.await.map_err(|refusal| status(&refusal))?;
        let (sender, receiver) = mpsc::channel(CHUNKS_AHEAD);
        tokio::spawn(async move {
            for chunk in document.chunks(CHUNK) {
                let data = chunk.to_vec();
                if sender
                    .send(Ok(v1::DumpStateResponse { data }))
                    .await
                    .is_err()
                {
                    return; // the reader has gone
                }
            }
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }
}

fn level(level: LogLevel) -> v1::LogLevel {
    v1::LogLevel {
        filter: level.filter,
        set_by: level.set_by.to_owned(),
    }
}

fn counter(count: Count) -> v1::Counter {
    v1::Counter {
        group: count.group.to_owned(),
        name: count.name,
        value: count.value,
    }
}

fn scope(scope: v1::CounterScope) -> Scope {
    match scope {
        v1::CounterScope::Unspecified => Scope::All,
        v1::CounterScope::Subnet => Scope::Subnet,
        v1::CounterScope::Performance => Scope::Performance,
    }
}

/// The length of a pause.
fn pause_time(asked: Option<weft_api::time::Duration>) -> Result<Duration, Status> {
    let time = Duration::try_from(asked.unwrap_or_default()).ok();
    let allowed = time.filter(|time| !time.is_zero() && *time <= PAUSE_MAX);
    allowed.ok_or_else(|| {
        let hours = PAUSE_MAX.as_secs() / 3600;
        let what = format!("expected more than 0, at most {hours} h");
        wrong_field("duration", &what)
    })
}
