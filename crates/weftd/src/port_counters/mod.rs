//! Counters of ports for everybody who asks: running totals after each image of the performance manager, kept over
//! restarts.
//!
//! One task follows the images and publishes totals that nobody changes any more; readers take the last ones. They
//! neither wait for each other nor cause datagrams.

mod file;
mod series;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::task;
use tracing::warn;
use weft_manager::pm::Image;
use weft_manager::port_totals::PortTotals;

use crate::history::History;
use crate::peer::{Offer, PartKind};
use crate::port_metrics::PortMetrics;
pub(crate) use series::PortSeries;

/// From one write of the totals to the next.
const SAVE: Duration = Duration::from_secs(60);

/// From one time at which followers get the totals to the next.
const HAND_ON: Duration = Duration::from_secs(10);

/// Other daemons of the fabric.
pub(crate) struct Others {
    /// What they get.
    pub(crate) offer: Arc<Offer>,
    /// The master's totals, of a standby.
    pub(crate) inherited: watch::Receiver<Option<Arc<[u8]>>>,
}

/// The last totals.
#[derive(Debug)]
pub(crate) struct PortCounters(watch::Sender<Arc<PortTotals>>);

impl Default for PortCounters {
    fn default() -> Self {
        Self(watch::Sender::new(Arc::default()))
    }
}

impl PortCounters {
    /// The last totals; without an image before the first.
    pub(crate) fn latest(&self) -> Arc<PortTotals> {
        self.0.borrow().clone()
    }

    /// The last totals and all that follow.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Arc<PortTotals>> {
        self.0.subscribe()
    }

    fn follow(&self, image: Arc<Image>) {
        let mut totals = PortTotals::clone(&self.latest());
        totals.follow(image);
        self.0.send_replace(Arc::new(totals));
    }
}

/// A standby takes its master's totals for its own: of many ports that takes milliseconds.
fn inherit(counters: &PortCounters, told: Option<&[u8]>) {
    match told.map(PortTotals::decode) {
        Some(Ok(totals)) => {
            let totals = counters.latest().succeeded_by(totals);
            counters.0.send_replace(Arc::new(totals));
        }
        Some(Err(error)) => {
            warn!(event = "counters_refused", %error, "the master's totals cannot be used; this standby goes on from its own");
        }
        None => {}
    }
}

/// The totals of the daemon before, not below what it had recorded since it wrote them.
fn load(file: &file::Kept, history: Option<&History>) -> Option<PortTotals> {
    let mut totals = file.load()?;
    totals.not_below(history.map(History::last_totals).unwrap_or_default());
    Some(totals)
}

/// Hands the totals on to followers.
async fn hand_on(offer: &Offer, totals: Arc<PortTotals>) {
    let encoded = task::spawn_blocking(move || totals.encode()).await;
    // A panic ends the daemon.
    if let Ok(Some(bytes)) = encoded {
        offer.put(PartKind::Counters, Some(bytes.into()));
    }
}

/// Follows images as they arrive, apart from the queries thread: with many ports that takes milliseconds. Ends when no
/// more can come, after the last totals are written to `file`.
pub(crate) async fn keep(
    metrics: Arc<PortMetrics>,
    counters: Arc<PortCounters>,
    (file, history): (Option<PathBuf>, Option<Arc<History>>),
    mut images: mpsc::Receiver<Arc<Image>>,
    others: Others,
) {
    let Others {
        offer,
        mut inherited,
    } = others;
    let mut file = file.map(file::Kept::new);
    if let Some(kept) = file.clone() {
        // Where that fails there are no totals.
        let loaded = task::spawn_blocking(move || load(&kept, history.as_deref())).await;
        if let Ok(Some(totals)) = loaded {
            counters.0.send_replace(Arc::new(totals));
        }
    }
    let mut saved = Instant::now();
    let mut handed_on = None;
    loop {
        let image = tokio::select! {
            image = images.recv() => image,
            Ok(()) = inherited.changed() => {
                let told = inherited.borrow_and_update().clone();
                let heir = Arc::clone(&counters);
                // A panic ends the daemon.
                let _ended = task::spawn_blocking(move || inherit(&heir, told.as_deref())).await;
                continue;
            }
        };
        let Some(image) = image else { break };
        let (metrics, follower) = (Arc::clone(&metrics), Arc::clone(&counters));
        // It ends early only with the daemon.
        let _ended = task::spawn_blocking(move || {
            follower.follow(Arc::clone(&image));
            metrics.add(image);
        })
        .await;
        let due = handed_on.is_none_or(|at: Instant| at.elapsed() >= HAND_ON);
        if due && offer.is_followed() {
            hand_on(&offer, counters.latest()).await;
            handed_on = Some(Instant::now());
        }
        if let Some(file) = file.as_mut().filter(|_| saved.elapsed() >= SAVE) {
            file.save(counters.latest()).await;
            saved = Instant::now();
        }
    }
    if let Some(file) = &mut file {
        file.save(counters.latest()).await;
    }
}
