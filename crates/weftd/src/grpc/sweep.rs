//! SweepService.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tonic::{Request, Response, Status};
use weft_api::v1;
use weft_api::v1::sweep_service_server::SweepService;
use weft_fabric::Guid;

use super::facts::Facts;
use super::operation::origin;
use super::page::Page;
use super::refusal::{not_there, operation_refused, status};
use super::{Services, stopping};
use crate::event_hub::{Current, KEPT_SWEEPS};
use crate::operations::Operations;
use crate::request::{self, ask};

#[tonic::async_trait]
impl SweepService for Services {
    async fn start_sweep(
        &self,
        request: Request<v1::StartSweepRequest>,
    ) -> Result<Response<v1::StartSweepResponse>, Status> {
        self.must_be_master()?;
        self.must_be_attached()?;
        self.must_not_be_paused()?;
        let by = origin(&request, |request| request.label.as_ref())?;
        let operations = self.control.operations();
        let (kind, state) = (v1::OperationKind::Sweep, v1::OperationState::Applying);
        let begun = operations.begin(&by, kind, state, "sweep");
        let operation_id = begun.map_err(|error| operation_refused(&error))?.id;
        // Goes on without a client that leaves meanwhile, so that the operation gets its sweep.
        let asked = tokio::spawn(swept(
            self.engine.clone(),
            operations.clone(),
            operation_id.clone(),
        ));
        let number = asked.await.map_err(|_| stopping())??;
        self.tracer.caused(number, request.extensions().get());
        Ok(Response::new(v1::StartSweepResponse {
            number,
            operation_id,
        }))
    }

    async fn get_sweep(
        &self,
        request: Request<v1::GetSweepRequest>,
    ) -> Result<Response<v1::GetSweepResponse>, Status> {
        let number = request.into_inner().number;
        let journal = self.hub.journal();
        let current = journal.current();
        let last = journal.sweeps().next().map_or(0, |sweep| sweep.number);
        let ended = journal.sweeps().find(|sweep| sweep.number == number);
        let sweep = match (ended, current) {
            (Some(ended), _) => ended.as_ref().clone().into(),
            (None, Some(current)) if current.number == number => under_way(current),
            _ if number > last => v1::Sweep {
                number,
                phase: v1::SweepPhase::Waiting.into(),
                ..v1::Sweep::default()
            },
            _ => {
                let what = format!("sweep {number} is not remembered; the last {KEPT_SWEEPS} are");
                return Err(not_there(&what, Facts::none().with("sweep", number)));
            }
        };
        drop(journal);
        let sweep = Some(self.with_names(sweep));
        Ok(Response::new(v1::GetSweepResponse { sweep }))
    }

    async fn list_sweeps(
        &self,
        request: Request<v1::ListSweepsRequest>,
    ) -> Result<Response<v1::ListSweepsResponse>, Status> {
        let request = request.into_inner();
        let page = Page::new(request.page_size, &request.page_token, (20, KEPT_SWEEPS))?;
        let sweeps: Vec<_> = self.hub.journal().sweeps().cloned().collect();
        // Newest first: keys count down.
        let sweeps = sweeps.into_iter().map(|sweep| {
            let key = (u64::MAX - sweep.number, 0);
            (key, self.with_names(sweep.as_ref().clone().into()))
        });
        let (sweeps, next_page_token) = page.cut(sweeps);
        Ok(Response::new(v1::ListSweepsResponse {
            sweeps,
            next_page_token,
        }))
    }
}

impl Services {
    /// A sweep with the names of the switches that it has written.
    fn with_names(&self, mut sweep: v1::Sweep) -> v1::Sweep {
        for switch in &mut sweep.written_switches {
            switch.name = self.hub.name_of(Guid(switch.guid));
        }
        sweep
    }
}

/// Asks for a sweep of an operation; its number.
async fn swept(
    engine: mpsc::Sender<request::Request>,
    operations: Arc<Operations>,
    operation: String,
) -> Result<u64, Status> {
    let number = asked(&engine).await;
    match &number {
        Ok(number) => operations.sweeps(&operation, *number),
        Err(status) => operations.failed(&operation, status.message()),
    }
    number
}

async fn asked(engine: &mpsc::Sender<request::Request>) -> Result<u64, Status> {
    let (told, answer) = oneshot::channel();
    ask(engine, request::Request::Sweep(told)).map_err(|refusal| status(&refusal))?;
    let number = answer.await.map_err(|_| stopping())?;
    number.map_err(|detached| status(&detached.into()))
}

/// The running sweep as a message.
pub(super) fn under_way(current: Current) -> v1::Sweep {
    v1::Sweep {
        number: current.number,
        reason: v1::SweepReason::from(current.reason).into(),
        phase: v1::SweepPhase::from(current.phase).into(),
        ..v1::Sweep::default()
    }
}
