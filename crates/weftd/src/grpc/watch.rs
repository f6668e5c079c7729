//! WatchService.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status};
use weft_api::time::timestamp;
use weft_api::v1;
use weft_api::v1::watch_response::Content;
use weft_api::v1::watch_service_server::WatchService;
use weft_api::{event_kind, event_kinds, kind_of};

use super::facts::Facts;
use super::refusal::{wrong_field, wrong_field_with};
use super::{Services, stopping};
use crate::access::client_of;
use crate::event_hub::{BACKLOG, EventHub, Stamped, Subscription, unix_time_ns};

/// Kinds of events that a reader may name.
const KINDS_MAX: usize = 64;
/// Messages that wait in a reader's own stream.
const AHEAD: usize = 16;

/// In a box: a channel keeps room for 32 values, whatever its bound.
type Message = Box<Result<v1::WatchResponse, Status>>;
type Messages = Pin<Box<dyn Stream<Item = Result<v1::WatchResponse, Status>> + Send>>;

#[tonic::async_trait]
impl WatchService for Services {
    type WatchStream = Messages;

    async fn watch(
        &self,
        request: Request<v1::WatchRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let watcher = self.watchers.enter(client_of(&request))?;
        let request = request.into_inner();
        let token = request.resume_token;
        let kinds = kinds(&request.kinds)?;
        let (subscription, foreign) = match parse(&token)? {
            None => (self.hub.subscribe(None), false),
            Some((run, after)) if run == self.hub.run => (self.hub.subscribe(Some(after)), false),
            Some(_) => (self.hub.subscribe(None), true),
        };
        let (sender, receiver) = mpsc::channel(AHEAD);
        let (hub, stop) = (self.hub.clone(), self.stopping.clone());
        tokio::spawn(async move {
            let _watcher = watcher;
            tokio::select! {
                () = forward(&hub, subscription, foreign, &kinds, &sender) => {}
                () = sender.closed() => {}
                () = stop.wait() => {
                    // The reader may have gone.
                    let _ = sender.send(Box::new(Err(stopping()))).await;
                }
            }
        });
        let messages = ReceiverStream::new(receiver).map(|message| *message);
        Ok(Response::new(Box::pin(messages)))
    }
}

/// Sends the marker, missed events, and new ones, until the reader goes or is too slow.
async fn forward(
    hub: &EventHub,
    mut subscription: Subscription,
    foreign: bool,
    kinds: &BTreeSet<u32>,
    sender: &mpsc::Sender<Message>,
) {
    let is_wanted = |event: &Stamped| kinds.is_empty() || kinds.contains(&kind_of(&event.content));
    let gap = subscription.gap || foreign;
    let mut last = subscription.after;
    let first = marker(hub, last, gap);
    let missed = std::mem::take(&mut subscription.missed);
    let missed = missed.iter().filter(|event| is_wanted(event));
    let missed = missed.map(|event| message(hub.run, event));
    for message in std::iter::once(first).chain(missed) {
        last = last.max(sequence(&message));
        if sender.send(Box::new(Ok(message))).await.is_err() {
            return;
        }
    }
    loop {
        let sent = match subscription.coming.recv().await {
            Ok(event) if event.sequence <= last || !is_wanted(&event) => continue,
            Ok(event) => {
                let message = Ok(message(hub.run, &event));
                sender.send(Box::new(message)).await
            }
            Err(RecvError::Lagged(missed)) => {
                let status = Status::resource_exhausted(format!(
                    "the reader is too slow: {missed} events beyond the {BACKLOG} that wait were \
                     lost; go on from the last resume_token"
                ));
                // The reader may have gone.
                let _ = sender.send(Box::new(Err(status))).await;
                return;
            }
            Err(RecvError::Closed) => return,
        };
        if sent.is_err() {
            return;
        }
    }
}

fn marker(hub: &EventHub, after: u64, gap: bool) -> v1::WatchResponse {
    v1::WatchResponse {
        resume_token: token(hub.run, after),
        generation: hub.snapshot().generation,
        time: Some(timestamp(unix_time_ns())),
        content: Some(Content::Marker(v1::Marker { gap })),
    }
}

