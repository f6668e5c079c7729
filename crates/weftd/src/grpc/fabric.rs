//! FabricService.

use std::io::{self, Write};
use std::sync::Arc;

use tokio_stream::StreamExt;
use tonic::{Request, Response, Status, Streaming};
use weft_api::time::{known, known_s};
use weft_api::v1::fabric_service_server::FabricService;
use weft_api::v1::{self, SnapshotExtra};
use weft_fabric::enums::SmState;
use weft_fabric::export::{self, SnapshotOptions};
use weft_fabric::picture::{Marks, Picture};
use weft_fabric::tree::Tree;
use weft_fabric::{NodeId, PortRef, Snapshot};
use weft_report::{Focus, Options};

use super::chunks::{Parts, after, stream};
use super::page::{Page, read_mask};
use super::sweep::under_way;
use super::topology::on_disk;
use super::{Key, Services, attachment, end_key, select, topology};
use crate::administration::{Wanted, administered};
use crate::baselines::Baseline;
use crate::health::Order;

/// Items of a page where nothing is said, and at most.
const PAGE: (usize, usize) = (1000, 10_000);
/// Forwarding tables of a page where nothing is said, and at most: each has up to 48 KiB.
const TABLES: (usize, usize) = (16, 64);

type Out<T> = Result<Response<T>, Status>;

/// The routes in use, none where no lane has any.
fn routing(status: &weft_manager::sm::Status) -> Option<v1::Routing> {
    (status.lanes > 0).then(|| v1::Routing {
        engine: status.engine.clone(),
        engines_given_up: status.engines_given_up,
        lanes: status.lanes.into(),
    })
}

#[tonic::async_trait]
impl FabricService for Services {
    async fn get_fabric(
        &self,
        request: Request<v1::GetFabricRequest>,
    ) -> Out<v1::GetFabricResponse> {
        if let Some(at) = request.into_inner().at {
            let (snapshot, moment) = self.past(at).await?;
            let mut fabric = v1::GetFabricResponse::from_snapshot(&snapshot);
            fabric.moment = Some(moment);
            return Ok(Response::new(fabric));
        }
        let mut fabric = v1::GetFabricResponse::from_snapshot(&self.hub.snapshot());
        let journal = self.hub.journal();
        fabric.last_sweep = journal
            .sweeps()
            .next()
            .map(|sweep| sweep.as_ref().clone().into());
        fabric.current_sweep = journal.current().map(under_way);
        fabric.version = env!("CARGO_PKG_VERSION").to_owned();
        fabric.connected_to = self.connected_to.to_string();
        fabric.instance = self.hub.config().instance.clone();
        let status = self.hub.status();
        fabric.role = status.role.to_string();
        fabric.master = status.master.map_or(0, |guid| guid.0);
        fabric.routing = routing(&status);
        fabric.planned = self.hub.planned().to_string();
        fabric.attachment = Some(attachment(self.hub.attachment()));
        fabric.seen_time = known(self.hub.seen_unix_ns());
        fabric.pause = status.pause.map(Into::into);
        fabric.config_file = self.control.file().to_owned();
        fabric.peers = self.peering.list(status.role == SmState::MASTER);
        fabric.mandate = self.mandates.message();
        Ok(Response::new(fabric))
    }

    async fn list_nodes(
        &self,
        request: Request<v1::ListNodesRequest>,
    ) -> Out<v1::ListNodesResponse> {
        let request = request.into_inner();
        let page = Page::new(request.page_size, &request.page_token, PAGE)?;
        let mask = read_mask("Node", request.read_mask.as_ref())?;
        let snapshot = self.hub.snapshot();
        let nodes = nodes(&snapshot, &request.focus)?.into_iter();
        let nodes = nodes.filter_map(|(guid, id)| {
            let node = snapshot.topology.node(id)?;
            Some(((guid, 0), v1::Node::from(node)))
        });
        let (nodes, next_page_token) = page.cut(nodes);
        let generation = snapshot.generation;
        Ok(Response::new(v1::ListNodesResponse {
            nodes: nodes.into_iter().map(|one| mask.of(one)).collect(),
            next_page_token,
            generation,
        }))
    }

    async fn list_ports(
        &self,
        request: Request<v1::ListPortsRequest>,
    ) -> Out<v1::ListPortsResponse> {
        let request = request.into_inner();
        let page = Page::new(request.page_size, &request.page_token, PAGE)?;
        let mask = read_mask("Port", request.read_mask.as_ref())?;
        let snapshot = self.hub.snapshot();
        let options = options(&snapshot, &request.focus)?;
        let ports = nodes(&snapshot, "")?.into_iter().flat_map(|(guid, node)| {
            let data = snapshot.topology.node(node).into_iter();
            let ports = data.flat_map(|data| data.ports().map(|(port, _)| port));
            ports.map(move |port| ((guid, port.0), PortRef { node, port }))
        });
        let ports = ports.filter(|(_, at)| options.port(*at));
        let ports =
            ports.filter_map(|(key, at)| Some((key, v1::Port::from_snapshot(&snapshot, at)?)));
        let (ports, next_page_token) = page.cut(ports);
        let generation = snapshot.generation;
        Ok(Response::new(v1::ListPortsResponse {
            ports: ports.into_iter().map(|one| mask.of(one)).collect(),
            next_page_token,
            generation,
        }))
    }

