//! Deals out what arrives at the daemon's port: subnet management to the manager's thread, all else
//! to the thread that answers queries, so that each goes on while the other computes. Queries wait by who sent
//! them ([`Shares`]): those for which there is no room are dropped, counted and reported. While there is no room for
//! subnet management, nothing further is read.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use weft_transport::{Connection, ConnectionReceiver, ConnectionSender};
use weft_wire::packet::Packet;

use crate::event::DaemonEvent;
use crate::event_hub::EventHub;
use crate::shares::Shares;

/// Batches of datagrams that wait for the manager.
const BATCHES_MAX: usize = 1024;
/// Batches that are ready for the other thread: what comes later waits behind these, whoever sent them.
const READY_MAX: usize = 2;
/// Datagrams in such a batch.
const BATCH_MAX: usize = 64;
/// From one report of drops to the next.
const REPORT: Duration = Duration::from_secs(60);

/// One thread's share of a connection to the fabric.
#[derive(Debug)]
pub(crate) struct Line {
    /// To the fabric.
    pub(crate) sender: ConnectionSender,
    /// Datagrams for this thread; ends with the connection.
    pub(crate) receiver: mpsc::Receiver<Vec<Packet>>,
}

/// Makes lines of connections.
#[derive(Debug)]
pub(crate) struct MadDispatch {
    runtime: Handle,
    queries: mpsc::Sender<Line>,
    hub: Arc<EventHub>,
}

impl MadDispatch {
    /// Tasks run on `runtime`; the other thread gets its lines through `queries`.
    pub(crate) fn new(runtime: Handle, queries: mpsc::Sender<Line>, hub: Arc<EventHub>) -> Self {
        Self {
            runtime,
            queries,
            hub,
        }
    }

    /// Splits a connection; the result is the manager's line.
    pub(crate) async fn connect(&self, connection: Connection) -> Line {
        let (sender, receiver) = connection.split();
        let (to_manager, for_manager) = mpsc::channel(BATCHES_MAX);
        let (to_queries, for_queries) = mpsc::channel(READY_MAX);
        let hub = self.hub.clone();
        self.runtime
            .spawn(deal(receiver, to_manager, to_queries, hub));
        let line = Line {
            sender: sender.clone(),
            receiver: for_queries,
        };
        // If the other thread has gone, its datagrams are dropped, because nobody can answer them.
        let _ = self.queries.send(line).await;
        Line {
            sender,
            receiver: for_manager,
        }
    }
}

/// Deals out what arrives by one connection.
async fn deal(
    mut receiver: ConnectionReceiver,
    to_manager: mpsc::Sender<Vec<Packet>>,
    to_queries: mpsc::Sender<Vec<Packet>>,
    hub: Arc<EventHub>,
) {
    let mut shares = Shares::default();
    let mut management = Vec::new();
    let mut next_report = pin!(sleep(Duration::ZERO));
    loop {
        tokio::select! {
            batch = receiver.recv(), if management.is_empty() => {
                let Some(batch) = batch else { break };
                let (for_sm, queries) = batch.into_iter().partition(Packet::is_for_sm);
                management = for_sm;
                pass(queries, &to_queries, &mut shares);
            }
            permit = to_manager.reserve(), if !management.is_empty() => match permit {
                Ok(permit) => permit.send(std::mem::take(&mut management)),
                Err(_) => break,
            },
            permit = to_queries.reserve(), if !shares.is_empty() => match permit {
                Ok(permit) => permit.send(shares.take(BATCH_MAX)),
                // Nobody can answer them.
                Err(_) => {
                    report(&mut shares, &hub);
                    shares = Shares::default();
                }
            },
            () = next_report.as_mut(), if shares.has_dropped() => {
                report(&mut shares, &hub);
                next_report.as_mut().reset(Instant::now() + REPORT);
            }
        }
    }
    report(&mut shares, &hub);
}

/// Passes queries on; those that have to wait do so by who sent them.
fn pass(mut queries: Vec<Packet>, to_queries: &mpsc::Sender<Vec<Packet>>, shares: &mut Shares) {
    if queries.is_empty() {
        return;
    }
    if shares.is_empty() && queries.len() <= BATCH_MAX {
        match to_queries.try_send(queries) {
            Ok(()) => return,
            Err(error) => queries = error.into_inner(),
        }
    }
    queries.into_iter().for_each(|packet| shares.push(packet));
}

/// Reports drops since the last time.
fn report(shares: &mut Shares, hub: &EventHub) {
    for (lid, count) in shares.dropped() {
        hub.tell(DaemonEvent::RequestsDropped { lid, count });
    }
}
