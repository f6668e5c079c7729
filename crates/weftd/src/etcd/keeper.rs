//! The master writes its state to etcd, where a standby finds it.
//!
//! Each write holds only while the key is of this manager's term: what a master writes that was replaced is refused.

use std::sync::Arc;
use std::time::{Duration, Instant};

use prost::Message;
use tokio::sync::watch;
use tokio::time::sleep;
use tracing::warn;
use weft_etcd::{Client, EtcdError, created_at, delete, pb, put, txn};
use weft_fabric::enums::SmState;

use super::Settings;
use super::copy::{Head, KEPT};
use super::session::connect;
use crate::event_hub::EventHub;
use crate::peer::{Offer, Part, PartKind, pieces};

/// Pause before the next attempt to reach etcd.
const PAUSE: Duration = Duration::from_millis(250);
/// The task.
pub(super) struct Keeper {
    pub(super) settings: Settings,
    pub(super) prefix: u64,
    pub(super) hub: Arc<EventHub>,
    pub(super) offer: Arc<Offer>,
    /// The term of the key that this manager holds.
    pub(super) held: watch::Receiver<Option<u64>>,
    /// Since when etcd lacks a change.
    pub(super) lag: watch::Sender<Option<Instant>>,
}

/// Why writing has ended.
enum Ends {
    /// etcd does not answer, or refuses.
    Failed(EtcdError),
    /// Another manager has the key.
    Replaced,
}

impl From<EtcdError> for Ends {
    fn from(why: EtcdError) -> Self {
        Self::Failed(why)
    }
}

impl Keeper {
    pub(super) async fn run(mut self) {
        loop {
            match self.leads() {
                Some(term) => self.keep(term).await,
                None => self.waits().await,
            }
            self.lag.send_replace(None);
        }
    }

    /// The term in which this manager holds the key and is master.
    fn leads(&self) -> Option<u64> {
        let master = self.hub.status().role == SmState::MASTER;
        self.held.borrow().filter(|_| master)
    }

    /// Waits until something of that changes.
    async fn waits(&mut self) {
        let mut statuses = self.hub.statuses();
        // The senders are the daemon's as long as it runs.
        tokio::select! {
            _ = self.held.changed() => {}
            _ = statuses.changed() => {}
        }
    }

    /// Writes while this manager leads in this term.
    async fn keep(&mut self, term: u64) {
        let mut written = 0;
        let mut told = false;
        while self.leads() == Some(term) {
            let mut changes = self.held.clone();
            let ends = tokio::select! {
                ends = self.write(term, &mut written) => ends,
                _ = changes.wait_for(|held| *held != Some(term)) => return,
            };
            match ends {
                Ends::Replaced => warn!(
                    event = "state_fenced",
                    term,
                    "etcd refuses this manager's state: the key is not of its term {term} any more"
                ),
                Ends::Failed(why) if !std::mem::replace(&mut told, true) => warn!(
                    event = "state_uncopied",
                    "the state cannot be written to etcd, a standby may miss what changes: {why}"
                ),
                Ends::Failed(_) => {}
            }
            sleep(PAUSE).await;
        }
    }

    /// Writes each part as it changes, until that fails.
    async fn write(&self, term: u64, written: &mut u64) -> Ends {
        let done = async {
            let client = self.connect().await?;
            let mut parts = self.offer.parts();
            loop {
                let now = parts.borrow_and_update().clone();
                let Some((kind, part)) = now.next_after(*written) else {
                    // The sender is this daemon's as long as it runs.
                    let _ = parts.changed().await;
                    continue;
                };
                if KEPT.contains(&kind) {
                    self.lag.send_modify(|lag| {
                        lag.get_or_insert_with(Instant::now);
                    });
                    self.put(&client, term, kind, &part).await?;
                    self.lag.send_replace(None);
                }
                *written = part.sequence;
            }
        };
        let Err(ends): Result<std::convert::Infallible, Ends> = done.await;
        ends
    }

    async fn connect(&self) -> Result<Client, EtcdError> {
        let mut last = EtcdError::Strange("nothing");
        for server in &self.settings.place.servers {
            match connect(&self.settings, server).await {
                Ok(client) => return Ok(client),
                Err(why) => last = why,
            }
        }
        Err(last)
    }

    /// Writes a part: its pieces, and with the last of them its head, with which older pieces go.
    async fn put(
        &self,
        client: &Client,
        term: u64,
        kind: PartKind,
        part: &Part,
    ) -> Result<(), Ends> {
        let place = &self.settings.place;
        let head = Head::new(term, part.sequence, self.prefix);
        let copy = part.clone();
        let made = tokio::task::spawn_blocking(move || pieces(kind, &copy)).await;
        // Memory cannot fail to compress; a panic ends the daemon.
        let Ok(Ok(made)) = made else {
            return Err(Ends::Failed(EtcdError::Strange("nothing")));
        };
        let last = made.len().saturating_sub(1);
        for (number, piece) in made.into_iter().enumerate() {
            let key = place.piece(kind, head, number);
            let mut operations = vec![put(&key, piece.encode_to_vec(), 0)];
            if number == last {
                operations.push(put(&place.head(kind), head.to_bytes(), 0));
                let ([first, end], [begin, all]) =
                    (place.pieces(kind, head), place.all_pieces(kind));
                operations.push(delete(&begin, &first));
                operations.push(delete(&end, &all));
            }
            self.guarded(client, term, operations).await?;
        }
        Ok(())
    }

    /// Executes operations if the key is of this term.
    async fn guarded(
        &self,
        client: &Client,
        term: u64,
        operations: Vec<pb::RequestOp>,
    ) -> Result<(), Ends> {
        let revision = i64::try_from(term).unwrap_or(i64::MAX);
        let is_ours = created_at(&self.settings.place.master(), revision);
        let done = client.txn(txn(is_ours, operations, Vec::new())).await?;
        match done.succeeded {
            true => Ok(()),
            false => Err(Ends::Replaced),
        }
    }
}