    async fn list_links(
        &self,
        request: Request<v1::ListLinksRequest>,
    ) -> Out<v1::ListLinksResponse> {
        let request = request.into_inner();
        let page = Page::new(request.page_size, &request.page_token, PAGE)?;
        let mask = read_mask("Link", request.read_mask.as_ref())?;
        let snapshot = self.hub.snapshot();
        let report = weft_report::links(&snapshot, &options(&snapshot, &request.focus)?);
        let links = report.links.into_iter().map(v1::Link::from);
        let links = links.map(|link| (link_key(&link), link));
        let (links, next_page_token) = page.cut(links);
        let generation = snapshot.generation;
        Ok(Response::new(v1::ListLinksResponse {
            links: links.into_iter().map(|one| mask.of(one)).collect(),
            next_page_token,
            generation,
        }))
    }

    async fn list_forwarding(
        &self,
        request: Request<v1::ListForwardingRequest>,
    ) -> Out<v1::ListForwardingResponse> {
        let request = request.into_inner();
        let page = Page::new(request.page_size, &request.page_token, TABLES)?;
        let snapshot = self.hub.snapshot();
        let tables = nodes(&snapshot, &request.focus)?
            .into_iter()
            .filter_map(|(guid, id)| {
                Some((
                    (guid, 0),
                    v1::ForwardingTable::from_snapshot(&snapshot, id)?,
                ))
            });
        let (tables, next_page_token) = page.cut(tables);
        let generation = snapshot.generation;
        Ok(Response::new(v1::ListForwardingResponse {
            tables,
            next_page_token,
            generation,
        }))
    }

    type GetSnapshotStream = Parts<v1::GetSnapshotResponse>;

    async fn get_snapshot(
        &self,
        request: Request<v1::GetSnapshotRequest>,
    ) -> Out<Self::GetSnapshotStream> {
        let mut request = request.into_inner();
        let at = request.at.take();
        let extras = weft_api::snapshot::extras(&request);
        let (snapshot, moment) = self.snapshot_of(at, &extras).await?;
        let parts = weft_api::snapshot::parts(snapshot, &extras, moment);
        let parts = tokio_stream::iter(parts).map(Ok);
        Ok(Response::new(Box::pin(parts)))
    }

    type ExportFabricStream = Parts<v1::ExportFabricResponse>;

    async fn export_fabric(
        &self,
        request: Request<v1::ExportFabricRequest>,
    ) -> Out<Self::ExportFabricStream> {
        let request = request.into_inner();
        let format = request.format();
        if format == v1::ExportFormat::Unspecified {
            return Err(Status::invalid_argument(
                "format: expected one that is known",
            ));
        }
        let extras = [SnapshotExtra::Administration, SnapshotExtra::Cables];
        let (snapshot, moment) = self.snapshot_of(request.at, &extras).await?;
        let options = SnapshotOptions {
            port_tables: request.port_tables,
            ..SnapshotOptions::default()
        };
        let message = |data| v1::ExportFabricResponse { data, moment: None };
        let first = moment.map(|moment| v1::ExportFabricResponse {
            data: Vec::new(),
            moment: Some(moment),
        });
        let chunks = stream(message, move |sink| {
            export(&snapshot, format, options, sink)
        });
        Ok(Response::new(after(first, chunks)))
    }

    type CompareTopologyStream = Parts<v1::CompareTopologyResponse>;

    async fn compare_topology(
        &self,
        request: Request<Streaming<v1::CompareTopologyRequest>>,
    ) -> Out<Self::CompareTopologyStream> {
        let (snapshot, baselines) = (self.hub.snapshot(), Arc::clone(&self.baselines));
        let differences = topology::differences(snapshot, baselines, request.into_inner()).await?;
        Ok(Response::new(Box::pin(differences)))
    }

    async fn check_tree(&self, _: Request<v1::CheckTreeRequest>) -> Out<v1::CheckTreeResponse> {
        let snapshot = self.hub.snapshot();
        let generation = snapshot.generation;
        let looked = tokio::task::spawn_blocking(move || Tree::of(&snapshot.topology));
        let tree = looked.await;
        let tree = tree.map_err(|error| Status::internal(error.to_string()))?;
        Ok(Response::new(v1::CheckTreeResponse::new(generation, tree)))
    }

    async fn save_baseline(
        &self,
        request: Request<v1::SaveBaselineRequest>,
    ) -> Out<v1::SaveBaselineResponse> {
        let v1::SaveBaselineRequest { name, replace } = request.into_inner();
        let snapshot = self.hub.snapshot();
        if snapshot.topology.is_empty() {
            let why = "there is no fabric to save before the first sweep has ended";
            return Err(Status::failed_precondition(why));
        }
        let baselines = Arc::clone(&self.baselines);
        let saved = on_disk(move || baselines.save(&name, &snapshot, replace)).await?;
        // The fabric as it is now is what it should be; a full queue only means that this is not known yet.
        let _ = self.health.order(Order::BaselineSaved);
        let baseline = Some(baseline(saved));
        Ok(Response::new(v1::SaveBaselineResponse { baseline }))
    }

