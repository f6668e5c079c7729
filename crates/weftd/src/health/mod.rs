//! The page of what is wrong: gathers what is known at a moment, and publishes the page that [`weft_health`] makes of
//! it, once after each change and not for each request.
//!
//! | module | contents |
//! |---|---|
//! | this one | the task; what readers and other parts hold of it |
//! | `state` | what is remembered from one page to the next |
//! | `link_errors` | when links begin to have errors, and when they are well again |
//! | `file` | the memory of nodes and links in the state directory |
//! | `metrics` | colours and findings as metrics |

mod file;
mod link_errors;
mod metrics;
mod state;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::time::{self, Instant, MissedTickBehavior, timeout};
use weft_api::v1::watch_response::Content;
use weft_fabric::enums::SmState;
use weft_health::{Color, Forgotten, Page, PointError};
use weft_manager::cables::CableMemories;

use crate::etcd::Mandates;
use crate::event::DaemonEvent;
use crate::event_hub::{EventHub, Stamped};
use crate::port_metrics::PortMetrics;
use crate::query_thread::QuerySettings;
use crate::request::{HealthState, Request, ask};

pub(crate) use file::SeenFile;
use link_errors::LinkErrorsTold;
use state::State;

/// Time between two pages at least, and at most.
const SOON: Duration = Duration::from_millis(500);
const LATE: Duration = Duration::from_secs(5);
/// Longest wait for the manager's thread; with a busy one the page has its state of before.
const ANSWER: Duration = Duration::from_secs(2);
/// Orders that wait.
const ORDERS_MAX: usize = 16;

/// What the task is told.
pub(crate) enum Order {
    /// Forget what a point names; nothing where it is only checked.
    Forget {
        point: String,
        validate_only: bool,
        done: oneshot::Sender<Result<Forgotten, PointError>>,
    },
    /// Forget everything that is gone: the fabric was saved as a baseline.
    BaselineSaved,
}

/// Where readers find the page.
#[derive(Debug, Clone)]
pub(crate) struct Health {
    page: watch::Receiver<Arc<Page>>,
    orders: mpsc::Sender<Order>,
}

impl Health {
    /// Without a task that makes pages.
    #[cfg(test)]
    pub(crate) fn without_pages() -> Self {
        Self {
            page: watch::channel(Arc::default()).1,
            orders: mpsc::channel(1).0,
        }
    }

    /// The last page.
    pub(crate) fn page(&self) -> Arc<Page> {
        self.page.borrow().clone()
    }

    /// Hands in an order; none where too many wait, or the daemon stops.
    pub(crate) fn order(&self, order: Order) -> Option<()> {
        self.orders.try_send(order).ok()
    }
}

/// What the task reads.
pub(crate) struct Sources {
    pub(crate) hub: Arc<EventHub>,
    pub(crate) engine: mpsc::Sender<Request>,
    pub(crate) port_metrics: Arc<PortMetrics>,
    pub(crate) settings: watch::Receiver<QuerySettings>,
    pub(crate) mandates: Mandates,
    pub(crate) cables: watch::Receiver<Arc<CableMemories>>,
    /// Where the memory of nodes and links is kept; none without a state directory.
    pub(crate) file: Option<SeenFile>,
    /// Time for which what is gone is remembered.
    pub(crate) keep: Duration,
}

/// The task that makes pages.
pub(crate) struct Checker {
    sources: Sources,
    state: Option<Box<State>>,
    page: watch::Sender<Arc<Page>>,
    orders: mpsc::Receiver<Order>,
    /// Events from before the first sweep on.
    events: broadcast::Receiver<Arc<Stamped>>,
    /// The colour that was last told as an event.
    told: Color,
    link_errors: LinkErrorsTold,
}

impl Checker {
    /// The task, with the memory of an earlier run, and what readers hold of it.
    pub(crate) fn new(sources: Sources) -> (Self, Health) {
        let (page, reader) = watch::channel(Arc::default());
        let (sender, orders) = mpsc::channel(ORDERS_MAX);
        let prefix = sources.settings.borrow().subnet_prefix;
        let memory = sources.file.as_ref().and_then(|file| file.load(prefix));
        let checker = Self {
            events: sources.hub.subscribe(None).coming,
            sources,
            state: Some(Box::new(State::new(memory.unwrap_or_default()))),
            page,
            orders,
            told: Color::Green,
            link_errors: LinkErrorsTold::default(),
        };
        let health = Health {
            page: reader,
            orders: sender,
        };
        (checker, health)
    }

