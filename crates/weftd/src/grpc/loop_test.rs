//! The loop test, of ManagerService.

use tonic::{Request, Response, Status};
use weft_api::time::{duration, timestamp_s};
use weft_api::v1;
use weft_api::v1::control_loop_test_request::Order;
use weft_fabric::{Guid, PortRef};
use weft_manager::sm::loop_test::{LoopTestOrder, LoopTestStatus};
use weft_manager::sm::plan::LoopPlan;
use weft_routing::LoopPath;

use super::Services;
use super::refusal::status;
use crate::control::Asker;
use crate::loop_test::{self, BadLink};

/// Loops of an answer at most, and links of each kind.
const LOOPS_MAX: usize = 5_000;
const LINKS_MAX: usize = 1_000;

impl Services {
    pub(super) async fn order_loop_test(
        &self,
        request: Request<v1::ControlLoopTestRequest>,
    ) -> Result<Response<v1::ControlLoopTestResponse>, Status> {
        let asked = request.into_inner().order;
        let order = order(asked.ok_or_else(|| Status::invalid_argument("order: is missing"))?)?;
        self.must_be_master()?;
        let ordered = loop_test::order(&self.hub, &self.engine, order, Asker::CLIENT);
        let sweep = ordered.await.map_err(|refusal| status(&refusal))?;
        Ok(Response::new(v1::ControlLoopTestResponse { sweep }))
    }

    pub(super) async fn show_loop_test(
        &self,
        request: Request<v1::GetLoopTestRequest>,
    ) -> Result<Response<v1::GetLoopTestResponse>, Status> {
        let loops = (request.into_inner().loops as usize).min(LOOPS_MAX);
        self.must_be_master()?;
        let test = loop_test::status(&self.engine).await;
        let test = test.map_err(|refusal| status(&refusal))?;
        let mut shown = shown(&test, loops);
        if let Some(image) = self.port_metrics.latest().filter(|image| image.span_ns > 0) {
            shown.errors_time = Some(timestamp_s(image.unix_time));
            shown.errors_span = Some(duration(image.span_ns));
            // At many ports that takes milliseconds.
            let bad = tokio::task::spawn_blocking(move || loop_test::bad_links(&image)).await;
            let bad = bad.map_err(|error| Status::internal(error.to_string()))?;
            shown.bad_link_count = bad.len() as u32;
            shown.bad_links = bad.into_iter().take(LINKS_MAX).map(bad_link).collect();
        }
        Ok(Response::new(shown))
    }
}

fn order(order: Order) -> Result<LoopTestOrder, Status> {
    Ok(match order {
        Order::Start(start) => LoopTestOrder::Start {
            fast: start.fast,
            packets: start.packets,
        },
        Order::Stop(_) => LoopTestOrder::Stop,
        Order::FastMode(fast) => LoopTestOrder::FastMode(fast),
        Order::Inject(packets) => LoopTestOrder::Inject(packets),
        Order::InjectAt(guid) => LoopTestOrder::InjectAt(Guid(guid)),
        Order::InjectEachSweep(each) => LoopTestOrder::InjectEachSweep(each),
        Order::PathLength(length) => {
            let short = u8::try_from(length);
            let beyond = |_| Status::invalid_argument(format!("path_length: {length} is beyond 4"));
            LoopTestOrder::PathLength(short.map_err(beyond)?)
        }
        Order::Redundancy(loops) => LoopTestOrder::Redundancy(loops),
    })
}

fn shown(test: &LoopTestStatus, loops: usize) -> v1::GetLoopTestResponse {
    let answer = v1::GetLoopTestResponse {
        running: test.running,
        by_order: test.by_order,
        fast: test.fast,
        packets: test.packets,
        length_max: test.length_max.into(),
        redundancy: test.redundancy,
        each_sweep: test.each_sweep,
        at_guid: test.at.map_or(0, |at| at.0),
        injected: test.injected,
        sent: test.sent,
        ..v1::GetLoopTestResponse::default()
    };
    let Some(plan) = &test.plan else {
        return answer;
    };
    let paths = &plan.paths.paths;
    let uncovered = plan.uncovered();
    let links = uncovered.iter().take(LINKS_MAX);
    v1::GetLoopTestResponse {
        loop_count: paths.len() as u32,
        lid_count: plan.paths.lids().count() as u32,
        link_count: plan.coverage.links() as u32,
        uncovered_count: uncovered.len() as u32,
        cut_short: plan.paths.is_cut_short,
        uncovered: links
            .map(|(a, b)| v1::LinkBetween {
                a: Some(named(plan, *a)),
                b: Some(named(plan, *b)),
            })
            .collect(),
        loops: paths
            .iter()
            .take(loops)
            .map(|path| way(plan, path))
            .collect(),
        ..answer
    }
}

fn named(plan: &LoopPlan, port: PortRef) -> v1::NamedPort {
    loop_test::end(plan, port).into()
}

fn way(plan: &LoopPlan, path: &LoopPath) -> v1::LoopPath {
    v1::LoopPath {
        lid: path.lid.0,
        reverse_lid: path.reverse.map_or(0, |lid| lid.0),
        hops: path.hops.iter().map(|hop| named(plan, *hop)).collect(),
    }
}

fn bad_link(link: BadLink) -> v1::BadLink {
    let [(a, a_errors), (b, b_errors)] = link.ends;
    v1::BadLink {
        a: Some(a.into()),
        b: Some(b.into()),
        a_errors,
        b_errors,
    }
}
