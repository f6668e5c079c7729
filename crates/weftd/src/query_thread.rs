//! The thread that works on published snapshots, so that sweeps do not wait for it and clients
//! do not wait for sweeps: subnet administration, cable information, congestion control, and performance
//! management with its administration.
//!
//! | module | contents |
//! |---|---|
//! | `feeds` | its settings, and channels between it and others |
//! | `keeping` | registrations, over a restart |

mod feeds;
mod keeping;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use tokio::time;
use tracing::warn;
use weft_fabric::{Guid, Snapshot, Tick};
use weft_manager::MulticastStorm;
use weft_manager::cables::{Cables, CablesInput, CablesOutput};
use weft_manager::congestion::{Congestion, CongestionInput, CongestionOutput};
use weft_manager::dbsync::{DbSync, DbSyncInput, DbSyncOutput};
use weft_manager::link_errors::ErrorMeter;
use weft_manager::pm::{Pm, PmInput, PmOutput};
use weft_manager::sa::{Sa, SaInput, SaOutput};
use weft_replay::{RecordedSa, Recorder};
use weft_transport::{Closed, ConnectionSender};
use weft_wire::enums::SmState;
use weft_wire::header::class;
use weft_wire::packet::Packet;

use crate::clears::{ClearRequest, Waiting};
use crate::clock::Clock;
use crate::dbsync_log::{groups_left_out, tell_dbsync};
use crate::engine::{BoxFuture, Lost, Memberships, Role, finish};
use crate::event_log::log_refusal;
use crate::kept_images::KeptImages;
use crate::mad_dispatch::Line;
use crate::pm_log::tell_pm;
use crate::registrations::{Writes, restored};
pub(crate) use feeds::{Feeds, QuerySettings, feeds};
pub(crate) use keeping::Keeping;
use keeping::make_stale;

/// Interval at which the wall clock is passed in.
const CLOCK: Duration = Duration::from_secs(60);
/// Interval at which the inputs of subnet administration are passed on to the recording.
const RECORD: Duration = Duration::from_millis(500);
/// Datagrams that wait to be sent; while there are more, none is taken in. All requesters' answers wait in one row, so it is
/// short.
const TO_SEND_MAX: usize = 1_024;

/// Answers queries.
pub(crate) struct Queries {
    sa: RecordedSa,
    cables: Cables,
    congestion: Congestion,
    dbsync: DbSync,
    /// Changes of registrations that the copy knows of.
    changes: u64,
    /// Port of the master whose registrations were copied by DbSync, none where they are this manager's own.
    copied_from: Option<Guid>,
    /// The other daemon of a pair has handed on registrations, or said that they are old: it promises more than a copy, and
    /// that alone counts.
    is_paired: bool,
    pm: Option<Pm>,
    /// None where no rule for links with errors is applied.
    meter: Option<ErrorMeter>,
    /// Those who wait for counters to be set to zero.
    clearing: Waiting,
    feeds: Feeds,
    clock: Clock,
    is_master: bool,
    to_send: Vec<Packet>,
    /// What the manager is told when all of that is sent: it may take the link down that an answer goes by.
    storms: Vec<MulticastStorm>,
    /// Number of times that registrations were lost.
    loss: u64,
    keeping: Option<Keeping>,
    /// The registrations are those of another manager, which is master.
    inherited: bool,
}

