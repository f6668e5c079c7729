//! The stream to a follower: signs of life, and each part when it changes.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};
use weft_api::v1;
use weft_fabric::enums::SmState;

use super::Offer;
use super::parts::Parts;
use super::pieces::pieces;
use crate::event_hub::EventHub;
use crate::stopping::Stopping;

/// Messages that wait for their reader.
const AHEAD: usize = 4;

type Message = Result<v1::WatchStateResponse, Status>;
pub(crate) type PeerStream = ReceiverStream<Message>;

/// What a stream needs of the daemon.
#[derive(Debug, Clone)]
struct Source {
    hub: Arc<EventHub>,
    heartbeat: Duration,
}

/// Begins a stream.
///
/// # Errors
/// RESOURCE_EXHAUSTED when there are too many followers.
pub(crate) fn stream(
    offer: &Arc<Offer>,
    hub: &Arc<EventHub>,
    heartbeat: Duration,
    address: String,
    said: Streaming<v1::WatchStateRequest>,
    stopping: Stopping,
) -> Result<PeerStream, Status> {
    let entered = offer.enter(address);
    let (number, ends) = entered.ok_or_else(|| {
        Status::resource_exhausted("too many managers follow this one already".to_owned())
    })?;
    let (sender, receiver) = mpsc::channel(AHEAD);
    let source = Source {
        hub: hub.clone(),
        heartbeat,
    };
    let offer = Arc::clone(offer);
    tokio::spawn(async move {
        tokio::select! {
            () = send(&source, offer.parts(), &sender) => {}
            () = hear(&offer, number, said) => {}
            () = ended(ends) => {}
            () = sender.closed() => {}
            () = stopping.wait() => {}
        }
        offer.leave(number);
    });
    Ok(ReceiverStream::new(receiver))
}

async fn ended(mut ends: watch::Receiver<bool>) {
    // Without its sender the follower is not listed any more.
    let _ = ends.wait_for(|end| *end).await;
}

/// Hears how far the follower has come, until it goes.
async fn hear(offer: &Offer, number: u64, mut said: Streaming<v1::WatchStateRequest>) {
    while let Ok(Some(word)) = said.message().await {
        offer.refused(number, &word.refused);
        offer.taken(number, word.taken);
        offer.settings(number, word.settings.as_ref());
    }
}

/// Sends until the reader goes.
async fn send(source: &Source, mut parts: watch::Receiver<Parts>, sender: &mpsc::Sender<Message>) {
    let mut beats = interval(source.heartbeat);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut sent = 0;
    loop {
        let changed = tokio::select! {
            _ = beats.tick() => false,
            changed = parts.changed() => changed.is_ok(),
        };
        let now = parts.borrow_and_update().clone();
        let mut sign = source.sign(now.sequence());
        if !sign.master {
            // Another master's follower begins with all of it.
            sent = 0;
        }
        let next = now.next_after(sent).filter(|_| sign.master);
        let Some((kind, part)) = next else {
            if !changed && sender.send(Ok(sign)).await.is_err() {
                return;
            }
            continue;
        };
        sent = part.sequence;
        let made = tokio::task::spawn_blocking(move || pieces(kind, &part)).await;
        // Memory cannot fail to compress; a panic ends the daemon.
        let Ok(Ok(made)) = made else { return };
        for piece in made {
            sign.piece = Some(piece);
            if sender.send(Ok(sign.clone())).await.is_err() {
                return;
            }
        }
        if now.next_after(sent).is_some() {
            parts.mark_changed();
        }
    }
}

impl Source {
    /// A sign of life.
    fn sign(&self, sequence: u64) -> v1::WatchStateResponse {
        let status = self.hub.status();
        let master = status.role == SmState::MASTER && self.hub.attachment().attached;
        let own = status.master.filter(|_| master);
        v1::WatchStateResponse {
            port_guid: own.map_or(0, |guid| guid.0),
            master,
            sequence,
            heartbeat: self.heartbeat.try_into().ok(),
            piece: None,
        }
    }
}
