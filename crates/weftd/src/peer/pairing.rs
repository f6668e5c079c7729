//! The parts of the daemon that a pair connects, at the start.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use weft_fabric::Guid;
use weft_manager::sm::Told;

use super::plan::tell_ended;
use super::{Following, Offer, PartKind, Peer, Peering, Takers, follow};
use crate::event_hub::EventHub;
use crate::registrations;
use crate::request::Request;
use crate::stopping::Stopping;
use crate::store::Latest;
use crate::supervisor::Supervisor;

/// What is handed on, and where what comes goes.
pub(crate) struct Pairing {
    pub(crate) offer: Arc<Offer>,
    pub(crate) registrations: watch::Sender<Option<Arc<[u8]>>>,
    pub(crate) counters: watch::Sender<Option<Arc<[u8]>>>,
}

impl Pairing {
    /// With what is stored of the state, and the file of registrations.
    pub(crate) fn new(stored: Option<&[u8]>, registrations: Option<PathBuf>) -> Self {
        let offer = Arc::new(Offer::default());
        if let Some(stored) = stored {
            offer.put(PartKind::State, Some(stored.into()));
        }
        if let Some(stored) = registrations.and_then(|file| registrations::bytes(&file)) {
            offer.put(PartKind::Registrations, Some(stored.into()));
        }
        Self {
            offer,
            registrations: watch::Sender::new(None),
            counters: watch::Sender::new(None),
        }
    }

    /// Begins to follow the other daemon, where one is named; otherwise returns where parts from elsewhere go.
    pub(crate) fn follow(
        self,
        parts: &mut Supervisor,
        stopping: &Stopping,
        peer: Option<Peer>,
        hub: &Arc<EventHub>,
        engine: &mpsc::Sender<Request>,
    ) -> (Peering, Option<Takers>) {
        let takers = Takers {
            engine: engine.clone(),
            registrations: self.registrations,
            counters: self.counters,
            plan: watch::Sender::new(None),
        };
        let mut peering = Peering {
            offer: self.offer,
            following: None,
        };
        let Some(peer) = peer else {
            return (peering, Some(takers));
        };
        let whose = format!("the manager at {}", peer.address);
        let ended = tell_ended(takers.plan.clone(), whose, Arc::clone(hub));
        parts.until_stop("plans of the peer", stopping, ended);
        let (shown, following) = watch::channel(Following::default());
        let task = follow(peer, Arc::clone(hub), takers, shown);
        parts.until_stop("peer", stopping, task);
        peering.following = Some(following);
        (peering, None)
    }
}

/// Tells the manager which standbys have a copy of the registrations, until nobody knows any more.
pub(crate) async fn tell_copied(
    mut copied: watch::Receiver<Option<BTreeSet<Guid>>>,
    engine: mpsc::Sender<Request>,
) {
    while copied.changed().await.is_ok() {
        let told = Told::Copied(copied.borrow_and_update().clone());
        if engine.send(Request::Tell(told)).await.is_err() {
            break; // the daemon is ending
        }
    }
    std::future::pending::<()>().await;
}

/// Hands the settings in force on, at the start and whenever they change.
pub(crate) async fn offer_settings(offer: Arc<Offer>, hub: Arc<EventHub>) {
    let mut configs = hub.configs();
    configs.mark_changed();
    while configs.changed().await.is_ok() {
        let settings = configs.borrow_and_update().settings.clone();
        offer.put(PartKind::Settings, settings.map(|own| own.to_bytes()));
    }
    std::future::pending::<()>().await;
}

/// Hands each state on that the manager has written, until there are no more.
pub(crate) async fn offer_state(offer: Arc<Offer>, mut latest: watch::Receiver<Latest>) {
    while latest.changed().await.is_ok() {
        let Latest { bytes, .. } = latest.borrow_and_update().clone();
        offer.put(PartKind::State, Some(bytes));
    }
    std::future::pending::<()>().await;
}