impl Queries {
    /// With the settings of this moment, and with the file that registrations are kept in. `recorder` takes the inputs of
    /// subnet administration; their times are of the manager's clock, so that the order is known in which both had theirs.
    pub(crate) fn new(
        mut feeds: Feeds,
        keeping: Option<(PathBuf, Writes)>,
        recorder: Option<Recorder>,
        clock: Clock,
    ) -> Self {
        let settings = feeds.settings.borrow_and_update().clone();
        let (file, writes) = keeping.unzip();
        if let Some(kept) = &feeds.kept_images {
            kept.reconfigure(settings.pm.as_ref().and_then(|pm| pm.disk.clone()));
        }
        let mut queries = Self {
            sa: RecordedSa::new(
                clock.since_start(),
                restored(settings.sa, file.as_deref()),
                recorder.map(|recorder| (recorder, clock.began())),
            ),
            cables: Cables::new(settings.cables),
            congestion: Congestion::new(settings.congestion),
            dbsync: DbSync::new(settings.dbsync),
            changes: 0,
            copied_from: None,
            is_paired: false,
            pm: settings.pm.map(Pm::new),
            meter: settings.link_rules.map(ErrorMeter::new),
            clearing: Waiting::default(),
            feeds,
            clock,
            is_master: false,
            to_send: Vec::new(),
            storms: Vec::new(),
            loss: 0,
            keeping: writes.map(Keeping::new),
            inherited: false,
        };
        queries.drain();
        queries
    }

