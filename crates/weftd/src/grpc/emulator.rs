//! EmulatorService.

use tonic::{Request, Response, Status};
use weft_api::emulator_v1 as v1;
use weft_api::emulator_v1::emulator_service_server::EmulatorService;
use weft_emulator::control::{Controller, ControllerError};
use weft_emulator::io::Control;
use weft_emulator::traffic::{JobReport, TrafficJob, TrafficPattern};
use weft_fabric::{Guid, PortNum, Snapshot};

use super::Services;
use super::refusal::{check_words, wrong_field};

type Out<T> = Result<Response<T>, Status>;

impl Services {
    fn controller(&self) -> Result<&Controller, Status> {
        let controller = self.controller.as_ref();
        controller.ok_or_else(|| {
            Status::failed_precondition(
                "this fabric is not emulated: traffic is what its hosts send, and its cables are real; start weftd \
                 with --emulate or --connect for an emulated one",
            )
        })
    }
}

#[tonic::async_trait]
impl EmulatorService for Services {
    async fn start_traffic(
        &self,
        request: Request<v1::StartTrafficRequest>,
    ) -> Out<v1::StartTrafficResponse> {
        let v1::StartTrafficRequest {
            job,
            reason,
            author,
        } = request.into_inner();
        check_words(&reason, &author)?;
        let job = job.ok_or_else(|| Status::invalid_argument("job: is missing"))?;
        let control = Control::TrafficStart(job_of(job)?);
        self.controller()?.control(control).await.map_err(status)?;
        Ok(Response::new(v1::StartTrafficResponse {}))
    }

    async fn stop_traffic(
        &self,
        request: Request<v1::StopTrafficRequest>,
    ) -> Out<v1::StopTrafficResponse> {
        let v1::StopTrafficRequest {
            name,
            reason,
            author,
        } = request.into_inner();
        check_words(&reason, &author)?;
        let name = Some(name).filter(|name| !name.is_empty());
        let control = Control::TrafficStop { name };
        self.controller()?.control(control).await.map_err(status)?;
        Ok(Response::new(v1::StopTrafficResponse {}))
    }

    async fn list_traffic(
        &self,
        _: Request<v1::ListTrafficRequest>,
    ) -> Out<v1::ListTrafficResponse> {
        let report = self.controller()?.traffic().await.map_err(status)?;
        Ok(Response::new(v1::ListTrafficResponse {
            jobs: report.jobs.into_iter().map(told).collect(),
            routes_moved: report.routes_moved,
            adaptive_switches: adaptive_switches(&self.hub.snapshot()),
        }))
    }

    async fn set_cable(&self, request: Request<v1::SetCableRequest>) -> Out<v1::SetCableResponse> {
        let v1::SetCableRequest {
            node_guid,
            port,
            cut,
            reason,
            author,
        } = request.into_inner();
        check_words(&reason, &author)?;
        let port = u8::try_from(port).ok().filter(|port| *port > 0);
        let port = port.ok_or_else(|| wrong_field("port", "expected 1 to 255"))?;
        let (node, port) = (Guid(node_guid), PortNum(port));
        let control = match cut {
            true => Control::LinkDown { node, port },
            false => Control::LinkUp { node, port },
        };
        self.controller()?.control(control).await.map_err(status)?;
        Ok(Response::new(v1::SetCableResponse {}))
    }
}

/// Switches that may move routes, as they have confirmed.
fn adaptive_switches(snapshot: &Snapshot) -> u32 {
    let switches = snapshot
        .topology
        .nodes()
        .filter_map(|(_, node)| node.switch.as_ref());
    let adaptive = switches.filter(|switch| switch.ar_enable && !switch.ar_pause);
    u32::try_from(adaptive.count()).unwrap_or(u32::MAX)
}

fn job_of(job: v1::TrafficJob) -> Result<TrafficJob, Status> {
    let pattern: Result<TrafficPattern, _> = job.pattern.parse();
    let pattern =
        pattern.map_err(|error| Status::invalid_argument(format!("job.pattern: {error}")))?;
    let mut wanted = TrafficJob::new(job.name, pattern);
    if job.rate_percent != 0.0 {
        wanted.rate_percent = job.rate_percent;
    }
    if job.payload != 0 {
        wanted.payload = job.payload;
    }
    Ok(wanted)
}

fn told(report: JobReport) -> v1::TrafficStatus {
    let job = v1::TrafficJob {
        name: report.job.name,
        pattern: report.job.pattern.to_string(),
        rate_percent: report.job.rate_percent,
        payload: report.job.payload,
    };
    v1::TrafficStatus {
        job: Some(job),
        senders: report.senders,
        blocked: report.blocked,
        bytes_per_second: report.bytes_per_second,
        slowest: report.slowest,
        fastest: report.fastest,
    }
}

fn status(error: ControllerError) -> Status {
    let text = error.to_string();
    match error {
        ControllerError::Refused(_) => Status::failed_precondition(text),
        ControllerError::Connect(_) | ControllerError::Stopped => Status::unavailable(text),
        ControllerError::Answer(_) => Status::internal(text),
    }
}
