//! CounterService.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};
use weft_api::v1::counter_service_server::CounterService;
use weft_api::{WantedCounters, has_errors, point_of, v1};
use weft_fabric::{PortRef, Snapshot};
use weft_manager::pm::Roster;
use weft_manager::port_totals::PortTotals;
use weft_report::{Focus, Options};

use super::counter_watch::{PORTS_WATCHED_MAX, WATCHERS};
use super::counters_then::{Then, image_message, known_at};
use super::limits::Watchers;
use super::page::Page;
use super::refusal::wrong_field;
use super::{Key, Services, select};
use crate::access::Client;

/// Ports of a page where nothing is said, at most, and at most with lanes or virtual fabrics.
const PORTS: usize = 100;
const PORTS_MAX: usize = 1_000;
const LARGE_PORTS_MAX: usize = 200;

/// Those who watch counters.
#[derive(Debug, Clone)]
pub(crate) struct CounterReaders {
    pub(super) watchers: Arc<Watchers>,
    /// Ports that may still be watched.
    pub(super) budget: Arc<Semaphore>,
}

impl Default for CounterReaders {
    fn default() -> Self {
        Self {
            watchers: Arc::new(Watchers::at_most(WATCHERS)),
            budget: Arc::new(Semaphore::new(PORTS_WATCHED_MAX)),
        }
    }
}

#[tonic::async_trait]
impl CounterService for Services {
    type WatchPortCountersStream = ReceiverStream<Result<v1::WatchPortCountersResponse, Status>>;

    async fn list_port_counters(
        &self,
        request: Request<v1::ListPortCountersRequest>,
    ) -> Result<Response<v1::ListPortCountersResponse>, Status> {
        let request = request.into_inner();
        let wanted = wanted(request.selection.as_ref())?;
        let most = match wanted.is_large() {
            true => LARGE_PORTS_MAX,
            false => PORTS_MAX,
        };
        let page = Page::new(
            request.page_size,
            &request.page_token,
            (PORTS.min(most), most),
        )?;
        let at = request.at.as_ref();
        let (totals, then) = self.totals_at(at, wanted).await?;
        let (attachment, of) = (self.attachment_at(at), then.clone());
        // At many ports that takes milliseconds.
        let listed =
            task::spawn_blocking(move || list(&totals, of.as_ref(), &request, wanted, page));
        let listed = listed
            .await
            .map_err(|error| Status::internal(error.to_string()))??;
        Ok(Response::new(v1::ListPortCountersResponse {
            attachment,
            moment: then.map(|then| then.shown),
            ..listed
        }))
    }

    async fn get_port_counters(
        &self,
        request: Request<v1::GetPortCountersRequest>,
    ) -> Result<Response<v1::GetPortCountersResponse>, Status> {
        let request = request.into_inner();
        let wanted = wanted(request.selection.as_ref())?;
        let id = request.port.unwrap_or_default();
        let (node, number) =
            point_of(&id).ok_or_else(|| wrong_field("port", "expected one of 0 to 255"))?;
        let at = request.at.as_ref();
        let (totals, then) = self.totals_at(at, wanted).await?;
        let image = totals.image().ok_or_else(none_yet)?;
        let roster = &image.roster;
        let mut places = 0..roster.ports.len();
        let place = places.find(|place| {
            let port = &roster.ports[*place];
            port.number == number && roster.member_of(port).guid == node
        });
        let port = place.and_then(|place| v1::PortCounters::of(&totals, place, wanted));
        let port = port.map(|port| known_at(then.as_ref(), port));
        let port = port.ok_or_else(|| self.unread("the counters of", (node, number)))?;
        Ok(Response::new(v1::GetPortCountersResponse {
            image: Some(image_message(image, then.as_ref())),
            port: Some(port),
            attachment: self.attachment_at(at),
            moment: then.map(|then| then.shown),
        }))
    }