fn message(run: u64, event: &Arc<Stamped>) -> v1::WatchResponse {
    v1::WatchResponse {
        resume_token: token(run, event.sequence),
        generation: event.generation,
        time: Some(timestamp(event.unix_time_ns)),
        content: Some(event.content.clone()),
    }
}

/// The place of an event: the run of the daemon, and its number there.
pub(crate) fn token(run: u64, sequence: u64) -> String {
    format!("{run:016x}-{sequence}")
}

fn sequence(message: &v1::WatchResponse) -> u64 {
    let parsed = parse(&message.resume_token).ok().flatten();
    parsed.map_or(0, |(_, sequence)| sequence)
}

/// The numbers of kinds of events that are named; none for all.
fn kinds(names: &[String]) -> Result<BTreeSet<u32>, Status> {
    if names.len() > KINDS_MAX {
        let what = format!("{} kinds, allowed are up to {KINDS_MAX}", names.len());
        return Err(wrong_field_with("kinds", &what, Facts::limit(KINDS_MAX)));
    }
    let number = |(place, name): (usize, &String)| {
        event_kind(name).ok_or_else(|| {
            let known: Vec<&str> = event_kinds().collect();
            let what = format!("no event is called {name:?}; allowed: {}", known.join(", "));
            wrong_field(&format!("kinds[{place}]"), &what)
        })
    };
    names.iter().enumerate().map(number).collect()
}

/// The run and the sequence of a token, none for no token.
fn parse(token: &str) -> Result<Option<(u64, u64)>, Status> {
    if token.is_empty() {
        return Ok(None);
    }
    let wrong = || Status::invalid_argument("resume_token: expected that of an earlier message");
    place_of(token).map(Some).ok_or_else(wrong)
}

/// The run and the number there of a token.
pub(crate) fn place_of(token: &str) -> Option<(u64, u64)> {
    let (run, sequence) = token.split_once('-')?;
    Some((u64::from_str_radix(run, 16).ok()?, sequence.parse().ok()?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use weft_manager::Event;

    use super::*;
    use crate::event::DaemonEvent;
    use crate::event_hub::InForce;

    fn tell(hub: &EventHub) {
        let event = Event::StateRefused {
            why: "test".to_owned(),
        };
        hub.tell(DaemonEvent::Fabric(event));
    }

    #[tokio::test]
    async fn a_slow_reader_is_dropped_and_told() {
        let hub = EventHub::new(InForce::default());
        let subscription = hub.subscribe(None);
        (0..=BACKLOG).for_each(|_| tell(&hub));
        let (sender, mut receiver) = mpsc::channel::<Message>(AHEAD);
        forward(&hub, subscription, false, &BTreeSet::new(), &sender).await;
        assert!(matches!(
            receiver.recv().await.unwrap().unwrap().content,
            Some(Content::Marker(_))
        ));
        let status = receiver.recv().await.unwrap().unwrap_err();
        assert_eq!(status.code(), tonic::Code::ResourceExhausted);
        assert!(
            status.message().contains("1 events beyond"),
            "{}",
            status.message()
        );
    }

    #[tokio::test]
    async fn nothing_comes_twice_and_nothing_is_missed() {
        let hub = EventHub::new(InForce::default());
        (0..3).for_each(|_| tell(&hub));
        let subscription = hub.subscribe(Some(1));
        tell(&hub);
        let (sender, mut receiver) = mpsc::channel::<Message>(AHEAD);
        let reading = async {
            let mut sequences = Vec::new();
            while sequences.len() < 4 {
                sequences.push(sequence(&receiver.recv().await.unwrap().unwrap()));
            }
            sequences
        };
        let all = BTreeSet::new();
        let sequences = tokio::select! {
            sequences = reading => sequences,
            () = forward(&hub, subscription, false, &all, &sender) => Vec::new(),
        };
        assert_eq!(
            sequences,
            [1, 2, 3, 4],
            "the marker, two missed, one that came"
        );
    }

    #[test]
    fn tokens_are_read_back() {
        assert_eq!(parse(&token(0xAB, 17)).unwrap(), Some((0xAB, 17)));
        assert_eq!(parse("").unwrap(), None);
        for wrong in ["x", "1", "-", "zz-1", "1-x", "1--1"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
