//! Ports that are to change, one after the other: each begins only if its client still waits for it.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tracing::{info, warn};
use weft_fabric::{Guid, PortNum};
use weft_manager::{CommandError, PortAction};

use super::Refusal;
use super::asker::Asker;
use crate::attachment::Attachment;
use crate::happening::Happening;
use crate::hub::Hub;
use crate::request::{Request, ask};

/// Changes of ports that wait.
const WAITING_MAX: usize = 64;

/// A port that is to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PortOrder {
    pub(crate) node: Guid,
    pub(crate) port: PortNum,
    pub(crate) action: PortAction,
    /// Only say whether it could be done.
    pub(crate) validate_only: bool,
}

struct UnderWay {
    order: PortOrder,
    asker: Asker<()>,
    answer: oneshot::Receiver<Result<(), CommandError>>,
}

/// The queue of changes.
pub(super) struct Ports {
    engine: mpsc::Sender<Request>,
    hub: Arc<Hub>,
    waiting: VecDeque<(PortOrder, Asker<()>)>,
    under_way: Option<UnderWay>,
}

impl Ports {
    pub(super) fn new(engine: mpsc::Sender<Request>, hub: Arc<Hub>) -> Self {
        Self {
            engine,
            hub,
            waiting: VecDeque::new(),
            under_way: None,
        }
    }

    /// Puts a change at the end of the queue.
    pub(super) fn push(&mut self, order: PortOrder, asker: Asker<()>, fabric: Attachment) {
        match fabric.required() {
            Err(detached) => _ = asker.answer(Err(detached.into())),
            Ok(()) if self.waiting.len() >= WAITING_MAX => _ = asker.answer(Err(Refusal::Busy)),
            Ok(()) => {
                self.waiting.push_back((order, asker));
                self.next(fabric);
            }
        }
    }

    /// Starts the next change whose requester still waits, unless one is running.
    pub(super) fn next(&mut self, fabric: Attachment) {
        while self.under_way.is_none() {
            let Some((order, asker)) = self.waiting.pop_front() else {
                return;
            };
            if let Err(detached) = fabric.required() {
                asker.answer(Err(detached.into()));
            } else if asker.begin() {
                self.begin(order, asker);
            } else {
                let PortOrder {
                    node, port, action, ..
                } = order;
                info!(
                    event = "port_not_changed",
                    %node, %port, action = verb(action),
                    "port {port} of {node} is left as it is: who asked to {} it has gone",
                    verb(action)
                );
            }
        }
    }

    fn begin(&mut self, order: PortOrder, asker: Asker<()>) {
        let (done, answer) = oneshot::channel();
        let request = Request::Port { order, done };
        match ask(&self.engine, request) {
            Ok(()) => {
                self.under_way = Some(UnderWay {
                    order,
                    asker,
                    answer,
                });
            }
            Err(refusal) => _ = asker.answer(Err(refusal)),
        }
    }

    /// Waits for the end of the running change, for ever if there is none, and answers it.
    pub(super) async fn end_one(&mut self) {
        let answered = match &mut self.under_way {
            Some(under_way) => (&mut under_way.answer).await,
            None => pending().await,
        };
        let Some(UnderWay { order, asker, .. }) = self.under_way.take() else {
            return;
        };
        let result = match answered {
            Ok(result) => result.map_err(Refusal::from),
            Err(_) => Err(Refusal::Stopping),
        };
        tell(&self.hub, order, &result);
        asker.answer(result);
    }
}

fn tell(hub: &Hub, order: PortOrder, result: &Result<(), Refusal>) {
    let PortOrder {
        node,
        port,
        action,
        validate_only,
    } = order;
    match result {
        _ if validate_only => {}
        Ok(()) => hub.tell(Happening::Port { node, port, action }),
        Err(error) => warn!(
            event = "port_not_changed",
            node_guid = %node, node = hub.name_of(node), port = port.0, action = verb(action), %error,
            "port {port} of {node}: not {}d", verb(action)
        ),
    }
}

fn verb(action: PortAction) -> &'static str {
    match action {
        PortAction::Disable => "disable",
        PortAction::Enable => "enable",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::asker;
    use super::*;
    use crate::hub::InForce;

    const ORDER: PortOrder = PortOrder {
        node: Guid(7),
        port: PortNum(1),
        action: PortAction::Disable,
        validate_only: false,
    };

    fn asked() -> (Asker<()>, asker::Answer<()>) {
        asker::pair(super::super::usual_deadline())
    }

    #[tokio::test]
    async fn one_after_the_other_and_only_while_somebody_waits() {
        let (engine, mut requests) = mpsc::channel(8);
        let mut ports = Ports::new(engine, Arc::new(Hub::new(InForce::default())));
        let there = Attachment::now(true);
        let (first, first_answer) = asked();
        let (second, second_answer) = asked();
        let (third, third_answer) = asked();
        ports.push(ORDER, first, there);
        ports.push(ORDER, second, there);
        ports.push(ORDER, third, there);
        let Some(Request::Port { done, .. }) = requests.recv().await else {
            panic!("the first does not begin");
        };
        assert!(requests.try_recv().is_err(), "one at a time");
        drop(second_answer);
        done.send(Ok(())).unwrap();
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
    async fn nothing_waits_for_a_fabric_that_is_gone() {
        let (engine, mut requests) = mpsc::channel(8);
        let mut ports = Ports::new(engine, Arc::new(Hub::new(InForce::default())));
        let (asker, answer) = asked();
        ports.push(ORDER, asker, Attachment::now(false));
        assert!(matches!(answer.wait().await, Err(Refusal::Detached(_))));
        assert!(requests.try_recv().is_err());
    }
}
