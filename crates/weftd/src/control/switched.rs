//! Ports that a way back to a moment switches off and on, one after the other, once its routes are in force.

use tokio::sync::{mpsc, oneshot};
use weft_fabric::{Guid, PortNum};
use weft_manager::sm::back::PortBack;
use weft_manager::{AUTHOR_MAX, PortAction, PortNote, PortOrder, REASON_MAX};

use super::{Order, Refusal, requester, usual_deadline};
use crate::operations::Origin;
use crate::request::{Request, ask};

/// Ports that an operation names where they were not switched; an answer has all of them.
const NAMED_MAX: usize = 8;

/// What has become of ports that a plan switches.
#[derive(Debug, Default)]
pub(crate) struct PortsSwitched {
    /// How many were switched.
    pub(crate) count: u32,
    /// Those that were not.
    pub(crate) failed: Vec<NotSwitched>,
    /// Number of the sweep that will have seen all of them.
    pub(crate) sweep: Option<u64>,
}

impl PortsSwitched {
    /// Ports that were not switched, in words; none where all were.
    pub(super) fn trouble(&self, name_of: impl Fn(Guid) -> String) -> Option<String> {
        let named = self.failed.iter().take(NAMED_MAX);
        let named = named.map(|NotSwitched { port, action, why }| {
            let (node, port) = (name_of(port.0), port.1);
            let does = match action {
                PortAction::Disable => "disabled",
                _ => "enabled",
            };
            format!("{node} port {port} was not {does}: {why}")
        });
        let more = self.failed.len().saturating_sub(NAMED_MAX);
        let more = (more > 0).then(|| format!("{more} more were not switched"));
        let all: Vec<String> = named.chain(more).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// A port that was not switched.
#[derive(Debug)]
pub(crate) struct NotSwitched {
    pub(crate) port: (Guid, PortNum),
    pub(crate) action: PortAction,
    pub(crate) why: Refusal,
}

/// The end of switching; none where there is nothing to switch.
#[derive(Debug, Default)]
pub(crate) struct Switching(Option<oneshot::Receiver<PortsSwitched>>);

impl Switching {
    /// Waits for it; none where there was nothing to switch, or the daemon stops.
    pub(crate) async fn ended(self) -> Option<PortsSwitched> {
        self.0?.await.ok()
    }
}

/// Switches ports, whether somebody waits for it or not; `all_done` is told what has become of them.
pub(super) fn begin(
    orders: Option<mpsc::Sender<Order>>,
    engine: &mpsc::Sender<Request>,
    ports: Vec<PortOrder>,
    all_done: impl FnOnce(&PortsSwitched) + Send + 'static,
) -> Switching {
    let Some(orders) = orders.filter(|_| !ports.is_empty()) else {
        return Switching::default();
    };
    let (done, end) = oneshot::channel();
    let engine = engine.clone();
    tokio::spawn(async move {
        let mut switched = PortsSwitched::default();
        for order in ports {
            let (port, action) = ((order.node, order.port), order.action);
            match switch(&orders, order).await {
                Ok(()) => switched.count += 1,
                Err(why) => switched.failed.push(NotSwitched { port, action, why }),
            }
        }
        switched.sweep = swept(&engine).await;
        all_done(&switched);
        // Who asked may have gone.
        let _ = done.send(switched);
    });
    Switching(Some(end))
}

async fn switch(orders: &mpsc::Sender<Order>, order: PortOrder) -> Result<(), Refusal> {
    let (requester, answer) = requester::pair(usual_deadline());
    let sent = orders.send(Order::Port(order, requester)).await;
    sent.map_err(|_| Refusal::Stopping)?;
    answer.wait().await
}

async fn swept(engine: &mpsc::Sender<Request>) -> Option<u64> {
    let (told, answer) = oneshot::channel();
    ask(engine, Request::Sweep(told)).ok()?;
    answer.await.ok()?.ok()
}

/// The orders that do it, and those that undo it, as asked for by `by`.
pub(super) fn orders(ports: &[PortBack], by: &Origin, what: &str) -> [Vec<PortOrder>; 2] {
    let order = |one: &PortBack, action| {
        // A port that is switched off keeps the reason for which that was done.
        let reason = match (action, one.note.reason.as_str()) {
            (PortAction::Disable, then) if !then.is_empty() => format!("{then} ({what})"),
            _ if by.reason.is_empty() => what.to_owned(),
            _ => by.reason.clone(),
        };
        let note = PortNote {
            reason: cut(reason, REASON_MAX),
            author: cut(by.author.clone(), AUTHOR_MAX),
            peer: cut(by.peer.clone(), AUTHOR_MAX),
        };
        PortOrder {
            note,
            ..PortOrder::new(one.port, action)
        }
    };
    let undo = |action| match action {
        PortAction::Disable => PortAction::Enable,
        _ => PortAction::Disable,
    };
    let forth = ports.iter().map(|one| order(one, one.action));
    let back = ports.iter().map(|one| order(one, undo(one.action)));
    [forth.collect(), back.collect()]
}

fn cut(mut text: String, most: usize) -> String {
    text.truncate(text.floor_char_boundary(most));
    text
}