    async fn list_baselines(
        &self,
        _: Request<v1::ListBaselinesRequest>,
    ) -> Out<v1::ListBaselinesResponse> {
        let baselines = Arc::clone(&self.baselines);
        let all = on_disk(move || baselines.list()).await?.into_iter();
        let baselines = all.map(baseline).collect();
        Ok(Response::new(v1::ListBaselinesResponse { baselines }))
    }

    async fn remove_baseline(
        &self,
        request: Request<v1::RemoveBaselineRequest>,
    ) -> Out<v1::RemoveBaselineResponse> {
        let v1::RemoveBaselineRequest { name } = request.into_inner();
        let baselines = Arc::clone(&self.baselines);
        on_disk(move || baselines.remove(&name)).await?;
        Ok(Response::new(v1::RemoveBaselineResponse {}))
    }
}

fn baseline(of: Baseline) -> v1::Baseline {
    v1::Baseline {
        name: of.name,
        saved_time: known_s(of.saved_unix_time),
        hfis: of.hfis,
        switches: of.switches,
        links: of.links,
    }
}

/// The nodes that a focus names, all for none, in order of GUID.
fn nodes(snapshot: &Snapshot, focus: &str) -> Result<Vec<(u64, NodeId)>, Status> {
    let options = options(snapshot, focus)?;
    let nodes = snapshot
        .topology
        .nodes()
        .filter(|(id, _)| options.node(*id));
    let mut nodes: Vec<_> = nodes.map(|(id, node)| (node.guid().0, id)).collect();
    nodes.sort_unstable();
    Ok(nodes)
}

fn options(snapshot: &Snapshot, focus: &str) -> Result<Options, Status> {
    let focus = match focus {
        "" => None,
        text => Some(Focus::new(
            snapshot,
            &select(snapshot, "focus", text)?,
            &Options::default(),
        )),
    };
    Ok(Options {
        focus,
        ..Options::default()
    })
}

fn link_key(link: &v1::Link) -> Key {
    let from = link.from.as_ref().and_then(|end| end.port.as_ref());
    from.map_or((0, 0), end_key)
}

impl Services {
    /// The fabric with what subnet administration knows, where that is among the extras.
    async fn snapshot_with(&self, extras: &[SnapshotExtra]) -> Result<Arc<Snapshot>, Status> {
        let mut snapshot = self.hub.snapshot();
        if self.must_be_master().is_err() {
            // Groups and virtual fabrics are those of another manager.
            let lacking = &mut Arc::make_mut(&mut snapshot).lacking;
            (lacking.administration, lacking.cables) = (true, true);
            return Ok(snapshot);
        }
        if extras.contains(&SnapshotExtra::Cables) {
            Arc::make_mut(&mut snapshot).cables = self.cables.borrow().clone();
        }
        let groups = extras.contains(&SnapshotExtra::DeviceGroups);
        let quarantined = extras.contains(&SnapshotExtra::QuarantinedNodes);
        if !groups && !quarantined && !extras.contains(&SnapshotExtra::Administration) {
            return Ok(snapshot);
        }
        let settings = self.query_settings.borrow().sa.clone();
        let multicast = self.hub.multicast_groups();
        let wanted = Wanted {
            device_groups: groups,
            quarantined,
        };
        let added = tokio::task::spawn_blocking(move || {
            Arc::new(administered(snapshot, multicast, &settings, wanted))
        });
        added
            .await
            .map_err(|error| Status::internal(error.to_string()))
    }

    /// The fabric of a moment of the past, and which one it is, or that of now.
    async fn snapshot_of(
        &self,
        at: Option<v1::Moment>,
        extras: &[SnapshotExtra],
    ) -> Result<(Arc<Snapshot>, Option<v1::MomentShown>), Status> {
        match at {
            None => Ok((self.snapshot_with(extras).await?, None)),
            Some(at) => {
                let (snapshot, shown) = self.past(at).await?;
                Ok((snapshot, Some(shown)))
            }
        }
    }
}

fn export(
    snapshot: &Arc<Snapshot>,
    format: v1::ExportFormat,
    options: SnapshotOptions,
    sink: &mut dyn Write,
) -> io::Result<()> {
    match format {
        v1::ExportFormat::OpareportSnapshot => export::write_snapshot(snapshot, options, sink),
        v1::ExportFormat::Topology => export::write_topology(snapshot, sink),
        v1::ExportFormat::Ibnetdiscover => export::write_ibnetdiscover(&snapshot.topology, sink),
        _ => {
            let picture = Picture {
                topology: &snapshot.topology,
                title: "",
                hosts: false,
                marks: &Marks::default(),
            };
            picture.write_dot(sink)
        }
    }
}
