//! PictureService.

use std::collections::BTreeMap;

use tonic::{Request, Response, Status};
use weft_api::v1;
use weft_api::v1::picture_service_server::PictureService;
use weft_fabric::export::utc_date;
use weft_fabric::picture::{Course, Marks, Picture};
use weft_fabric::{PortRef, Snapshot};
use weft_health::{End, Kind, Page};
use weft_manager::pm::Image;
use weft_manager::sm::drains::Drain;

use super::chunks::{Parts, after, stream};
use super::refusal::status;
use super::{Services, select};
use crate::request::{Request as Asked, told};

#[tonic::async_trait]
impl PictureService for Services {
    type DrawFabricStream = Parts<v1::DrawFabricResponse>;

    async fn draw_fabric(
        &self,
        request: Request<v1::DrawFabricRequest>,
    ) -> Result<Response<Self::DrawFabricStream>, Status> {
        let request = request.into_inner();
        let format = request.format();
        if format == v1::PictureFormat::Unspecified {
            return Err(Status::invalid_argument(
                "format: expected one that is known",
            ));
        }
        let (snapshot, moment) = self.then_or_now(request.at).await?;
        let mut marks = match moment {
            None => self.marks(&snapshot, &request).await?,
            Some(_) if request.load => {
                return Err(Status::invalid_argument(
                    "load: utilization is not drawn of the past",
                ));
            }
            Some(_) => Marks::default(),
        };
        if let Some(route) = &request.route {
            marks.courses = courses(&snapshot, route)?;
        }
        let title = format!(
            "{}, generation {} of {} UTC",
            self.hub.config().instance,
            snapshot.generation,
            utc_date(snapshot.unix_time)
        );
        let hosts = request.hosts;
        let picture = Picture {
            topology: &snapshot.topology,
            title: &title,
            hosts,
            marks: &marks,
        };
        let check = picture.check();
        check.map_err(|error| Status::invalid_argument(format!("hosts: {error}")))?;
        let message = |data| v1::DrawFabricResponse { data, moment: None };
        let first = moment.map(|moment| v1::DrawFabricResponse {
            data: Vec::new(),
            moment: Some(moment),
        });
        let chunks = stream(message, move |sink| {
            let picture = Picture {
                topology: &snapshot.topology,
                title: &title,
                hosts,
                marks: &marks,
            };
            match format {
                v1::PictureFormat::Dot => picture.write_dot(sink),
                _ => picture.write_svg(sink),
            }
        });
        Ok(Response::new(after(first, chunks)))
    }
}

impl Services {
    async fn marks(
        &self,
        snapshot: &Snapshot,
        request: &v1::DrawFabricRequest,
    ) -> Result<Marks, Status> {
        let mut marks = Marks::default();
        let drains = told(&self.engine, Asked::Drains).await;
        for drain in drains.map_err(|refusal| status(&refusal))? {
            mark_drain(snapshot, drain, &mut marks);
        }
        mark_lost(snapshot, &self.health.page(), &mut marks);
        if request.load {
            self.must_be_master()?;
            marks.load = Some(load(snapshot, &*self.image()?));
        }
        Ok(marks)
    }
}

fn courses(snapshot: &Snapshot, route: &v1::PictureRoute) -> Result<Vec<Course>, Status> {
    let from = one_port(snapshot, "route.from", &route.from)?;
    let to = one_port(snapshot, "route.to", &route.to)?;
    weft_report::courses(snapshot, from, to)
        .map_err(|why| Status::failed_precondition(format!("route: {why}")))
}

/// The only port of a point.
fn one_port(snapshot: &Snapshot, field: &str, text: &str) -> Result<PortRef, Status> {
    let ports = select(snapshot, field, text)?.end_ports(snapshot);
    match ports.as_slice() {
        [port] => Ok(*port),
        ports => Err(Status::invalid_argument(format!(
            "{field}: '{text}' names {} ports that have LIDs, allowed: one",
            ports.len()
        ))),
    }
}

fn mark_drain(snapshot: &Snapshot, drain: Drain, marks: &mut Marks) {
    let topology = &snapshot.topology;
    match drain {
        Drain::Switch(guid) => marks.drained_switches.extend(topology.find(guid)),
        Drain::Link(guid, port) => {
            let end = topology.find(guid).map(|node| PortRef { node, port });
            marks.drained_links.extend(end);
        }
    }
}

/// Links that the page of what is wrong tells of with both ends; those that are there again are not drawn.
fn mark_lost(snapshot: &Snapshot, page: &Page, marks: &mut Marks) {
    let topology = &snapshot.topology;
    let end = |end: &End| {
        let node = topology.find(end.node)?;
        Some(PortRef {
            node,
            port: end.port?,
        })
    };
    let down = [
        Kind::MissingLink,
        Kind::Disabled,
        Kind::Quarantined,
        Kind::Down,
    ];
    let findings = page
        .findings
        .iter()
        .filter(|finding| down.contains(&finding.kind));
    for finding in findings {
        let Some(far) = &finding.b else {
            continue;
        };
        match (end(&finding.a), end(far)) {
            (Some(a), Some(b)) => marks.lost.push((a.min(b), a.max(b))),
            (Some(_), None) | (None, Some(_)) => marks.lost_with_node += 1,
            (None, None) => {}
        }
    }
    marks.lost.sort_unstable();
    marks.lost.dedup();
}

fn load(snapshot: &Snapshot, image: &Image) -> BTreeMap<PortRef, f64> {
    let mut load = BTreeMap::new();
    for link in image.links() {
        for (end, sending) in link.ends.iter().zip(&link.sending) {
            if let Some(node) = snapshot.topology.find(end.node) {
                let port = PortRef {
                    node,
                    port: end.port,
                };
                load.insert(port, sending.share);
            }
        }
    }
    load
}