    /// Runs until `stop`, or until the manager's thread is gone.
    pub(crate) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        while let Some(line) = self.feeds.lines.recv().await {
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => break,
                () = self.drive(line) => {}
            }
        }
        if let Some(keeping) = self.keeping {
            keeping.finish(self.sa.unsaved()).await;
        }
    }

    /// Serves one connection until it ends.
    async fn drive(&mut self, line: Line) {
        let Line {
            sender,
            mut receiver,
        } = line;
        let mut sending: Option<BoxFuture<_>> = None;
        let mut clock = time::interval(CLOCK);
        let mut flushes = time::interval(RECORD);
        let is_recorded = self.sa.has_recorder();
        self.to_send.clear();
        loop {
            if sending.is_none() {
                sending = self.next_sending(&sender);
            }
            let pause = self.pause();
            let room = self.to_send.len() < TO_SEND_MAX;
            tokio::select! {
                sent = finish(&mut sending) => match sent {
                    Ok(()) => sending = None,
                    Err(_) => return,
                },
                batch = receiver.recv(), if room => match batch {
                    Some(batch) => self.receive(batch),
                    None => return,
                },
                Ok(()) = self.feeds.snapshot.changed() => self.published(),
                Ok(()) = self.feeds.lost.changed() => self.registrations_lost(),
                Ok(()) = self.feeds.inherited.changed() => self.inherit(),
                Ok(()) = self.feeds.role.changed() => self.role_told(),
                Some(notice) = self.feeds.notices.recv() => self.sa(SaInput::Notice(notice)),
                Ok(()) = self.feeds.settings.changed() => self.reconfigure(),
                Some(input) = told(&mut self.feeds.kept_images) => self.pm(input),
                Some(request) = self.feeds.clears.recv() => self.clear(request),
                _ = clock.tick() => self.tell_time(),
                _ = flushes.tick(), if is_recorded => self.sa.flush(self.now()),
                () = time::sleep(pause), if room => {
                    self.sa(SaInput::Tick);
                    self.cables(CablesInput::Tick);
                    self.congestion(CongestionInput::Tick);
                    self.dbsync(DbSyncInput::Tick);
                    self.pm(PmInput::Tick);
                }
            }
            self.drain();
        }
    }

    /// The next datagrams to send, and storms to tell; none before stored registrations are marked stale if they have to be.
    fn next_sending(&mut self, sender: &ConnectionSender) -> Option<BoxFuture<Result<(), Closed>>> {
        let stale = self.keeping.as_mut().and_then(Keeping::next_stale);
        if stale.is_none() && self.to_send.is_empty() && self.storms.is_empty() {
            return None;
        }
        let (storms, teller) = (std::mem::take(&mut self.storms), self.feeds.storms.clone());
        let (batch, sender) = (std::mem::take(&mut self.to_send), sender.clone());
        self.feeds.hub.counters().sent(&batch);
        Some(Box::pin(async move {
            if let Some(writes) = stale {
                make_stale(writes).await;
            }
            if !batch.is_empty() {
                sender.send(batch).await?;
            }
            for storm in storms {
                let _ = teller.try_send(storm);
            }
            Ok(())
        }))
    }

    fn now(&self) -> Tick {
        self.clock.since_start()
    }

    /// Time until the next deadline.
    fn pause(&self) -> Duration {
        let now = self.now();
        let pm = self.pm.as_ref().and_then(Pm::deadline);
        let due = [
            self.sa.deadline(),
            self.cables.deadline(),
            self.congestion.deadline(),
            self.dbsync.deadline(),
            pm,
        ];
        let due = due.into_iter().flatten().min();
        due.map_or(CLOCK, |at| at.since(now).min(CLOCK))
    }

    fn sa(&mut self, input: SaInput) {
        self.sa.handle(self.now(), input);
    }

    fn cables(&mut self, input: CablesInput) {
        self.cables.handle(self.now(), input);
    }

    fn congestion(&mut self, input: CongestionInput) {
        self.congestion.handle(self.now(), input);
    }

    fn dbsync(&mut self, input: DbSyncInput) {
        self.dbsync.handle(self.now(), input);
    }

    fn pm(&mut self, input: PmInput) {
        let now = self.now();
        if let Some(pm) = &mut self.pm {
            pm.handle(now, input);
        }
    }

    /// Passes an order to the performance manager; where there is none, whoever asked sees that nobody will answer.
    fn clear(&mut self, request: ClearRequest) {
        if self.pm.is_some() {
            let order = self.clearing.order(request);
            self.pm(PmInput::Clear(order));
        }
    }

    /// Passes each datagram to its service; while another manager runs the fabric, clients query that
    /// one.
    fn receive(&mut self, batch: Vec<Packet>) {
        self.feeds.hub.counters().received(&batch);
        // One look at the clock for all: it costs as much as a look-up.
        let now = self.now();
        for packet in batch {
            if packet.mad.get(1) == Some(&class::SM_DBSYNC) {
                self.dbsync.handle(now, DbSyncInput::Received(packet));
                continue;
            }
            if !self.is_master {
                continue;
            }
            match packet.mad.get(1) {
                Some(&class::SUBN_ADM) => self.sa.handle(now, SaInput::Received(packet)),
                Some(&class::SM_LID_ROUTED) => self.settings_told(packet),
                Some(&(class::PERF | class::PA)) => self.pm(PmInput::Received(packet)),
                _ => {}
            }
        }
    }

    /// Passes an agent's answer to both services that query agents; the one without the request drops it.
    fn settings_told(&mut self, packet: Packet) {
        self.cables(CablesInput::Received(packet.clone()));
        self.congestion(CongestionInput::Received(packet));
    }

    /// A standby takes its master's registrations for its own, as after a restart.
    fn inherit(&mut self) {
        let told = self.feeds.inherited.borrow_and_update().clone();
        if self.is_master {
            return;
        }
        (self.is_paired, self.copied_from) = (true, None);
        let settings = self.feeds.settings.borrow().sa.clone();
        let restored = told.as_deref().map(|bytes| {
            let sa = Sa::restored(settings, bytes, self.now());
            sa.map(|sa| (sa, bytes.to_vec()))
        });
        match restored {
            Some(Ok((sa, bytes))) => {
                self.sa.replace(self.now(), sa);
                self.inherited = true;
                if let Some(keeping) = &mut self.keeping {
                    keeping.save = Some(bytes);
                }
            }
            Some(Err(error)) => {
                warn!(event = "registrations_refused", %error, "the master's registrations cannot be used; \
                     after a takeover hosts will be asked to register again");
                self.disinherit();
            }
            None => self.disinherit(),
        }
    }

    /// The master's registrations do not hold any more.
    fn disinherit(&mut self) {
        self.inherited = false;
        if let Some(keeping) = &mut self.keeping {
            (keeping.stale, keeping.save) = (true, None);
        }
        self.feeds.multicast.send_if_modified(|told| {
            let was = told
                .as_mut()
                .map(|told| std::mem::replace(&mut told.inherited, false));
            was == Some(true)
        });
    }

    /// Follows the role of this manager. As master the copy gets the fabric with it, see [`Self::published`].
    fn role_told(&mut self) {
        let role = *self.feeds.role.borrow_and_update();
        match role {
            Role::Neither => self.dbsync(DbSyncInput::Neither),
            Role::Standby(master) => self.dbsync(DbSyncInput::Standby { master }),
            Role::Master => {}
        }
    }

    fn registrations_lost(&mut self) {
        let Lost { loss, asked } = *self.feeds.lost.borrow_and_update();
        self.loss = loss;
        self.copied_from = None;
        self.sa(SaInput::RegistrationsLost { asked });
    }

    fn published(&mut self) {
        // Before the fabric that the sweep found which lost them.
        if self.feeds.lost.has_changed().unwrap_or(false) {
            self.registrations_lost();
        }
        let snapshot = self.feeds.snapshot.borrow_and_update().clone();
        // One from before this manager took over lacks what has come since: members would be forgotten by it.
        let is_own = |snapshot: &Arc<Snapshot>| {
            let own = snapshot.sms.first();
            own.is_none_or(|own| own.state == SmState::MASTER)
        };
        let snapshot = snapshot.filter(is_own);
        self.is_master = snapshot.is_some();
        self.inherited &= !self.is_master;
        match snapshot {
            Some(snapshot) => {
                // The registrations are this manager's own from now on.
                self.copied_from = None;
                self.sa(SaInput::Published(Arc::clone(&snapshot)));
                self.dbsync(DbSyncInput::Master(Arc::clone(&snapshot)));
                self.cables(CablesInput::Published(Arc::clone(&snapshot)));
                self.congestion(CongestionInput::Published(Arc::clone(&snapshot)));
                self.pm(PmInput::Published(snapshot));
            }
            None => {
                self.cables(CablesInput::StandBy);
                self.congestion(CongestionInput::StandBy);
                self.pm(PmInput::StandBy);
                if let Some(meter) = &mut self.meter {
                    meter.clear();
                }
            }
        }
    }

    fn reconfigure(&mut self) {
        let settings = self.feeds.settings.borrow_and_update().clone();
        // An unchanged fabric is not published again, so these look at the last one.
        let is_master = self.is_master;
        let snapshot = self.feeds.snapshot.borrow().clone().filter(|_| is_master);
        self.sa.reconfigure(self.now(), settings.sa);
        self.cables.reconfigure(settings.cables);
        if let Some(snapshot) = &snapshot {
            self.cables(CablesInput::Published(Arc::clone(snapshot)));
        }
        self.congestion(CongestionInput::Settings(settings.congestion));
        self.dbsync(DbSyncInput::Settings(settings.dbsync));
        match (&mut self.meter, settings.link_rules) {
            (Some(meter), Some(rules)) => meter.reconfigure(rules),
            (meter, rules) => *meter = rules.map(ErrorMeter::new),
        }
        if let Some(kept) = &self.feeds.kept_images {
            kept.reconfigure(settings.pm.as_ref().and_then(|pm| pm.disk.clone()));
        }
        match (&mut self.pm, settings.pm) {
            (Some(running), Some(settings)) => running.reconfigure(settings),
            (running, settings) => {
                *running = settings.map(Pm::new);
                if let Some(kept) = &self.feeds.kept_images {
                    kept.tell();
                }
                self.clearing.let_go();
                if let Some(snapshot) = snapshot {
                    self.pm(PmInput::Published(snapshot));
                }
            }
        }
        self.tell_time();
    }

    fn tell_time(&mut self) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let unix_s = since.map_or(0, |since| since.as_secs());
        self.pm(PmInput::WallClock { unix_s });
        self.dbsync(DbSyncInput::WallClock { unix_s });
    }

    /// Takes what the copy of registrations has to say.
    fn drain_dbsync(&mut self) {
        let changes = self.sa.change_count();
        if std::mem::replace(&mut self.changes, changes) != changes {
            self.dbsync(DbSyncInput::Changed);
        }
        while let Some(output) = self.dbsync.poll() {
            match output {
                DbSyncOutput::Send(packet) => self.to_send.push(packet),
                DbSyncOutput::Ask => {
                    let registrations = Arc::new(self.sa.registrations());
                    self.dbsync(DbSyncInput::Registrations(registrations));
                }
                DbSyncOutput::Inherit(_) if self.is_paired => {}
                DbSyncOutput::Inherit(inherited) => {
                    // Set first: the members go out with it.
                    self.copied_from = Some(inherited.master);
                    if !self.sa.inherit(self.now(), &inherited) {
                        self.copied_from = None;
                        self.sa.tell_groups(self.now());
                        groups_left_out(inherited.master);
                    }
                }
                DbSyncOutput::Event(event) => tell_dbsync(&event),
            }
        }
        let copied = self.dbsync.up_to_date();
        self.feeds.copied.send_if_modified(|told| {
            let is_news = *told != copied;
            *told = copied;
            is_news
        });
    }

    fn drain(&mut self) {
        self.drain_dbsync();
        while let Some(output) = self.cables.poll() {
            match output {
                CablesOutput::Send(packet) => self.to_send.push(packet),
                CablesOutput::Memories(memories) => {
                    self.feeds.cables.send_replace(Arc::clone(&memories));
                    self.sa(SaInput::Cables(memories));
                }
            }
        }
        while let Some(output) = self.congestion.poll() {
            match output {
                CongestionOutput::Send(packet) => self.to_send.push(packet),
                CongestionOutput::Held(held) => self.sa(SaInput::Congestion(held)),
                CongestionOutput::Refused {
                    node,
                    port,
                    attribute,
                    status,
                } => log_refusal(node, port, attribute, status),
            }
        }
        while let Some(output) = self.sa.poll() {
            match output {
                SaOutput::Send(packet) => self.to_send.push(packet),
                SaOutput::Multicast(groups) => {
                    let loss = self.loss;
                    self.feeds.multicast.send_replace(Some(Memberships {
                        loss,
                        groups,
                        copied_from: self.copied_from,
                        inherited: self.inherited,
                    }));
                }
                SaOutput::Groups(groups) => self.feeds.hub.set_multicast_groups(groups),
                SaOutput::Storm(storm) => self.storms.push(storm),
                SaOutput::Stale => {
                    if let Some(keeping) = &mut self.keeping {
                        (keeping.stale, keeping.save) = (true, None);
                    }
                }
                SaOutput::Persist(bytes) => {
                    if let Some(keeping) = &mut self.keeping {
                        keeping.save = Some(bytes);
                    }
                }
            }
        }
        self.drain_pm();
    }

    fn drain_pm(&mut self) {
        let now = self.now();
        let Some(pm) = &mut self.pm else { return };
        while let Some(output) = pm.poll() {
            match output {
                PmOutput::Send(packet) => self.to_send.push(packet),
                // Metrics lack what an image has that they had no time for.
                PmOutput::Image(image) => {
                    if let Some(meter) = &mut self.meter {
                        let _ = self.feeds.errors.try_send(meter.take(&image));
                    }
                    if let Some(kept) = &self.feeds.kept_images {
                        kept.image(Arc::clone(&image));
                    }
                    drop(self.feeds.images.try_send(image));
                }
                PmOutput::Recall(name) => {
                    let unread = PmInput::Recalled { name, image: None };
                    let answer = match &self.feeds.kept_images {
                        Some(kept) => kept.recall(name),
                        None => Some(unread),
                    };
                    answer.into_iter().for_each(|input| pm.handle(now, input));
                }
                PmOutput::Cleared(outcome) => self.clearing.end(outcome),
                PmOutput::Event(event) => tell_pm(&self.feeds.hub, event),
            }
        }
    }
}

/// The next word about images on the disk; none comes where none are kept.
async fn told(kept: &mut Option<KeptImages>) -> Option<PmInput> {
    match kept {
        Some(kept) => kept.told().await,
        None => std::future::pending().await,
    }
}
