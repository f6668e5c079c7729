//! Ports that are to change, one after the other: each begins only if its client still waits for it.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tracing::{info, warn};
use weft_manager::{CommandError, PortOrder};

use super::Refusal;
use super::disk::Disk;
use super::requester::Requester;
use crate::attachment::Attachment;
use crate::event_hub::EventHub;
use crate::event_log::port_changes::{done, name};
use crate::request::{Request, ask};

/// Changes of ports that wait.
const WAITING_MAX: usize = 64;

struct UnderWay {
    order: PortOrder,
    requester: Requester<()>,
    /// The manager's answer: the number of the state that keeps the change.
    answer: oneshot::Receiver<Result<u64, CommandError>>,
    /// That number once it is known, and when it has to be on disk.
    kept_as: Option<(u64, Instant)>,
}

impl UnderWay {
    /// Waits until the change is made and on disk. May be given up and called again.
    async fn end(&mut self, disk: &mut Disk, hub: &EventHub) -> Result<(), Refusal> {
        let (state, deadline) = match self.kept_as {
            Some(kept_as) => kept_as,
            None => {
                let made = match (&mut self.answer).await {
                    Ok(made) => made.map_err(Refusal::from),
                    Err(_) => Err(Refusal::Stopping),
                };
                if let Err(error) = &made {
                    log_failure(hub, &self.order, error);
                }
                *self.kept_as.insert((made?, Disk::deadline()))
            }
        };
        let PortOrder { node, port, .. } = self.order;
        let what = || format!("port {port} of {node} {}", done(self.order.action));
        disk.has(state, deadline, what).await
    }
}

/// The queue of changes.
pub(super) struct Ports {
    engine: mpsc::Sender<Request>,
    hub: Arc<EventHub>,
    waiting: VecDeque<(PortOrder, Requester<()>)>,
    under_way: Option<UnderWay>,
    disk: Disk,
}

impl Ports {
    pub(super) fn new(engine: mpsc::Sender<Request>, hub: Arc<EventHub>, disk: Disk) -> Self {
        Self {
            engine,
            hub,
            waiting: VecDeque::new(),
            under_way: None,
            disk,
        }
    }

    /// Puts a change at the end of the queue.
    pub(super) fn push(&mut self, order: PortOrder, requester: Requester<()>, fabric: Attachment) {
        match fabric.required() {
            Err(detached) => _ = requester.answer(Err(detached.into())),
            Ok(()) if self.waiting.len() >= WAITING_MAX => _ = requester.answer(Err(Refusal::Busy)),
            Ok(()) => {
                self.waiting.push_back((order, requester));
                self.next(fabric);
            }
        }
    }

    /// Starts the next change whose requester still waits, unless one is running.
    pub(super) fn next(&mut self, fabric: Attachment) {
        while self.under_way.is_none() {
            let Some((order, requester)) = self.waiting.pop_front() else {
                return;
            };
            if let Err(detached) = fabric.required() {
                requester.answer(Err(detached.into()));
            } else if requester.begin() {
                self.begin(order, requester);
            } else {
                let PortOrder { node, port, .. } = order;
                info!(
                    event = "port_not_changed",
                    %node, %port, action = name(order.action), author = order.note.author, peer = order.note.peer,
                    "port {port} of {node} is unchanged: the client that asked for it ({}) has disconnected",
                    name(order.action)
                );
            }
        }
    }

    fn begin(&mut self, order: PortOrder, requester: Requester<()>) {
        let (done, answer) = oneshot::channel();
        let asked = order.clone();
        let request = Request::Port { order: asked, done };
        match ask(&self.engine, request) {
            Ok(()) => {
                self.under_way = Some(UnderWay {
                    order,
                    requester,
                    answer,
                    kept_as: None,
                });
            }
            Err(refusal) => _ = requester.answer(Err(refusal)),
        }
    }

    /// Waits for the end of the running change, for ever if there is none, and answers it.
    pub(super) async fn end_one(&mut self) {
        let result = match &mut self.under_way {
            Some(under_way) => under_way.end(&mut self.disk, &self.hub).await,
            None => pending().await,
        };
        let Some(UnderWay { requester, .. }) = self.under_way.take() else {
            return;
        };
        requester.answer(result);
    }
}

