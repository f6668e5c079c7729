//! The task that asks for the key and tells the manager whether it may be master.
//!
//! A lease is kept alive three times in its time. Who can be no master, without a link or with threads that hang, gives
//! the key back after the time of a lease. A standby whose master lives lets that one be the first to take a free key
//! after etcd was out of reach.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use tracing::{info, warn};
use weft_etcd::EtcdError;
use weft_fabric::Guid;
use weft_fabric::enums::SmState;
use weft_manager::sm::{Mandate, Told};

use super::holder::Holder;
use super::keeper::Keeper;
use super::reader::Reader;
use super::session::{Key, Session, connect};
use super::shown::Shown;
use super::{Mandates, Settings};
use crate::event_hub::{EventHub, unix_time_ns};
use crate::heartbeat::Hearts;
use crate::peer::{Offer, Takers, tell_ended};
use crate::request::Request;
use crate::stopping::Stopping;
use crate::supervisor::Supervisor;

/// Beats in the time of a lease.
const BEATS: u32 = 3;
/// Time in which changes of the state are taken together.
const TOGETHER: Duration = Duration::from_millis(20);
/// Leases for which a standby leaves a free key to its master after etcd was out of reach: a key of an older copy, whose
/// holder is gone, ends within one, and a second more.
const LEFT_FOR: u32 = 2;
/// Pause before the next attempt to reach etcd.
const PAUSE: Duration = Duration::from_millis(250);
/// Time for giving the key back when the daemon stops.
const GIVEN_BACK_WITHIN: Duration = Duration::from_secs(1);

/// The lease that holds the key, or may; 0 for none. It outlasts connections.
#[derive(Clone)]
pub(crate) struct Lease {
    settings: Settings,
    id: Arc<Mutex<i64>>,
}

impl Lease {
    fn get(&self) -> i64 {
        *self.id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, id: i64) {
        *self.id.lock().unwrap_or_else(PoisonError::into_inner) = id;
    }

    /// Gives the key back when this manager has ended, so that another takes over at once.
    pub(crate) async fn give_back(self) {
        let id = self.get();
        if id == 0 {
            return;
        }
        let ends = async {
            for server in &self.settings.place.servers {
                if let Ok(client) = connect(&self.settings, server).await
                    && client.revoke(id).await.is_ok()
                {
                    return;
                }
            }
        };
        // Otherwise it ends by itself.
        let _ = timeout(GIVEN_BACK_WITHIN, ends).await;
    }
}

/// One of those that may be master.
pub(crate) struct Candidate {
    pub(crate) settings: Settings,
    pub(crate) prefix: u64,
    pub(crate) hub: Arc<EventHub>,
    pub(crate) engine: mpsc::Sender<Request>,
    pub(crate) hearts: Hearts,
    /// What this daemon hands on.
    pub(crate) offer: Arc<Offer>,
    /// Where what a master hands on goes; none where that comes from elsewhere.
    pub(crate) takers: Option<Takers>,
}

impl Candidate {
    /// Begins to ask, and to keep the state.
    pub(crate) fn begin(
        mut self,
        parts: &mut Supervisor,
        stopping: &Stopping,
    ) -> (Lease, Mandates) {
        let lease = Lease {
            settings: self.settings.clone(),
            id: Arc::default(),
        };
        let first = Shown {
            fabric: self.settings.place.fabric.clone(),
            // Until it was not heard of for the time of a lease.
            answers: true,
            ..Shown::default()
        };
        let (shown, receiver) = watch::channel(first);
        let (held, holds) = watch::channel(None);
        let (lag, lacks) = watch::channel(None);
        let keeper = Keeper {
            settings: self.settings.clone(),
            prefix: self.prefix,
            hub: self.hub.clone(),
            offer: self.offer.clone(),
            held: holds,
            lag,
        };
        parts.until_stop("state for etcd", stopping, keeper.run());
        let reader = self.takers.take().map(|takers| {
            let fabric = &self.settings.place.fabric;
            let whose = format!("whose state was in etcd as {fabric}");
            let ended = tell_ended(takers.plan.clone(), whose, self.hub.clone());
            parts.until_stop("plans in etcd", stopping, ended);
            Reader::new(self.hub.clone(), takers, self.prefix)
        });
        let mandates = Mandates(Some((receiver, lacks)));
        let now = Instant::now();
        let asking = Asking {
            lease: lease.clone(),
            shown,
            told: Mandate::Withheld(None),
            heard: now,
            able: now,
            waits_until: now,
            refused: 0,
            held,
            reader,
            candidate: self,
        };
        parts.until_stop("mandate", stopping, asking.run());
        (lease, mandates)
    }
}

