//! VirtualFabricService.

use std::sync::Arc;

use tonic::{Request, Response, Status};
use weft_api::v1;
use weft_api::v1::virtual_fabric_service_server::VirtualFabricService;
use weft_fabric::{PortRef, Snapshot};
use weft_manager::SaSettings;
use weft_manager::vf::{Fabrics, Member};

use super::facts::Facts;
use super::page::Page;
use super::refusal::{not_there, status};
use super::{Key, Services, Workers, select};

/// Members of a page where nothing is said, and at most.
const PAGE: (usize, usize) = (1_000, 10_000);

#[tonic::async_trait]
impl VirtualFabricService for Services {
    async fn list_virtual_fabrics(
        &self,
        _: Request<v1::ListVirtualFabricsRequest>,
    ) -> Result<Response<v1::ListVirtualFabricsResponse>, Status> {
        let view = self.fabrics_in_force()?;
        let listed = view.compute(|fabrics| {
            let all = fabrics.list().into_iter();
            all.map(v1::VirtualFabric::from).collect()
        });
        Ok(Response::new(v1::ListVirtualFabricsResponse {
            generation: view.snapshot.generation,
            virtual_fabrics: listed.await?,
        }))
    }

    async fn list_virtual_fabric_members(
        &self,
        request: Request<v1::ListVirtualFabricMembersRequest>,
    ) -> Result<Response<v1::ListVirtualFabricMembersResponse>, Status> {
        let request = request.into_inner();
        let page = Page::new(request.page_size, &request.page_token, PAGE)?;
        let view = self.fabrics_in_force()?;
        let listed = view.compute(move |fabrics| page_of(page, &fabrics, &request.name));
        Ok(Response::new(listed.await??))
    }

    async fn check_reach(
        &self,
        request: Request<v1::CheckReachRequest>,
    ) -> Result<Response<v1::CheckReachResponse>, Status> {
        let request = request.into_inner();
        let view = self.fabrics_in_force()?;
        let checked = view.compute(move |fabrics| checked(&fabrics, &request));
        Ok(Response::new(checked.await??))
    }

    async fn plan_virtual_fabrics(
        &self,
        request: Request<v1::PlanVirtualFabricsRequest>,
    ) -> Result<Response<v1::PlanVirtualFabricsResponse>, Status> {
        self.must_be_master()?;
        let before = self.query_settings.borrow().sa.clone();
        let text = request.into_inner().config;
        let planned = self
            .control
            .plan_fabrics(text, before, Arc::clone(&self.hub));
        let (findings, plan) = planned.await.map_err(|refusal| status(&refusal))?;
        let snapshot = self.hub.snapshot();
        Ok(Response::new(v1::PlanVirtualFabricsResponse {
            plan: plan.map(|plan| v1::FabricPlan::of(&snapshot, plan)),
            findings: findings.into_iter().map(v1::Finding::from).collect(),
            generation: snapshot.generation,
        }))
    }
}

/// The fabric and the settings of subnet administration at one moment.
struct InForce {
    snapshot: Arc<Snapshot>,
    settings: Arc<SaSettings>,
    workers: Workers,
}

impl InForce {
    /// Computes something on a thread that may take its time: membership is tested port by port.
    async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce(Fabrics<'_>) -> T + Send + 'static,
    ) -> Result<T, Status> {
        let (snapshot, settings) = (Arc::clone(&self.snapshot), Arc::clone(&self.settings));
        let work = move || work(Fabrics::new(&snapshot, &settings));
        self.workers.run(work).await
    }
}

impl Services {
    /// The virtual fabrics over the present fabric. Those of another manager are not known.
    fn fabrics_in_force(&self) -> Result<InForce, Status> {
        self.must_be_master()?;
        Ok(InForce {
            snapshot: self.hub.snapshot(),
            settings: Arc::new(self.query_settings.borrow().sa.clone()),
            workers: self.workers.clone(),
        })
    }
}

/// A page of the members of a virtual fabric, in order of GUID and port.
fn page_of(
    page: Page,
    fabrics: &Fabrics<'_>,
    name: &str,
) -> Result<v1::ListVirtualFabricMembersResponse, Status> {
    let snapshot = fabrics.snapshot();
    let fabric = fabrics.named(name).ok_or_else(|| {
        let what = format!("name: there is no virtual fabric '{name}'; 'weft vf list' shows all");
        not_there(&what, Facts::none().with("name", name))
    })?;
    let keyed = fabrics.members(fabric).filter_map(|member| {
        let node = snapshot.topology.node(member.at.node)?;
        Some(((node.guid().0, member.at.port.0), member))
    });
    let mut members: Vec<(Key, Member)> = keyed.collect();
    members.sort_unstable_by_key(|(key, _)| *key);
    let (members, next_page_token) = page.cut(members);
    let named = |member| v1::VirtualFabricMember::of(snapshot, member);
    Ok(v1::ListVirtualFabricMembersResponse {
        members: members.into_iter().map(named).collect(),
        next_page_token,
        generation: snapshot.generation,
    })
}

fn checked(
    fabrics: &Fabrics<'_>,
    request: &v1::CheckReachRequest,
) -> Result<v1::CheckReachResponse, Status> {
    let source = end_port(fabrics, "source", &request.source)?;
    let destination = end_port(fabrics, "destination", &request.destination)?;
    Ok(v1::CheckReachResponse::of(fabrics, source, destination))
}

/// The end port that a point names.
fn end_port(fabrics: &Fabrics<'_>, field: &str, point: &str) -> Result<PortRef, Status> {
    let snapshot = fabrics.snapshot();
    let mut ports = select(snapshot, field, point)?.end_ports(snapshot);
    ports.retain(|at| fabrics.is_end_port(*at));
    match ports[..] {
        [at] => Ok(at),
        [] => Err(Status::invalid_argument(format!(
            "{field}: '{point}' names no end port: a port of an HFI, or port 0 of a switch, with a LID"
        ))),
        [..] => Err(Status::invalid_argument(format!(
            "{field}: '{point}' names {} end ports; name one, such as by 'node:NAME:port:NUMBER'",
            ports.len()
        ))),
    }
}