fn log_failure(hub: &EventHub, order: &PortOrder, error: &Refusal) {
    warn!(
        event = "port_not_changed",
        node_guid = %order.node, node = hub.name_of(order.node), port = order.port.0, action = name(order.action),
        reason = order.note.reason, author = order.note.author, peer = order.note.peer, %error,
        "port {} of {}: no {}", order.port, order.node, name(order.action)
    );
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use tokio::sync::watch;

    use super::super::requester;
    use super::*;
    use weft_fabric::{Guid, PortNum};
    use weft_manager::PortAction;

    use crate::event_hub::InForce;
    use crate::store::Saved;

    fn order() -> PortOrder {
        PortOrder::new((Guid(7), PortNum(1)), PortAction::Disable)
    }

    fn queue(engine: mpsc::Sender<Request>, saved: Saved) -> (Ports, watch::Sender<Saved>) {
        let (saved, on_disk) = watch::channel(saved);
        let hub = Arc::new(EventHub::new(InForce::default()));
        (Ports::new(engine, hub, Disk::new(on_disk)), saved)
    }

    fn asked() -> (Requester<()>, requester::Answer<()>) {
        requester::pair(super::super::usual_deadline())
    }

    #[tokio::test]
    async fn one_after_the_other_and_only_while_somebody_waits() {
        let (engine, mut requests) = mpsc::channel(8);
        let mut ports = queue(engine, Saved::everything()).0;
        let there = Attachment::now(true);
        let (first, first_answer) = asked();
        let (second, second_answer) = asked();
        let (third, third_answer) = asked();
        ports.push(order(), first, there);
        ports.push(order(), second, there);
        ports.push(order(), third, there);
        let Some(Request::Port { done, .. }) = requests.recv().await else {
            panic!("the first does not begin");
        };
        assert!(requests.try_recv().is_err(), "one at a time");
        drop(second_answer);
        done.send(Ok(1)).unwrap();
        ports.end_one().await;
        first_answer.wait().await.unwrap();
        ports.next(there);
        let Some(Request::Port { done, .. }) = requests.recv().await else {
            panic!("the third does not begin");
        };
        assert!(requests.try_recv().is_err(), "the second has not begun");
        let refused = CommandError::Detached { begun: true };
        done.send(Err(refused.clone())).unwrap();
        ports.end_one().await;
        let said = third_answer.wait().await.unwrap_err().to_string();
        assert_eq!(said, refused.to_string());
    }

    #[tokio::test]
    async fn a_change_is_acknowledged_when_it_is_on_disk() {
        let (engine, mut requests) = mpsc::channel(8);
        let (mut ports, saved) = queue(engine, Saved::default());
        let there = Attachment::now(true);
        let (requester, answer) = asked();
        ports.push(order(), requester, there);
        let Some(Request::Port { done, .. }) = requests.recv().await else {
            panic!("it does not begin");
        };
        done.send(Ok(4)).unwrap();
        let early = tokio::time::timeout(Duration::from_millis(100), ports.end_one()).await;
        assert!(early.is_err(), "it is not on disk yet");
        saved.send_modify(|saved| saved.number = 4);
        ports.end_one().await;
        answer.wait().await.unwrap();

        let (requester, answer) = asked();
        ports.push(order(), requester, there);
        let Some(Request::Port { done, .. }) = requests.recv().await else {
            panic!("the next one does not begin");
        };
        done.send(Ok(5)).unwrap();
        saved.send_modify(|saved| saved.failure = Some("No space left on device".to_owned()));
        ports.end_one().await;
        let said = answer.wait().await.unwrap_err().to_string();
        let words = "is disabled, but that is not on disk yet: No space left on device";
        assert!(said.contains(words), "{said}");
    }

    #[tokio::test]
    async fn nothing_waits_for_a_fabric_that_is_gone() {
        let (engine, mut requests) = mpsc::channel(8);
        let mut ports = queue(engine, Saved::everything()).0;
        let (requester, answer) = asked();
        ports.push(order(), requester, Attachment::now(false));
        assert!(matches!(answer.wait().await, Err(Refusal::Detached(_))));
        assert!(requests.try_recv().is_err());
    }
}