/// The state of the task.
struct Asking {
    candidate: Candidate,
    lease: Lease,
    shown: watch::Sender<Shown>,
    /// What the manager was told last.
    told: Mandate,
    /// When etcd answered last.
    heard: Instant,
    /// When this manager could last be master.
    able: Instant,
    /// Until when it leaves a free key to the master that it stands by for.
    waits_until: Instant,
    /// Term of the key whose value was refused last.
    refused: u64,
    /// The term of the key that this manager holds, for who keeps the state.
    held: watch::Sender<Option<u64>>,
    /// A standby's way to the state of its master.
    reader: Option<Reader>,
}

impl Asking {
    async fn run(mut self) {
        let servers = self.candidate.settings.place.servers.clone();
        for server in servers.iter().cycle() {
            self.shown
                .send_modify(|shown| shown.server.clone_from(server));
            let Err(why) = self.ask(server).await;
            self.fails(&why).await;
            sleep(PAUSE).await;
        }
    }

    /// Asks one server until that fails.
    async fn ask(&mut self, server: &str) -> Result<std::convert::Infallible, EtcdError> {
        let mut session = Session::begin(&self.candidate.settings, server).await?;
        self.waits_until = match self.candidate.hub.status().role {
            SmState::STANDBY => Instant::now() + LEFT_FOR * self.candidate.settings.lease,
            _ => Instant::now(),
        };
        let between = self.candidate.settings.lease / BEATS;
        loop {
            let key = self.beat(&session).await?;
            // Before this manager is told that it may be master.
            self.read_state(&session, key.as_ref()).await?;
            self.learn(key).await;
            tokio::select! {
                () = sleep(between) => {}
                changed = session.changes() => {
                    changed?;
                    // Others may follow at once.
                    sleep(TOGETHER).await;
                }
                // It may be able to be master now.
                () = self.changes() => {}
            }
        }
    }

    /// Ends where this manager has become able to be master.
    async fn changes(&self) {
        let mut statuses = self.candidate.hub.statuses();
        if self.lease.get() != 0 || self.port().is_some() {
            return std::future::pending().await;
        }
        while statuses.changed().await.is_ok() {
            if self.port().is_some() {
                return;
            }
        }
        std::future::pending().await
    }

    /// Port of this manager while it can be master.
    fn port(&self) -> Option<Guid> {
        let Candidate {
            hub,
            hearts,
            settings,
            ..
        } = &self.candidate;
        let status = hub.status();
        let able = hub.attachment().attached
            && status.role != SmState::NOT_ACTIVE
            && hearts.beat_within(settings.lease);
        status.own_port.filter(|_| able)
    }

    /// Keeps what it has, or asks for it; the key as it is.
    async fn beat(&mut self, session: &Session) -> Result<Option<Key>, EtcdError> {
        let now = Instant::now();
        let port = self.port();
        if port.is_some() {
            self.able = now;
        }
        let mut lease = self.lease.get();
        if port.is_none() && lease != 0 && self.able.elapsed() > self.candidate.settings.lease {
            session.give_back(lease).await?;
            self.lease.set(0);
            warn!(
                event = "mandate_given_back",
                "the key in etcd is given back: this manager cannot be master, without a link to the fabric, inactive or \
                 hanging"
            );
            return session.look().await;
        }
        session.keep(&mut lease).await?;
        self.lease.set(lease);
        let has_master = self.candidate.hub.status().role == SmState::STANDBY;
        let asks = port.filter(|_| !has_master || now >= self.waits_until);
        let Some(port) = asks else {
            return session.look().await;
        };
        let value = Holder::new(port, self.candidate.prefix).to_bytes();
        let taken = session.take(&mut lease, &value).await;
        self.lease.set(lease);
        taken
    }