    /// Makes pages until the daemon stops, and then stores what was seen.
    pub(crate) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut images = self.sources.port_metrics.images();
        let mut ticks = time::interval(LATE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut due: Option<Instant> = None;
        loop {
            let wait = due.map(time::sleep_until);
            tokio::select! {
                () = async { let _ = stop.wait_for(|stop| *stop).await; } => break,
                event = self.events.recv() => match event {
                    Ok(event) => {
                        let is_news = self.state().note(&event);
                        self.sweep_ended(&event).await;
                        if is_news {
                            due.get_or_insert(Instant::now() + SOON);
                        }
                    }
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => break,
                },
                Ok(()) = images.changed() => {
                    let image = images.borrow_and_update().clone();
                    self.with_state(move |state| state.take_image(image)).await;
                    due.get_or_insert(Instant::now() + SOON);
                }
                Some(order) = self.orders.recv() => {
                    self.carry_out(order);
                    due = Some(Instant::now());
                }
                () = async { match wait { Some(wait) => wait.await, None => std::future::pending().await } } => {
                    due = None;
                    self.make_page().await;
                    ticks.reset();
                }
                _ = ticks.tick() => self.make_page().await,
            }
        }
        self.save(true).await;
    }

    fn state(&mut self) -> &mut State {
        self.state.get_or_insert_default()
    }

    /// Works on the state on a thread that may compute.
    async fn with_state<R: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut State) -> R + Send + 'static,
    ) -> Option<R> {
        let mut state = self.state.take().unwrap_or_default();
        let done = tokio::task::spawn_blocking(move || {
            let result = work(&mut state);
            (state, result)
        });
        match done.await {
            Ok((state, result)) => {
                self.state = Some(state);
                Some(result)
            }
            // It panicked, which has its message: what is stored is left for the next start.
            Err(_) => {
                self.sources.file = None;
                None
            }
        }
    }

    /// After a sweep, what is there is remembered.
    async fn sweep_ended(&mut self, event: &Stamped) {
        if !matches!(event.content, Content::SweepEnded(_)) {
            return;
        }
        let hub = &self.sources.hub;
        let (snapshot, status) = (hub.snapshot(), hub.status());
        if status.role != SmState::MASTER || snapshot.topology.is_empty() {
            return;
        }
        let report = hub.journal().sweeps().next().cloned();
        let (settings, cables) = (
            self.sources.settings.borrow().clone(),
            self.sources.cables.borrow().clone(),
        );
        let (now, keep) = (
            event.unix_time_ns / 1_000_000_000,
            self.sources.keep.as_secs(),
        );
        let look = move |state: &mut State| {
            let Some(report) = report else { return };
            state.look(now, keep, &report, &snapshot, &cables);
            if let Some(intended) = &settings.intended {
                state.follow(intended);
            }
        };
        self.with_state(look).await;
    }

    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Forget {
                point,
                validate_only,
                done,
            } => {
                let forgotten = self.state().forget(&point, validate_only);
                // The requester may have gone.
                let _ = done.send(forgotten);
            }
            Order::BaselineSaved => self.state().forget_gone(),
        }
    }

    async fn make_page(&mut self) {
        let (told, answer) = oneshot::channel();
        let asked = ask(&self.sources.engine, Request::Health(told));
        let held = match asked {
            Ok(()) => timeout(ANSWER, answer).await.ok().and_then(Result::ok),
            Err(_) => None,
        };
        let known = self.known(held);
        let Some(page) = self.with_state(move |state| state.page(&known)).await else {
            return;
        };
        self.tell(&page);
        self.page.send_replace(Arc::new(page));
        self.save(false).await;
    }

    fn known(&self, held: Option<Box<HealthState>>) -> state::Known {
        let hub = &self.sources.hub;
        state::Known {
            held,
            snapshot: hub.snapshot(),
            status: hub.status(),
            attachment: hub.attachment(),
            mandate_unknown: self.sources.mandates.unknown(),
            settings: self.sources.settings.borrow().clone(),
            cables: self.sources.cables.borrow().clone(),
            image: self.sources.port_metrics.latest(),
        }
    }

    /// Tells changes of the colour and of links' errors, once a sweep has ended.
    fn tell(&mut self, page: &Page) {
        let hub = &self.sources.hub;
        let has_swept = hub.journal().sweeps().next().is_some();
        match hub.status().role {
            SmState::MASTER if has_swept => {
                let news = self.link_errors.news(page);
                news.into_iter().for_each(|event| hub.tell(event));
            }
            _ => self.link_errors.forget(),
        }
        if !has_swept || page.color == self.told {
            return;
        }
        let before = std::mem::replace(&mut self.told, page.color);
        self.sources.hub.tell(DaemonEvent::Health {
            before,
            now: page.color,
            reason: page.reason(),
        });
    }

    /// Stores the memory of nodes and links where it has changed.
    async fn save(&mut self, is_last: bool) {
        let prefix = self.sources.settings.borrow().subnet_prefix;
        let Some(file) = self.sources.file.clone() else {
            return;
        };
        self.with_state(move |state| state.save(&file, prefix, is_last))
            .await;
    }
}