    async fn list_virtual_fabric_ports(
        &self,
        request: Request<v1::ListVirtualFabricPortsRequest>,
    ) -> Result<Response<v1::ListVirtualFabricPortsResponse>, Status> {
        self.virtual_fabric_ports(request.into_inner())
            .await
            .map(Response::new)
    }

    async fn clear_port_counters(
        &self,
        request: Request<v1::ClearPortCountersRequest>,
    ) -> Result<Response<v1::ClearPortCountersResponse>, Status> {
        self.clear_counters(request.into_inner())
            .await
            .map(Response::new)
    }

    async fn watch_port_counters(
        &self,
        request: Request<v1::WatchPortCountersRequest>,
    ) -> Result<Response<Self::WatchPortCountersStream>, Status> {
        let client: Option<Client> = request.extensions().get().cloned();
        self.watch_counters(client.as_ref(), request.into_inner())
            .map(Response::new)
    }
}

impl Services {
    /// The last totals.
    pub(super) fn totals(&self) -> Result<Arc<PortTotals>, Status> {
        self.must_be_master()?;
        self.must_read_counters()?;
        let totals = self.port_counters.latest();
        match totals.image() {
            Some(_) => Ok(totals),
            None => Err(none_yet()),
        }
    }
}

pub(super) fn none_yet() -> Status {
    Status::failed_precondition(
        "the performance manager has not read the ports' counters yet: ask again in a moment",
    )
}

pub(super) fn wanted(selection: Option<&v1::CounterSelection>) -> Result<WantedCounters, Status> {
    let wanted = WantedCounters::new(selection);
    wanted.map_err(|why| Status::invalid_argument(format!("selection.counters: {why}")))
}

/// The part of the fabric that a point names, all of it where there is none.
pub(super) fn focus(snapshot: &Snapshot, point: &str) -> Result<Options, Status> {
    let mut options = Options::default();
    if !point.is_empty() {
        let selection = select(snapshot, "point", point)?;
        options.focus = Some(Focus::new(snapshot, &selection, &options));
    }
    Ok(options)
}

/// The ports of a roster in a part of the fabric, with their places, in order of GUID and port.
pub(super) fn places(roster: &Roster, options: &Options) -> Vec<(Key, usize)> {
    let mut chosen: Vec<(Key, usize)> = chosen(roster, options).collect();
    chosen.sort_unstable();
    chosen
}

/// The ports of a roster in a part of the fabric, with their places.
pub(super) fn chosen(roster: &Roster, options: &Options) -> impl Iterator<Item = (Key, usize)> {
    let ports = roster.ports.iter().enumerate();
    ports.filter_map(|(place, port)| {
        let member = roster.member_of(port);
        let at = PortRef {
            node: member.node,
            port: port.number,
        };
        options
            .port(at)
            .then_some(((member.guid.0, port.number.0), place))
    })
}

/// Whether a port belongs in an answer.
pub(super) fn is_told(totals: &PortTotals, place: usize, only_errors: bool) -> bool {
    let total = totals.port(place);
    total.is_some_and(|total| !only_errors || has_errors(&total.counters))
}

fn list(
    totals: &PortTotals,
    then: Option<&Then>,
    request: &v1::ListPortCountersRequest,
    wanted: WantedCounters,
    page: Page,
) -> Result<v1::ListPortCountersResponse, Status> {
    let image = totals.image().ok_or_else(none_yet)?;
    let options = focus(&image.roster.snapshot, &request.point)?;
    // Whether a port has been read at all is only looked at for those of the page.
    let is_wanted = |place| !request.only_errors || is_told(totals, place, true);
    let chosen = chosen(&image.roster, &options).filter(|(_, place)| is_wanted(*place));
    let (page, next_page_token) = page.pick(chosen);
    let ports = page.into_iter();
    Ok(v1::ListPortCountersResponse {
        image: Some(image_message(image, then)),
        ports: ports
            .filter_map(|place| v1::PortCounters::of(totals, place, wanted))
            .map(|port| known_at(then, port))
            .collect(),
        next_page_token,
        attachment: None,
        moment: None,
    })
}
