//! CounterService.WatchPortCounters: each reader has a task of its own, which takes the last totals when its reader is
//! ready and holds no more than one message.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::task;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use weft_api::{WantedCounters, v1};
use weft_manager::pm::{Image, Roster};
use weft_manager::port_totals::PortTotals;

use super::counters::{CounterReaders, focus, is_told, places, wanted};
use super::limits::WatchersMax;
use super::refusal::limit_reached;
use super::{Services, attachment, stopping};
use crate::access::Client;
use crate::event_hub::EventHub;

/// Watches at the same time.
pub(super) const WATCHERS: WatchersMax = WatchersMax {
    all: 1_024,
    connection: 32,
};
/// Ports of all watches together: each may wait in a message of its own for a slow reader.
pub(super) const PORTS_WATCHED_MAX: usize = 262_144;
/// Ports of one watch, so that a message has room for them; with lanes or virtual fabrics.
const PORTS_MAX: usize = 2_048;
const LARGE_PORTS_MAX: usize = 256;
/// Messages that wait in a reader's own stream.
const AHEAD: usize = 1;
/// Ports after which other tasks get their turn.
const TURN: usize = 64;

type Message = Result<v1::WatchPortCountersResponse, Status>;

impl Services {
    /// Begins to send counters to a reader.
    pub(super) fn watch_counters(
        &self,
        client: Option<&Client>,
        request: v1::WatchPortCountersRequest,
    ) -> Result<ReceiverStream<Message>, Status> {
        let watcher = self.counter_readers.watchers.enter(client)?;
        let wanted = wanted(request.selection.as_ref())?;
        let totals = self.totals()?;
        let mut reader = Reader {
            readers: self.counter_readers.clone(),
            hub: Arc::clone(&self.hub),
            request,
            wanted,
            watched: None,
            last: None,
        };
        if let Some(image) = totals.image() {
            reader.choose(image)?;
        }
        let (sender, receiver) = mpsc::channel(AHEAD);
        let (coming, stop) = (self.port_counters.subscribe(), self.stopping.clone());
        tokio::spawn(async move {
            let _watcher = watcher;
            tokio::select! {
                () = reader.forward(coming, &sender) => {}
                () = sender.closed() => {}
                () = stop.wait() => {
                    // The reader may have gone, or not be ready.
                    let _ = sender.try_send(Err(stopping()));
                }
            }
        });
        Ok(ReceiverStream::new(receiver))
    }
}

/// Ports that are watched, in one roster.
struct Watched {
    roster: Arc<Roster>,
    places: Vec<usize>,
    _budget: OwnedSemaphorePermit,
}

/// A reader's task.
struct Reader {
    readers: CounterReaders,
    hub: Arc<EventHub>,
    request: v1::WatchPortCountersRequest,
    wanted: WantedCounters,
    watched: Option<Watched>,
    /// Number of the last image that was sent.
    last: Option<u64>,
}

impl Reader {
    /// Sends each new image until the reader goes or no more come.
    async fn forward(
        mut self,
        mut coming: watch::Receiver<Arc<PortTotals>>,
        sender: &mpsc::Sender<Message>,
    ) {
        loop {
            let totals = Arc::clone(&coming.borrow_and_update());
            let message = self.message(&totals).await;
            // A slow reader holds no totals.
            drop(totals);
            let failed = message.is_err();
            if sender.send(message).await.is_err() || failed || coming.changed().await.is_err() {
                return;
            }
        }
    }

    async fn message(&mut self, totals: &PortTotals) -> Message {
        let mut message = v1::WatchPortCountersResponse {
            attachment: Some(attachment(self.hub.attachment())),
            ..v1::WatchPortCountersResponse::default()
        };
        let Some(image) = totals.image() else {
            return Ok(message);
        };
        self.choose(image)?;
        message.image = Some(v1::CounterImage::of(image));
        let next = self.last.map_or(image.number, |last| last + 1);
        message.lost_images = image.number.saturating_sub(next);
        self.last = Some(image.number);
        let places = self
            .watched
            .as_ref()
            .map_or(&[][..], |watched| &watched.places);
        for (turn, place) in places.iter().enumerate() {
            if turn % TURN == TURN - 1 {
                task::yield_now().await;
            }
            if is_told(totals, *place, self.request.only_errors) {
                let port = v1::PortCounters::of(totals, *place, self.wanted);
                message.ports.extend(port);
            }
        }
        Ok(message)
    }

    /// Finds the ports in an image. The first time it is an error if there are none.
    fn choose(&mut self, image: &Image) -> Result<(), Status> {
        let known = self.watched.as_ref();
        if known.is_some_and(|watched| Arc::ptr_eq(&watched.roster, &image.roster)) {
            return Ok(());
        }
        let chosen = match focus(&image.roster.snapshot, &self.request.point) {
            Ok(options) => places(&image.roster, &options),
            Err(_) if self.watched.is_some() => Vec::new(),
            Err(refused) => return Err(refused),
        };
        let (count, most) = (chosen.len(), self.most());
        if count > most {
            let what = format!(
                "point: it names {count} ports, and one watch has at most {most}; name fewer, or use ListPortCounters"
            );
            return Err(limit_reached(&what, most));
        }
        // What it holds counts no longer.
        self.watched = None;
        let budget = Arc::clone(&self.readers.budget);
        let budget = budget.try_acquire_many_owned(count as u32).map_err(|_| {
            let what = format!(
                "all watches together have {PORTS_WATCHED_MAX} ports, which is the most; try again later"
            );
            limit_reached(&what, PORTS_WATCHED_MAX)
        })?;
        self.watched = Some(Watched {
            roster: Arc::clone(&image.roster),
            places: chosen.into_iter().map(|(_, place)| place).collect(),
            _budget: budget,
        });
        Ok(())
    }

    fn most(&self) -> usize {
        match self.wanted.is_large() {
            true => LARGE_PORTS_MAX,
            false => PORTS_MAX,
        }
    }
}
