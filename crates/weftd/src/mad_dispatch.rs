//! Deals out what arrives at the daemon's port: subnet management to the manager's thread, all else
//! to the thread that answers queries, so that each goes on while the other computes. Queries for which
//! there is no room are dropped; while there is none for subnet management, nothing is dealt out.

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use weft_transport::{Connection, ConnectionReceiver, ConnectionSender};
use weft_wire::packet::Packet;

/// Batches of datagrams that wait for one of the threads.
const BATCHES_MAX: usize = 1024;

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
}

impl MadDispatch {
    /// Tasks run on `runtime`; the other thread gets its lines through `queries`.
    pub(crate) fn new(runtime: Handle, queries: mpsc::Sender<Line>) -> Self {
        Self { runtime, queries }
    }

    /// Splits a connection; the result is the manager's line.
    pub(crate) async fn connect(&self, connection: Connection) -> Line {
        let (sender, receiver) = connection.split();
        let (to_manager, for_manager) = mpsc::channel(BATCHES_MAX);
        let (to_queries, for_queries) = mpsc::channel(BATCHES_MAX);
        self.runtime.spawn(deal(receiver, to_manager, to_queries));
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

async fn deal(
    mut receiver: ConnectionReceiver,
    to_manager: mpsc::Sender<Vec<Packet>>,
    to_queries: mpsc::Sender<Vec<Packet>>,
) {
    while let Some(batch) = receiver.recv().await {
        let (management, queries): (Vec<Packet>, Vec<Packet>) =
            batch.into_iter().partition(Packet::is_for_sm);
        if !queries.is_empty() {
            // A full channel means overload: clients will retry.
            let _ = to_queries.try_send(queries);
        }
        if !management.is_empty() && to_manager.send(management).await.is_err() {
            return;
        }
    }
}
