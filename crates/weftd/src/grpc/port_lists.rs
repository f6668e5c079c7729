//! Lists of PortService: ports that are disabled, and those in quarantine.

use tonic::Status;
use weft_api::{disabled_port, point_of, v1};
use weft_fabric::{PortRef, Snapshot};
use weft_report::Options;

use super::counters::focus;
use super::page::{Page, read_mask};
use super::refusal::status;
use super::{Key, Services, end_key};
use crate::request::{Request as Ask, told};

/// Ports of a page where nothing is said, and at most.
const PAGE: (usize, usize) = (1_000, 10_000);

impl Services {
    pub(super) async fn disabled_ports(
        &self,
        request: v1::ListDisabledPortsRequest,
    ) -> Result<v1::ListDisabledPortsResponse, Status> {
        let page = Page::new(request.page_size, &request.page_token, PAGE)?;
        let mask = read_mask("DisabledPort", request.read_mask.as_ref())?;
        self.must_be_master()?;
        let snapshot = self.hub.snapshot();
        let part = Part::new(&snapshot, &request.point)?;
        let ports = told(&self.engine, Ask::DisabledPorts).await;
        let ports = ports.map_err(|refusal| status(&refusal))?;
        let keyed = ports.into_iter().map(disabled_port).filter_map(|one| {
            let ends = [&one.port, &one.far].map(|end| end.as_ref()?.port);
            part.key(ends).map(|key| (key, one))
        });
        let (ports, next_page_token) = page.cut(sorted(keyed));
        Ok(v1::ListDisabledPortsResponse {
            ports: ports.into_iter().map(|one| mask.of(one)).collect(),
            next_page_token,
        })
    }

    pub(super) async fn quarantine(
        &self,
        request: v1::ListQuarantineRequest,
    ) -> Result<v1::ListQuarantineResponse, Status> {
        let page = Page::new(request.page_size, &request.page_token, PAGE)?;
        let mask = read_mask("QuarantinedPort", request.read_mask.as_ref())?;
        self.must_be_master()?;
        let snapshot = self.hub.snapshot();
        let part = Part::new(&snapshot, &request.point)?;
        let ports = told(&self.engine, Ask::Quarantine).await;
        let ports = ports.map_err(|refusal| status(&refusal))?;
        let ports = ports.into_iter().map(v1::QuarantinedPort::from);
        let keyed = ports.filter_map(|one| {
            let ends = [&one.port, &one.far].map(|end| end.as_ref()?.port);
            part.key(ends).map(|key| (key, one))
        });
        let (ports, next_page_token) = page.cut(sorted(keyed));
        Ok(v1::ListQuarantineResponse {
            ports: ports.into_iter().map(|one| mask.of(one)).collect(),
            next_page_token,
        })
    }
}

/// In order of GUID and port; of one port in the order in which they came.
fn sorted<T>(items: impl Iterator<Item = (Key, T)>) -> Vec<(Key, T)> {
    let mut items: Vec<(Key, T)> = items.collect();
    items.sort_by_key(|(key, _)| *key);
    items
}

/// The part of the fabric that a request is about.
struct Part<'a> {
    snapshot: &'a Snapshot,
    /// None for everything, ports that are gone included.
    options: Option<Options>,
}

impl<'a> Part<'a> {
    fn new(snapshot: &'a Snapshot, point: &str) -> Result<Self, Status> {
        let options = match point {
            "" => None,
            point => Some(focus(snapshot, point)?),
        };
        Ok(Self { snapshot, options })
    }

    /// The key of the first of two ends, if one of them is in this part.
    fn key(&self, ends: [Option<v1::PortId>; 2]) -> Option<Key> {
        let key = ends[0].as_ref().map_or((0, 0), end_key);
        let Some(options) = &self.options else {
            return Some(key);
        };
        let mut found = ends.iter().flatten().filter_map(|end| {
            let (node, port) = point_of(end)?;
            let node = self.snapshot.topology.find(node)?;
            Some(PortRef { node, port })
        });
        found.any(|at| options.port(at)).then_some(key)
    }
}