    /// Follows the state of the master where this manager stands by for it.
    async fn read_state(&mut self, session: &Session, key: Option<&Key>) -> Result<(), EtcdError> {
        let own = self.lease.get();
        let Some(reader) = &mut self.reader else {
            return Ok(());
        };
        if let Some(key) = key.filter(|key| own == 0 || key.lease != own)
            && let Ok(holder) = Holder::from_bytes(&key.value, self.candidate.prefix)
        {
            reader.follow(holder.port, &holder.host, key.term);
        }
        let place = &self.candidate.settings.place;
        reader.read(session.client(), place).await
    }

    /// etcd has answered: the key is this.
    async fn learn(&mut self, key: Option<Key>) {
        self.heard = Instant::now();
        let own = self.lease.get();
        let held = key.as_ref().filter(|key| own != 0 && key.lease == own);
        let held = held.map(|key| key.term);
        self.held.send_replace(held);
        let (holder, trouble) = self.read(key.as_ref());
        let term = key.as_ref().map_or(0, |key| key.term);
        let was_lost = !self.shown.borrow().answers || self.shown.borrow().heard_unix_ns == 0;
        self.shown.send_modify(|shown| {
            shown.answers = true;
            shown.heard_unix_ns = unix_time_ns();
            shown.held = held.is_some();
            shown.term = term;
            shown.port = holder.as_ref().map_or(0, |holder| holder.port.0);
            shown.host = holder
                .as_ref()
                .map_or_else(String::new, |it| it.host.clone());
            shown.trouble = trouble;
        });
        if was_lost {
            let server = self.shown.borrow().server.clone();
            info!(
                event = "etcd_answers",
                server, "etcd at {server} answers: it decides who is master"
            );
        }
        let mandate = match held {
            Some(term) => Mandate::Held(term),
            None => Mandate::Withheld(holder.as_ref().map(|holder| holder.port)),
        };
        if self.tell(mandate).await {
            match (mandate, holder) {
                (Mandate::Held(term), _) => info!(
                    event = "mandate_held",
                    term, "this manager holds the key in etcd, in term {term}: it is to be master"
                ),
                (_, Some(Holder { port, host, .. })) => info!(
                    event = "mandate_withheld",
                    term,
                    holder = %port,
                    "the manager on port {port} at {host:?} holds the key in etcd, in term {term}"
                ),
                (_, None) => info!(
                    event = "mandate_free",
                    "nobody, as far as this manager knows, holds the key in etcd"
                ),
            }
        }
    }

    /// Who holds the key, and what is wrong with it.
    fn read(&mut self, key: Option<&Key>) -> (Option<Holder>, String) {
        let Some(key) = key else {
            return (None, String::new());
        };
        match Holder::from_bytes(&key.value, self.candidate.prefix) {
            Ok(holder) => (Some(holder), String::new()),
            Err(why) => {
                let name = self.candidate.settings.place.master();
                let trouble = format!("{name} in etcd names {why}");
                if std::mem::replace(&mut self.refused, key.term) != key.term {
                    warn!(
                        event = "mandate_refused",
                        "{trouble}; this manager waits until the key is free"
                    );
                }
                (None, trouble)
            }
        }
    }

    /// etcd does not answer, or refuses.
    async fn fails(&mut self, why: &EtcdError) {
        let why = why.to_string();
        let silent = self.heard.elapsed() >= self.candidate.settings.lease;
        let was_lost = !self.shown.borrow().answers;
        self.shown.send_modify(|shown| {
            shown.trouble.clone_from(&why);
            if silent {
                shown.answers = false;
                shown.held = false;
            }
        });
        if !silent {
            return;
        }
        self.held.send_replace(None);
        self.tell(Mandate::Unknown).await;
        if !was_lost {
            let server = self.shown.borrow().server.clone();
            warn!(
                event = "etcd_lost",
                server,
                "etcd is out of reach ({server}: {why}): the fabric goes on, the master stays, and a standby takes over \
                 only where the master is gone in the fabric too"
            );
        }
    }

    /// Tells the manager, which may have forgotten it after a while in which it did nothing; whether it is news.
    async fn tell(&mut self, mandate: Mandate) -> bool {
        let told = self
            .candidate
            .engine
            .send(Request::Tell(Told::Mandate(mandate)));
        // A manager that is that busy is told by the next beat.
        let is_told = timeout(self.candidate.settings.lease / BEATS, told).await;
        if !matches!(is_told, Ok(Ok(()))) {
            return false;
        }
        std::mem::replace(&mut self.told, mandate) != mandate
    }
}
